"""Windows with lanes over the places of the output. In: Windows. Out: Loops.

for task (block of channels, units):
    for unit (block of lines):
        copy the unit's footprint of the source     unless it can be read where it lies
        for tile of channels x lines x lanes:       accumulators in registers over all of k, one broadcast a channel
            store with the epilogue
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations

from ..ir.graph import Node, Op, node
from ..ir.index import Index, Var, row_major, unravel, var
from ..ir.loop import LANES, REG, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, Loops, Reduce, Stmt, Store
from .contract_problem import contiguous, is_plain
from .evaluate import load
from .lower import Chunks, Lowered, Tuning
from .window_problem import TASKS, Units, Windows, cells, spread, step_cycles, store_all, tiles_of

MOST_TAPS = 8  # steps of the last reduced axis that are unrolled


@dataclass(frozen=True)
class PlaceTile:
    """Accumulators: channels x lines x vectors of places."""

    channels: int
    lines: int
    vectors: int
    cycles: float  # for all channels and lines, one step of k


def choose_tile(w: Windows) -> PlaceTile:
    """The tile that covers all channels and lines in the fewest cycles a step of k."""
    registers = w.target.registers
    most = registers - 8 if registers >= 32 else registers - 4
    found = []
    for o, r, v in combinations(range(1, min(w.m, 12) + 1), range(1, min(w.lines, 8) + 1), range(1, min(w.vectors, 4) + 1)):
        if o * r * v <= most and (o + 1) * r * v + 2 <= registers:
            found.append(PlaceTile(o, r, v, _cycles(w, (o, r, v))))
    return min(found, key=lambda t: (round(t.cycles, 3), t.channels * t.lines * t.vectors))


def _cycles(w: Windows, tile: tuple[int, int, int]) -> float:
    o, r, v = tile
    total = 0.0
    for (bo, no), (br, nr), (bv, _, nv) in combinations(_split(w.m, o), _split(w.lines, r), cells(w.vectors, v)):
        total += no * nr * nv * step_cycles(bo * br * bv, bo + 1.5 * br * bv)  # half of the vectors cross a cache line
    return total


def _split(n: int, size: int) -> list[tuple[int, int]]:
    return [(s, c) for s, c in ((size, n // size), (n % size, 1)) if s and c]


def place_cycles(w: Windows, tile: PlaceTile) -> float:
    """Estimate for everything but filling copies: steps, and one cycle a vector of results."""
    return tile.cycles * w.k + w.lines * w.vectors * w.m


def lower_places(w: Windows, tuning: Tuning) -> Lowered:
    task = _Task(w, choose_tile(w), tuning.min_chunks)
    chunk = Chunks(task.units.tasks, task.work, tuning.min_chunks)
    phase = chunk.phase(task.body(chunk.position))
    loops = Loops(w.p.kernel.name, w.p.buffers, chunk.params, [phase])
    return Lowered(loops, chunk.values, [int(task.units.tasks * task.work)], task.describe())


class _Task:
    """Some units of lines, for one block of channels."""

    def __init__(self, w: Windows, tile: PlaceTile, minimum: int) -> None:
        self.w, self.tile, self.width = w, tile, w.p.width
        self.block = self._channel_block()
        self.units = Units(w, tile.lines, -(-w.m // self.block), minimum)
        self.dtype = w.p.anchor.node.dtype
        every = {v: var(v) for v in (*w.batch, *w.channels, *w.reduced)}
        self.plain = is_plain(w.other(every))
        self.panel = Buf("panel", self.dtype, w.k * self.block, SCRATCH)
        self.direct = w.plain and contiguous(w.windowed({}), w.places[-1])
        self.work = float(self.units.size * self.units.block.extent * w.line * w.k * self.block) / 4

    def _channel_block(self) -> int:
        """Channels of a task: all of them where lines make enough tasks."""
        w, tile = self.w, self.tile
        lines = w.outer_lines // tile.lines
        blocks = max(1, min(-(-w.m // tile.channels), TASKS // max(1, lines)))
        return -(-w.m // (tile.channels * blocks)) * tile.channels

    def describe(self) -> str:
        w, t, u = self.w, self.tile, self.units
        source = "read in place" if self.direct else f"copied by {u.block.extent} lines"
        return (
            f"windows: lanes over {w.line} places, tiles of {t.channels} channels x {t.lines} lines x {t.vectors} vectors, "
            f"all {w.k} steps in registers, source {source}, {u.tasks} tasks of {u.size}"
        )

    def body(self, position: Index) -> list[Stmt]:
        part, *batch, self.part = unravel(position, self.units.shape)
        self.batch = dict(zip(self.w.batch, batch, strict=True))
        pack = [] if self.plain else [Alloc(self.panel), *self._pack()]
        return [*pack, self.units.loop(part, self._unit)]

    def _channels(self, channel: Index) -> dict[Var, Index]:
        """The variables of a channel of the block."""
        return spread(self.w.channels, self.part * self.block + channel)

    def _pack(self) -> list[Stmt]:
        """The other factor of the block, [channel][k], where it is more than a load."""
        w, channel = self.w, Var("channel", self.block)
        k = [Var(v.name, v.extent) for v in w.reduced]
        at = self.batch | self._channels(var(channel)) | {v: var(i) for v, i in zip(w.reduced, k, strict=True)}
        place = var(channel) * w.k + row_major(map(var, k), [v.extent for v in k])
        body: list[Stmt] = [Store(self.panel, place, w.other(at))]
        for v in reversed(k):
            body = [For(v, v.extent, LANES if v is k[-1] else SERIAL, body)]
        cut = w.m % self.block != 0
        base, total = (self.part * self.block, w.m) if cut else (Index(), None)
        return [For(channel, self.block, SERIAL, body, base=base, total=total)]

    # ------------------------------------------------------------ tiles

    def _unit(self, outer: dict[Var, Index], first_line: Index, part: Index) -> list[Stmt]:
        """Copies what a block of lines reads, then computes it."""
        self.at, self.first_line = self.batch | outer, first_line
        w, tile = self.w, self.tile
        self.copy = None if self.direct else self.units.footprint(first_line, self.at)
        fill = [Alloc(self.copy.buf), *self.copy.fill()] if self.copy else []

        def channels(line: Index, lines: int) -> list[Stmt]:
            return tiles_of(w.m, self.block, tile.channels, self.part, lambda c, o: self._line_tiles((line, lines), (c, o)))

        return fill + tiles_of(w.lines, self.units.block.extent, tile.lines, part, channels)

    def _line_tiles(self, lines: tuple[Index, int], channels: tuple[Index, int]) -> list[Stmt]:
        out: list[Stmt] = []
        for lanes, first, count in _lane_cells(self.w.line, self.width, self.tile.vectors):
            at = Var("lanes", count)
            out.append(For(at, count, SERIAL, self._tile(lines, channels, (var(at) * lanes + first, lanes))))
        return out

    def _tile(self, lines: tuple[Index, int], channels: tuple[Index, int], places: tuple[Index, int]) -> list[Stmt]:
        """Every step of k for some channels and places, then the outputs."""
        w = self.w
        o, r, x = Var("o", channels[1]), Var("r", lines[1]), Var("x", places[1])
        pitch = -(-places[1] // self.width) * self.width
        acc = Buf("acc", self.dtype, o.extent * r.extent * pitch, REG)
        place = (var(o) * r.extent + var(r)) * pitch + var(x)
        k = [Var(v.name, v.extent) for v in w.reduced]
        steps = {v: var(i) for v, i in zip(w.reduced, k, strict=True)}
        at = self.at | self._channels(channels[0] + var(o)) | self.units.at_line(self.first_line + lines[0] + var(r))
        at[w.places[-1]] = places[0] + var(x)
        term = node(Op.MUL, (self._weight(channels[0] + var(o), at | steps), self._read(at | steps)))
        body = _nest((o, r, x), [Reduce(acc, place, "add", term)])
        for v in reversed(k):
            body = [For(v, v.extent, UNROLL if v is k[-1] and v.extent <= MOST_TAPS else SERIAL, body)]
        writes = [_nest((o, r, x), [s]) for s in store_all(w.outputs(at, load(acc, place)))]
        return [Alloc(acc, 0), *body, *(s for stmts in writes for s in stmts)]

    def _weight(self, channel: Index, at: dict[Var, Index]) -> Node:
        if self.plain:
            return self.w.other(at)
        k = [at[v] for v in self.w.reduced]
        return load(self.panel, channel * self.w.k + row_major(k, [v.extent for v in self.w.reduced]))

    def _read(self, at: dict[Var, Index]) -> Node:
        return self.copy.load(self.w.source.substitute(at)) if self.copy else self.w.windowed(at)


def _nest(axes: tuple[Var, Var, Var], body: list[Stmt]) -> list[Stmt]:
    """Unrolled loops around lanes."""
    for v in reversed(axes):
        body = [For(v, v.extent, LANES if v is axes[-1] else UNROLL, body)]
    return body


def _lane_cells(line: int, width: int, vectors: int) -> list[tuple[int, int, int]]:
    """Tiles of a line as (lanes, first, count): whole vectors, except for what ends the line."""
    found = [(size * width, first * width, count) for size, first, count in cells(-(-line // width), vectors)]
    if line % width:
        lanes, first, count = found.pop()
        found += [(lanes, first, count - 1)] if count > 1 else []
        start = first + (count - 1) * lanes
        found.append((line - start, start, 1))
    return found
