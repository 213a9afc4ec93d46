"""Hints that memory beyond a cache will be used. In: a matrix at a later place, an epilogue at a
row and a lane. Out: Prefetches.

A schedule that does much with each element it reads leaves the memory idle meanwhile: so few
instructions are under way at once that the reads of the next elements have not begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var, var
from ...ir.loops.loop import GLOBAL, Buf, Prefetch
from ...ir.loops.walk import Substitution, indices, postorder
from ...ir.symbolic.questions import value_of
from ..kernels import loop_axes
from ..kernels.evaluate import Place
from ..kernels.loop_axes import _loads
from ..kernels.stages import RowLoop
from ..llvm.target import Target

HIDING_WORK = (
    6  # operations an element from which a loop over a row in a cache leaves memory idle for long
)
STORE_WORK = 8  # what storing an element adds to that
LEAST_PREFETCHED = 1 << 10  # bytes of a row: so much is read ahead by executing out of order
# bytes ahead of what is read: half as many come late, twice as many push others out of L1
PREFETCHED = 8 << 10


def prefetches(value: Node, lane: Var) -> list[Prefetch]:
    """Prefetches of what a value would load, lane by lane."""
    return [Prefetch(n.arg[0], n.arg[1]) for n in _loads(value) if lane in n.arg[1].vars()]


def touched(
    stored: Sequence[tuple[Place, list[Index], Node]], row: Var, lane: Var
) -> list[Prefetch]:
    """Prefetches of what an epilogue reads and writes that lies along the lanes and differs from
    row to row."""
    places = [(place.buf, place.at(index)) for place, index, _ in stored]
    places += [n.arg[:2] for _, _, value in stored for n in _loads(value)]
    return [
        Prefetch(buf, at)
        for buf, at in dict.fromkeys(places)
        if at.coef(lane) == 1 and row in at.vars()
    ]


def next_row(loops: list[RowLoop], row: Var, target: Target) -> dict[int, list[Prefetch]]:
    """Hints that the next row will be read, by the id of the loop to hold them: the costliest that
    reads no new memory."""
    again = [loop for loop in loops[1:] if loop.axes == loops[0].axes]
    costliest = max(again, key=_loop_cost, default=None)
    if costliest is None or _loop_cost(costliest) < HIDING_WORK:
        return {}
    lane, length = loops[0].axes[-1], prod(v.extent for v in loops[0].axes)
    hints = dict.fromkeys(
        h for n in loops[0].roots() for h in prefetches(n, lane) if row in h.index.vars()
    )
    beyond = [h for h in hints if value_of(_nbytes(h.buf)) > target.l2]
    fit = [h for h in beyond if LEAST_PREFETCHED <= length * h.buf.dtype.itemsize <= target.l2 // 2]
    later = {row: var(row) + 1}
    return {id(costliest): [Prefetch(h.buf, h.index.substitute(later), cache=2) for h in fit]}


def next_rows(
    roots: Iterable[Node],
    axis: Var,
    loops: list[Var],
    steps: list[Index],
    lane: Var,
    target: Target,
) -> Iterable[Prefetch]:
    """Hints that the rows after these steps will be read, of what no cache holds: short runs end
    before they are read ahead."""
    if not loops:
        return []
    later = [Substitution({axis: at.substitute({loops[0]: var(loops[0]) + 1})}) for at in steps]
    hints = dict.fromkeys(h for r in roots for s in later for h in prefetches(s.node(r), lane))
    return [replace(h, cache=2) for h in hints if value_of(_nbytes(h.buf)) > target.l3]


def _nbytes(buf: Buf) -> int:
    return buf.size * buf.dtype.itemsize


def _loop_cost(loop: RowLoop) -> int:
    """Operations an element, of the reductions and stores too; what is the same for the whole row
    is computed before."""
    varies: set[Node] = set()
    for n in postorder(loop.roots()):
        if any(loop.axes[-1] in i.vars() for i in indices(n)) or not varies.isdisjoint(n.src):
            varies.add(n)
    stores = sum(w.buf.space == GLOBAL for w in loop.writes)
    return loop_axes.work(varies) + len(loop.reductions) + STORE_WORK * stores
