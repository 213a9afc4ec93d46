"""The dot schedule of a contraction: register tiles, lanes over k, the lane factor where it lies. In: a Problem. Out: Loops.

for task (batch, line, block of columns):
    small[i][k] = A[i][k]                       where it is computed, or does not lie along k
    for tile of columns: for tile of rows:      accumulators in registers, lanes over k
        epilogue of the tile

A column is an element of the last lane axis; the columns of a tile stream from memory side by side.
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Node, Op, node
from ..ir.index import Index, Range, Var, row_major, unravel, var
from ..ir.loop import LANES, REG, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, If, Loops, Reduce, Stmt, Store
from . import schedule
from .contract_problem import Groups, Problem, contiguous, groups_extent, is_plain, spread_groups
from .evaluate import load
from .lower import Chunks, Lowered, Tuning
from .schedule import extent
from .target import Target

ACCUMULATORS = {32: (24, 8), 16: (9, 4)}  # of a tile, and the most rows, by vector registers
MOST_COLUMNS = 6
TASK_WORK = 1 << 16  # multiplications of a task, at least: some microseconds
PACKED_COLUMNS = 512  # of a task that packs the small factor: packing takes as long as 50 of them
LATENCY = 8  # sums under way that keep the multipliers busy


def balanced(n: int, most: int) -> list[tuple[int, int, int]]:
    """Tiles of n as (size, first, count): at most two sizes, none padded."""
    count = -(-n // most)
    small, extra = divmod(n, count)
    found = [(small + 1, 0, extra), (small, extra * (small + 1), count - extra)]
    return [t for t in found if t[2]]


def lower_dot(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the dot schedule."""
    task = _Block(p, target)
    chunk = Chunks(prod(task.shape), task.work, tuning.min_chunks)
    phase = chunk.phase(task.body(chunk.position))
    loops = Loops(p.kernel.name, p.buffers, chunk.params, [phase])
    rows = "/".join(str(size) for size, _, _ in task.row_tiles)
    text = f"dot {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: lanes over k, tiles {rows}x{task.columns}, "
    text += f"blocks of {task.tiles} tiles, rows {'packed' if task.panel else 'read in place'}, {prod(task.shape)} tasks; {why}"
    return Lowered(loops, chunk.values, [int(prod(task.shape) * task.work)], text)


class _Block:
    """Some columns, and all rows, of one line of one batch element."""

    def __init__(self, p: Problem, target: Target) -> None:
        self.p, self.target = p, target
        self.outer: Groups = [*p.batch, *p.rows[:-1], *p.lanes[:-1]]
        self.m, self.n = groups_extent(p.rows[-1:]), extent(p.lanes[-1])  # there may be no row axis
        accumulators, most_rows = ACCUMULATORS[32 if target.registers >= 32 else 16]
        self.row_tiles = balanced(self.m, most_rows)
        most = self.row_tiles[0][0]
        self.columns = min(self.n, MOST_COLUMNS, accumulators // most)
        by = {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}
        small = p.factor(p.row_factor, by)
        in_place = is_plain(small) and contiguous(small, p.reduced[-1][-1])
        packs = not in_place and self.m * p.k * small.dtype.itemsize <= target.l2 // 2
        self.panel = Buf("small", small.dtype, self.m * p.k, SCRATCH) if packs else None
        self.tiles = self._tiles_of_task(PACKED_COLUMNS if packs else 1)
        self.whole = self.n // self.columns
        self.shape = (*(extent(g) for g in self.outer), -(-max(1, self.whole) // self.tiles))
        self.work = float(self.m * self.columns * self.tiles * p.k) / 4

    def _tiles_of_task(self, columns: int) -> int:
        """Tiles that make a task worth handing out, or packing for."""
        enough = max(columns, TASK_WORK // (self.m * self.p.k))
        return max(1, min(self.n, enough) // self.columns)

    def body(self, position: Index) -> list[Stmt]:
        *outer, part = unravel(position, self.shape)
        self.by = spread_groups(self.outer, outer)
        out: list[Stmt] = [] if self.panel is None else [Alloc(self.panel), self._pack()]
        tile, first = Var("tile", self.tiles), part * self.tiles
        cut = self.whole % self.tiles != 0
        if self.whole:
            tiles = self._row_tiles((first + var(tile)) * self.columns, self.columns)
            base, total = (first, self.whole) if cut else (Index(), None)
            out.append(For(tile, self.tiles, SERIAL, tiles, base=base, total=total))
        if self.n % self.columns:
            rest = self._row_tiles(Index(const=self.whole * self.columns), self.n % self.columns)
            last = self.shape[-1] - 1
            out.append(If((Range(part, last, last + 1),), rest) if last else For(Var("once", 1), 1, SERIAL, rest))
        return out

    def _k(self) -> list[Var]:
        return [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(self.p.reduced)]

    def _at(self, row: Index, column: Index) -> dict[Var, Index]:
        by = self.by | spread_groups(self.p.rows[-1:], [row][: len(self.p.rows)])
        return by | spread_groups(self.p.lanes[-1:], [column])

    def _pack(self) -> Stmt:
        """The small factor along k, computed once a task."""
        assert self.panel is not None
        row, k = Var("i", self.m), self._k()
        at = self._at(var(row), Index()) | spread_groups(self.p.reduced, [var(v) for v in k])
        store = Store(self.panel, self._place(var(row), k), self.p.factor(self.p.row_factor, at))
        return schedule.nest([row, *k[:-1]], For(k[-1], k[-1].extent, LANES, [store]))

    def _place(self, row: Index, k: list[Var]) -> Index:
        return row_major([row, *map(var, k)], [self.m, *(v.extent for v in k)])

    def _row_tiles(self, column: Index, columns: int) -> list[Stmt]:
        """Every tile of rows over the same columns, which the first of them brings into the caches."""
        out: list[Stmt] = []
        for rows, first, count in self.row_tiles:
            at = Var("rows", count)
            body = self._tile(var(at) * rows + first, rows, column, columns)
            out.append(For(at, count, SERIAL, body))
        return out

    def _tile(self, row: Index, rows: int, column: Index, columns: int) -> list[Stmt]:
        i, j, k = Var("i", rows), Var("j", columns), self._k()
        by = self._at(row + var(i), column + var(j))
        at = by | spread_groups(self.p.reduced, [var(v) for v in k])
        acc = Buf("acc", self.p.anchor.node.dtype, rows * columns, REG)
        place = var(i) * columns + var(j)
        term = node(Op.MUL, (self._small(row + var(i), k, at), self.p.factor(self.p.lane_factor, at)))
        tile: Stmt = For(i, rows, UNROLL, [For(j, columns, UNROLL, [Reduce(acc, place, "add", term)])])
        unroll = schedule.power_of_two(max(1, LATENCY // (rows * columns)))
        while unroll > 1 and k[-1].extent < unroll * self.p.width:
            unroll //= 2
        inner = schedule.nest(k[:-1], For(k[-1], k[-1].extent, LANES, [tile], unroll))
        writes: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in self.p.epilogue(by, load(acc, place))]
        return [Alloc(acc, 0), inner, For(i, rows, UNROLL, [For(j, columns, UNROLL, writes)])]

    def _small(self, row: Index, k: list[Var], at: dict[Var, Index]) -> Node:
        if self.panel is None:
            return self.p.factor(self.p.row_factor, at)
        return load(self.panel, self._place(row, k))
