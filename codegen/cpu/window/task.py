"""The common part of the schedules of windows: a task and its units of lines. In: Windows, a block
of channels. Out: statements.

for task (units, batch element, block of channels):
    pack the other factor                       where it is more than a load
    for unit (block of lines):
        copy the unit's footprint of the source, unless it can be read where it lies
        tiles

Where many blocks of channels would each copy the same footprints, a phase before does it once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, row_major, unravel, var
from ....ir.loops.loop import GLOBAL, LANES, SCRATCH, SERIAL, Alloc, Buf, For, Stmt, Store
from ....ir.loops.walk import Substitution
from ....wording import plural
from ...kernels.evaluate import Place, load
from ...kernels.kernel_axes import in_registers
from ...kernels.loop_axes import cut, nested
from ...kernels.lowered import Lowered
from ...kernels.phases import in_turn
from ...kernels.stages import AxisMap, InnerAxes, Signature, Stage, StageBuilder
from ..chunks import Chunks, Tuning
from .problem import Tile, Unit, Units, Windows, spread, tiles_of
from .source import Footprint

Span = tuple[Index, int]  # where a tile begins along an axis, and how far it goes

# blocks of channels, each of which would copy all that windows cover
MANY_BLOCKS = 4


class WindowTask:
    """Some units of lines, for one block of channels. A schedule gives the tiles of a unit."""

    def __init__(
        self, w: Windows, tile: Tile, block: int, tuning: Tuning, direct: bool, packs: bool = False
    ) -> None:
        self.w, self.tile, self.block, self.tuning, self.direct = w, tile, block, tuning, direct
        self.width, self.dtype = w.p.width, w.p.anchor.node.dtype
        self.units = Units(w, tile.lines, -(-w.m // block), tuning.min_chunks, packs)
        self.panel = Buf("panel", self.dtype, w.k * block, SCRATCH)
        self.plain = w.plain_other
        self.copies = self._copies()
        self.work = (
            float(self.units.size * self.units.block.extent * prod((w.line, w.k, block))) / 4
        )

    def _copies(self) -> Buf | None:
        """Where a phase before keeps the copies of all units, if it does."""
        blocks = self.units.shape[-1]
        if self.direct or blocks < MANY_BLOCKS:
            return None
        one, count = self.units.any_footprint(), self.units.count * prod(self.units.others[:-1])
        return Buf("copies", one.buf.dtype, count * one.size, GLOBAL)

    def tiles(self, part: Index) -> list[Stmt]:
        """Every tile of a unit, which is the given part of its lines."""

        def channels(line: Index, lines: int) -> list[Stmt]:
            return tiles_of(
                self.w.m,
                self.block,
                self.tile.channels,
                self.part,
                lambda c, o: self.along((line, lines), (c, o)),
            )

        return tiles_of(self.w.lines, self.units.block.extent, self.tile.lines, part, channels)

    def along(self, lines: Span, channels: Span) -> list[Stmt]:
        """The tiles along some lines, for some channels."""
        raise NotImplementedError

    def lowered(self, how: str) -> Lowered:
        lines = f"copied by {plural(self.units.block.extent, 'line')}"
        source = "read in place" if self.direct else f"{lines} before" if self.copies else lines
        pooled = ", pooled by {}x{}".format(*self.w.window) if self.w.p.pooled else ""
        text = (
            f": {how}{pooled}, source {source}, {plural(self.units.tasks, 'task')} of"
            f" {self.units.size}"
        )
        tasks = self._phase(self.units.tasks, self.work, self.body, text)
        if self.copies is None:
            return tasks
        *others, _ = self.units.shape
        copying = float(self.units.size * self.units.any_footprint().size)
        copies = self._phase(prod(others), copying, self._copy_units, text)
        return replace(in_turn([copies, tasks]), schedule=text)

    def _phase(
        self, count: int, work: float, body: Callable[[Index], list[Stmt]], text: str
    ) -> Lowered:
        chunk = Chunks(count, work, self.tuning.min_chunks)
        buffers = (*self.w.p.buffers, *([self.copies] if self.copies else []))
        return chunk.lowered(
            self.w.p.kernel, buffers, body(chunk.position), text, self.units.params
        )

    def body(self, position: Index) -> list[Stmt]:
        part, *batch, self.part = unravel(position, self.units.shape)
        self.batch = dict(zip(self.w.batch, batch, strict=True))
        return [*self.pack(), self.units.loop(part, self._unit)]

    def _copy_units(self, position: Index) -> list[Stmt]:
        part, *batch = unravel(position, self.units.shape[:-1])
        self.batch = dict(zip(self.w.batch, batch, strict=True))
        return [self.units.loop(part, lambda unit: self._footprint(unit).fill())]

    def _unit(self, unit: Unit) -> list[Stmt]:
        self.at, self.first_line = self.batch | unit.outer, unit.first_line
        self.copy = None if self.direct else self._footprint(unit)
        own = self.copy if self.copies is None else None
        return [*([Alloc(own.buf), *own.fill()] if own else []), *self.tiles(unit.part)]

    def _footprint(self, unit: Unit) -> Footprint:
        """The copy of a unit, of its own or among those of all."""
        copy = self.units.footprint(unit.first_line, self.batch | unit.outer)
        if self.copies is not None:
            of_batch = row_major([*self.batch.values()], [v.extent for v in self.batch])
            copy.keep(self.copies, of_batch * self.units.count + unit.number)
        return copy

    # ------------------------------------------------------------ the two factors

    def channels(self, channel: Index) -> dict[Var, Index]:
        """The variables of a channel of the block."""
        return spread(self.w.channels, self.part * self.block + channel)

    def place(self, line: Index, place: Index) -> dict[Var, Index]:
        """The variables of a place: its line in the unit, its position in the line."""
        return self.at | self.units.at_line(self.first_line + line) | {self.w.places[-1]: place}

    def read(self, at: dict[Var, Index]) -> Node:
        """The factor with windows, from the copy or from memory."""
        return self.copy.load(self.w.source.substitute(at)) if self.copy else self.w.windowed(at)

    def weight(self, channel: Index, at: dict[Var, Index]) -> Node:
        """The other factor for a channel of the block, from memory or from the panel."""
        if self.plain:
            return self.w.other(at | self.channels(channel))
        k = [at[v] for v in self.w.reduced]
        return load(
            self.panel, channel * self.w.k + row_major(k, [v.extent for v in self.w.reduced])
        )

    # ------------------------------------------------------------ a pool

    def pool(self, results: Buf, lines: Span, channels: Span) -> list[Stmt]:
        """What a pool makes of whole windows: `results` holds some lines of some channels, as
        [channel][line][place]."""
        w, (high, wide) = self.w, self.w.window
        c, r, x = Var("c", channels[1]), Var("r", lines[1] // high), Var("x", w.line // wide)
        at = self.place(lines[0] + var(r) * high, var(x) * wide) | self.channels(
            channels[0] + var(c)
        )
        body = in_registers(pool_stages(w, at, self._kept(results, lines, var(c))))
        return [
            For(c, c.extent, SERIAL, [For(r, r.extent, SERIAL, [For(x, x.extent, LANES, body)])])
        ]

    def _kept(self, results: Buf, lines: Span, channel: Index) -> Place:
        """The anchor's value where some lines of a channel are kept."""
        w = self.w
        axes = [
            next(a for a, sub in enumerate(w.p.anchor.kept()) if g[-1] in sub)
            for g in w.p.lanes[-2:]
        ]
        strides = dict(zip(reversed(axes), (1, w.line), strict=False))
        origin = channel * lines[1] * w.line - (
            (self.first_line + lines[0]) * w.line if len(axes) > 1 else 0
        )
        return Place(results, tuple(strides.get(a, 0) for a in range(w.p.anchor.node.ndim)), origin)

    # ------------------------------------------------------------ the other factor

    def pack(self) -> list[Stmt]:
        """The panel, [channel][k], where the other factor is more than a load."""
        if self.plain:
            return []
        w, channel = self.w, Var("channel", self.block)
        k = w.fresh()
        at = (
            self.batch
            | self.channels(var(channel))
            | {v: var(i) for v, i in zip(w.reduced, k, strict=True)}
        )
        place = var(channel) * w.k + row_major(map(var, k), [v.extent for v in k])
        body = nested(k, [Store(self.panel, place, w.other(at))], SERIAL, LANES)
        return [
            Alloc(self.panel),
            For(
                channel, self.block, SERIAL, body, 1, *cut(self.part * self.block, w.m, self.block)
            ),
        ]


def pool_stages(w: Windows, at: dict[Var, Index], results: Place) -> list[Stage]:
    """The epilogue for the window that begins at a place: reductions over it, and stores of what
    they give."""
    p, kernel = w.p, w.p.kernel
    to, of_anchor = Substitution(w.places_of(at)), p.of_anchor(w.by)
    outer = [to.index(of_anchor[v]) for v in kernel.outer[p.anchor]]
    axes: dict[Signature, InnerAxes] = {}

    def inner(signature: Signature, _: Node) -> InnerAxes:
        if signature not in axes:
            loop = [Var(f"w{i}", d) for i, d in enumerate(signature)]
            axes[signature] = InnerAxes(signature, loop, [var(v) for v in loop])
        return axes[signature]

    units = [u for u in kernel.units if u in kernel.outer and u is not p.anchor]
    epilogue = replace(kernel, units=units)
    return StageBuilder(
        epilogue, p.inputs | {p.anchor.node: results}, p.outputs, AxisMap(outer, inner)
    ).build()
