"""Windows with lanes over the last reduced axis: weight gradients of few channels. In: Windows.
Out: Loops.

for tile of channels x lines x places:      a vector of partial sums each, in registers over all of
                                            k
    for k: for vector of the last axis:     one load for each channel and each place
    add up the lanes; store with the epilogue
"""

from __future__ import annotations

from itertools import product as combinations

from ....ir.graph.graph import node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, REG, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt
from ....ir.symbolic.questions import is_unknown, value_of
from ...kernels.evaluate import load
from ...kernels.loop_axes import nested
from ...kernels.lowered import Lowered
from ..chunks import Tuning
from .problem import (
    Tile,
    Windows,
    best_tile,
    channel_block,
    each_cell,
    likely,
    step_cycles,
    tiles_of_line,
)
from .task import Span, WindowTask


def choose_tile(w: Windows) -> Tile:
    """The best tile of channels, lines and places, a vector of partial sums each."""
    registers = w.target.registers
    most = registers - 8 if registers >= 32 else registers - 4
    lines = 1 if is_unknown(w.lines) else min(w.lines, 4)
    shapes = combinations(
        range(1, min(w.m, 8) + 1), range(1, lines + 1), range(1, min(likely(w.line), most) + 1)
    )
    fitting = [
        (o, r, x)
        for o, r, x in shapes
        if o * r * x <= most and o * r * x + min(o, r * x) + 2 <= registers
    ]

    def cycles(o: int, r: int, x: int) -> float:
        # a vector that crosses a cache line counts twice; windows nearly always do
        loads = 1.5 * o + 2.0 * r * x
        return max(step_cycles(o * r * x, loads), _stream_cycles(w, o, r))

    return best_tile((w.m, value_of(w.lines), likely(w.line)), fitting, cycles)


def _stream_cycles(w: Windows, channels: int, lines: int) -> float:
    """Cycles to read a vector of each channel and line once from the level-2 cache, if a tile's
    terms exceed the first."""
    return (
        1.5 * (channels + lines)
        if (channels + lines) * w.k * w.p.anchor.node.dtype.itemsize > w.target.l1 // 2
        else 0.0
    )


def sum_cycles(w: Windows, tile: Tile) -> float:
    """Estimate for everything but filling copies: vectors of k, and 8 cycles for adding up the
    lanes of each result."""
    last = w.reduced[-1].extent
    return tile.cycles * (w.k // last) * -(-last // w.p.width) + 8.0 * w.m * w.lines * w.line


def lower_sums(w: Windows, tile: Tile, tuning: Tuning) -> Lowered:
    """Loops with lanes over the last reduced axis."""
    how = (
        f"lanes over {w.reduced[-1].extent} terms, tiles of {tile.channels} channels x"
        f" {tile.lines}x{tile.places} places"
    )
    return _Task(w, tile, tuning).lowered(f"{how}, all {w.k} terms in registers")


class _Task(WindowTask):
    def __init__(self, w: Windows, tile: Tile, tuning: Tuning) -> None:
        plain, direct = w.along(w.reduced[-1])
        super().__init__(w, tile, channel_block(w, tile.channels, tile.lines), tuning, direct)
        self.plain = plain

    def along(self, lines: Span, channels: Span) -> list[Stmt]:
        return each_cell(
            "places",
            tiles_of_line(self.w.line, self.tile.places),
            lambda x, n: self._tile(lines, channels, (x, n)),
        )

    def _tile(self, lines: Span, channels: Span, places: Span) -> list[Stmt]:
        """Every term for some channels and places, then the outputs."""
        axes = Var("o", channels[1]), Var("r", lines[1]), Var("x", places[1])
        o, r, x = map(var, axes)
        number, count = (o * lines[1] + r) * places[1] + x, channels[1] * lines[1] * places[1]
        acc, total = (
            Buf("acc", self.dtype, count * self.width, REG),
            Buf("sum", self.dtype, count, REG),
        )
        at = self.place(lines[0] + r, places[0] + x)
        writes = self.w.stores(at | self.channels(channels[0] + o), load(total, number))
        terms = self._terms(acc, number * self.width, axes, at, channels[0] + o)
        return [
            Alloc(acc, 0),
            *terms,
            *self._add_lanes(acc, total, count),
            *nested(axes, [*writes], UNROLL, UNROLL),
        ]

    def _add_lanes(self, acc: Buf, total: Buf, count: int) -> list[Stmt]:
        """The lanes of each accumulator added up."""
        number, lane = Var("n", count), Var("l", self.width)
        add = Reduce(total, var(number), "add", load(acc, var(number) * self.width + var(lane)))
        return [Alloc(total, 0), For(number, count, UNROLL, [For(lane, self.width, LANES, [add])])]

    def _terms(
        self, acc: Buf, first: Index, axes: tuple[Var, ...], at: dict[Var, Index], channel: Index
    ) -> list[Stmt]:
        """Loops over k: whole vectors of its last axis, then what is left of it."""
        *outer, last = self.w.fresh()
        whole, rest = divmod(last.extent, self.width)

        def step(begin: Index, lane: Var, total: int | None = None) -> list[Stmt]:
            """The vector of terms that begins there, or those of it that there are."""
            k = dict(zip(self.w.reduced, [*map(var, outer), begin + var(lane)], strict=True))
            term = node(Op.MUL, (self.weight(channel, at | k), self.read(at | k)))
            add = Reduce(acc, first + var(lane), "add", term)
            base = Index() if total is None else begin
            lanes = For(lane, lane.extent, LANES, [add], base=base, total=total)
            return nested(axes, [lanes], UNROLL, UNROLL)

        body, v, end = list[Stmt](), Var("vector", whole), Index(const=whole * self.width)
        if is_unknown(whole) or whole:
            full = step(var(v) * self.width, Var("l", self.width))
            body.append(For(v, whole, SERIAL, full))
        if is_unknown(rest):
            body += step(end, Var("l", self.width), last.extent)
        elif rest:
            body += step(end, Var("l", rest))
        return nested(outer, body)
