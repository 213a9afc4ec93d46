"""Windows with lanes over the places of the output. In: Windows. Out: Loops.

for task (block of channels, units):
    for unit (block of lines):
        copy the unit's footprint of the source     unless it can be read where it lies
        for tile of channels x lines x lanes:       accumulators in registers over all of k, one broadcast a channel
            store with the epilogue                 for a pool: keep, and reduce once a few lines are complete
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations

from ....ir.graph.graph import node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, REG, SCRATCH, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ...kernels.evaluate import load
from ...kernels.lowered import Lowered
from ..chunks import Tuning
from .problem import Windows, cells, channel_block, sizes, step_cycles, tile_lines, tiles_of
from .task import Span, WindowTask


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
    for o, r, v in combinations(range(1, min(w.m, 12) + 1), tile_lines(w), range(1, min(w.vectors, 4) + 1)):
        if o * r * v <= most and (o + 1) * r * v + 2 <= registers:
            found.append(PlaceTile(o, r, v, _cycles(w, (o, r, v))))
    return min(found, key=lambda t: (round(t.cycles, 3), t.channels * t.lines * t.vectors))


def _cycles(w: Windows, tile: tuple[int, int, int]) -> float:
    o, r, v = tile
    total = 0.0
    for (bo, no), (br, nr), (bv, _, nv) in combinations(sizes(w.m, o), sizes(w.lines, r), cells(w.vectors, v)):
        total += no * nr * nv * step_cycles(bo * br * bv, bo + 2.0 * br * bv)  # most vectors cross a cache line
    return total


def place_cycles(w: Windows, tile: PlaceTile) -> float:
    """Estimate for everything but filling copies: steps, and one cycle a vector of results."""
    return tile.cycles * w.k + w.lines * w.vectors * w.m


def lower_places(w: Windows, tile: PlaceTile, tuning: Tuning) -> Lowered:
    """Loops with lanes over the last axis of places."""
    how = f"lanes over {w.line} places, tiles of {tile.channels} channels x {tile.lines} lines x {tile.vectors} vectors"
    return _Task(w, tile, tuning).lowered(f"{how}, all {w.k} steps in registers")


class _Task(WindowTask):
    def __init__(self, w: Windows, tile: PlaceTile, tuning: Tuning) -> None:
        direct = w.along(w.places[-1])[1]
        super().__init__(w, channel_block(w, tile.channels, tile.lines), tile.lines, tuning, direct)
        self.tile = tile
        self.results = Buf("results", self.dtype, tile.channels * tile.lines * w.line, SCRATCH)

    def tiles(self, part: Index) -> list[Stmt]:
        def channels(line: Index, lines: int) -> list[Stmt]:
            return tiles_of(self.w.m, self.block, self.tile.channels, self.part, lambda c, o: self._along((line, lines), (c, o)))

        lines = tiles_of(self.w.lines, self.units.block.extent, self.tile.lines, part, channels)
        return [Alloc(self.results), *lines] if self.w.p.pooled else lines

    def _along(self, lines: Span, channels: Span) -> list[Stmt]:
        """The tiles along the lines."""
        out: list[Stmt] = []
        for lanes, first, count in _lane_cells(self.w.line, self.width, self.tile.vectors):
            at = Var("lanes", count)
            out.append(For(at, count, SERIAL, self._tile(lines, channels, (var(at) * lanes + first, lanes))))
        return [*out, *self.pool(self.results, lines, channels)] if self.w.p.pooled else out

    def _tile(self, lines: Span, channels: Span, places: Span) -> list[Stmt]:
        """Every step of k for some channels and places, then the outputs."""
        o, r, x = Var("o", channels[1]), Var("r", lines[1]), Var("x", places[1])
        pitch = -(-places[1] // self.width) * self.width
        acc = Buf("acc", self.dtype, o.extent * r.extent * pitch, REG)
        place = (var(o) * r.extent + var(r)) * pitch + var(x)
        k = self.w.fresh()
        at = self.place(lines[0] + var(r), places[0] + var(x))
        step = at | {v: var(i) for v, i in zip(self.w.reduced, k, strict=True)}
        term = node(Op.MUL, (self.weight(channels[0] + var(o), step), self.read(step)))
        body = _nest((o, r, x), [Reduce(acc, place, "add", term)])
        for v in reversed(k):
            body = [For(v, v.extent, SERIAL, body)]
        if self.w.p.pooled:
            kept = (var(o) * r.extent + var(r)) * self.w.line + places[0] + var(x)
            writes = [Store(self.results, kept, load(acc, place))]
        else:
            writes = self.w.stores(at | self.channels(channels[0] + var(o)), load(acc, place))
        return [Alloc(acc, 0), *body, *(s for write in writes for s in _nest((o, r, x), [write]))]


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
