"""Python numbers that a jitted function is given: 0-d Nodes that are weak. In: such Nodes. Out: in
which dtype they meet others.

A number is one input for each dtype in which it is used, rounded to it by Python as a constant
would be. What is computed from such numbers alone is weak, too; it is computed in the widest dtype
of its kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, reach
from ...ir.graph.op import Op

MOST_NODES = 64  # a value that needs more than these is not recognised as weak
WIDEST: dict[type, DType] = {float: dt.float64, int: dt.int64, bool: dt.bool_}
_SAMPLE = {"f": 0.0, "i": 0, "u": 0, "b": False}


class Number:
    """A number that is passed, of type `kind`. `versions`: its inputs by dtype."""

    def __init__(self, kind: type, make: Callable[[DType], Node]) -> None:
        self.kind, self._make = kind, make
        self.versions: dict[DType, Node] = {}
        self.widest = self.version(WIDEST[kind])

    def version(self, dtype: DType) -> Node:
        n = self.versions.get(dtype)
        if n is None:
            n = self.versions[dtype] = self._make(dtype)
            if dtype in WIDEST.values():
                marks[n] = self
        return n


# None: computed from numbers
marks: weakref.WeakKeyDictionary[Node, Number | None] = weakref.WeakKeyDictionary()


def sample(n: Node) -> float:
    """A Python number that meets others as this weak Node does."""
    return _SAMPLE[n.dtype.kind]


def with_dtype(n: Node, dtype: DType) -> Node:
    """A weak Node in the dtype of what it meets."""
    number = marks[n]
    if number is not None:
        return number.version(dtype)
    converted = cast(n, dtype)
    if dtype in WIDEST.values():
        marks[converted] = None
    return converted


def mark_if_weak(n: Node) -> None:
    """Marks a 0-d Node that is computed from weak ones and constants alone; a conversion makes it
    strong."""
    is_weak = False
    for count, below in enumerate(reach([n], lambda met: () if met in marks else met.src)):
        if below in marks:
            is_weak = True
        elif below.op in (Op.INPUT, Op.CAST, Op.BITCAST) or count >= MOST_NODES:
            return
    if is_weak:
        marks.setdefault(n, None)
