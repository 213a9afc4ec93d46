"""Hints that memory beyond a cache will be used. In: a matrix at a later place, an epilogue at a row and a lane. Out: Prefetches.

A schedule that does much with each element it reads leaves the memory idle meanwhile: so few instructions are under way at once
that the reads of the next elements have not begun.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Node
from ..ir.index import Index, Var
from ..ir.loop import GLOBAL, Prefetch
from ..ir.loop_walk import postorder
from ..ir.op import Op
from .evaluate import Place

AHEAD = 8 << 10  # bytes from what is read to what is asked for: half as many come late, twice as many push others out of L1


def itemsize_in_memory(value: Node) -> int:
    """Bytes of an element of a factor where it lies."""
    return max((n.arg[0].dtype.itemsize for n in _loads(value)), default=value.dtype.itemsize)


def prefetches(value: Node, lane: Var) -> list[Prefetch]:
    """Asks for what a value would load, lane by lane."""
    return [Prefetch(n.arg[0], n.arg[1]) for n in _loads(value) if lane in n.arg[1].vars()]


def touched(stored: Sequence[tuple[Place, list[Index], Node]], row: Var, lane: Var) -> list[Prefetch]:
    """Asks for what an epilogue reads and writes that lies along the lanes and differs from row to row."""
    places = [(place.buf, place.at(index)) for place, index, _ in stored]
    places += [n.arg[:2] for _, _, value in stored for n in _loads(value)]
    return [Prefetch(buf, at) for buf, at in dict.fromkeys(places) if at.coef(lane) == 1 and row in at.vars()]


def _loads(value: Node) -> list[Node]:
    found = [n for n in postorder([value]) if n.op is Op.LOAD]
    return [n for n in found if n.arg[0].space == GLOBAL and not n.arg[1].values()]
