"""A contraction in tiles: a block of threads for each tile of results. In: a Problem and a Tile.
Out: Loops.

for block (batch, part of k, tile of rows, tile of lanes):
    sums = 0, in registers
    for tile of k:
        both factors' tiles to shared memory, with prologue, masks and windows; the next ones on
            their way
        sums += products
    for slice of the rows:
        sums to shared memory
        for row, a warp each: epilogue along the lanes
then, where blocks share a sum: add the parts in order, epilogue
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Range, Var, mask_of, row_major, unravel, var
from ....ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    For,
    If,
    Loops,
    Reduce,
    Stmt,
    Store,
)
from ....ir.symbolic.questions import is_same, is_unknown
from ....wording import plural
from ...kernels.contraction import Problem, groups_at, groups_extent, spread_groups
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut, extent
from ...kernels.lowered import Lowered
from ..schedules.grid import Grid, params_of
from .operand import Operand, Sizes, Span
from .simt import Simt
from .tensor import TensorCores
from .tile import GROUP, Tile

ADDING = 128  # threads that add up parts, a result each
VECTOR = 4  # neighbouring results that a thread stores at a time


class Core(Protocol):
    """What multiplies tiles and holds the sums."""

    slices: int  # of the rows of a tile, in which the sums are left
    slice_rows: int
    # elements after each row of a slice in shared memory, so that what a warp leaves there meets
    # all banks
    gap: int

    def accumulate(self, span: Span) -> list[Stmt]:
        """The sums of all products of a block, and the memory that they need."""

    def leave(self, piece: Index, sums: Buf, pitch: int) -> Stmt:
        """A slice of the sums, to shared memory."""

    def tile_row(self, piece: Index, row: Index) -> Index:
        """The row of the tile from that of a slice."""


def lower_tiled(p: Problem, tile: Tile, why: str) -> Lowered:
    """Loops in tiles."""
    return _Block(p, tile).lowered(why)


class _Block:
    """One tile of results, or its share of k."""

    def __init__(self, p: Problem, tile: Tile) -> None:
        self.p, self.tile = p, tile
        self.grids: list[Grid] = []
        self.steps = -(-p.k // (tile.k * tile.parts))
        all_k = self.steps * tile.k * tile.parts
        rows, lanes = (
            Sizes(size, tile.k, all_k, tile.stages, tile.threads)
            for size in (tile.rows, tile.lanes)
        )
        row = self.row = Operand(p, "row", p.row_factor, (p.rows, p.lanes), rows, not tile.tensor)
        lane = self.lane = Operand(
            p, "lane", p.lane_factor, (p.lanes, p.rows), lanes, not tile.tensor
        )
        self.dtype = p.anchor.node.dtype
        self.core: Core = (
            TensorCores(tile, row, lane) if tile.tensor else Simt(tile, self.dtype, row, lane)
        )
        self.batch = tuple(extent(g) for g in p.batch)
        self.down, self.across = -(-p.m // tile.rows), -(-p.n // tile.lanes)
        self.group = GROUP if is_unknown(self.down) else min(GROUP, self.down)
        self.results = prod(self.batch) * p.m * p.n
        self.parts = Buf("parts", self.dtype, tile.parts * self.results, GLOBAL)

    def lowered(self, why: str) -> Lowered:
        """One phase, or two where blocks share sums."""
        p, shared = self.p, self.tile.parts > 1
        phases, threads = [self._phase()], [self.tile.threads]
        buffers, work = p.buffers, [2 * groups_extent(p.batch) * p.m * p.n * p.k]
        if shared:
            phases, threads = [*phases, self._add_parts()], [*threads, ADDING]
            buffers, work = (*buffers, self.parts), [*work, self.results * self.tile.parts]
        text = (
            f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: tiles {self.tile}, "
            f"{plural(prod(self._grid()), 'block')} of {self.tile.threads} threads"
            f"{f', k in {self.tile.parts} parts' if shared else ''}; "
            f"rows {self.row.how}, lanes {self.lane.how}; {why}"
        )
        params, values = params_of(self.grids)
        loops = Loops(p.kernel.name, buffers, params, phases, threads=tuple(threads))
        return Lowered(loops, values, work, text)

    def _grid(self) -> tuple[int, ...]:
        return (*self.batch, self.tile.parts, -(-self.down // self.group), self.across, self.group)

    def _phase(self) -> For:
        """A block for each tile; neighbours share lanes, of which a group of rows finds what it
        needs in the level-2 cache."""
        shape = self._grid()
        g = self._grid_of(shape, self.tile.rows * self.tile.lanes)
        *batch, part, group, lane_tile, row_tile = unravel(var(g.variable), shape)
        tile_row = group * self.group + row_tile
        span = Span(
            spread_groups(self.p.batch, batch),
            tile_row * self.tile.rows,
            lane_tile * self.tile.lanes,
            part * self.steps,
            self.steps,
        )
        body: list[Stmt] = [
            *self.core.accumulate(span),
            *self._leave(span, row_major(batch, self.batch), part),
        ]
        inside = mask_of([Range(tile_row, 0, self.down)])
        return g.phase([If(inside, body)] if inside else body)

    def _grid_of(self, shape: tuple[int, ...], size: int) -> Grid:
        self.grids.append(Grid(prod(shape), size, f"blocks{len(self.grids)}"))
        return self.grids[-1]

    # ------------------------------------------------------------ results

    def _leave(self, span: Span, batch: Index, part: Index) -> list[Stmt]:
        """The results, in slices that pass through shared memory so that stores are whole lines."""
        core, pitch = self.core, self.tile.lanes + self.core.gap
        sums = Buf("sums", self.dtype, core.slice_rows * pitch, SCRATCH)
        piece, row, lane = (
            Var("slice", core.slices),
            Var("row", core.slice_rows),
            Var("lane", self.tile.lanes),
        )
        first = span.first_row + core.tile_row(var(piece), var(row))
        total = load(sums, var(row) * pitch + var(lane))
        stores = self._stores(span, batch, part, first, span.first_lane + var(lane), total)
        line: Stmt = For(
            lane,
            lane.extent,
            LANES,
            [*stores],
            self._vector(),
            *cut(span.first_lane, self.p.n, lane.extent),
        )
        if not is_same(self.p.m % self.tile.rows, 0):
            line = If(mask_of([Range(first, 0, self.p.m)]), [line])
        write = For(row, row.extent, WARPS, [line])
        each = [core.leave(var(piece), sums, pitch), write]
        return [Alloc(sums), For(piece, core.slices, UNROLL, each)]

    def _stores(
        self, span: Span, batch: Index, part: Index, row: Index, lane: Index, total: Node
    ) -> list[Stmt]:
        """One result, or its part."""
        if self.tile.parts > 1:
            at = row_major(
                [part, batch, row, lane], [self.tile.parts, prod(self.batch), self.p.m, self.p.n]
            )
            return [Store(self.parts, at, total)]
        return self._outputs(span.batch, row, lane, total)

    def _outputs(self, batch: dict[Var, Index], row: Index, lane: Index, total: Node) -> list[Stmt]:
        return self.p.writes(
            batch | groups_at(self.p.rows, row) | groups_at(self.p.lanes, lane), total
        )

    def _vector(self) -> int:
        """Neighbouring results that a thread stores at a time."""
        last = self.p.lanes[-1]
        if not is_same(extent(last) % VECTOR, 0):
            return 1
        stored = self.p.epilogue(self.p.itself, load(Buf("sum", self.dtype, 1, REG), Index()))
        neighbours = all(is_same(q.at(at).coef(last[-1]), 1) for q, at, _ in stored)
        return VECTOR if self.tile.parts > 1 or neighbours else 1

    def _add_parts(self) -> For:
        """The last phase: the parts of each sum in order, then the outputs."""
        p = self.p
        each = p.m * p.n
        shape = (*self.batch, -(-each // ADDING))
        g, lane, part = (
            self._grid_of(shape, ADDING),
            Var("lane", ADDING),
            Var("part", self.tile.parts),
        )
        *batch, chunk = unravel(var(g.variable), shape)
        at = chunk * ADDING + var(lane)
        row, column = at.divmod(p.n)
        total = Buf("total", self.dtype, 1, REG)
        place = (var(part) * prod(self.batch) + row_major(batch, self.batch)) * each + at
        body: list[Stmt] = [
            Alloc(total, 0),
            For(
                part, part.extent, SERIAL, [Reduce(total, Index(), "add", load(self.parts, place))]
            ),
            *self._outputs(spread_groups(p.batch, batch), row, column, load(total, Index())),
        ]
        return g.phase([For(lane, ADDING, LANES, body, 1, *cut(chunk * ADDING, each, ADDING))])
