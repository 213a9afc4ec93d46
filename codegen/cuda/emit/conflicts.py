"""Memory accesses since the last barrier, by thread. In: a buffer, an Index, its loops. Out:
Touches, a State.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....ir.graph.index import Index, Var
from ....ir.loops.loop import GLOBAL, Buf, For
from ....ir.symbolic.integer import Symbolic
from ....ir.symbolic.questions import is_below
from .layout import varies


@dataclass(frozen=True)
class Touch:
    """An access: its thread (None: more than one), and at which index, for arguments."""

    buf: Buf
    index: Index
    who: object


@dataclass
class State:
    """Since the last barrier; and of accumulators."""

    read: set[Touch] = field(default_factory=set)
    written: set[Touch] = field(default_factory=set)
    sums: dict[Buf, str] = field(default_factory=dict)

    def copy(self) -> State:
        return State(set(self.read), set(self.written), dict(self.sums))

    def join(self, other: State) -> None:
        self.read |= other.read
        self.written |= other.written

    def synchronised(self) -> None:
        self.read.clear()
        self.written.clear()


def owner(s: For, index: Index, mapping: object, fixed: set[Var]) -> object:
    """What determines the thread, if the element determines the lane: its factor is above all that
    the rest adds, or every variable is one digit of the index. `fixed`: variables that have one
    value wherever threads meet without a barrier.
    """
    by = index.coef(s.var)
    same = Index({t: c for t, c in index.terms if _is_fixed(Index({t: 1}), fixed)}, index.const)
    inner = index - same - Index({s.var: by})
    if not is_below(0, by) or varies(inner, s.var) or inner.values():
        return None
    if is_below(-1, inner.bounds[0]) and is_below(inner.bounds[1], by):
        return mapping, by, same
    return (mapping, index) if _are_digits(index - same) else None


def _is_fixed(index: Index, fixed: set[Var]) -> bool:
    return index.vars() <= fixed and not index.values()


def _are_digits(index: Index) -> bool:
    """Whether each value of the index belongs to one value of every variable."""
    if not index.is_affine or any(isinstance(c, Symbolic) or c < 0 for _, c in index.terms):
        return False
    below = 0
    for t, c in sorted(index.terms, key=lambda tc: tc[1]):
        if c <= below:
            return False
        below += c * t.bounds[1]
    return True


def may_be_one(a: Buf, b: Buf) -> bool:
    """Whether one argument may lie in the memory of another, element for element."""
    return a.space == b.space == GLOBAL and a.dtype.itemsize == b.dtype.itemsize
