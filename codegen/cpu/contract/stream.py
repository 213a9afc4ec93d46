"""The stream schedule of a contraction: few rows against a matrix that is read once, where it lies.
In: a Problem. Out: Loops.

for task (batch, line, block of lanes):
    small[i][k] = x[i][k]                            where x is computed, or has many rows along k
    for step of k: for lanes: for row:               sums in L1
        sums[i][l] += x[i][k] * B[k][l] + x[i][k + part] * B[k + part][l] + ...
    epilogue of the block

Several steps of k are taken at once: memory serves several streams faster than one, and sums are
loaded and stored less often.
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, row_major, var
from ....ir.loops.loop import LANES, SCRATCH, SERIAL, Alloc, Buf, For, Stmt, Store
from ....ir.symbolic.questions import is_unknown, value_of
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.contraction import Problem, contiguous, groups_extent, is_plain, lies_beyond
from ...kernels.evaluate import load
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from ..prefetch import PREFETCHED, prefetches
from .products import LineTask

# steps of k and vectors of lanes at once, whose elements stay in registers; by vector registers
STEPS = {
    32: (4, 4),
    16: (4, 2),
}

MOST_ROWS = 48  # beyond, their sums do not stay in L1, and packing the matrix pays
IN_PLACE_ROWS = (
    8  # of the small factor: more of them, a power of two apart, push each other out of L1
)


def lower_stream(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the stream schedule."""
    task = _Block(p, target, tuning)
    text = f"{plural(task.steps, 'step')} of k at once, blocks of {task.block} lanes read once"
    tasks = plural(value_of(prod(task.shape)), "task")
    return task.lowered(f"{text}{', asked for ahead' * task.hints}, {tasks}; {why}")


class _Block(LineTask):
    """One block of lanes of one line of one batch element. `rows`: at most."""

    def __init__(self, p: Problem, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        self.rows = MOST_ROWS if is_unknown(p.m) and p.m <= MOST_ROWS else p.m
        self.steps, self.vectors = STEPS[32 if target.registers >= 32 else 16]
        self.hints = lies_beyond(p, p.factor(p.lane_factor, p.itself), target.l2)
        block = self._lanes_of_block()
        self.place(block, (), float(p.m * block * p.k) / 4)
        # rows of sums do not fall into one cache set
        self.pitch = block + (3 * p.width if p.m > 1 else 0)
        self.sums = Buf("sums", self.dtype, self.rows * self.pitch, SCRATCH)
        small = p.factor(p.row_factor, p.itself)
        along_k = contiguous(small, p.reduced[-1][-1]) and self.rows > IN_PLACE_ROWS
        self.row = p.k + p.width  # of the panel: its rows do not fall into one cache set
        packs = (along_k or not is_plain(small)) and not is_unknown(p.k)
        packs = packs and self.rows * self.row * small.dtype.itemsize <= target.l2 // 2
        self.panel = Buf("small", small.dtype, self.rows * self.row, SCRATCH) if packs else None

    def _lanes_of_block(self) -> int:
        """So many that their sums stay in L1, next to what is prefetched where that is done."""
        l1, size = self.target.l1, self.dtype.itemsize
        most = (
            min(l1 * 2 // 3 // self.rows, PREFETCHED // self.steps)
            if self.hints
            else l1 // 3 // self.rows
        )
        block = loop_axes.lane_block(self.lanes, size, groups_extent(self.outer), most)
        return min(block, loop_axes.power_of_two(most) // size) if self.hints else block

    def body(self) -> list[Stmt]:
        pack = [] if self.panel is None else [Alloc(self.panel), self._pack(self.panel)]
        out: list[Stmt] = [Alloc(self.sums, 0), *pack]
        *front, last = self.p.steps()
        for steps, at in loop_axes.grouped(last, self.steps):
            out.append(loop_axes.nest([*front, *steps], self._add([var(v) for v in front], at)))
        return [*out, self._epilogue()]

    def _pack(self, panel: Buf) -> Stmt:
        """The small factor, computed once a task."""
        row, steps = Var("i", self.rows), self.p.steps()
        k = [var(v) for v in steps]
        store = Store(
            panel, self._in_panel(var(row), k), self.factor(self.p.row_factor, k, var(row), Index())
        )
        line = loop_axes.nest(steps[:-1], For(steps[-1], steps[-1].extent, LANES, [store]))
        return For(row, self.p.m, SERIAL, [line])

    def _scalar(self, k: list[Index], row: Index) -> Node:
        """The small factor at a step of k in a row."""
        if self.panel is None:
            return self.factor(self.p.row_factor, k, row, Index())
        return load(self.panel, self._in_panel(row, k))

    def _in_panel(self, row: Index, k: list[Index]) -> Index:
        """Where the panel holds an element of the small factor."""
        return row * self.row + row_major(k, [extent(g) for g in self.p.reduced])

    def _wide(self, k: list[Index], lane: Var) -> Node:
        """The matrix at a step of k."""
        return self.factor(self.p.lane_factor, k, Index(), var(lane))

    def _add(self, front: list[Index], steps: list[Index]) -> Stmt:
        """Several steps of k into the sums of every row; hints that the same lanes will be read in
        the steps after these."""
        row, lane = Var("i", self.rows), Var("l", self.block)
        terms = [
            (self._scalar([*front, at], var(row)), self._wide([*front, at], lane)) for at in steps
        ]
        place = var(row) * self.pitch + var(lane)
        store = Store(self.sums, place, self.add_products(terms, load(self.sums, place)))
        later = [[*front, at + len(steps)] for at in steps] if self.hints else []
        hints = [hint for k in later for hint in prefetches(self._wide(k, lane), lane)]
        return self.lane_loop(lane, [*hints, For(row, self.p.m, SERIAL, [store])], self.vectors)

    def _epilogue(self) -> Stmt:
        row, lane = Var("i", self.rows), Var("l", self.block)
        done = load(self.sums, var(row) * self.pitch + var(lane))
        return For(
            row,
            self.p.m,
            SERIAL,
            [self.lane_loop(lane, self.p.writes(self.at(var(row), var(lane)), done))],
        )
