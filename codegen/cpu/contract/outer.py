"""The outer schedule of a contraction: k is so short that sums stay in registers and go to the
output. In: a Problem. Out: Loops.

for task (batch, line, block of rows, block of lanes):
    panel[k][l] = B[k][l]                 where it does not lie along the lanes, or is computed
    for group of rows: for lanes:
        out[i][l] = epilogue(A[i][0] * panel[0][l] + A[i][1] * panel[1][l] + ...)
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node, const
from ....ir.graph.index import Index, Range, Var, row_major, unravel, var
from ....ir.loops.loop import SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, If, Stmt, Store
from ....ir.symbolic.questions import is_unknown, value_of
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.contraction import Problem, contiguous, is_plain
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from .products import LineTask

SCALARS = 16  # of the row factor that stay in registers
ROWS = 256  # of a task: enough to use what was packed
LANES_BYTES = 4096  # of a task's rows


def lower_outer(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the outer schedule."""
    task = _Block(p, target, tuning)
    text = (
        f"{plural(task.group, 'row')} at once, blocks of {plural(task.steps * task.group, 'row')}"
        f" and {task.block} lanes"
    )
    return task.lowered(f"{text}, {plural(value_of(prod(task.shape)), 'task')}; {why}")


class _Block(LineTask):
    """Some rows and lanes of one line of one batch element."""

    def __init__(self, p: Problem, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        self.group = max(1, min(4, SCALARS // p.k))
        if is_unknown(p.m):
            self.steps = ROWS // self.group
            parts = -(-p.m // (self.steps * self.group))
        else:
            self.group = max(g for g in range(1, self.group + 1) if p.m % g == 0)
            self.steps = min(p.m // self.group, ROWS // self.group)
            parts = -(-p.m // self.group // self.steps)
        self.groups = p.m // self.group
        block = min(self.lanes, LANES_BYTES // self.dtype.itemsize)
        (row_part,) = self.place(
            block,
            (parts,),
            float(self.steps * self.group * block * p.k) / 4,
        )
        self.first_step = row_part * self.steps
        wide = p.factor(p.lane_factor, p.itself)
        in_place = is_plain(wide) and contiguous(wide, p.lanes[-1][-1])
        self.panel = None if in_place else Buf("panel", wide.dtype, p.k * block, SCRATCH)
        self.k = p.steps()

    def body(self) -> list[Stmt]:
        out: list[Stmt] = [] if self.panel is None else [Alloc(self.panel), self._pack(self.panel)]
        step, row = Var("rows", self.steps), Var("i", self.group)
        body = self._write((self.first_step + var(step)) * self.group + var(row), row)
        bounds = cut(self.first_step, self.groups, self.steps)
        return [*out, For(step, self.steps, SERIAL, [body], 1, *bounds), *self._last_rows()]

    def _last_rows(self) -> list[Stmt]:
        """One by one those after the last whole group, where their number is not known."""
        if not is_unknown(self.p.m) or self.group == 1:
            return []
        row, first = Var("row", self.group), self.groups * self.group
        write = self._write(var(row) + first, Var("i", 1))
        here = Range(self.first_step, self.groups - self.steps + 1, self.groups + 1)
        rest = For(row, row.extent, SERIAL, [write], base=Index(const=first), total=self.p.m)
        return [If((here,), [rest])]

    def _pack(self, panel: Buf) -> Stmt:
        lane, k = Var("l", self.block), [var(v) for v in self.k]
        store = Store(
            panel, self._in_panel(k, lane), self.factor(self.p.lane_factor, k, Index(), var(lane))
        )
        return loop_axes.nest(self.k, self.lane_loop(lane, [store]))

    def _in_panel(self, k: list[Index], lane: Var) -> Index:
        return row_major([*k, var(lane)], [*(v.extent for v in self.k), self.block])

    def _write(self, row: Index, unrolled: Var) -> Stmt:
        """The outputs of a group of rows, all lanes of the block."""
        lane = Var("l", self.block)
        steps = [unravel(Index(const=k), tuple(v.extent for v in self.k)) for k in range(self.p.k)]
        terms = [
            (self.factor(self.p.row_factor, k, row, var(lane)), self._wide(k, row, lane))
            for k in steps
        ]
        writes = self.p.writes(
            self.at(row, var(lane)), self.add_products(terms, const(0, self.dtype))
        )
        return self.lane_loop(lane, [For(unrolled, unrolled.extent, UNROLL, writes)])

    def _wide(self, k: list[Index], row: Index, lane: Var) -> Node:
        if self.panel is None:
            return self.factor(self.p.lane_factor, k, row, var(lane))
        return load(self.panel, self._in_panel(k, lane))
