"""Products of tiles in shared memory by every thread for itself. In: two Operands. Out: loops over
registers.

A thread has the rows and lanes of a few squares of up to 4 x 4 in each quarter of the tile, so that
its loads are vectors that meet different banks:

    rows of a thread    slice * (rows / slices) + 4 * down + i      lanes likewise, with `across`
                                                                    (see _part_of)
"""

from __future__ import annotations

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import (
    LANES,
    REG,
    SERIAL,
    THREAD,
    UNROLL,
    Alloc,
    Buf,
    For,
    If,
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.walk import writes
from ....ir.symbolic.questions import is_unknown
from ...kernels.evaluate import load
from ...kernels.loop_axes import nested
from ..target import WARP
from .operand import Operand, Span
from .tile import Tile

SQUARE = 4
ACROSS = 8  # threads of a warp that have different lanes
UNROLLED = (
    8  # steps of k in a row: with more, fragments that are loaded ahead take too many registers
)


class Simt:
    """The sums of a block in the registers of its threads."""

    gap = 4

    def __init__(self, tile: Tile, dtype: DType, rows: Operand, lanes: Operand) -> None:
        self.tile, self.dtype, self.rows, self.lanes = tile, dtype, rows, lanes
        self.square = min(SQUARE, tile.part[0]), min(SQUARE, tile.part[1])
        self.slices = tile.part[0] // self.square[0]
        self.lane_slices = tile.part[1] // self.square[1]
        self.slice_rows = tile.rows // self.slices
        self.across = tile.lanes // tile.part[1]
        self.acc = Buf("acc", dtype, tile.threads * tile.sums, THREAD)

    def tile_row(self, piece: Index, row: Index) -> Index:
        """The row of a tile from that of a slice."""
        return piece * self.slice_rows + row

    def _part_of(self, thread: Index) -> tuple[Index, Index]:
        """Which rows and lanes a thread has, counted in its own.

        A warp has 4 x 8 parts where there are so many: neighbours share lanes, those next but one
        share rows. Then each of its loads takes two wavefronts, as the same vectors for threads so
        near to each other take one for half a warp.
        """
        if self.across % ACROSS or self.tile.rows // self.tile.part[0] % (WARP // ACROSS):
            return thread.divmod(self.across)
        warp, place = thread.divmod(WARP)
        down, across = warp.divmod(self.across // ACROSS)
        half, inside = place.divmod(WARP // 2)
        return down * (WARP // ACROSS) + half * 2 + inside % 2, across * ACROSS + inside // 2

    def multiply(self, turn: int) -> Stmt:
        """Adds the products of the tiles that are in shared memory."""
        tile, t = self.tile, Var("t", self.tile.threads)
        group, k = Var("group", max(1, tile.k // UNROLLED)), Var("k", min(tile.k, UNROLLED))
        step = var(k) + (var(group) * UNROLLED if group.extent > 1 else 0)
        a, b = Buf("a", self.dtype, tile.part[0], REG), Buf("b", self.dtype, tile.part[1], REG)
        down, across = self._part_of(var(t))
        i, j = Var("i", tile.part[0]), Var("j", tile.part[1])
        term = node(Op.MUL, (load(a, var(i)), load(b, var(j))))
        add = Reduce(self.acc, var(t) * tile.sums + var(i) * tile.part[1] + var(j), "add", term)
        steps: list[Stmt] = [
            self._fragment(self.rows, turn, a, step, down, self.square[0], self.slices),
            self._fragment(self.lanes, turn, b, step, across, self.square[1], self.lane_slices),
            For(i, i.extent, UNROLL, [For(j, j.extent, UNROLL, [add])]),
        ]
        products: Stmt = For(k, k.extent, UNROLL, steps)
        if group.extent > 1:
            products = For(group, group.extent, SERIAL, [products])
        return For(t, t.extent, LANES, [Alloc(a), Alloc(b), products])

    def _fragment(
        self, operand: Operand, turn: int, into: Buf, k: Index, at: Index, square: int, slices: int
    ) -> Stmt:
        """A thread's part of one step of k."""
        s, i = Var("s", slices), Var("i", square)
        place = var(s) * (operand.sizes.size // slices) + at * square + var(i)
        value = widened(load(operand.tiles[turn], k * operand.along + place), self.dtype)
        return For(
            s,
            slices,
            UNROLL,
            [For(i, square, UNROLL, [Store(into, var(s) * square + var(i), value)])],
        )

    def leave(self, piece: Index, sums: Buf, pitch: int) -> Stmt:
        """The sums of a slice, from registers to shared memory."""
        t, s = Var("t", self.tile.threads), Var("s", self.lane_slices)
        i, j = Var("i", self.square[0]), Var("j", self.square[1])
        down, across = self._part_of(var(t))
        row = down * self.square[0] + var(i)
        lane = var(s) * (self.tile.lanes // self.lane_slices) + across * self.square[1] + var(j)
        at = (
            (var(i) + piece * self.square[0]) * self.tile.part[1] + var(s) * self.square[1] + var(j)
        )
        store = Store(sums, row * pitch + lane, load(self.acc, var(t) * self.tile.sums + at))
        return For(t, t.extent, LANES, nested((i, s, j), [store], UNROLL, UNROLL))

    def accumulate(self, span: Span) -> list[Stmt]:
        """All products of a block: the next tiles come from memory while these are multiplied.

        Two tiles of each factor take turns, so that one barrier is enough for a step.
        """
        pairs, single = divmod(span.steps, 2)
        pair = Var("pair", pairs)
        both = [*self._turn(span, var(pair) * 2, 0), *self._turn(span, var(pair) * 2 + 1, 1)]
        body = self._load(span, Index())
        body += [For(pair, pairs, SERIAL, both)] if is_unknown(pairs) or pairs else []
        last = self._turn(span, Index(const=span.steps - 1), 0)
        if is_unknown(single):
            once = Var("single", 2)
            body.append(For(once, single, SERIAL, last))
        elif single:
            body += last
        bufs = [self.rows.staged, self.lanes.staged, *self.rows.tiles, *self.lanes.tiles]
        used = [b for b in bufs if b in writes(body)]
        return [*map(Alloc, used), Alloc(self.acc, 0), *body]

    def _turn(self, span: Span, step: Index, turn: int) -> list[Stmt]:
        """One step: tiles from registers to shared memory, the next ones to registers, products."""
        more = span.has(step + 1)
        load = [] if any(r.never for r in more) else [If(more, self._load(span, step + 1))]
        return [
            self.rows.store(Index(), turn),
            self.lanes.store(Index(), turn),
            *load,
            self.multiply(turn),
        ]

    def _load(self, span: Span, step: Index) -> list[Stmt]:
        k = (span.first_step + step) * self.tile.k
        return [
            self.rows.load(span.first_row, k, span.batch),
            self.lanes.load(span.first_lane, k, span.batch),
        ]


def widened(value: Node, dtype: DType) -> Node:
    """As the dtype of the sums."""
    return value if value.dtype is dtype else node(Op.CAST, (value,), dtype)
