"""Contraction -> Loops without tiles: every thread owns results. In: a contraction Kernel. Out: Loops.

for block of results: for lanes: sum = 0; for step of k: sum += a * b; epilogue

Right for any masks, strides, gathers and dtypes. Neighbours in a warp are neighbours along the last axis of the lanes.
"""

from __future__ import annotations

from ....ir.graph.graph import const, node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import REG, Alloc, Buf, Reduce, Stmt, Store
from ...kernels import loop_axes
from ...kernels.contraction import Groups, Problem, groups_extent, spread_groups
from ...kernels.evaluate import load
from ...kernels.lowered import Lowered
from .grid import flat_phase

THREADS = 128


def lower_naive(p: Problem) -> Lowered:
    """A lane for each result."""
    groups = [*p.batch, *p.rows, *p.lanes]

    def body(position: Index) -> list[Stmt]:
        return _result(p, spread_groups(groups, unravel(position, tuple(loop_axes.extent(g) for g in groups))))

    results = groups_extent(groups)
    text = f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: a thread a result"
    return flat_phase(p.kernel, p.buffers, results, 2 * p.k, body, text, threads=THREADS)


def _result(p: Problem, by: dict[Var, Index]) -> list[Stmt]:
    """One result, from its axes."""
    dtype = p.anchor.node.dtype
    acc = Buf("acc", dtype, 1, REG)
    stored: list[Stmt] = [Store(q.buf, q.at(at), value) for q, at, value in p.epilogue(by, load(acc, Index()))]
    if not p.reduced:
        return [Store(q.buf, q.at(at), value) for q, at, value in p.epilogue(by, const(0, dtype))]
    steps, of_steps = _steps(p.reduced)
    at = by | of_steps
    product = node(Op.MUL, [p.factor(f, at) for f in p.product.src])
    return [Alloc(acc, 0), loop_axes.nest(steps, Reduce(acc, Index(), "add", product)), *stored]


def _steps(reduced: Groups) -> tuple[list[Var], dict[Var, Index]]:
    """A loop for each group of reduced axes."""
    steps = [Var(f"k{i}", loop_axes.extent(g)) for i, g in enumerate(reduced)]
    return steps, spread_groups(reduced, [var(v) for v in steps])
