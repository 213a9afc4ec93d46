"""Products of tiles in shared memory on tensor cores. In: two Operands. Out: loops over a ring of
tiles.

for step of tiles:
    wait for its tiles; begin to copy those a few steps ahead into the place of the last ones
    sums += products, a part for each warp

A factor that is computed, or whose pieces are not aligned, passes through registers instead.
"""

from __future__ import annotations

from ....ir.graph import dtype as dt
from ....ir.graph.index import Index, Var, var
from ....ir.loops.loop import (
    LANES,
    SERIAL,
    THREAD,
    UNROLL,
    Alloc,
    Buf,
    Commit,
    For,
    If,
    Multiply,
    Stmt,
    Store,
    Wait,
)
from ....ir.loops.tensor_core_layout import SQUARE
from ....ir.loops.walk import writes
from ...kernels.evaluate import load
from ...kernels.loop_axes import nested
from ..target import WARP
from .operand import Operand, Span
from .tile import Tile

PER_SQUARE = 4  # sums of a thread


class TensorCores:
    """The sums of a block in the registers of its warps, as the products leave them."""

    gap = 8  # a half warp stores 4 rows of 8

    def __init__(self, tile: Tile, rows: Operand, lanes: Operand) -> None:
        self.tile, self.rows, self.lanes = tile, rows, lanes
        self.slices = tile.part[0] // SQUARE[0]
        self.squares = tile.part[1] // SQUARE[1]
        self.across = tile.lanes // tile.part[1]
        self.slice_rows = tile.rows // tile.part[0] * SQUARE[0]
        self.acc = Buf("acc", dt.float32, tile.threads * tile.sums, THREAD)

    def tile_row(self, piece: Index, row: Index) -> Index:
        """The row of a tile from that of a slice."""
        warp, inside = row.divmod(SQUARE[0])
        return warp * self.tile.part[0] + piece * SQUARE[0] + inside

    def accumulate(self, span: Span) -> list[Stmt]:
        """All products of a block; tiles are on their way for as many steps as there is room
        for."""
        ahead = self.tile.stages - 1
        begin, step = Var("begin", ahead), Var("step", span.steps)
        fetch, arrive = self._fetch(span, var(begin))
        fill: list[Stmt] = [If(span.has(var(begin)), [*fetch, *arrive]), Commit()]
        fetch, arrive = self._fetch(span, var(step) + ahead)
        more = span.has(var(step) + ahead)
        slot = var(step) % self.tile.stages
        shape = self.tile.rows, self.tile.lanes, self.tile.k
        body: list[Stmt] = [
            Wait(ahead - 1),
            If(more, fetch),
            Commit(),
            Multiply(
                self.acc, self.rows.matrix(slot), self.lanes.matrix(slot), shape, self.tile.part
            ),
            *([If(more, arrive)] if arrive else []),
        ]
        loop = For(step, span.steps, SERIAL, body)
        loops: list[Stmt] = [For(begin, ahead, SERIAL, fill), loop]
        bufs = [
            b for o in (self.rows, self.lanes) for b in (o.staged, *o.tiles) if b in writes(loops)
        ]
        return [*map(Alloc, bufs), Alloc(self.acc, 0), *loops]

    def _fetch(self, span: Span, step: Index) -> tuple[list[Stmt], list[Stmt]]:
        """Both tiles of a step: copies, loads into registers, and what stores those."""
        k, slot = (span.first_step + step) * self.tile.k, step % self.tile.stages
        fetch, arrive = list[Stmt](), list[Stmt]()
        for operand, first in ((self.rows, span.first_row), (self.lanes, span.first_lane)):
            copy = operand.copy(first, k, span.batch, slot)
            fetch.append(copy or operand.load(first, k, span.batch))
            arrive += [] if copy else [operand.store(slot)]
        return fetch, arrive

    def leave(self, piece: Index, sums: Buf, pitch: int) -> Stmt:
        """The sums of a slice, from registers to shared memory."""
        t, j, low, right = (
            Var("t", self.tile.threads),
            Var("j", self.squares),
            Var("low", 2),
            Var("right", 2),
        )
        warp, thread = var(t).divmod(WARP)
        down, across = warp.divmod(self.across)
        row = down * SQUARE[0] + thread // 4 + var(low) * 8
        lane = across * self.tile.part[1] + var(j) * SQUARE[1] + thread % 4 * 2 + var(right)
        place = (var(j) + piece * self.squares) * PER_SQUARE + var(low) * 2 + var(right)
        store = Store(sums, row * pitch + lane, load(self.acc, var(t) * self.tile.sums + place))
        return For(t, t.extent, LANES, nested((j, low, right), [store], UNROLL, UNROLL))
