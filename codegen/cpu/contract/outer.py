"""The outer schedule of a contraction: k is so short that sums stay in registers and go to the output. In: a Problem. Out: Loops.

for task (batch, line, block of rows, block of lanes):
    panel[k][l] = B[k][l]                 where it does not lie along the lanes, or is computed
    for group of rows: for lanes:
        out[i][l] = epilogue(A[i][0] * panel[0][l] + A[i][1] * panel[1][l] + ...)
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node, const, node, scalar_node
from ....ir.graph.index import Index, Var, row_major, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, Stmt, Store
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.contraction import Problem, contiguous, groups_extent, is_plain, spread_groups
from ...kernels.evaluate import load
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Chunks, Tuning

SCALARS = 16  # of the row factor that stay in registers
ROWS = 256  # of a task: enough to use what was packed
LANES_BYTES = 4096  # of a task's rows


def lower_outer(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the outer schedule."""
    task = _Block(p, target)
    chunk = Chunks(prod(task.shape), task.work, tuning.min_chunks)
    text = f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: {plural(task.group, 'row')} at once, "
    text += f"blocks of {plural(task.rows, 'row')} and {task.block} lanes, {plural(prod(task.shape), 'task')}; {why}"
    return chunk.lowered(p.kernel, p.buffers, task.body(chunk.position), text)


class _Block:
    """Some rows and lanes of one line of one batch element."""

    def __init__(self, p: Problem, target: Target) -> None:
        self.p, self.target = p, target
        self.lanes, self.outer = extent(p.lanes[-1]), [*p.batch, *p.lanes[:-1]]
        self.block = min(self.lanes, LANES_BYTES // p.anchor.node.dtype.itemsize)
        self.group = max(g for g in range(1, max(1, min(4, SCALARS // p.k)) + 1) if p.m % g == 0)
        self.groups = p.m // self.group
        self.steps = min(self.groups, ROWS // self.group)
        self.rows = self.steps * self.group
        self.shape = (*(extent(g) for g in self.outer), -(-self.groups // self.steps), -(-self.lanes // self.block))
        self.work = float(self.rows * self.block * p.k) / 4
        by = {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}
        wide = p.factor(p.lane_factor, by)
        in_place = is_plain(wide) and contiguous(wide, p.lanes[-1][-1])
        self.panel = None if in_place else Buf("panel", wide.dtype, p.k * self.block, SCRATCH)
        self.k = [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(p.reduced)]

    def body(self, position: Index) -> list[Stmt]:
        *outer, row_part, part = unravel(position, self.shape)
        self.first, first_step = part * self.block, row_part * self.steps
        self.by = spread_groups(self.outer, outer)
        out: list[Stmt] = [] if self.panel is None else [Alloc(self.panel), self._pack()]
        step, row = Var("rows", self.steps), Var("i", self.group)
        body = self._write((first_step + var(step)) * self.group + var(row), row)
        total = self.groups if self.groups % self.steps else None
        return [*out, For(step, self.steps, SERIAL, [body], base=first_step if total else Index(), total=total)]

    def _lane_loop(self, lane: Var, body: list[Stmt], unroll: int = 1) -> For:
        cut = self.lanes % self.block != 0
        base, total = (self.first, self.lanes) if cut else (Index(), None)
        return For(lane, self.block, LANES, body, unroll if self.block >= unroll * self.p.width else 1, base, total)

    def _lanes(self, lane: Index) -> dict[Var, Index]:
        return self.by | spread_groups(self.p.lanes[-1:], [self.first + lane])

    def _rows(self, row: Index) -> dict[Var, Index]:
        return spread_groups(self.p.rows, unravel(row, tuple(extent(g) for g in self.p.rows)))

    def _k_steps(self) -> list[list[Index]]:
        """Every step of k."""
        return [unravel(Index(const=k), tuple(v.extent for v in self.k)) for k in range(self.p.k)]

    def _pack(self) -> Stmt:
        lane = Var("l", self.block)
        at = self._lanes(var(lane)) | self._rows(Index()) | spread_groups(self.p.reduced, [var(v) for v in self.k])
        assert self.panel is not None
        place = row_major([*map(var, self.k), var(lane)], [*(v.extent for v in self.k), self.block])
        store = Store(self.panel, place, self.p.factor(self.p.lane_factor, at))
        return loop_axes.nest(self.k, self._lane_loop(lane, [store]))

    def _write(self, row: Index, unrolled: Var) -> Stmt:
        """The outputs of a group of rows, all lanes of the block."""
        lane = Var("l", self.block)
        by = self._lanes(var(lane)) | self._rows(row)
        terms = [(self._factor(self.p.row_factor, k, by), self._wide(k, by, lane)) for k in self._k_steps()]
        dtype = self.p.anchor.node.dtype
        total = add_products(terms, const(0, dtype), self.target)
        writes: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in self.p.epilogue(by, total)]
        return self._lane_loop(lane, [For(unrolled, unrolled.extent, UNROLL, writes)])

    def _factor(self, which: Node, k: list[Index], by: dict[Var, Index]) -> Node:
        return self.p.factor(which, by | spread_groups(self.p.reduced, k))

    def _wide(self, k: list[Index], by: dict[Var, Index], lane: Var) -> Node:
        if self.panel is None:
            return self._factor(self.p.lane_factor, k, by)
        return load(self.panel, row_major([*k, var(lane)], [*(v.extent for v in self.k), self.block]))


def add_products(terms: list[tuple[Node, Node]], total: Node, target: Target) -> Node:
    """total + the sum of the products, in this order; fused where the target can."""
    for a, b in terms:
        if total.dtype.is_float and target.has_fma:
            total = scalar_node(Op.FMA, (a, b, total), None, total.dtype)
        else:
            total = node(Op.OR if total.dtype.kind == "b" else Op.ADD, (total, node(Op.MUL, (a, b))))
    return total
