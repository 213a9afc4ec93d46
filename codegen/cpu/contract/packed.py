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

from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Var, row_major, unravel, var
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
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.walk import Substitution
from ....ir.passes.split import nearest_divisor
from ....wording import plural
from ...kernels.contraction import Problem, groups_at, groups_extent, spread_groups
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut, extent, fresh, in_last
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from ..prefetch import prefetches, touched
from .products import ContractionTask
from .sizes import BY_TILE, IN_PLACE, SQUARES, Sizes, candidates, choose


def lower_packed(p: Problem, target: Target, tuning: Tuning) -> Lowered:
    """Loops of the packed schedule, in the sizes of the cost model or the fastest ones."""
    factors = p.factor(p.row_factor, p.itself), p.factor(p.lane_factor, p.itself)
    if tuning.fastest is None:
        return _Task(p, choose(p, target, *factors), target, tuning).in_sizes()
    tasks = [_Task(p, s, target, tuning).in_sizes() for s in candidates(p, target, *factors)]
    return tuning.fastest(tasks, target)


AHEAD = 8  # steps of k that are asked for before they are packed


class _Task(ContractionTask):
    """One block of rows and lanes of one batch element."""

    def __init__(self, p: Problem, s: Sizes, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        self.s = s
        self.tiles, self.rest_rows = divmod(p.m, s.tile_rows)
        self.row_parts = -(-max(1, self.tiles) // s.task_tiles)
        self.lines = groups_extent(p.lanes[:-1])
        self.line_parts = -(-extent(p.lanes[-1]) // s.line)
        shape = (
            *(extent(g) for g in p.batch),
            self.row_parts,
            -(-self.lines // s.lane_rows),
            self.line_parts,
        )
        *batch, self.row_part, lane_part, self.line_part = self.share_out(
            shape, float(s.task_tiles * s.tile_rows * s.block * p.k) / 4
        )
        self.batch = spread_groups(p.batch, batch)
        self.first_tile, self.first_line = self.row_part * s.task_tiles, lane_part * s.lane_rows
        k_outer, self.k_groups = p.reduced[: s.k_outer], p.reduced[s.k_outer :]
        self.k = [
            Var(f"k{a}" if a else "k", s.k_block if a == 0 else extent(g))
            for a, g in enumerate(self.k_groups)
        ]
        self.k_shape = (*(extent(g) for g in k_outer), -(-extent(self.k_groups[0]) // s.k_block))
        self.k_parts = prod(self.k_shape)
        self.part = Var("part", self.k_parts)
        *self.k_fixed, self.k_part = unravel(
            var(self.part) if self.k_parts > 1 else Index(), self.k_shape
        )
        self.k_first = self.k_part * s.k_block
        self.panel = Buf("panel", self.dtype, s.k_extent * s.block, SCRATCH)
        sum_rows = (
            s.tile_rows
            if self.k_parts == 1
            else (s.task_tiles + (self.rest_rows > 0)) * s.tile_rows
        )
        self.sums = Buf("sums", self.dtype, sum_rows * s.block, SCRATCH)
        self.rows_panel = Buf(
            "rows_panel", self.dtype, s.group_tiles * s.tile_rows * s.k_extent, SCRATCH
        )
        self.row, self.lane = Var("row", p.m), Var("lane", s.line)
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
        return self.lowered(f"{text}, {plural(prod(self.shape), 'task')}")

    def body(self) -> list[Stmt]:
        s = self.s
        allocs: list[Stmt] = [Alloc(self.sums)]
        allocs += [] if s.lanes == IN_PLACE else [Alloc(self.panel)]
        allocs += [] if s.rows == IN_PLACE else [Alloc(self.rows_panel)]
        step = [*([] if s.lanes == IN_PLACE else self._pack_lanes()), *self._all_tiles()]
        return (
            [*allocs, self._clear(), For(self.part, self.k_parts, SERIAL, step)]
            if self.k_parts > 1
            else [*allocs, *step]
        )

    # ------------------------------------------------------------ indices

    def _k_by(self, k: list[Index]) -> dict[Var, Index]:
        first, *rest = k
        return spread_groups(self.p.reduced, [*self.k_fixed, self.k_first + first, *rest])

    def _k_position(self, k: list[Index]) -> Index:
        return row_major(k, [v.extent for v in self.k])

    def _k_loops(
        self, k: list[Var], body: list[Stmt], lanes: bool = False, begin: Index | None = None
    ) -> list[Stmt]:
        """Loops over the block of k, or a part of it that begins at a step; the outermost one is
        cut at the end."""
        for a in range(len(k) - 1, -1, -1):
            kind = LANES if lanes and a == len(k) - 1 else SERIAL
            bounds = (
                (Index(), None)
                if a
                else cut(
                    self.k_first + (begin or Index()), extent(self.k_groups[0]), self.s.k_block
                )
            )
            body = [For(k[a], k[a].extent, kind, body, 1, *bounds)]
        return body

    def _lane_by(self, line: Index, lane: Index) -> dict[Var, Index]:
        of_line = groups_at(self.p.lanes[:-1], self.first_line + line)
        return of_line | spread_groups(self.p.lanes[-1:], [self.line_part * self.s.line + lane])

    def _line_loops(self, line: Var, lane: Var, body: list[Stmt]) -> list[Stmt]:
        """Loops over the lanes of the block, cut where the last line or lane ends."""
        s = self.s
        inner = For(
            lane,
            s.line,
            LANES,
            body,
            1,
            *cut(self.line_part * s.line, extent(self.p.lanes[-1]), s.line),
        )
        if s.lane_rows == 1:
            return [inner]
        return [
            For(
                line,
                s.lane_rows,
                SERIAL,
                [inner],
                1,
                *cut(self.first_line, self.lines, s.lane_rows),
            )
        ]

    def _block_lane(self, line: Var, lane: Var) -> tuple[Index, Index]:
        """(line of the block, position in the block)."""
        at = var(line) if self.s.lane_rows > 1 else Index()
        return at, at * self.s.line + var(lane)

    # ------------------------------------------------------------ stages

    def _pack_lanes(self) -> list[Stmt]:
        if self.s.lanes == SQUARES:
            return self._pack_squares()
        k = fresh(self.k)
        at = [var(v) for v in k]
        return self._k_loops(k, [*self._ask_lanes(at), *self._fill_lines(at)])

    def _ask_lanes(self, k: list[Index]) -> list[Stmt]:
        if self.s.lane_rows > 1:
            return []
        lane = Var("l", self.s.line)
        later = self._k_by([*k[:-1], k[-1] + AHEAD])
        by = self.batch | later | self._lane_by(Index(), var(lane))
        return self._ask(self._lane_value(by), lane)

    def _fill_lines(self, k: list[Index]) -> list[Stmt]:
        """All lanes of the block at one step of k."""
        s, line, lane = self.s, Var("line", self.s.lane_rows), Var("l", self.s.line)
        at, position = self._block_lane(line, lane)
        by = self.batch | self._k_by(k) | self._lane_by(at, var(lane))
        row = self._k_position(k) * s.block
        value = self._lane_value(by)
        return self._line_loops(line, lane, [Store(self.panel, row + position, value)]) + self._pad(
            row
        )

    def _pad(self, row: Index) -> list[Stmt]:
        """Zeros after the lanes of a block that tiles do not divide."""
        used = self.s.lane_rows * self.s.line
        pad = Var("pad", self.s.block - used)
        zero = const(0, self.panel.dtype)
        return (
            [For(pad, pad.extent, LANES, [Store(self.panel, row + used + var(pad), zero)])]
            if pad.extent
            else []
        )

    def _pack_squares(self) -> list[Stmt]:
        """The panel in squares of W lanes by W steps of k; what is left of k lane by lane.

        Along k for each W lanes: so many lines of memory are read side by side as the processor can
        follow.
        """
        s, w, total, parts = self.s, self.p.width, extent(self.p.lanes[-1]), self.line_parts
        at = Var("lanes", s.line // w)
        out = [self._part(at, parts, self.line_part, total // w, self._squares(var(at) * w, w))]
        if total % w:
            first = Index(const=total // w * w - (parts - 1) * s.line)
            out.append(in_last(self.line_part, parts - 1, self._squares(first, total % w)))
        if s.line < s.block:
            k = fresh(self.k)
            out += self._k_loops(k, self._pad(self._k_position([var(v) for v in k]) * s.block))
        return out + self._rest_of_k()

    def _squares(self, first_lane: Index, lanes: int) -> list[Stmt]:
        """W lanes (or fewer) at all whole squares of the block of k."""
        w, outer, last = self.p.width, fresh(self.k[:-1]), self.k[-1].extent
        at, parts = Var("square", last // w), self._last_parts()
        body = self._square([var(v) for v in outer], var(at) * w, first_lane, lanes)
        return self._k_loops(
            outer, [self._part(at, parts, self.k_part, extent(self.k_groups[-1]) // w, body)]
        )

    def _rest_of_k(self) -> list[Stmt]:
        """All lanes at the steps after the last square."""
        w, length, parts = self.p.width, extent(self.k_groups[-1]), self._last_parts()
        if not length % w:
            return []
        outer, rest = fresh(self.k[:-1]), Var("k", length % w)
        first = length // w * w - (parts - 1) * self.k[-1].extent
        fill: Stmt = For(
            rest,
            rest.extent,
            SERIAL,
            self._fill_lines([*(var(v) for v in outer), var(rest) + first]),
        )
        return self._k_loops(outer, [in_last(self.k_part, parts - 1, [fill])])

    def _last_parts(self) -> int:
        """How many blocks of k the last axis of it is cut into."""
        return self.k_shape[-1] if len(self.k) == 1 else 1

    def _part(self, v: Var, parts: int, part: Index, whole: int, body: list[Stmt]) -> Stmt:
        """A loop over a part of `whole` steps, of which the last part may have fewer."""
        fewer = parts > 1 and whole != parts * v.extent
        return For(
            v,
            v.extent,
            SERIAL,
            body,
            base=part * v.extent if fewer else Index(),
            total=whole if fewer else None,
        )

    def _square(
        self, front: list[Index], first_k: Index, first_lane: Index, lanes: int
    ) -> list[Stmt]:
        j, k = Var("j", lanes), Var("k", self.p.width)
        at, lane = [*front, first_k + var(k)], first_lane + var(j)
        value = self._lane_value(self.batch | self._k_by(at) | self._lane_by(Index(), lane))
        store = Store(self.panel, self._k_position(at) * self.s.block + lane, value)
        return [For(j, lanes, UNROLL, [For(k, k.extent, LANES, [store])])]

    def _lane_value(self, by: dict[Var, Index]) -> Node:
        """The lane factor, of whatever row."""
        return self.p.factor(self.p.lane_factor, by | {v: Index() for g in self.p.rows for v in g})

    def _all_tiles(self) -> list[Stmt]:
        """Every tile of the task: some rows are packed, then used while they are in the cache."""
        s, group, tile = (
            self.s,
            Var("group", self.s.task_tiles // self.s.group_tiles),
            Var("tile", self.s.group_tiles),
        )
        out: list[Stmt] = []
        if self.tiles:
            first = var(group) * s.group_tiles
            bounds = cut(self.first_tile + first, self.tiles, s.task_tiles)
            tiles = self._strip(
                (first + var(tile)) * s.tile_rows, var(tile) * s.tile_rows, s.tile_rows
            )
            pack = self._pack_rows(first * s.tile_rows, s.tile_rows, s.group_tiles, *bounds)
            out.append(
                For(
                    group,
                    group.extent,
                    SERIAL,
                    [*pack, For(tile, s.group_tiles, SERIAL, tiles, 1, *bounds)],
                )
            )
        if self.rest_rows:
            first = Index(const=self._rest_in_block())
            pack = self._pack_rows(first, self.rest_rows, 1, Index(), None)
            out.append(
                in_last(
                    self.row_part,
                    self.row_parts - 1,
                    [*pack, *self._strip(first, Index(), self.rest_rows)],
                )
            )
        return out

    def _pack_rows(
        self, first_row: Index, rows: int, tiles: int, base: Index, total: int | None
    ) -> list[Stmt]:
        """Packs tiles of rows from a row of the block on; `base` is the tile of the problem there,
        cut at `total`."""
        if self.s.rows == IN_PLACE:
            return []
        k, tile, i = fresh(self.k), Var("tile", tiles), Var("i", rows)
        at = [var(v) for v in k]
        in_group = var(tile) * rows
        value = self._row_value(
            at, self.first_tile * self.s.tile_rows + first_row + in_group + var(i)
        )
        store: Stmt = Store(self.rows_panel, self._in_panel(in_group, rows, at, i), value)
        if self.s.rows == BY_TILE:
            each: Stmt = For(
                tile, tiles, SERIAL, [For(i, rows, LANES, [store])], base=base, total=total
            )
            row = Var("row", rows * tiles)
            first = self.first_tile * self.s.tile_rows + first_row
            later = self._row_value([*at[:-1], at[-1] + AHEAD], first + var(row))
            return self._k_loops(k, [*self._ask(later, row), each])
        each = For(i, rows, SERIAL, self._k_loops(k, [store], lanes=True))
        return [For(tile, tiles, SERIAL, [each], base=base, total=total)]

    def _ask(self, value: Node, lane: Var) -> list[Stmt]:
        """That a line of a factor will be read, where it is too far from the one before to be read
        ahead."""
        if value.op is not Op.LOAD or value.arg[0].size * value.dtype.itemsize <= self.target.l2:
            return []
        hints = [replace(hint, cache=2) for hint in prefetches(value, lane)]
        return [For(lane, lane.extent, LANES, [*hints], 4)]

    def _in_panel(self, first_row: Index, rows: int, k: list[Index], i: Var) -> Index:
        """Where an element of a tile stands in the panel of rows."""
        if self.s.rows == BY_TILE:
            return first_row * self.s.k_extent + self._k_position(k) * rows + var(i)
        return (first_row + var(i)) * self.s.k_extent + self._k_position(k)

    def _row_value(self, k: list[Index], row: Index) -> Node:
        """The row factor at a row of the problem, of whatever lane."""
        by = self.batch | self._k_by(k) | groups_at(self.p.rows, row)
        return self.p.factor(self.p.row_factor, by | {v: Index() for g in self.p.lanes for v in g})

    def _rest_in_block(self) -> int:
        """The rows of whole tiles in the last part: the rest follows them."""
        return (self.tiles - (self.row_parts - 1) * self.s.task_tiles) * self.s.tile_rows

    def _strip(self, first_row: Index, in_panel: Index, rows: int) -> list[Stmt]:
        """The tiles of some rows; after the last block of k their outputs, while the sums are in
        the level-1 cache."""
        sums = first_row if self.k_parts > 1 else Index()
        row = Var("row", rows)
        at = self.first_tile * self.s.tile_rows + first_row + var(row)
        write: Stmt = For(row, rows, SERIAL, self._write_row(at, sums + var(row)))
        if self.k_parts > 1:
            write = in_last(var(self.part), self.k_parts - 1, [write])
        return [*self._tiles(first_row, in_panel, sums, rows), write]

    def _tiles(self, first_row: Index, in_panel: Index, in_sums: Index, rows: int) -> list[Stmt]:
        """Tiles of lanes; rows are counted from the block's first row, from the panel's and from
        that of the sums."""
        s = self.s
        whole, rest = divmod(s.block, s.tile_lanes)
        at, out = Var("lanes", whole), list[Stmt]()
        every = -(-extent(self.p.lanes[-1]) // s.tile_lanes)
        if whole:
            body = self._tile(
                first_row, in_panel, in_sums, rows, var(at) * s.tile_lanes, s.tile_lanes
            )
            ends = s.lane_rows == 1 and not rest
            out.append(
                self._part(at, self.line_parts, self.line_part, every, body)
                if ends
                else For(at, whole, SERIAL, body)
            )
        if rest:
            first = Index(const=whole * s.tile_lanes)
            out += self._tile(first_row, in_panel, in_sums, rows, first, rest)
        return out

    def _tile(
        self,
        first_row: Index,
        in_panel: Index,
        in_sums: Index,
        rows: int,
        first_lane: Index,
        lanes: int,
    ) -> list[Stmt]:
        """One pass over a block of k for one tile; in several parts where each asks for a part of
        the epilogue's memory."""
        s, k, i, j = self.s, fresh(self.k), Var("i", rows), Var("j", lanes)
        part = Var("ask", nearest_divisor(k[0].extent, rows) if self.hints else 1)
        k[0] = Var(k[0].name, k[0].extent // part.extent)
        begin = var(part) * k[0].extent if self.hints else Index()
        at = [begin + var(k[0]), *map(var, k[1:])]
        acc = Buf("acc", self.dtype, rows * lanes, REG)
        place, lane = var(i) * lanes + var(j), first_lane + var(j)
        if s.rows == IN_PLACE:
            row_value = self._row_value(at, self.first_tile * s.tile_rows + first_row + var(i))
        else:
            row_value = load(self.rows_panel, self._in_panel(in_panel, rows, at, i))
        if s.lanes == IN_PLACE:
            lane_value = self._lane_value(
                self.batch | self._k_by(at) | self._lane_by(Index(), lane)
            )
        else:
            lane_value = load(self.panel, self._k_position(at) * s.block + lane)
        term = Reduce(acc, place, "add", node(Op.MUL, (row_value, lane_value)))
        total = (in_sums + var(i)) * s.block + lane
        done = load(acc, place)
        finish: Stmt = (
            Reduce(self.sums, total, "add", done)
            if self.k_parts > 1
            else Store(self.sums, total, done)
        )
        accumulate = self._k_loops(
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
            | self._lane_by(Index(), var(self.lane))
        )
        hints = touched(self.p.epilogue(by, const(0, self.dtype)), self.row, self.lane)
        return (
            [*hints]
            if sum(h.buf.size * h.buf.dtype.itemsize for h in hints) > self.target.l2
            else []
        )

    def _prefetch(self, first_row: Index, rows: int, first_lane: Index, lanes: int) -> Stmt:
        """The same for some rows and lanes of the block, in the last block of k."""
        i, j = Var("i", rows), Var("j", lanes)
        row = self.first_tile * self.s.tile_rows + first_row + var(i)
        to = Substitution({self.row: row, self.lane: first_lane + var(j)})
        ask: Stmt = For(i, rows, SERIAL, [For(j, lanes, LANES, to.body(self.hints))])
        return ask if self.k_parts == 1 else in_last(var(self.part), self.k_parts - 1, [ask])

    def _clear(self) -> Stmt:
        z = Var("z", self.sums.size)
        return For(
            z, self.sums.size, LANES, [Store(self.sums, var(z), const(0, self.sums.dtype))], 4
        )

    def _write_row(self, row: Index, in_block: Index) -> list[Stmt]:
        """The outputs of one row, given by its place in the problem and in the block."""
        line, lane = Var("line", self.s.lane_rows), Var("l", self.s.line)
        at, position = self._block_lane(line, lane)
        by = self.batch | groups_at(self.p.rows, row) | self._lane_by(at, var(lane))
        return self._line_loops(
            line, lane, self.p.writes(by, load(self.sums, in_block * self.s.block + position))
        )
