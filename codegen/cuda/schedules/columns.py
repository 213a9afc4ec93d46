"""Reductions along axes that are not contiguous -> Loops: lanes over those that are. In: a
KernelAxes. Out: Loops.

    for block (row, tile of lanes):
        for warp: for lane of the tile: sum = 0; for step of the warp's share: sum += x;
            partial[warp][lane] = sum
        for lane of the tile: sum of partial[.][lane], in order; then what is computed of it

Several steps are added at once, so that their loads are under way together. Where there may be any
number of steps or tiles, how many warps have a share is found at layout.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....ir.graph.index import Index, Range, Var, unravel, var
from ....ir.loops.loop import (
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    For,
    If,
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.walk import Substitution
from ....ir.symbolic.questions import is_same, is_unknown, value_of
from ....wording import plural
from ...kernels import loop_axes
from ...kernels.evaluate import load
from ...kernels.kernel_axes import KernelAxes, combined, identity, reductions_of
from ...kernels.lowered import Lowered
from ...kernels.stages import Reduction, RowLoop, Stage
from ..target import WARP
from .grid import Blocks, place_of, threads_for
from .maps import accesses_of
from .vectors import vector

TOGETHER = 4  # steps whose values are added at once
MOST_WARPS = 16
LEAST_STEPS = 8  # of a warp: fewer are not worth adding one more partial sum
# that keep all multiprocessors busy: with so many tiles, a tile needs one warp
MANY_WARPS = 1 << 11
LANE_THREADS = 128  # of a block where one thread does all steps of a lane
MOST_SCRATCH = 32 << 10  # bytes of a block: several share a multiprocessor


def lower_columns(k: KernelAxes, lane_group: list[Var]) -> Lowered:
    """Lanes over `lane_group`, warps over shares of the inner axes."""
    c = Columns(k, lane_group)
    text = (
        f": tiles of {c.tile} of {plural(c.n, 'lane')}, {c.size} at a time, steps shared by"
        f" {plural(c.warps, 'warp')}"
    )
    return c.blocks.lowered(k.kernel, k.buffers, c.body(), c.threads, k.work(), text)


class Columns:
    """A tile of lanes of one row of the other outer axes."""

    def __init__(self, k: KernelAxes, lane_group: list[Var]) -> None:
        self.k, self.n = k, loop_axes.extent(lane_group)
        self.others, self.lane_group = [g for g in k.groups if g is not lane_group], lane_group
        rows = prod(map(loop_axes.extent, self.others))
        self.size = self._size(rows)
        self.tile = WARP * self.size
        self.warps = self._warps(rows * -(-self.n // self.tile))
        self.most_warps = self._most_warps() if is_unknown(self.warps) else self.warps
        self.threads = self.most_warps * WARP
        # of blocks of one warp, too few would be on a multiprocessor at a time
        if self.most_warps == 1:
            self.threads = threads_for(-(-self.n // self.size), LANE_THREADS)
            self.tile = self.threads * self.size
        shape = (rows, -(-self.n // self.tile))
        self.blocks = Blocks(prod(shape), 1)
        row, part = place_of(self.blocks.first, shape)
        self.lane = Var("l", self.tile)
        self.at = [
            *unravel(row, tuple(map(loop_axes.extent, self.others))),
            part * self.tile + var(self.lane),
        ]
        self.bounds: tuple[Index, int | None] = (
            (Index(), None) if is_same(self.n % self.tile, 0) else (part * self.tile, self.n)
        )

    def body(self) -> list[Stmt]:
        body: list[Stmt] = []
        for s in self._stages(self.at, var(self.lane), self.tile):
            body += [Alloc(r.acc) for r in reductions_of(s)]
            for loop in s.loops:
                body += self._reduced(loop) if loop.reductions else []
                body += self._written(loop) if loop.writes else []
            if s.writes:
                body.append(self._lanes([Store(w.buf, w.index, w.value) for w in s.writes]))
        return body

    def _stages(
        self, at: list[Index], acc_index: Index | None = None, lanes: int = 1
    ) -> list[Stage]:
        return self.k.stages_at(
            *self.k.map_groups([*self.others, self.lane_group], acc_index, lanes), at, join=True
        )

    def _size(self, rows: int) -> int:
        """Lanes that a thread takes at a time: a vector's, where there are enough tiles."""
        lane = Var("l", self.n)
        at = [*unravel(var(Var("row", rows)), tuple(map(loop_axes.extent, self.others))), var(lane)]
        size = vector(accesses_of(self._stages(at)), lane, self.k.body * TOGETHER, self.n)
        tiles = value_of(rows * self.n)
        while size > 1 and tiles // (WARP * size) * MOST_WARPS < MANY_WARPS:
            size //= 2
        if self._finds_warps(rows):  # all may come
            while size > 1 and (MOST_WARPS + 1) * self._bytes(WARP * size) > MOST_SCRATCH:
                size //= 2
        return size

    def _finds_warps(self, rows: int) -> bool:
        """At layout?"""
        return is_unknown(self._reduced_steps) or is_unknown(rows * self.n)

    @property
    def _reduced_steps(self) -> int:
        return max(prod(v.extent for v in axes) for axes in self.k.inner.values())

    def _bytes(self, tile: int) -> int:
        """Of a partial sum of each lane of a tile."""
        return sum(r.acc.dtype.itemsize for s in self.k.probe for r in reductions_of(s)) * tile

    def _most_warps(self) -> int:
        """For which there is room."""
        warps, each = 1, self._bytes(self.tile)
        while warps < MOST_WARPS and (2 * warps + 1) * each <= MOST_SCRATCH:
            warps *= 2
        return warps

    def _warps(self, tiles: int) -> int:
        """Warps that share the steps of a tile; they depend on the shape alone, as the order of the
        sums does."""
        steps, bytes_each = self._reduced_steps, self._bytes(self.tile)
        if is_unknown(steps) or is_unknown(tiles):
            scope = self.k.scope
            assert scope is not None
            return scope.choose(self._warps_here, MOST_WARPS)
        warps = 1
        while (
            warps < MOST_WARPS
            and 2 * warps * LEAST_STEPS <= steps
            and (2 * warps + 1) * bytes_each <= MOST_SCRATCH
            and tiles * warps < MANY_WARPS
        ):
            warps *= 2
        return warps

    def _warps_here(self) -> int:
        """For the values that symbols have."""
        k = self.k.again()
        lanes, _ = k.outer_lanes
        assert lanes is not None
        return Columns(k, lanes).warps

    # ------------------------------------------------------------ loops

    def _lanes(self, body: list[Stmt]) -> For:
        base, total = self.bounds
        return For(self.lane, self.tile, LANES, body, self.size, base, total)

    def _reduced(self, loop: RowLoop) -> list[Stmt]:
        """Partial sums of each warp, then their sums."""
        warp, (axis,) = Var("w", self.most_warps), loop.axes
        own = [
            replace(r, acc=Buf(f"own{i}", r.acc.dtype, 1, REG))
            for i, r in enumerate(loop.reductions)
        ]
        parts = [
            Buf(f"part{i}", r.acc.dtype, self.most_warps * self.tile, SCRATCH)
            for i, r in enumerate(loop.reductions)
        ]
        steps = [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in own] + self._steps(
            own, axis, warp
        )
        if self.most_warps == 1:
            steps += [
                Store(r.acc, var(self.lane), load(o.acc, Index()))
                for r, o in zip(loop.reductions, own, strict=True)
            ]
            return [self._lanes(steps)]
        at = var(warp) * self.tile + var(self.lane)
        steps += [Store(p, at, load(o.acc, Index())) for p, o in zip(parts, own, strict=True)]
        total: list[Stmt] = []
        for r, o, p in zip(loop.reductions, own, parts, strict=True):
            add = Reduce(o.acc, Index(), r.kind, load(p, at))
            total += [
                Alloc(o.acc, identity(r.kind, r.acc.dtype)),
                For(warp, self.warps, SERIAL if is_unknown(self.warps) else UNROLL, [add]),
            ]
            total.append(Store(r.acc, var(self.lane), load(o.acc, Index())))
        return [
            *map(Alloc, parts),
            For(warp, self.warps, WARPS, [self._lanes(steps)]),
            self._lanes(total),
        ]

    def _steps(self, own: list[Reduction], axis: Var, warp: Var) -> list[Stmt]:
        """A warp's share of the steps, some at once; the first warp takes those left over."""
        groups, rest = divmod(axis.extent, TOGETHER)
        share = self._share(groups)
        out: list[Stmt] = []
        if is_unknown(groups) or groups:
            step = Var("k", share)
            first = var(warp) * share if self.most_warps > 1 else Index()
            at = [(first + var(step)) * TOGETHER + i for i in range(TOGETHER)]
            total = self._total(groups, share)
            body: list[Stmt] = [combined(r, axis, at, Index()) for r in own]
            out.append(For(step, share, SERIAL, body, 1, first, total))
        if is_unknown(rest):
            last = Var("last", TOGETHER)
            at_last = [var(last) + groups * TOGETHER]
            ends: list[Stmt] = [combined(r, axis, at_last, Index()) for r in own]
            return [*out, *self._by_first(warp, [For(last, rest, SERIAL, ends)])]
        over = [Index(const=axis.extent - rest + i) for i in range(rest)]
        left: list[Stmt] = [combined(r, axis, [at_end], Index()) for at_end in over for r in own]
        return [*out, *self._by_first(warp, left)] if left else out

    def _by_first(self, warp: Var, body: list[Stmt]) -> list[Stmt]:
        return [If((Range(var(warp), 0, 1),), body)] if self.most_warps > 1 else body

    def _share(self, count: int) -> int:
        """Of each warp; in this form it is known not to be negative."""
        return (count + self.warps - 1) // self.warps

    def _total(self, count: int, share: int) -> int | None:
        """Steps of all warps, where that is not so many for each."""
        if is_unknown(share):
            return count
        return count if share * self.warps > count else None

    def _written(self, loop: RowLoop) -> list[Stmt]:
        """A warp's share of the elements."""
        (axis,) = loop.axes
        warp, share = Var("w", self.most_warps), self._share(axis.extent)
        step = Var("k", share)
        first = var(warp) * share if self.most_warps > 1 else Index()
        stores: list[Stmt] = [Store(w.buf, w.index, w.value) for w in loop.writes]
        moved = Substitution({axis: first + var(step)}).body(stores)
        total = self._total(axis.extent, share)
        lanes = self._lanes([For(step, share, SERIAL, moved, 1, first, total)])
        return [For(warp, self.warps, WARPS, [lanes])] if self.most_warps > 1 else [lanes]
