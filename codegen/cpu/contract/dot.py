"""The dot schedule of a contraction: register tiles, lanes over k, the lane factor where it lies.
In: a Problem. Out: Loops.

for task (batch, line, block of columns):
    for block of k:                                 one, if the rows fit into L1, or the columns are
                                                    in a cache
        small[i][k] = A[i][k]                       where it is computed, or does not lie along k,
                                                    or is read in blocks
        for tile of columns: for tile of rows:      accumulators in registers, lanes over k
            sums[i][j] +=, or the epilogue of the tile
    epilogue of the sums

A column is an element of the last lane axis; the columns of a tile stream from memory side by side.
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Var, row_major, var
from ....ir.graph.op import Op
from ....ir.loops.loop import (
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    UNROLL,
    Alloc,
    Buf,
    For,
    Param,
    Reduce,
    Stmt,
    Store,
)
from ....ir.symbolic.integer import NotSymbolicHere
from ....ir.symbolic.questions import is_unknown, value_of
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.contraction import (
    AxisGroups,
    Problem,
    contiguous,
    groups_extent,
    is_plain,
    lies_beyond,
    spread_groups,
)
from ...kernels.evaluate import load
from ...kernels.loop_axes import balanced, cut, extent, in_last, itemsize_in_memory
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from ..prefetch import PREFETCHED, prefetches
from .products import ContractionTask

ACCUMULATORS = {32: (24, 8), 16: (9, 4)}  # of a tile, and the most rows, by vector registers
MOST_COLUMNS = 6
PREFETCHED_COLUMNS = (
    3  # at most, of a tile whose columns are prefetched: memory serves few streams best
)
TASK_WORK = 1 << 16  # multiplications of a task, at least: some microseconds
PACKED_COLUMNS = 512  # of a task that gathers the small factor: that takes as long as 50 of them
COPIED_COLUMNS = 48  # of a task that copies it
BLOCKED_ROWS = 16  # more do not fit into L1 with a useful length of k
MANY_TILES, MOST_TILES = 4, 1 << 30  # of rows, whose count may be an argument
LATENCY = 8  # sums under way that keep the multipliers busy


def lower_dot(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """Loops of the dot schedule."""
    task = _Block(p, target, tuning)
    rows = "/".join(str(size) for size, _, _ in task.row_tiles)
    text = f"lanes over k, tiles {rows}x{task.columns}, blocks of {plural(task.tiles, 'tile')}, "
    text += f"rows {'packed' if task.panel else 'read in place'}, k in blocks of {task.k_block}, "
    tasks = plural(value_of(prod(task.shape)), "task")
    return task.lowered(f"{text}{'the matrix asked for ahead, ' * task.hints}{tasks}; {why}")


def _row_tiles(rows: int, most: int) -> list[tuple[int, int, int]]:
    """Balanced tiles; of rows whose number is not known large ones, and one row at a time."""
    if not is_unknown(rows):
        return balanced(rows, most)
    count, rest = divmod(rows, most)
    return [(most, 0, count), (1, count * most, rest)]


class _Block(ContractionTask):
    """Some columns, and all rows, of one line of one batch element."""

    def __init__(self, p: Problem, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        outer: AxisGroups = [*p.batch, *p.rows[:-1], *p.lanes[:-1]]
        self.m, self.n = groups_extent(p.rows[-1:]), extent(p.lanes[-1])  # there may be no row axis
        self.accumulators, self.most_rows = ACCUMULATORS[32 if target.registers >= 32 else 16]
        self.row_tiles = _row_tiles(self.m, self.most_rows)
        small, matrix = p.factor(p.row_factor, p.itself), p.factor(p.lane_factor, p.itself)
        self.item = itemsize_in_memory(matrix)
        self.hints = lies_beyond(p, matrix, target.l3 // 2)
        row, most = p.k * small.dtype.itemsize, target.l1 * 2 // 3
        # rows in L2 slow down what memory does not
        self.blocked = self.hints and row * BLOCKED_ROWS > most
        self.blocked = self.blocked and self.m <= BLOCKED_ROWS and row * self.m > most
        if self.blocked and is_unknown(self.m):
            raise NotSymbolicHere(f"blocks of k would depend on {self.m} rows")
        most_columns = PREFETCHED_COLUMNS if self.hints and self.blocked else MOST_COLUMNS
        self.columns = min(self.n, most_columns, self.accumulators // self.row_tiles[0][0])
        self._block_k(small.dtype.itemsize, target)
        lies_along_k = contiguous(small, p.reduced[-1][-1])
        packs = self.blocked or not (is_plain(small) and lies_along_k)
        # of rows whose number is not known, no panel holds all
        packs = packs and not is_unknown(self.m)
        packs = packs and self.m * self.panel_k * small.dtype.itemsize <= target.l2 // 2
        self.panel = Buf("small", small.dtype, self.m * self.panel_k, SCRATCH) if packs else None
        # many tiles of one size: their count is an argument, so that other numbers of rows give the
        # same kernel
        shares = not packs and not is_unknown(self.m) and len(self.row_tiles) == 1
        shares = shares and self.row_tiles[0][2] >= MANY_TILES
        self.params |= {Param("row_tiles"): self.row_tiles[0][2]} if shares else {}
        self.tiles = self._tiles_of_task(
            1 if not packs else COPIED_COLUMNS if lies_along_k else PACKED_COLUMNS
        )
        self.whole = self.n // self.columns
        self.parts = -(-max(1, self.whole) // self.tiles)
        shape = (*(extent(g) for g in outer), self.parts)
        *at, self.part = self.share_out(shape, float(self.m * self.columns * self.tiles * p.k) / 4)
        self.by, self.first = spread_groups(outer, at), self.part * self.tiles
        self.pitch = (self.tiles + 1) * self.columns
        self.sums = Buf("sums", self.dtype, self.m * self.pitch, SCRATCH)
        self.front, self.block = (
            [Var(f"k{a}", extent(g)) for a, g in enumerate(p.reduced[:-1], 1)],
            Var("block", self.k_parts),
        )
        self.k_first = var(self.block) * self.k_block if self.k_parts > 1 else Index()

    def _block_k(self, itemsize: int, target: Target) -> None:
        """Blocks of the last group of k where the rows do not fit into L1: a block of all of them
        takes half of it, and a tile what is prefetched."""
        *front, last = (extent(g) for g in self.p.reduced)
        parts = 1
        if self.blocked:
            most = target.l1 // 2 // (self.m * itemsize)
            most = max(
                self.p.width,
                min(most, PREFETCHED // (self.columns * self.item)) if self.hints else most,
            )
            parts = -(-last // most)
        self.k_block = last if parts == 1 else -(-last // (parts * self.p.width)) * self.p.width
        self.k_parts = -(-last // self.k_block)
        self.panel_k = self.k_block * (1 if self.blocked else prod(front))

    def _tiles_of_task(self, columns: int) -> int:
        """Tiles that make a task worth handing out, or packing for."""
        enough = max(columns, TASK_WORK // value_of(self.m * self.p.k))
        return max(1, min(self.n, enough) // self.columns)

    def body(self) -> list[Stmt]:
        tiles = [*self._packed(), *self._tiles()]
        if not self.blocked:
            return tiles
        inside = loop_axes.nest([*self.front, self.block], For(Var("once", 1), 1, SERIAL, tiles))
        return [Alloc(self.sums, 0), inside, *self._epilogue()]

    # ------------------------------------------------------------ indices

    def _k_loop(self, k: Var, body: list[Stmt], unroll: int = 1) -> Stmt:
        """Lanes over a block of k; over all of it in the other groups, too, unless those are
        outside."""
        inner = For(
            k,
            self.k_block,
            LANES,
            body,
            unroll,
            *cut(self.k_first, extent(self.p.reduced[-1]), self.k_block),
        )
        return inner if self.blocked else loop_axes.nest(self.front, inner)

    def _at(self, row: Index, column: Index, k: Var) -> dict[Var, Index]:
        by = self.by | spread_groups(self.p.rows[-1:], [row][: len(self.p.rows)])
        by |= spread_groups(self.p.lanes[-1:], [column])
        return by | spread_groups(self.p.reduced, [*map(var, self.front), self.k_first + var(k)])

    def _place(self, row: Index, k: Var) -> Index:
        front = [] if self.blocked else self.front
        return row_major(
            [row, *map(var, front), var(k)], [self.m, *(v.extent for v in front), self.k_block]
        )

    # ------------------------------------------------------------ stages

    def _packed(self) -> list[Stmt]:
        """The small factor along k, computed once a task."""
        if self.panel is None:
            return []
        row, k = Var("i", self.m), Var("k", self.k_block)
        store = Store(
            self.panel,
            self._place(var(row), k),
            self.p.factor(self.p.row_factor, self._at(var(row), Index(), k)),
        )
        return [Alloc(self.panel), loop_axes.nest([row], self._k_loop(k, [store]))]

    def _tiles(self) -> list[Stmt]:
        """Whole tiles of columns, then in the last task the columns after them."""
        tile, out = Var("tile", self.tiles), list[Stmt]()
        if self.whole:
            tiles = self._row_tiles((self.first + var(tile)) * self.columns, self.columns)
            out.append(
                For(tile, self.tiles, SERIAL, tiles, 1, *cut(self.first, self.whole, self.tiles))
            )
        rest, first = self.n % self.columns, Index(const=self.whole * self.columns)
        if is_unknown(rest):
            one = Var("column", self.columns)
            tiles = self._row_tiles(first + var(one), 1)
            out.append(in_last(self.part, self.parts - 1, [For(one, rest, SERIAL, tiles)]))
        elif rest:
            out.append(in_last(self.part, self.parts - 1, self._row_tiles(first, rest)))
        return out

    def _row_tiles(self, column: Index, columns: int) -> list[Stmt]:
        """Every tile of rows over the same columns, which the first of them brings into the
        caches."""
        out: list[Stmt] = []
        for rows, first, count in self.row_tiles:
            at = Var("rows", MOST_TILES if self.params or is_unknown(count) else count)
            is_last = rows == self.row_tiles[-1][0]
            tile = self._tile(var(at) * rows + first, rows, column, columns, self.hints and is_last)
            out.append(For(at, next(iter(self.params), count), SERIAL, tile))
        return out

    def _tile(
        self, row: Index, rows: int, column: Index, columns: int, prefetched: bool
    ) -> list[Stmt]:
        i, j, k = Var("i", rows), Var("j", columns), Var("k", self.k_block)
        at = self._at(row + var(i), column + var(j), k)
        acc = Buf("acc", self.dtype, rows * columns, REG)
        place = var(i) * columns + var(j)
        small = (
            self.p.factor(self.p.row_factor, at)
            if self.panel is None
            else load(self.panel, self._place(row + var(i), k))
        )
        term = node(Op.MUL, (small, self.p.factor(self.p.lane_factor, at)))
        tile: Stmt = For(
            i, rows, UNROLL, [For(j, columns, UNROLL, [Reduce(acc, place, "add", term)])]
        )
        if self.blocked:
            local = (row + var(i)) * self.pitch + column - self.first * self.columns + var(j)
            finish: list[Stmt] = [Reduce(self.sums, local, "add", load(acc, place))]
        else:
            finish = self._writes(row + var(i), column + var(j), load(acc, place))
        body = [*self._prefetches(column, columns, k), tile] if prefetched else [tile]
        return [
            Alloc(acc, 0),
            self._k_loop(k, body, self._unroll()),
            For(i, rows, UNROLL, [For(j, columns, UNROLL, finish)]),
        ]

    def _unroll(self) -> int:
        """Vectors of k that are added up side by side, as a tile of the most rows needs them: the
        same for any number of rows, since bits depend on it."""
        columns = min(self.n, MOST_COLUMNS, self.accumulators // self.most_rows)
        unroll = loop_axes.power_of_two(max(1, LATENCY // (self.most_rows * columns)))
        while unroll > 1 and self.k_block < unroll * self.p.width:
            unroll //= 2
        return unroll

    def _prefetches(self, column: Index, columns: int, k: Var) -> list[Stmt]:
        """The same steps of k in the next tile of columns, or where that is far ahead later steps
        in this one."""
        j, tile = Var("j", columns), columns * self.k_block * self.item
        at = self._at(Index(), column + (columns if tile <= 2 * PREFETCHED else 0) + var(j), k)
        if tile > 2 * PREFETCHED:
            later = self.k_first + var(k) + PREFETCHED // (columns * self.item)
            at |= spread_groups(self.p.reduced, [*map(var, self.front), later])
        return [For(j, columns, UNROLL, [*prefetches(self.p.factor(self.p.lane_factor, at), k)])]

    def _writes(self, row: Index, column: Index, done: Node) -> list[Stmt]:
        return self.p.writes(self._at(row, column, Var("k", 1)), done)

    def _epilogue(self) -> list[Stmt]:
        """The outputs of the block: of its whole tiles, then in the last task of the columns after
        them."""
        columns, rest = self.tiles * self.columns, self.n % self.columns
        total = self.whole * self.columns if self.whole % self.tiles else None
        out = [self._write_columns(Index(), columns, total)] if self.whole else []
        if rest:
            behind = self.first * -self.columns + self.whole * self.columns
            out.append(
                in_last(self.part, self.parts - 1, [self._write_columns(behind, rest, None)])
            )
        return out

    def _write_columns(self, local: Index, count: int, total: int | None) -> Stmt:
        """Outputs of some columns of sums, counted from the first of the task."""
        row, column = Var("i", self.m), Var("j", count)
        first = self.first * self.columns
        body = self._writes(
            var(row),
            first + local + var(column),
            load(self.sums, var(row) * self.pitch + local + var(column)),
        )
        base = first if total is not None else Index()
        return For(row, self.m, SERIAL, [For(column, count, LANES, body, base=base, total=total)])
