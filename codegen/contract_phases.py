"""Problems of one contraction as phases of one kernel. In: Lowered phases, or a Problem without a sum. Out: a Lowered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir.graph import const
from ..ir.index import Var, unravel, var
from ..ir.loop import LANES, Extent, For, If, Loops, Param, Stmt, Store
from ..ir.loop_walk import postorder
from . import schedule
from .contract_problem import Problem, groups_extent, spread_groups
from .lower import Chunks, Lowered, Tuning
from .schedule import extent


def in_phases(parts: Sequence[Lowered]) -> Lowered:
    """All phases of the parts in one kernel; they write different elements, so that their order does not matter."""
    if len(parts) == 1:
        return parts[0]
    phases: list[For] = []
    params: list[Param] = []
    for i, part in enumerate(parts):
        names = {q: Param(f"{q.name}_{i}") for q in part.loops.params}
        phases += [_renamed(phase, names) for phase in part.loops.phases]
        params += names.values()
    first = parts[0].loops
    loops = Loops(first.name, first.buffers, tuple(params), phases)
    texts = "; ".join(f"({i}) {part.schedule}" for i, part in enumerate(parts))
    values = tuple(value for part in parts for value in part.params)
    work = [w for part in parts for w in part.work]
    return Lowered(loops, values, work, f"{len(parts)} residue classes of strided axes, without the products that are 0: {texts}")


def _renamed(loop: For, names: Mapping[Param, Param]) -> For:
    """A loop with other parameters."""

    def new(e: Extent) -> Extent:
        return names[e] if isinstance(e, Param) else e

    def inside(s: Stmt) -> Stmt:
        if isinstance(s, If):
            return replace(s, body=[inside(t) for t in s.body])
        return _renamed(s, names) if isinstance(s, For) else s

    total = None if loop.total is None else new(loop.total)
    return replace(loop, extent=new(loop.extent), total=total, body=[inside(s) for s in loop.body])


def lower_empty(p: Problem, tuning: Tuning) -> Lowered:
    """The epilogue of sums of nothing: lanes over the last axis."""
    *outer, last = p.lanes
    lane, rows = Var("l", extent(last)), groups_extent(outer)
    zero = const(0, p.anchor.node.dtype)
    values = [value for _, _, value in p.epilogue({v: var(v) for g in p.lanes for v in g}, zero)]
    row_work = lane.extent * max(1, schedule.work(postorder(values)))
    chunk = Chunks(rows, row_work, tuning.min_chunks)
    position = unravel(chunk.position, tuple(extent(g) for g in outer)) if outer else []
    by = spread_groups(p.lanes, [*position, var(lane)])
    body: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in p.epilogue(by, zero)]
    loops = Loops(p.kernel.name, p.buffers, chunk.params, [chunk.phase([For(lane, lane.extent, LANES, body)])])
    return Lowered(loops, chunk.values, [rows * row_work], f"zeros {rows} x {lane.extent}: no product falls on these results")
