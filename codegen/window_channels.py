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

from ..ir.graph import Node, Op, node
from ..ir.index import Index, Var, row_major, unravel, var
from ..ir.loop import LANES, REG, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, Loops, Reduce, Stmt, Store
from ..ir.loop_walk import indices, postorder
from . import schedule
from .contract_problem import contiguous
from .evaluate import load
from .lower import Chunks, Lowered, Tuning
from .window_problem import Units, Windows, cells, spread, step_cycles, store_all, tiles_of


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


def choose_tile(w: Windows) -> ChannelTile:
    """The tile that covers all lines, places and channels in the fewest cycles a step of k."""
    registers = w.target.registers
    most = registers - 12 if registers >= 32 else registers - 4  # what the transposition of a tile leaves free
    vectors = -(-w.m // w.p.width)
    found = []
    for v, r, x in combinations(range(1, min(vectors, 4) + 1), range(1, min(w.lines, 8) + 1), range(1, min(w.line, most) + 1)):
        if r * x * v <= most:
            found.append(ChannelTile(r, x, v, _cycles(w, vectors, (r, x, v))))
    return min(found, key=lambda t: (round(t.cycles, 3), t.accumulators))


def _cycles(w: Windows, vectors: int, tile: tuple[int, int, int]) -> float:
    r, x, v = tile
    blocks = [(v, vectors // v), (vectors % v, 1)]
    lines = [(r, w.lines // r), (w.lines % r, 1)]
    total = 0.0
    for (bv, nb), (br, nr), (bx, _, nx) in combinations(blocks, lines, cells(w.line, x)):
        if bv and br:
            total += nb * nr * nx * step_cycles(bv * br * bx, bv + br * bx)
    return total


def channel_cycles(w: Windows, tile: ChannelTile) -> float:
    """Estimate for everything but filling copies: steps, and a transposition of 5 cycles a vector for each result."""
    return tile.cycles * w.k + 5.0 * w.lines * w.line * -(-w.m // w.p.width)


def panel_vectors(w: Windows, tile: ChannelTile) -> int:
    """Vectors of channels whose panel fits half of the level-2 cache, whole tiles; 0 if not even one tile does."""
    most = w.target.l2 // 2 // (w.k * w.p.width * w.p.anchor.node.dtype.itemsize)
    vectors = -(-w.m // w.p.width)
    return min(vectors, most // tile.vectors * tile.vectors)


def lower_channels(w: Windows, tuning: Tuning) -> Lowered | None:
    tile = choose_tile(w)
    vectors = panel_vectors(w, tile)
    if not vectors:
        return None
    task = _Task(w, tile, vectors, tuning.min_chunks)
    chunk = Chunks(task.units.tasks, task.work, tuning.min_chunks)
    phase = chunk.phase(task.body(chunk.position))
    loops = Loops(w.p.kernel.name, w.p.buffers, chunk.params, [phase])
    return Lowered(loops, chunk.values, [int(task.units.tasks * task.work)], task.describe())


class _Task:
    """Some units of lines, for one block of channels."""

    def __init__(self, w: Windows, tile: ChannelTile, vectors: int, minimum: int) -> None:
        self.w, self.tile, self.width = w, tile, w.p.width
        self.lanes = tile.vectors * self.width
        self.block = vectors * self.width
        self.units = Units(w, tile.lines, -(-w.m // self.block), minimum)
        self.dtype = w.p.anchor.node.dtype
        self.panel = Buf("panel", self.dtype, w.k * self.block, SCRATCH)
        self.direct = w.plain
        self.work = float(self.units.size * self.units.block.extent * w.line * w.k * self.block) / 4

    def describe(self) -> str:
        w, t, u = self.w, self.tile, self.units
        source = "read in place" if self.direct else f"copied by {u.block.extent} lines"
        return (
            f"windows: lanes over {w.m} channels, tiles of {t.lines}x{t.places} places x {t.vectors} vectors, "
            f"all {w.k} steps in registers, source {source}, {u.tasks} tasks of {u.size}"
        )

    def body(self, position: Index) -> list[Stmt]:
        part, *batch, self.part = unravel(position, self.units.shape)
        self.batch = dict(zip(self.w.batch, batch, strict=True))
        pack = tiles_of(self.w.m, self.block, self.lanes, self.part, self._pack)
        return [Alloc(self.panel), *pack, self.units.loop(part, self._unit)]

    def _channels(self, channel: Index) -> dict[Var, Index]:
        """The variables of a channel of the block."""
        return spread(self.w.channels, self.part * self.block + channel)

    # ------------------------------------------------------------ the panel: for each tile of channels, [k][channel]

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
        w = self.w
        value = w.other({v: var(v) for v in (*w.batch, *w.channels, *w.reduced)})
        return schedule.collapse(w.reduced, [i for n in postorder([value]) for i in indices(n)])

    def _across(self, groups: list[list[Var]]) -> bool:
        """Whether the factor is contiguous along the last group of k, and not along the channels."""
        w = self.w
        value = w.other({v: var(v) for v in (*w.batch, *w.channels, *w.reduced)})
        return contiguous(value, groups[-1][-1]) and not contiguous(value, w.channels[-1]) and len(w.channels) == 1

    def _entry(self, groups: list[list[Var]], k: list[Index], where: tuple[Index, int, int, int], channel: Index) -> Stmt:
        """Stores one element of the panel."""
        first, lanes, v, _ = where
        by: dict[Var, Index] = {}
        for g, at in zip(groups, k, strict=True):
            by |= schedule.spread(at, g)
        value = self.w.other(self.batch | by | self._channels(first + v + channel))
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

    def _unit(self, outer: dict[Var, Index], first_line: Index, part: Index) -> list[Stmt]:
        """Copies what a block of lines reads, then computes it."""
        self.at = self.batch | outer
        self.first_line = first_line
        w, tile = self.w, self.tile
        self.copy = None if self.direct else self.units.footprint(first_line, self.at)
        fill = [Alloc(self.copy.buf), *self.copy.fill()] if self.copy else []
        return fill + tiles_of(w.lines, self.units.block.extent, tile.lines, part, self._lines_of_tiles)

    def _lines_of_tiles(self, line: Index, lines: int) -> list[Stmt]:
        out: list[Stmt] = []
        for size, first, count in cells(self.w.line, self.tile.places):
            tile = Var("places", count)
            body = self._channel_tiles(line, lines, var(tile) * size + first, size)
            out.append(For(tile, count, SERIAL, body))
        return out

    def _channel_tiles(self, line: Index, lines: int, place: Index, places: int) -> list[Stmt]:
        def tile(first: Index, lanes: int) -> list[Stmt]:
            return self._tile(line, lines, place, places, first, lanes)

        return tiles_of(self.w.m, self.block, self.lanes, self.part, tile)

    def _tile(self, line: Index, lines: int, place: Index, places: int, first: Index, lanes: int) -> list[Stmt]:
        """Every step of k for some places and channels, then the outputs."""
        w, pitch = self.w, self._pitch(lanes)
        r, x, lane = Var("r", lines), Var("x", places), Var("l", pitch)
        acc = Buf("acc", self.dtype, lines * places * pitch, REG)
        k = [Var(v.name, v.extent) for v in w.reduced]
        steps = {v: var(i) for v, i in zip(w.reduced, k, strict=True)}
        at = self.at | steps | self.units.at_line(self.first_line + line + var(r)) | {w.places[-1]: place + var(x)}
        weight = load(self.panel, first * w.k + row_major(map(var, k), [v.extent for v in k]) * pitch + var(lane))
        total = (var(r) * places + var(x)) * pitch
        add = Reduce(acc, total + var(lane), "add", node(Op.MUL, (self._read(at), weight)))
        body: list[Stmt] = [For(r, lines, UNROLL, [For(x, places, UNROLL, [For(lane, pitch, LANES, [add])])])]
        for v in reversed(k):
            body = [For(v, v.extent, SERIAL, body)]
        return [Alloc(acc, 0), *body, *self._write(acc, (line, lines), (place, places), (first, lanes))]

    def _read(self, at: dict[Var, Index]) -> Node:
        return self.copy.load(self.w.source.substitute(at)) if self.copy else self.w.windowed(at)

    def _write(self, acc: Buf, lines: tuple[Index, int], places: tuple[Index, int], lanes: tuple[Index, int]) -> list[Stmt]:
        """Stores a tile: squares of places and channels, transposed in registers."""
        out: list[Stmt] = []
        for r in range(lines[1]):
            for x in range(0, places[1], self.width):
                for v in range(0, lanes[1], self.width):
                    out += self._write_square(acc, (r, x, v), lines, places, lanes)
        return out

    def _write_square(
        self,
        acc: Buf,
        corner: tuple[int, int, int],
        lines: tuple[Index, int],
        places: tuple[Index, int],
        lanes: tuple[Index, int],
    ) -> list[Stmt]:
        r, x, v = corner
        i, c = Var("x", min(self.width, places[1] - x)), Var("c", min(self.width, lanes[1] - v))
        at = self.at | self.units.at_line(self.first_line + lines[0] + r)
        at |= {self.w.places[-1]: places[0] + var(i) + x} | self._channels(lanes[0] + var(c) + v)
        done = load(acc, (var(i) + (r * places[1] + x)) * self._pitch(lanes[1]) + var(c) + v)
        stores = store_all(self.w.outputs(at, done))
        return [For(i, i.extent, UNROLL, [For(c, c.extent, LANES, [s])]) for s in stores]
