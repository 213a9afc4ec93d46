"""Windows with lanes over channels. In: Windows. Out: Loops.

for task (block of channels, units):
    pack weights[k][channel]
    for unit (block of lines):
        copy the unit's footprint of the source     unless it can be read where it lies
        for tile of lines x places x channels:      accumulators in registers over blocks of k, one
                                                    broadcast a place
            keep the sums of a few lines
        transpose them by squares, short lines as one; store with the epilogue, for a pool reduce
            what is transposed
"""

from __future__ import annotations

from functools import partial
from itertools import product as combinations
from math import prod

from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Var, row_major, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, REG, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, Stmt, Store
from ....ir.loops.walk import indices, postorder
from ....ir.symbolic.questions import is_unknown, value_of
from ...kernels import loop_axes
from ...kernels.evaluate import load
from ...kernels.lowered import Lowered
from ..chunks import Tuning
from .panel import pack_vector
from .problem import (
    Tile,
    Windows,
    best_tile,
    each_cell,
    likely,
    squares_of,
    step_cycles,
    tile_lines,
    tiles_of,
    tiles_of_line,
    waiting,
)
from .steps import Sums, described, sum_products
from .task import Span, WindowTask

MOST_AS_ONE = 128  # places of lines that are transposed as one: they stand in the level-1 cache
# loads that one costs for all lanes. Weight gradients of 3 x 3 places on Zen 1: tiles of 9 products
# and 10 loads took 1.2 times as long as those of 6 and 5, or 12 and 8
BROADCAST = 1.2
CHEAP = 12  # operations of an epilogue that is repeated for each of the vectors of a square


def choose_tile(w: Windows) -> Tile | None:
    """The best tile of vectors of channels, whole lines and places; None if no panel is small
    enough. Lines of a length that is not known are taken for long ones, unless they are too short
    for the tile of these."""
    tile = _tile_of_line(w, likely(w.line))
    if tile is not None and is_unknown(w.line) and w.line < tile.places:
        return _tile_of_line(w, value_of(w.line))
    return tile


def _tile_of_line(w: Windows, line: int) -> Tile | None:
    """That for lines of a length."""
    registers = w.target.registers
    # what the transposition of a tile leaves free
    most = registers - 12 if registers >= 32 else registers - 4
    wide = min(4, panel_vectors(w))
    shapes = combinations(range(1, wide + 1), tile_lines(w), range(1, min(line, most) + 1))
    fitting = [
        (v, r, x) for v, r, x in shapes if r * x * v <= most and r * x * v + v + 1 <= registers
    ]
    extents = -(-w.m // w.p.width), value_of(w.lines), line

    def cycles(v: int, r: int, x: int) -> float:
        return step_cycles(v * r * x, v + BROADCAST * r * x)

    return best_tile(extents, fitting, cycles, partial(waiting, w)) if fitting else None


def channel_cycles(w: Windows, tile: Tile) -> float:
    """Estimate for everything but filling copies: steps, and a transposition of 5 cycles a vector
    for each result."""
    return tile.cycles * w.k + 5.0 * w.lines * w.line * -(-w.m // w.p.width)


def panel_vectors(w: Windows) -> int:
    """Vectors of channels whose panel leaves room for a copy in the level-2 cache."""
    most = w.target.l2 * 5 // 8 // (w.k * w.p.width * w.p.anchor.node.dtype.itemsize)
    if most < 1:
        return 0
    return min(-(-w.m // w.p.width), max(1, min(likely(most), value_of(most))))


def lower_channels(w: Windows, tile: Tile, tuning: Tuning) -> Lowered:
    """Loops with lanes over channels."""
    how = (
        f"lanes over {w.m} channels, tiles of {tile.lines}x{tile.places} places x {tile.channels}"
        " vectors"
    )
    return _Task(w, tile, tuning).lowered(f"{how}, {described(w.reduced)}")


class _Task(WindowTask):
    def __init__(self, w: Windows, tile: Tile, tuning: Tuning) -> None:
        vectors, fitting = -(-w.m // w.p.width), panel_vectors(w)
        block = vectors if fitting == vectors else fitting // tile.channels * tile.channels
        super().__init__(w, tile, block * w.p.width, tuning, w.plain, packs=True)
        self.sums = Buf("sums", self.dtype, tile.lines * w.line * self.block, SCRATCH)
        self.as_one = not w.p.pooled and self._lines_as_one()
        self.turned = Buf(
            "turned",
            self.dtype,
            self.width * (tile.lines if w.p.pooled or self.as_one else 1) * w.line,
            SCRATCH,
        )
        self.direct_stores = not w.p.pooled and self._stores_across()

    def pack(self) -> list[Stmt]:
        """The panel: for each vector of channels, [k][channel]."""
        return [
            Alloc(self.panel),
            *tiles_of(self.w.m, self.block, self.width, self.part, self._pack_vector),
        ]

    def _pack_vector(self, first: Index, live: int) -> list[Stmt]:
        def store(k: dict[Var, Index], position: Index, channel: Index) -> Stmt:
            value = self.w.other(self.batch | k | self.channels(first + channel))
            return Store(self.panel, first * self.w.k + position * self.width + channel, value)

        return pack_vector(self.w, live, store)

    # ------------------------------------------------------------ tiles

    def tiles(self, part: Index) -> list[Stmt]:
        lines = tiles_of(
            self.w.lines, self.units.block.extent, self.tile.lines, part, self._line_tile
        )
        return [Alloc(self.sums), *([] if self.direct_stores else [Alloc(self.turned)]), *lines]

    def _line_tile(self, line: Index, lines: int) -> list[Stmt]:
        """All places and channels of a few lines."""
        cells = tiles_of_line(self.w.line, self.tile.places, again=True)
        out = each_cell("places", cells, lambda x, n: self._channel_tiles((line, lines), (x, n)))
        finish = tiles_of(
            self.w.m,
            self.block,
            self.width,
            self.part,
            lambda c, n: self._finish((line, lines), (c, n)),
        )
        return out + finish

    def _channel_tiles(self, lines: Span, places: Span) -> list[Stmt]:
        size = self.tile.channels * self.width
        return tiles_of(
            self.w.m, self.block, size, self.part, lambda c, n: self._tile(lines, places, (c, n))
        )

    def _tile(self, lines: Span, places: Span, channels: Span) -> list[Stmt]:
        """Every step of k for some places and channels."""
        w, vectors = self.w, -(-channels[1] // self.width)
        axes = Var("r", lines[1]), Var("x", places[1]), Var("v", vectors), Var("l", self.width)
        r, x, v, lane = map(var, axes)
        acc = Buf("acc", self.dtype, prod(a.extent for a in axes), REG)
        number = row_major((r, x, v, lane), [a.extent for a in axes])
        at = self.place(lines[0] + r, places[0] + x)
        first = (channels[0] + v * self.width) * w.k + lane

        def product(k: dict[Var, Index]) -> Node:
            step = row_major(k.values(), [i.extent for i in k])
            return node(Op.MUL, (self.read(at | k), load(self.panel, first + step * self.width)))

        kept = (r * w.line + places[0] + x) * self.block + channels[0] + v * self.width + lane
        sums = Sums(axes, acc, number, self.sums, kept)
        body, total = sum_products(w.reduced, sums, product)
        return body + sums.keep(total)

    # ------------------------------------------------------------ outputs

    def _outputs(self, at: dict[Var, Index]) -> list[Store]:
        """What is written somewhere, as it depends on some of the axes."""
        w = self.w
        return w.stores(
            {v: var(v) for v in (*w.batch, *w.channels, *w.places)} | at, load(self.sums, Index())
        )

    def _stores_across(self) -> bool:
        """Whether outputs are stored a square at a time: the epilogue is short, and reads nothing
        that lies across channels."""
        w = self.w
        nodes = postorder([s.value for s in self._outputs({})])
        loads = [n.arg[1] for n in nodes if n.op is Op.LOAD and n.arg[0] is not self.sums]
        return (
            loop_axes.work(nodes) <= CHEAP
            and all(i.coef(w.channels[-1]) in (0, 1) for i in loads)
            and len(w.channels) == 1
        )

    def _lines_as_one(self) -> bool:
        """Whether the few lines of a tile are short, and lie one behind the other wherever the
        epilogue reads and writes."""
        w, lines = self.w, self.tile.lines
        if lines == 1 or is_unknown(w.line):
            return False
        if w.line % self.width == 0 or lines * w.line > MOST_AS_ONE:
            return False
        tile, place = Var("tile", -(-w.lines // lines)), Var("x", lines * w.line)
        line, x = var(place).divmod(w.line)
        stores = self._outputs({w.places[-2]: var(tile) * lines + line, w.places[-1]: x})
        at = [i for n in postorder([s.value for s in stores]) for i in indices(n)]
        at += [i for s in stores for i in (s.index, *(r.index for r in s.mask))]
        return not any(loop_axes.divides(i, place) for i in at)

    def _finish(self, lines: Span, channels: Span) -> list[Stmt]:
        """The outputs of a vector of channels in a few lines: its sums, transposed."""
        count, length = (1, lines[1] * self.w.line) if self.as_one else (lines[1], self.w.line)
        line = Var("r", count)
        where = lines[0], var(line), channels
        out = each_cell(
            "square",
            squares_of(length, self.width),
            lambda x, n: self._square(where, lines[1], (x, n)),
        )
        if self.w.p.pooled:
            return [For(line, lines[1], SERIAL, out), *self.pool(self.turned, lines, channels)]
        return [
            For(
                line,
                count,
                SERIAL,
                out if self.direct_stores else [*out, *self._rows(where, length)],
            )
        ]

    def _at(self, where: tuple[Index, Index, Span], x: Index, channel: Index) -> dict[Var, Index]:
        """The variables of a place of a line, or of the lines that are one, in a channel."""
        first, line, channels = where
        on, x = x.divmod(self.w.line) if self.as_one else (Index(), x)
        return self.place(first + line + on, x) | self.channels(channels[0] + channel)

    def _square(self, where: tuple[Index, Index, Span], lines: int, places: Span) -> list[Stmt]:
        """Some places of a line, for a vector of channels. For a pool, the turned lines of a tile
        are kept."""
        _, kept, channels = where
        x, c = Var("x", places[1]), Var("c", channels[1])
        length = self.w.line * (lines if self.as_one else 1)
        done = load(
            self.sums, (kept * length + places[0] + var(x)) * self.block + channels[0] + var(c)
        )
        row = var(c) * lines + kept if self.w.p.pooled else var(c)
        turned: list[Stmt] = [Store(self.turned, row * length + places[0] + var(x), done)]
        stores = (
            self.w.stores(self._at(where, places[0] + var(x), var(c)), done)
            if self.direct_stores
            else turned
        )
        return [For(x, places[1], UNROLL, [For(c, channels[1], LANES, [*stores])])]

    def _rows(self, where: tuple[Index, Index, Span], length: int) -> list[Stmt]:
        """The outputs of a line, channel by channel."""
        c, x = Var("c", where[2][1]), Var("x", length)
        stores = self.w.stores(
            self._at(where, var(x), var(c)), load(self.turned, var(c) * length + var(x))
        )
        return [For(c, c.extent, SERIAL, [For(x, x.extent, LANES, [*stores])])]
