"""Results of a contraction on which no product falls. In: a Problem without a sum. Out: Loops."""

from __future__ import annotations

from ....ir.graph.graph import const
from ....ir.graph.index import Var, unravel, var
from ....ir.loops.loop import LANES, For, Stmt, Store
from ....ir.loops.walk import postorder
from ...kernels import loop_axes
from ...kernels.contraction import Problem, groups_extent, spread_groups
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ..chunks import Chunks, Tuning


def lower_empty(p: Problem, tuning: Tuning) -> Lowered:
    """The epilogue of sums of nothing: lanes over the last axis."""
    *outer, last = p.lanes
    lane, rows = Var("l", extent(last)), groups_extent(outer)
    zero = const(0, p.anchor.node.dtype)
    values = [value for _, _, value in p.epilogue({v: var(v) for g in p.lanes for v in g}, zero)]
    row_work = lane.extent * max(1, loop_axes.work(postorder(values)))
    chunk = Chunks(rows, row_work, tuning.min_chunks)
    position = unravel(chunk.position, tuple(extent(g) for g in outer)) if outer else []
    by = spread_groups(p.lanes, [*position, var(lane)])
    body: list[Stmt] = [
        Store(q.buf, q.at(index), value) for q, index, value in p.epilogue(by, zero)
    ]
    text = f" {rows} x {lane.extent}: no product falls on these results"
    return chunk.lowered(p.kernel, p.buffers, [For(lane, lane.extent, LANES, body)], text)
