"""Contraction -> Loops without tiles: every thread owns results. In: a contraction Kernel. Out:
Loops.

for block of results: for lanes: sum = 0; for step of k: sum += a * b; epilogue

Right for any masks, strides, gathers and dtypes. Neighbours in a warp are neighbours along the last
axis of the lanes.
"""

from __future__ import annotations

from ....ir.graph.graph import const, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import REG, Alloc, Buf, Reduce, Stmt
from ...kernels import loop_axes
from ...kernels.contraction import Problem, groups_at, groups_extent, spread_groups
from ...kernels.evaluate import load
from ...kernels.lowered import Lowered
from .grid import flat_phase

THREADS = 128


def lower_naive(p: Problem) -> Lowered:
    """A lane for each result."""
    groups = [*p.batch, *p.rows, *p.lanes]

    def body(position: Index) -> list[Stmt]:
        return _result(p, groups_at(groups, position))

    results = groups_extent(groups)
    text = f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: a thread a result"
    return flat_phase(p.kernel, p.buffers, results, 2 * p.k, body, text, threads=THREADS)


def _result(p: Problem, by: dict[Var, Index]) -> list[Stmt]:
    """One result, from its axes."""
    dtype = p.anchor.node.dtype
    acc = Buf("acc", dtype, 1, REG)
    if not p.reduced:
        return p.writes(by, const(0, dtype))
    steps = [Var(f"k{i}", loop_axes.extent(g)) for i, g in enumerate(p.reduced)]
    at = by | spread_groups(p.reduced, [var(v) for v in steps])
    product = node(Op.MUL, [p.factor(f, at) for f in p.product.src])
    return [
        Alloc(acc, 0),
        loop_axes.nest(steps, Reduce(acc, Index(), "add", product)),
        *p.writes(by, load(acc, Index())),
    ]
