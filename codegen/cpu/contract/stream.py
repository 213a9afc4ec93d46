"""The stream schedule of a contraction: few rows against a matrix that is read once, where it lies. In: a Problem. Out: Loops.

for task (batch, line, block of lanes):
    small[i][k] = x[i][k]                            where x is computed, or has many rows along k
    for step of k: for lanes: for row:               sums in L1
        sums[i][l] += x[i][k] * B[k][l] + x[i][k + part] * B[k + part][l] + ...
    epilogue of the block

Several steps of k are taken at once: memory serves several streams faster than one, and sums are loaded and stored less often.
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, row_major, unravel, var
from ....ir.loops.loop import LANES, SCRATCH, SERIAL, Alloc, Buf, For, Stmt, Store
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.contraction import Problem, contiguous, groups_extent, is_plain, lies_beyond, spread_groups
from ...kernels.evaluate import load
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Chunks, Tuning
from ..prefetch import AHEAD, prefetches
from .outer import add_products

STEPS = {32: (4, 4), 16: (4, 2)}  # steps of k and vectors of lanes at once, whose elements stay in registers; by vector registers

IN_PLACE_ROWS = 8  # of the small factor: more of them, a power of two apart, push each other out of L1


def lower_stream(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the stream schedule."""
    task = _Block(p, target)
    chunk = Chunks(prod(task.shape), task.work, tuning.min_chunks)
    text = f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: {plural(task.steps, 'step')} of k at once, "
    text += f"blocks of {task.block} lanes read once"
    text += f"{', asked for ahead' if task.ahead else ''}, {plural(prod(task.shape), 'task')}; {why}"
    return chunk.lowered(p.kernel, p.buffers, task.body(chunk.position), text)


class _Block:
    """One block of lanes of one line of one batch element."""

    def __init__(self, p: Problem, target: Target) -> None:
        self.p, self.target = p, target
        self.lanes, self.outer = extent(p.lanes[-1]), [*p.batch, *p.lanes[:-1]]
        self.steps, self.vectors = STEPS[32 if target.registers >= 32 else 16]
        by = {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}
        self._split(p.factor(p.lane_factor, by))
        self.shape = (*(extent(g) for g in self.outer), -(-self.lanes // self.block))
        self.work = float(p.m * self.block * p.k) / 4
        self.pitch = self.block + (3 * p.width if p.m > 1 else 0)  # rows of sums do not fall into one cache set
        self.sums = Buf("sums", p.anchor.node.dtype, p.m * self.pitch, SCRATCH)
        self.small = p.factor(p.row_factor, by)
        along_k = contiguous(self.small, p.reduced[-1][-1]) and p.m > IN_PLACE_ROWS
        self.row = p.k + p.width  # of the panel: its rows do not fall into one cache set
        packs = (along_k or not is_plain(self.small)) and p.m * self.row * self.small.dtype.itemsize <= target.l2 // 2
        self.panel = Buf("small", self.small.dtype, p.m * self.row, SCRATCH) if packs else None

    def _split(self, matrix: Node) -> None:
        """Lanes of a block, so that its sums stay in L1, next to what is asked for ahead of its use where that is done."""
        self.ahead = lies_beyond(self.p, matrix, self.target.l2)
        l1, size = self.target.l1, self.p.anchor.node.dtype.itemsize
        most = min(l1 * 2 // 3 // self.p.m, AHEAD // self.steps) if self.ahead else l1 // 3 // self.p.m
        self.block = loop_axes.lane_block(self.lanes, size, groups_extent(self.outer), most)
        if self.ahead:
            self.block = min(self.block, loop_axes.power_of_two(most) // size)

    def body(self, position: Index) -> list[Stmt]:
        *outer, part = unravel(position, self.shape)
        self.first = part * self.block
        self.by = spread_groups(self.outer, outer)
        out: list[Stmt] = [Alloc(self.sums, 0)]
        if self.panel is not None:
            out += [Alloc(self.panel), self._pack()]
        *front, last = [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(self.p.reduced)]
        for steps, at in loop_axes.grouped(last, self.steps):
            out.append(loop_axes.nest([*front, *steps], self._add(front, at)))
        return [*out, self._epilogue()]

    def _rows(self, row: Index) -> dict[Var, Index]:
        return spread_groups(self.p.rows, unravel(row, tuple(extent(g) for g in self.p.rows)))

    def _lane_loop(self, lane: Var, body: list[Stmt], unroll: int) -> Stmt:
        cut = self.lanes % self.block != 0
        base, total = (self.first, self.lanes) if cut else (Index(), None)
        return For(lane, self.block, LANES, body, unroll if self.block >= unroll * self.p.width else 1, base, total)

    def _row_loop(self, row: Var, body: list[Stmt]) -> list[Stmt]:
        return [For(row, row.extent, SERIAL, body)]

    def _factor(self, which: Node, k: list[Index], row: Index, lane: Index) -> Node:
        lanes = spread_groups(self.p.lanes[-1:], [self.first + lane])
        return self.p.factor(which, self.by | lanes | self._rows(row) | spread_groups(self.p.reduced, k))

    def _pack(self) -> Stmt:
        """The small factor, computed once a task."""
        assert self.panel is not None
        row, k = Var("i", self.p.m), [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(self.p.reduced)]
        value = self._factor(self.p.row_factor, [var(v) for v in k], var(row), Index())
        store = Store(self.panel, self._place(var(row), [var(v) for v in k]), value)
        inner: Stmt = For(k[-1], k[-1].extent, LANES, [store])
        return loop_axes.nest([row, *k[:-1]], inner)

    def _scalar(self, k: list[Index], row: Index) -> Node:
        """The small factor at a step of k in a row."""
        if self.panel is None:
            return self._factor(self.p.row_factor, k, row, Index())
        return load(self.panel, self._place(row, k))

    def _place(self, row: Index, k: list[Index]) -> Index:
        """Where the panel holds an element of the small factor."""
        return row * self.row + row_major(k, [extent(g) for g in self.p.reduced])

    def _add(self, front: list[Var], steps: list[Index]) -> Stmt:
        """Several steps of k into the sums of every row."""
        row, lane = Var("i", self.p.m), Var("l", self.block)
        terms = []
        for at in steps:
            k = [*map(var, front), at]
            terms.append((self._scalar(k, var(row)), self._factor(self.p.lane_factor, k, Index(), var(lane))))
        place = var(row) * self.pitch + var(lane)
        store = Store(self.sums, place, add_products(terms, load(self.sums, place), self.target))
        return self._lane_loop(lane, [*self._prefetches(front, steps, lane), *self._row_loop(row, [store])], self.vectors)

    def _prefetches(self, front: list[Var], steps: list[Index], lane: Var) -> list[Stmt]:
        """The same lanes, in the group of steps after these."""
        later = [[*map(var, front), at + len(steps)] for at in steps] if self.ahead else []
        return [s for k in later for s in prefetches(self._factor(self.p.lane_factor, k, Index(), var(lane)), lane)]

    def _epilogue(self) -> Stmt:
        row, lane = Var("i", self.p.m), Var("l", self.block)
        by = self.by | self._rows(var(row)) | spread_groups(self.p.lanes[-1:], [self.first + var(lane)])
        done = load(self.sums, var(row) * self.pitch + var(lane))
        writes: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in self.p.epilogue(by, done)]
        return For(row, row.extent, SERIAL, [self._lane_loop(lane, writes, 1)])
