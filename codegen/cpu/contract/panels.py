"""Panels of the packed schedule: what tiles read, in the order in which they read it. In: a
Problem, its Sizes. Out: statements of one task.

Lanes stand as [k][lane]; rows as [k][row of a tile], tile by tile, or [row][k]. Lines of memory
beyond the level-2 cache are prefetched some steps before they are packed: a processor does not read
ahead over pages.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node, const
from ....ir.graph.index import Index, Range, Var, row_major, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, SCRATCH, SERIAL, UNROLL, Buf, For, If, Stmt, Store
from ....ir.symbolic.questions import is_unknown, value_of
from ...kernels.contraction import Problem, groups_at, groups_extent, spread_groups
from ...kernels.loop_axes import cut, extent, fresh, in_last
from ...llvm.target import Target
from ..chunks import Tuning
from ..prefetch import prefetches
from .products import ContractionTask
from .sizes import BY_TILE, IN_PLACE, SQUARES, Sizes

AHEAD = 8  # steps of k by which a panel is prefetched; 2 to 16 took as long on Zen 1


class Panels(ContractionTask):
    """The axes of a task, one block of rows and lanes of one batch element, and its panels."""

    def __init__(self, p: Problem, s: Sizes, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        self.s = s
        self.tiles, self.rest_rows = divmod(p.m, s.tile_rows)
        self.last_tiles = 0
        if is_unknown(p.m):  # one more tile or none, which rows do not fill
            self.last_tiles, self.rest_rows = -(-p.m // s.tile_rows) - self.tiles, 0
            self.row_parts = _parts(p.m, s.tile_rows * s.task_tiles)
        else:
            self.row_parts = -(-max(1, self.tiles) // s.task_tiles)
        self.lines = groups_extent(p.lanes[:-1])
        self.line_parts = _parts(extent(p.lanes[-1]), s.line)
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
        self.splits_k = is_unknown(self.k_parts) or self.k_parts > 1
        self.part = Var("part", self.k_parts)
        *self.k_fixed, self.k_part = unravel(
            var(self.part) if self.splits_k else Index(), self.k_shape
        )
        self.k_first = self.k_part * s.k_block
        self.panel = Buf("panel", self.dtype, s.k_extent * s.block, SCRATCH)
        self.most_line = s.block if is_unknown(s.line) else s.line
        self.rows_panel = Buf(
            "rows_panel", self.dtype, s.group_tiles * s.tile_rows * s.k_extent, SCRATCH
        )

    # ------------------------------------------------------------ indices

    def k_by(self, k: list[Index]) -> dict[Var, Index]:
        first, *rest = k
        return spread_groups(self.p.reduced, [*self.k_fixed, self.k_first + first, *rest])

    def k_position(self, k: list[Index]) -> Index:
        return row_major(k, [v.extent for v in self.k])

    def k_loops(
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

    def lane_by(self, line: Index, lane: Index) -> dict[Var, Index]:
        of_line = groups_at(self.p.lanes[:-1], self.first_line + line)
        return of_line | spread_groups(self.p.lanes[-1:], [self.line_part * self.s.line + lane])

    def line_loops(self, line: Var, lane: Var, body: list[Stmt]) -> list[Stmt]:
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

    def block_lane(self, line: Var, lane: Var) -> tuple[Index, Index]:
        """(line of the block, position in the block)."""
        at = var(line) if self.s.lane_rows > 1 else Index()
        return at, at * self.s.line + var(lane)

    # ------------------------------------------------------------ lanes

    def pack_lanes(self) -> list[Stmt]:
        if self.s.lanes == SQUARES:
            return self._pack_squares()
        k = fresh(self.k)
        at = [var(v) for v in k]
        return self.k_loops(k, [*self._prefetch_lanes(at), *self._fill_lines(at)])

    def _prefetch_lanes(self, k: list[Index]) -> list[Stmt]:
        if self.s.lane_rows > 1:
            return []
        lane = Var("l", self.most_line)
        later = self.k_by([*k[:-1], k[-1] + AHEAD])
        by = self.batch | later | self.lane_by(Index(), var(lane))
        return self._prefetch_line(self.lane_value(by), lane, self.s.line)

    def _fill_lines(self, k: list[Index]) -> list[Stmt]:
        """All lanes of the block at one step of k."""
        s, line, lane = self.s, Var("line", self.s.lane_rows), Var("l", self.most_line)
        at, position = self.block_lane(line, lane)
        by = self.batch | self.k_by(k) | self.lane_by(at, var(lane))
        row = self.k_position(k) * s.block
        value = self.lane_value(by)
        return self.line_loops(line, lane, [Store(self.panel, row + position, value)]) + self._pad(
            row
        )

    def _pad(self, row: Index) -> list[Stmt]:
        """Zeros after the lanes of a block that tiles do not divide. Those of whole tiles that are
        not there do no harm."""
        if is_unknown(self.s.line):
            return []
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
        at, here = Var("lanes", self.most_line // w), s.line // w
        squares = self._squares(var(at) * w, w)
        out = [self.part_loop(at, here, parts, self.line_part, total // w, squares)]
        if total % w and is_unknown(here):
            last = Var("lanes", at.extent)
            narrow = Range(self.line_part * here + var(last), total // w, total // w + 1)
            body = self._squares(var(last) * w, total % w)
            out.append(For(last, here, SERIAL, [If((narrow,), body)]))
        elif total % w:
            first = Index(const=total // w * w - (parts - 1) * s.line)
            out.append(in_last(self.line_part, parts - 1, self._squares(first, total % w)))
        if not is_unknown(s.line) and s.line < s.block:
            k = fresh(self.k)
            out += self.k_loops(k, self._pad(self.k_position([var(v) for v in k]) * s.block))
        return out + self._rest_of_k()

    def _squares(self, first_lane: Index, lanes: int) -> list[Stmt]:
        """W lanes (or fewer) at all whole squares of the block of k."""
        w, outer, last = self.p.width, fresh(self.k[:-1]), self.k[-1].extent
        at, parts = Var("square", last // w), self._last_parts()
        body = self._square([var(v) for v in outer], var(at) * w, first_lane, lanes)
        return self.k_loops(
            outer,
            [
                self.part_loop(
                    at, last // w, parts, self.k_part, extent(self.k_groups[-1]) // w, body
                )
            ],
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
        return self.k_loops(outer, [in_last(self.k_part, parts - 1, [fill])])

    def _last_parts(self) -> int:
        """How many blocks of k the last axis of it is cut into."""
        return self.k_shape[-1] if len(self.k) == 1 else 1

    def part_loop(
        self, v: Var, steps: int, parts: int, part: Index, whole: int, body: list[Stmt]
    ) -> Stmt:
        """A loop over a part of `whole` steps, of which the last part may have fewer."""
        fewer = is_unknown(steps) or (parts > 1 and whole != parts * steps)
        bounds = (part * steps, whole) if fewer else (Index(), None)
        return For(v, steps, SERIAL, body, 1, *bounds)

    def _square(
        self, front: list[Index], first_k: Index, first_lane: Index, lanes: int
    ) -> list[Stmt]:
        j, k = Var("j", lanes), Var("k", self.p.width)
        at, lane = [*front, first_k + var(k)], first_lane + var(j)
        value = self.lane_value(self.batch | self.k_by(at) | self.lane_by(Index(), lane))
        store = Store(self.panel, self.k_position(at) * self.s.block + lane, value)
        return [For(j, lanes, UNROLL, [For(k, k.extent, LANES, [store])])]

    def lane_value(self, by: dict[Var, Index]) -> Node:
        """The lane factor, of whatever row."""
        return self.p.factor(self.p.lane_factor, by | {v: Index() for g in self.p.rows for v in g})

    # ------------------------------------------------------------ rows

    def pack_rows(
        self, first_row: Index, rows: int, tiles: int, base: Index, total: int | None
    ) -> list[Stmt]:
        """Packs tiles of rows from a row of the block on; `base` is the tile of the problem there,
        cut at `total`."""
        if self.s.rows == IN_PLACE:
            return []
        k, tile, i = fresh(self.k), Var("tile", tiles), Var("i", rows)
        at = [var(v) for v in k]
        in_group = var(tile) * rows
        value = self.row_value(
            at, self.first_tile * self.s.tile_rows + first_row + in_group + var(i)
        )
        store: Stmt = Store(self.rows_panel, self.in_panel(in_group, rows, at, i), value)
        if self.s.rows == BY_TILE:
            each: Stmt = For(
                tile, tiles, SERIAL, [For(i, rows, LANES, [store])], base=base, total=total
            )
            row = Var("row", rows * tiles)
            first = self.first_tile * self.s.tile_rows + first_row
            later = self.row_value([*at[:-1], at[-1] + AHEAD], first + var(row))
            return self.k_loops(k, [*self._prefetch_line(later, row, row.extent), each])
        each = For(i, rows, SERIAL, self.k_loops(k, [store], lanes=True))
        return [For(tile, tiles, SERIAL, [each], base=base, total=total)]

    def pack_last_rows(self, first_row: Index) -> list[Stmt]:
        """Packs the rows after the last whole tile, and zeros for others of a tile."""
        if self.s.rows == IN_PLACE:
            return []
        rows, k, i = self.s.tile_rows, fresh(self.k), Var("i", self.s.tile_rows)
        z, at = Var("z", rows * self.s.k_extent), [var(v) for v in k]
        base = self.first_tile * rows + first_row
        value = self.row_value(at, base + var(i))
        store: Stmt = Store(self.rows_panel, self.in_panel(Index(), rows, at, i), value)
        zero = Store(self.rows_panel, var(z), const(0, self.dtype))
        by_tile = self.s.rows == BY_TILE
        steps = [store] if by_tile else self.k_loops(k, [store], lanes=True)
        each: Stmt = For(i, rows, LANES if by_tile else SERIAL, steps, base=base, total=self.p.m)
        return [
            For(z, z.extent, LANES, [zero], 4),
            *(self.k_loops(k, [each]) if by_tile else [each]),
        ]

    def _prefetch_line(self, value: Node, lane: Var, lanes: int) -> list[Stmt]:
        """That a line of a factor will be read, if that is a load of what the level-2 cache cannot
        hold whole. Lines less than a page apart lose nothing by it."""
        if value.op is not Op.LOAD or _nbytes(value.arg[0]) <= self.target.l2:
            return []
        hints: list[Stmt] = [replace(hint, cache=2) for hint in prefetches(value, lane)]
        return [For(lane, lanes, LANES, hints, 4)] if hints else []

    def in_panel(self, first_row: Index, rows: int, k: list[Index], i: Var) -> Index:
        """Where an element of a tile stands in the panel of rows."""
        if self.s.rows == BY_TILE:
            return first_row * self.s.k_extent + self.k_position(k) * rows + var(i)
        return (first_row + var(i)) * self.s.k_extent + self.k_position(k)

    def row_value(self, k: list[Index], row: Index) -> Node:
        """The row factor at a row of the problem, of whatever lane."""
        by = self.batch | self.k_by(k) | groups_at(self.p.rows, row)
        return self.p.factor(self.p.row_factor, by | {v: Index() for g in self.p.lanes for v in g})


def _parts(n: int, of: int) -> int:
    """How many there are of n: symbolic ones are known not to be negative."""
    return (n + of - 1) // of


def _nbytes(buf: Buf) -> int:
    return value_of(buf.size) * buf.dtype.itemsize
