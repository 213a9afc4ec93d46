"""Arrays that are read part by part. In: a Tensor that is indexed, then one that is read. Out: what to compute whole first.

A part of a lazy value is a graph of its own: a loop that reads x[i] would build a program for every i, and compute x every time.
"""

from __future__ import annotations

from typing import Any

from ..ir.graph import Node
from ..ir.op import Op
from . import state, storage, weak
from .capture import is_constant

MOST_ELEMENTS = 1 << 16  # computing more for the sake of one part may cost more than a program

Tensor = Any  # frontend.tensor.Tensor, which imports this module


def note(whole: Tensor, part: Tensor) -> None:
    """Registers a lazy Tensor that was indexed by an int, so that reading the part computes the whole."""
    n = whole.node
    if part.ndim >= whole.ndim or not 1 < whole.size <= MOST_ELEMENTS or n.op is Op.INPUT or is_constant(n):
        return
    weak.remember(state.thread.indexed, id(n), whole)


def wholes(part: Tensor) -> list[Tensor]:
    """The registered Tensors that the Tensor is a part of, or is computed from parts of."""
    indexed = state.thread.indexed
    found, seen, stack = [], {part.node}, [part.node] if indexed else []
    while stack:
        n = stack.pop()
        whole = _whole(n)
        if whole is not None:
            found.append(whole)
        elif n.size == 1 or n.op in storage.VIEWED:
            below = [s for s in n.src if s not in seen]
            seen.update(below)
            stack += below
    return found


def _whole(n: Node) -> Tensor | None:
    """The Tensor that is registered for this Node, unless it has been computed or has moved on."""
    ref = state.thread.indexed.get(id(n))
    whole = None if ref is None else ref()
    if whole is None or whole.node is not n or whole._stored() is not None:
        return None
    return whole
