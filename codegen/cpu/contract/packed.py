"""The packed schedule of a contraction: lanes gathered into scratch panels, register tiles over
them. In: a Problem. Out: Loops.

for task (batch, block of rows, block of lanes):
    for block of k:
        pack lanes[k][j]                       the lane factor with its prologue, masks and windows
        for group of tiles of rows:
            pack rows                          where they do not lie well
            for tile of rows:
                for tile of lanes:             accumulators in registers, k innermost; then
                                               sums[i][j]
                epilogue of the rows           after the last block of k; its memory was prefetched
                                               meanwhile
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import const, node
from ....ir.graph.index import Index, Range, Var, var
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
    If,
    Reduce,
    Stmt,
    Store,
    neutral,
)
from ....ir.loops.walk import Substitution
from ....ir.passes.split import nearest_divisor
from ....ir.symbolic.questions import is_same, is_unknown, value_of
from ....ir.symbolic.scope import scope_of
from ....wording import plural
from ...kernels.contraction import Problem, groups_at
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut, extent, fresh, in_last
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from ..prefetch import touched
from .panels import Panels
from .sizes import IN_PLACE, Sizes, candidates, choose


def lower_packed(p: Problem, target: Target, tuning: Tuning) -> Lowered:
    """Loops of the packed schedule, in the sizes of the cost model or the fastest ones; those of
    unknown extents cannot be timed."""
    factors = p.factor(p.row_factor, p.itself), p.factor(p.lane_factor, p.itself)
    if tuning.fastest is None or scope_of(p.extents) is not None:
        return _Task(p, choose(p, target, *factors), target, tuning).in_sizes()
    tasks = [_Task(p, s, target, tuning).in_sizes() for s in candidates(p, target, *factors)]
    return tuning.fastest(tasks, target)


class _Task(Panels):
    """One block of rows and lanes of one batch element."""

    def __init__(self, p: Problem, s: Sizes, target: Target, tuning: Tuning) -> None:
        super().__init__(p, s, target, tuning)
        sum_rows = (
            s.tile_rows
            if not self.splits_k
            else (s.most_tiles + (self.rest_rows > 0)) * s.tile_rows
        )
        self.sums = Buf("sums", self.dtype, sum_rows * s.block, SCRATCH)
        self.row, self.lane = Var("row", p.m), Var("lane", self.most_line)
        self.hints = self._hints()

    def in_sizes(self) -> Lowered:
        s = self.s
        text = (
            f"tiles {s.tile_rows}x{s.tile_lanes}, blocks of {s.block} lanes {s.lanes} ({s.why[1]}),"
            f" rows {s.rows} ({s.why[0]})"
        )
        text += (
            f", k in blocks of {s.k_extent}{', the epilogue asked for ahead' * bool(self.hints)}"
        )
        return self.lowered(f"{text}, {plural(value_of(prod(self.shape)), 'task')}")

    def body(self) -> list[Stmt]:
        s = self.s
        allocs: list[Stmt] = [Alloc(self.sums)]
        allocs += [] if s.lanes == IN_PLACE else [Alloc(self.panel)]
        allocs += [] if s.rows == IN_PLACE else [Alloc(self.rows_panel)]
        step = [*([] if s.lanes == IN_PLACE else self.pack_lanes()), *self._all_tiles()]
        return (
            [*allocs, self._clear(), For(self.part, self.k_parts, SERIAL, step)]
            if self.splits_k
            else [*allocs, *step]
        )

    def _all_tiles(self) -> list[Stmt]:
        """Every tile of the task: some rows are packed, then used while they are in the cache."""
        s, group, tile = (
            self.s,
            Var("group", self.s.most_tiles // self.s.group_tiles),
            Var("tile", self.s.group_tiles),
        )
        out: list[Stmt] = []
        if is_unknown(self.p.m) or self.tiles:
            first = var(group) * s.group_tiles
            bounds = cut(self.first_tile + first, self.tiles, s.task_tiles)
            tiles = self._strip(
                (first + var(tile)) * s.tile_rows, var(tile) * s.tile_rows, s.tile_rows
            )
            pack = self.pack_rows(first * s.tile_rows, s.tile_rows, s.group_tiles, *bounds)
            body = [*pack, For(tile, s.group_tiles, SERIAL, tiles, 1, *bounds)]
            out.append(
                For(group, s.task_tiles // s.group_tiles, SERIAL, body + self._last_tile(first))
            )
        if self.rest_rows:
            first = Index(const=self._rest_in_block())
            pack = self.pack_rows(first, self.rest_rows, 1, Index(), None)
            out.append(
                in_last(
                    self.row_part,
                    self.row_parts - 1,
                    [*pack, *self._strip(first, Index(), self.rest_rows)],
                )
            )
        return out

    def _last_tile(self, first: Index) -> list[Stmt]:
        """The tile that rows do not fill, of the group that begins at a tile, where their number is
        not known."""
        if is_same(self.last_tiles, 0):
            return []
        tile, rows = Var("last", self.s.group_tiles), self.s.tile_rows
        row = (first + var(tile)) * rows
        here = Range(self.first_tile + first + var(tile), self.tiles, self.tiles + self.last_tiles)
        strip = self._strip(row, Index(), rows, is_last=True)
        return [
            For(
                tile,
                tile.extent,
                SERIAL,
                [If((here,), [*self.pack_last_rows(row), *strip])],
            )
        ]

    def _rest_in_block(self) -> int:
        """The rows of whole tiles in the last part: the rest follows them."""
        return (self.tiles - (self.row_parts - 1) * self.s.task_tiles) * self.s.tile_rows

    def _strip(
        self, first_row: Index, in_panel: Index, rows: int, is_last: bool = False
    ) -> list[Stmt]:
        """The tiles of some rows; after the last block of k their outputs, while the sums are in
        the level-1 cache. Not all rows of the last tile are there: others stand in for them."""
        sums = first_row if self.splits_k else Index()
        row = Var("row", rows)
        first = self.first_tile * self.s.tile_rows + first_row
        bounds = (first, self.p.m) if is_last else (Index(), None)
        body = self._write_row(first + var(row), sums + var(row))
        write: Stmt = For(row, rows, SERIAL, body, 1, *bounds)
        if self.splits_k:
            write = in_last(var(self.part), self.k_parts - 1, [write])
        return [*self._tiles(first_row, in_panel, sums, rows, is_last), write]

    def _tiles(
        self, first_row: Index, in_panel: Index, in_sums: Index, rows: int, is_last: bool
    ) -> list[Stmt]:
        """Tiles of lanes; rows are counted from the block's first row, from the panel's and from
        that of the sums."""
        s = self.s
        at, out = Var("lanes", s.block // s.tile_lanes), list[Stmt]()
        whole, rest = divmod(s.line if is_unknown(s.line) else s.block, s.tile_lanes)
        every = -(-extent(self.p.lanes[-1]) // s.tile_lanes)
        if whole:
            body = self._tile(
                first_row, in_panel, in_sums, rows, is_last, var(at) * s.tile_lanes, s.tile_lanes
            )
            ends = s.lane_rows == 1 and not rest
            out.append(
                self.part_loop(at, whole, self.line_parts, self.line_part, every, body)
                if ends
                else For(at, whole, SERIAL, body)
            )
        if rest:
            first = Index(const=whole * s.tile_lanes)
            out += self._tile(first_row, in_panel, in_sums, rows, is_last, first, rest)
        return out

    def _tile(
        self,
        first_row: Index,
        in_panel: Index,
        in_sums: Index,
        rows: int,
        is_last: bool,
        first_lane: Index,
        lanes: int,
    ) -> list[Stmt]:
        """One pass over a block of k for one tile; in several parts where each asks for a part of
        the epilogue's memory."""
        s, k, i, j = self.s, fresh(self.k), Var("i", rows), Var("j", lanes)
        asks = bool(self.hints) and not is_unknown(k[0].extent)
        part = Var("ask", nearest_divisor(k[0].extent, rows) if asks else 1)
        k[0] = Var(k[0].name, k[0].extent // part.extent)
        begin = var(part) * k[0].extent if self.hints else Index()
        at = [begin + var(k[0]), *map(var, k[1:])]
        acc = Buf("acc", self.dtype, rows * lanes, REG)
        place, lane = var(i) * lanes + var(j), first_lane + var(j)
        if s.rows == IN_PLACE:
            row = self.first_tile * s.tile_rows + first_row + var(i)
            row_value = self.row_value(at, row % self.p.m if is_last else row)
        else:
            row_value = load(self.rows_panel, self.in_panel(in_panel, rows, at, i))
        if s.lanes == IN_PLACE:
            lane_value = self.lane_value(self.batch | self.k_by(at) | self.lane_by(Index(), lane))
        else:
            lane_value = load(self.panel, self.k_position(at) * s.block + lane)
        term = Reduce(acc, place, "add", node(Op.MUL, (row_value, lane_value)))
        total = (in_sums + var(i)) * s.block + lane
        done = load(acc, place)
        finish: Stmt = (
            Reduce(self.sums, total, "add", done)
            if self.splits_k
            else Store(self.sums, total, done)
        )
        accumulate = self.k_loops(
            k, [For(i, rows, UNROLL, [For(j, lanes, LANES, [term])])], begin=begin
        )
        if self.hints:
            each = -(-rows // part.extent)
            ask = self._prefetch(first_row + var(part) * each, each, first_lane, lanes)
            accumulate = [For(part, part.extent, SERIAL, [ask, *accumulate])]
        return [Alloc(acc, 0), *accumulate, For(i, rows, UNROLL, [For(j, lanes, LANES, [finish])])]

    def _hints(self) -> list[Stmt]:
        """That the epilogue will read and write at a row and a lane, if that lies beyond the
        level-2 cache."""
        if self.s.lane_rows > 1:
            return []
        by = (
            self.batch
            | groups_at(self.p.rows, var(self.row))
            | self.lane_by(Index(), var(self.lane))
        )
        hints = touched(self.p.epilogue(by, const(0, self.dtype)), self.row, self.lane)
        return (
            [*hints]
            if sum(value_of(h.buf.size) * h.buf.dtype.itemsize for h in hints) > self.target.l2
            else []
        )

    def _prefetch(self, first_row: Index, rows: int, first_lane: Index, lanes: int) -> Stmt:
        """The same for some rows and lanes of the block, in the last block of k."""
        i, j = Var("i", rows), Var("j", lanes)
        row = self.first_tile * self.s.tile_rows + first_row + var(i)
        to = Substitution({self.row: row, self.lane: first_lane + var(j)})
        ask: Stmt = For(i, rows, SERIAL, [For(j, lanes, LANES, to.body(self.hints))])
        return ask if not self.splits_k else in_last(var(self.part), self.k_parts - 1, [ask])

    def _clear(self) -> Stmt:
        z, nothing = Var("z", self.sums.size), neutral("add", self.sums.dtype)
        size = self.s.task_tiles * self.s.tile_rows * self.s.block
        return For(
            z,
            size if is_unknown(size) else self.sums.size,
            LANES,
            [Store(self.sums, var(z), const(nothing, self.sums.dtype))],
            4,
        )

    def _write_row(self, row: Index, in_block: Index) -> list[Stmt]:
        """The outputs of one row, given by its place in the problem and in the block."""
        line, lane = Var("line", self.s.lane_rows), Var("l", self.most_line)
        at, position = self.block_lane(line, lane)
        by = self.batch | groups_at(self.p.rows, row) | self.lane_by(at, var(lane))
        return self.line_loops(
            line, lane, self.p.writes(by, load(self.sums, in_block * self.s.block + position))
        )
