"""Windows with lanes over the places of the output. In: Windows. Out: Loops.

for task (block of channels, units):
    for unit (block of lines):
        copy the unit's footprint of the source     unless it can be read where it lies
        for tile of channels x lines x lanes:       accumulators in registers over blocks of k, one
                                                    broadcast a channel
            store with the epilogue                 for a pool: keep, and reduce once a few lines
                                                    are complete
"""

from __future__ import annotations

from itertools import product as combinations

from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import REG, SCRATCH, Alloc, Buf, Stmt
from ....ir.symbolic.questions import has_several, value_of
from ...kernels.loop_axes import balanced
from ...kernels.lowered import Lowered
from ..chunks import Tuning
from .problem import Tile, Windows, best_tile, channel_block, each_cell, step_cycles, tile_lines
from .steps import Sums, blocks, described, sum_products
from .task import Span, WindowTask

# times the cycles of a step where the other factor's elements push each other out of a cache set:
# 1.08 and 1.3 of the time with lanes over channels, transposed convolutions on AVX2 (Zen 1)
CROWDED = 1.2
MOST_STEP = 2  # elements from a place to the next one: vectors are loaded as two and shuffled


def choose_tile(w: Windows) -> Tile:
    """The best tile of channels, lines and vectors of places; most of these cross a cache line."""
    registers, loads = w.target.registers, 2.0 * w.step(w.places[-1])
    most = registers - 8 if registers >= 32 else registers - 4
    shapes = combinations(
        range(1, min(w.m, 12) + 1), tile_lines(w), range(1, min(w.vectors, 4) + 1)
    )
    fitting = [
        (o, r, v) for o, r, v in shapes if o * r * v <= most and (o + 1) * r * v + 2 <= registers
    ]
    return best_tile(
        (w.m, value_of(w.lines), w.vectors),
        fitting,
        lambda o, r, v: step_cycles(o * r * v, o + loads * r * v),
    )


def place_cycles(w: Windows, tile: Tile) -> float:
    """Estimate for everything but filling copies: steps, and one cycle a vector of results."""
    steps = tile.cycles * w.k * (CROWDED if w.other_is_crowded else 1.0)
    return steps + w.lines * w.vectors * w.m


def lower_places(w: Windows, tile: Tile, tuning: Tuning) -> Lowered:
    """Loops with lanes over the last axis of places."""
    how = (
        f"lanes over {w.line} places, tiles of {tile.channels} channels x {tile.lines} lines x"
        f" {tile.places} vectors"
    )
    return _Task(w, tile, tuning).lowered(f"{how}, {described(w.reduced)}")


class _Task(WindowTask):
    def __init__(self, w: Windows, tile: Tile, tuning: Tuning) -> None:
        direct = w.along(w.places[-1])[1]
        super().__init__(w, tile, channel_block(w, tile.channels, tile.lines), tuning, direct)
        self.results = Buf("results", self.dtype, tile.channels * tile.lines * w.line, SCRATCH)

    def tiles(self, part: Index) -> list[Stmt]:
        keeps = self.w.p.pooled or has_several(blocks(self.w.reduced).count)
        return [Alloc(self.results), *super().tiles(part)] if keeps else super().tiles(part)

    def along(self, lines: Span, channels: Span) -> list[Stmt]:
        in_line = _lane_cells(self.w.line, self.width, self.tile.places)
        out = each_cell("lanes", in_line, lambda x, n: self._tile(lines, channels, (x, n)))
        return [*out, *self.pool(self.results, lines, channels)] if self.w.p.pooled else out

    def _tile(self, lines: Span, channels: Span, places: Span) -> list[Stmt]:
        """Every step of k for some channels and places, then the outputs."""
        o, r, x = Var("o", channels[1]), Var("r", lines[1]), Var("x", places[1])
        pitch = -(-places[1] // self.width) * self.width
        acc = Buf("acc", self.dtype, o.extent * r.extent * pitch, REG)
        place = (var(o) * r.extent + var(r)) * pitch + var(x)
        at = self.place(lines[0] + var(r), places[0] + var(x))
        kept = (var(o) * r.extent + var(r)) * self.w.line + places[0] + var(x)
        sums = Sums((o, r, x), acc, place, self.results, kept)

        def product(k: dict[Var, Index]) -> Node:
            return node(Op.MUL, (self.weight(channels[0] + var(o), at | k), self.read(at | k)))

        body, total = sum_products(self.w.reduced, sums, product)
        if self.w.p.pooled:
            return body + sums.keep(total)
        return body + sums.each(*self.w.stores(at | self.channels(channels[0] + var(o)), total))


def _lane_cells(line: int, width: int, vectors: int) -> list[tuple[int, int, int]]:
    """Tiles of a line as (lanes, first, count): whole vectors, except for what ends the line."""
    tiles = [
        (size * width, first * width, count)
        for size, first, count in balanced(-(-line // width), vectors)
    ]
    if line % width:
        lanes, first, count = tiles.pop()
        tiles += [(lanes, first, count - 1)] if count > 1 else []
        start = first + (count - 1) * lanes
        tiles.append((line - start, start, 1))
    return tiles
