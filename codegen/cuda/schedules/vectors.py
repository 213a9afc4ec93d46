"""Neighbouring elements that a thread takes at a time. In: accesses in terms of a lane variable.
Out: an unroll for its loop.

A load or store of 16 bytes moves the most; where several widths meet, the narrowest decides, within
limits of registers.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....ir.graph.index import Index, Var, var
from ....ir.symbolic.questions import is_same
from ...kernels.loop_axes import Access
from ..target import VECTOR_BITS

VECTOR_BYTES = VECTOR_BITS // 8
MOST_BYTES = 32  # of the widest elements that a thread takes at a time
STRAIGHT_WORK = (
    512  # operations of all neighbours together: more would be long code and many registers
)


def steps_by_one(index: Index, lane: Var, count: int) -> bool:
    """Are `count` neighbouring lanes, the first of them a multiple, neighbours in memory?"""
    if index.values():
        return False
    piece = Var("p", -(-lane.extent // count))
    first, last = (index.substitute({lane: var(piece) * count + i}) for i in (0, count - 1))
    apart = last - first
    return not apart.terms and is_same(apart.const, count - 1)


def vector(accesses: Iterable[Access], lane: Var, work: int, length: int = 0) -> int:
    """Neighbours that a thread takes at a time; they divide `length`, at whose multiples rows start
    in memory."""
    moved = [a for a in accesses if steps_by_one(a.index, lane, 2)]
    if not moved:
        return 1
    sizes = [a.itemsize for a in moved]
    count = max(1, min(VECTOR_BYTES // min(sizes), MOST_BYTES // max(sizes)))
    while count > 1 and (
        length % count or work * count > STRAIGHT_WORK or not _any_steps(moved, lane, count)
    ):
        count //= 2
    return count


def _any_steps(moved: list[Access], lane: Var, count: int) -> bool:
    return any(steps_by_one(a.index, lane, count) for a in moved)
