"""Bounds checks of indices -> Loops: lanes over all of them. In: index Nodes and extents. Out: a
phase for each.

The failure that is reported is that of the lowest site and position, whichever thread finds its own
first.
"""

from __future__ import annotations

from ....ir.graph.graph import Node
from ....ir.graph.index import Var, var
from ....ir.loops.loop import GRID, LANES, For, Loops
from ...kernels.lowered import Lowered
from ...kernels.single_op import Checks
from .grid import threads_for

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
    phases, threads = [], []
    for site, (n, extent) in enumerate(checks, first_site):
        threads.append(threads_for(n.size, THREADS))
        size = min(n.size, threads[-1] * ROUNDS)
        grid, lane = Var("g", -(-n.size // size)), Var("l", size)
        first = var(grid) * size
        check = checked.check(n, extent, site, first + var(lane))
        total = n.size if n.size % size else None
        phases.append(
            For(grid, grid.extent, GRID, [For(lane, size, LANES, [check], 1, first, total)])
        )
    loops = Loops("check_indices", checked.buffers, (), phases, threads=tuple(threads))
    return Lowered(
        loops, (), [n.size for n, _ in checks], ": lanes over all indices, the lowest failure wins"
    )
