"""Bounds checks of indices -> Loops: lanes over all of them. In: index Nodes and extents. Out: a
phase for each.

The failure that is reported is that of the lowest site and position, whichever thread finds its own
first.
"""

from __future__ import annotations

from ....ir.graph.graph import Node
from ....ir.graph.index import Var, var
from ....ir.loops.loop import LANES, For, Loops
from ....ir.symbolic.questions import is_same, is_unknown
from ...kernels.lowered import Lowered
from ...kernels.single_op import Checks
from .grid import Grid, params_of, threads_for

THREADS = 256
ROUNDS = 4  # of a thread


def lower_checks(
    checks: list[tuple[Node, int]],
    strides: dict[Node, tuple[int, ...]],
    places: list[Node],
    first_site: int,
) -> Lowered:
    """One phase for each (index Node, extent): the first element outside 0 .. extent-1 is
    reported."""
    checked = Checks(places, strides)
    phases, threads, grids = list[For](), list[int](), list[Grid]()
    for site, (n, extent) in enumerate(checks, first_site):
        threads.append(threads_for(n.size, THREADS))
        size = threads[-1] * ROUNDS
        size = size if is_unknown(n.size) else min(n.size, size)
        grid, lane = Grid(-(-n.size // size), size, f"blocks{len(phases)}"), Var("l", size)
        grids.append(grid)
        first = var(grid.variable) * size
        check = checked.check(n, extent, site, first + var(lane))
        total = None if is_same(n.size % size, 0) else n.size
        phases.append(grid.phase([For(lane, size, LANES, [check], 1, first, total)]))
    params, values = params_of(grids)
    loops = Loops("check_indices", checked.buffers, params, phases, threads=tuple(threads))
    return Lowered(
        loops,
        values,
        [n.size for n, _ in checks],
        ": lanes over all indices, the lowest failure wins",
    )
