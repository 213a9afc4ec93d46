"""Windows with lanes over channels. In: Windows. Out: Loops.

for task (block of channels, units):
    pack weights[k][channel]
    for unit (block of lines):
        copy the unit's footprint of the source     unless it can be read where it lies
        for tile of lines x places x channels:      accumulators in registers over all of k, one broadcast a place
            store, transposed, with the epilogue
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations

from ..ir.graph import Op, node
from ..ir.index import Index, Var, row_major, var
from ..ir.loop import LANES, REG, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ..ir.loop_walk import indices, postorder
from . import schedule
from .evaluate import load
from .lower import Lowered, Tuning
from .window_problem import Windows, cells, sizes, step_cycles, tiles_of
from .window_task import Span, WindowTask


@dataclass(frozen=True)
class ChannelTile:
    """Accumulators: lines x places x vectors of channels."""

    lines: int
    places: int
    vectors: int
    cycles: float  # for the whole of one line block of all lines, every channel, one step of k

    @property
    def accumulators(self) -> int:
        return self.lines * self.places * self.vectors


def choose_tile(w: Windows) -> ChannelTile | None:
    """The tile that covers all lines, places and channels in the fewest cycles a step of k; None if no panel is small enough."""
    registers = w.target.registers
    most = registers - 12 if registers >= 32 else registers - 4  # what the transposition of a tile leaves free
    vectors, wide = -(-w.m // w.p.width), min(4, panel_vectors(w))
    found = []
    for v, r, x in combinations(range(1, wide + 1), range(1, min(w.lines, 8) + 1), range(1, min(w.line, most) + 1)):
        if r * x * v <= most:
            found.append(ChannelTile(r, x, v, _cycles(w, vectors, (r, x, v))))
    return min(found, default=None, key=lambda t: (round(t.cycles, 3), t.accumulators))


def _cycles(w: Windows, vectors: int, tile: tuple[int, int, int]) -> float:
    r, x, v = tile
    total = 0.0
    for (bv, nb), (br, nr), (bx, _, nx) in combinations(sizes(vectors, v), sizes(w.lines, r), cells(w.line, x)):
        total += nb * nr * nx * step_cycles(bv * br * bx, bv + br * bx)
    return total


def channel_cycles(w: Windows, tile: ChannelTile) -> float:
    """Estimate for everything but filling copies: steps, and a transposition of 5 cycles a vector for each result."""
    return tile.cycles * w.k + 5.0 * w.lines * w.line * -(-w.m // w.p.width)


def panel_vectors(w: Windows) -> int:
    """Vectors of channels whose panel leaves room for a copy in the level-2 cache."""
    most = w.target.l2 * 5 // 8 // (w.k * w.p.width * w.p.anchor.node.dtype.itemsize)
    return min(-(-w.m // w.p.width), most)


def lower_channels(w: Windows, tile: ChannelTile, tuning: Tuning) -> Lowered:
    """Loops with lanes over channels."""
    how = f"lanes over {w.m} channels, tiles of {tile.lines}x{tile.places} places x {tile.vectors} vectors"
    return _Task(w, tile, tuning).lowered(f"{how}, all {w.k} steps in registers")


class _Task(WindowTask):
    def __init__(self, w: Windows, tile: ChannelTile, tuning: Tuning) -> None:
        vectors = (
            panel_vectors(w) // tile.vectors * tile.vectors if panel_vectors(w) < -(-w.m // w.p.width) else -(-w.m // w.p.width)
        )
        super().__init__(w, vectors * w.p.width, tile.lines, tuning, w.plain, packs=True)
        self.tile, self.lanes = tile, tile.vectors * self.width

    # ------------------------------------------------------------ the panel: for each tile of channels, [k][channel]

    def pack(self) -> list[Stmt]:
        return [Alloc(self.panel), *tiles_of(self.w.m, self.block, self.lanes, self.part, self._pack)]

    def _pack(self, first: Index, lanes: int) -> list[Stmt]:
        out: list[Stmt] = []
        for v in range(0, lanes, self.width):
            out += self._pack_vector(first, lanes, v, min(self.width, lanes - v))
        return out

    def _pack_vector(self, first: Index, lanes: int, v: int, live: int) -> list[Stmt]:
        """A vector of channels at every k: by squares where the factor is contiguous along k."""
        groups = self._k_groups()
        *front, last = [Var(f"k{a}", schedule.extent(g)) for a, g in enumerate(groups)]
        body = self._squares if self._across(groups) else self._lines
        fill = body(groups, front, last, (first, lanes, v, live))
        for axis in reversed(front):
            fill = [For(axis, axis.extent, SERIAL, fill)]
        return fill

    def _k_groups(self) -> list[list[Var]]:
        """The reduced axes, collapsed where the factor without windows walks them as one."""
        every = {v: var(v) for v in (*self.w.batch, *self.w.channels, *self.w.reduced)}
        value = self.w.other(every)
        return schedule.collapse(self.w.reduced, [i for n in postorder([value]) for i in indices(n)])

    def _across(self, groups: list[list[Var]]) -> bool:
        """Whether the factor is contiguous along the last group of k, and not along the channels."""
        channels = self.w.channels
        return self.w.along(groups[-1][-1])[0] and not self.w.along(channels[-1])[0] and len(channels) == 1

    def _entry(self, groups: list[list[Var]], k: list[Index], where: tuple[Index, int, int, int], channel: Index) -> Stmt:
        """Stores one element of the panel."""
        first, lanes, v, _ = where
        by: dict[Var, Index] = {}
        for g, at in zip(groups, k, strict=True):
            by |= schedule.spread(at, g)
        value = self.w.other(self.batch | by | self.channels(first + v + channel))
        at = first * self.w.k + row_major(k, [schedule.extent(g) for g in groups]) * self._pitch(lanes) + v + channel
        return Store(self.panel, at, value)

    def _pitch(self, lanes: int) -> int:
        return -(-lanes // self.width) * self.width

    def _squares(self, groups: list[list[Var]], front: list[Var], last: Var, where: tuple[Index, int, int, int]) -> list[Stmt]:
        """Vectors along k, transposed."""
        outer, whole = [var(v) for v in front], last.extent // self.width
        out: list[Stmt] = []
        square = Var("square", max(1, whole))
        for at, steps in ((var(square) * self.width, self.width), (Index(const=whole * self.width), last.extent % self.width)):
            j, k = Var("j", where[3]), Var("k", max(1, steps))
            entry = self._entry(groups, [*outer, at + var(k)], where, var(j))
            body: list[Stmt] = [For(j, j.extent, UNROLL, [For(k, steps, LANES, [entry])])]
            if steps == self.width and whole:
                out.append(For(square, whole, SERIAL, body))
            elif steps and steps < self.width:
                out += body
        return out

    def _lines(self, groups: list[list[Var]], front: list[Var], last: Var, where: tuple[Index, int, int, int]) -> list[Stmt]:
        """Vectors along the channels."""
        channel = Var("l", where[3])
        entry = self._entry(groups, [var(v) for v in (*front, last)], where, var(channel))
        return [For(last, last.extent, SERIAL, [For(channel, channel.extent, LANES, [entry])])]

    # ------------------------------------------------------------ tiles

    def tiles(self, part: Index) -> list[Stmt]:
        return tiles_of(self.w.lines, self.units.block.extent, self.tile.lines, part, self._along)

    def _along(self, line: Index, lines: int) -> list[Stmt]:
        """The tiles along the lines."""
        out: list[Stmt] = []
        for size, first, count in cells(self.w.line, self.tile.places):
            at = Var("places", count)
            body = self._channel_tiles((line, lines), (var(at) * size + first, size))
            out.append(For(at, count, SERIAL, body))
        return out

    def _channel_tiles(self, lines: Span, places: Span) -> list[Stmt]:
        return tiles_of(self.w.m, self.block, self.lanes, self.part, lambda c, n: self._tile(lines, places, (c, n)))

    def _tile(self, lines: Span, places: Span, channels: Span) -> list[Stmt]:
        """Every step of k for some places and channels, then the outputs."""
        w, pitch = self.w, self._pitch(channels[1])
        r, x, lane = Var("r", lines[1]), Var("x", places[1]), Var("l", pitch)
        acc = Buf("acc", self.dtype, r.extent * x.extent * pitch, REG)
        k = w.fresh()
        at = self.place(lines[0] + var(r), places[0] + var(x)) | {v: var(i) for v, i in zip(w.reduced, k, strict=True)}
        weight = load(self.panel, channels[0] * w.k + row_major(map(var, k), [v.extent for v in k]) * pitch + var(lane))
        total = (var(r) * x.extent + var(x)) * pitch
        add = Reduce(acc, total + var(lane), "add", node(Op.MUL, (self.read(at), weight)))
        body: list[Stmt] = [For(r, r.extent, UNROLL, [For(x, x.extent, UNROLL, [For(lane, pitch, LANES, [add])])])]
        for v in reversed(k):
            body = [For(v, v.extent, SERIAL, body)]
        return [Alloc(acc, 0), *body, *self._write(acc, lines, places, channels)]

    def _write(self, acc: Buf, lines: Span, places: Span, channels: Span) -> list[Stmt]:
        """Stores a tile: squares of places and channels, transposed in registers."""
        corners = combinations(range(lines[1]), range(0, places[1], self.width), range(0, channels[1], self.width))
        return [s for corner in corners for s in self._write_square(acc, corner, lines, places, channels)]

    def _write_square(self, acc: Buf, corner: tuple[int, int, int], lines: Span, places: Span, channels: Span) -> list[Stmt]:
        r, x, v = corner
        i, c = Var("x", min(self.width, places[1] - x)), Var("c", min(self.width, channels[1] - v))
        at = self.place(lines[0] + r, places[0] + var(i) + x) | self.channels(channels[0] + var(c) + v)
        done = load(acc, (var(i) + (r * places[1] + x)) * self._pitch(channels[1]) + var(c) + v)
        return [For(i, i.extent, UNROLL, [For(c, c.extent, LANES, [s])]) for s in self.w.stores(at, done)]
