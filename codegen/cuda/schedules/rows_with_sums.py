"""Rows with sums over the rows -> Loops: partial sums of each block, then phases that add them. In:
a Kernel. Out: Loops.

    phase 0    for block: for warp: for row: as alone, and add to the warp's sums; sums of the warps
        parts[block][c] = sums[c]
    phase 1    as columns: sums of parts[.][c], and maps of them

The number of parts is fixed by the shape.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node, const
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    THREAD,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    For,
    Reduce,
    Stmt,
    Store,
)
from ...kernels import loop_axes
from ...kernels.column_sums import last_phases, row_part
from ...kernels.evaluate import load
from ...kernels.kernel_axes import KernelAxes, identity, own_axes, place_values
from ...kernels.lowered import Lowered
from ...kernels.phases import in_turn
from ...kernels.stages import ColumnSum
from ..target import WARP, CudaTarget
from .grid import Blocks
from .rows import RowBody, threads_of_row
from .rows_and_maps import chosen

MOST_PARTS = 512  # partial sums of a column: enough blocks, and the last phase stays short
LEAST_ROWS = 4  # that one partial sum covers at least: it is written and read once more
WARP_COLUMNS = 512  # up to which a warp keeps a row and its sums in registers
SHARE = 8  # elements of a row for each thread, where a block has one row at a time
MOST_WARPS = 8
MOST_LINES = 32 << 10  # bytes of the sums of a block's warps
MOST_SHARE = 16  # elements a thread up to which sums stay in registers


def lower_summed(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget
) -> Lowered:
    """Loops of a kernel of rows whose `columns` are sums over them and maps of the sums."""
    places = place_values(kernel, strides)
    by_rows = row_part(kernel)
    k = KernelAxes(by_rows, places, own_axes(by_rows))
    k.weigh(target)
    rows = _SummedRows(k)
    last = []
    for phase, p in last_phases(kernel, rows.parts, places):
        after = KernelAxes(phase, p, own_axes(phase))
        after.weigh(target)
        last.append(chosen(after))
    return in_turn([rows.lowered(), *last])


class _SummedRows:
    """The rows of a block, shared out among its warps where they are short, and what they add to
    sums."""

    def __init__(self, k: KernelAxes) -> None:
        self.k = k
        rows, self.length = (
            loop_axes.extent(k.outer),
            max(prod(v.extent for v in axes) for axes in k.inner.values()),
        )
        self.warps = self._warps() if self.length <= WARP_COLUMNS else 1
        self.team = WARP if self.length <= WARP_COLUMNS else threads_of_row(self.length, SHARE)
        size = max(LEAST_ROWS, -(-rows // (MOST_PARTS * self.warps)))
        self.blocks = Blocks(rows, size * self.warps)
        self.row, self.warp = Var("row", size), Var("w", self.warps)
        self.first = self.blocks.first + (var(self.warp) * size if self.warps > 1 else Index())
        self.rows = RowBody(k, self.first + var(self.row), self.team)
        self.sums = self.rows.sums
        numbers = enumerate(self.sums)
        self.parts = {
            t.node: Buf(f"parts{i}", t.acc.dtype, self.blocks.number * t.acc.size, GLOBAL)
            for i, t in numbers
        }
        self.added = [self._place(t) for t in self.sums]

    def lowered(self) -> Lowered:
        """The rows, each block leaving a line of partial sums."""
        team = f"{self.warps} warps" if self.warps > 1 else f"{self.team} threads"
        text = (
            f" rows: {self.row.extent} of {self.blocks.count} rows of {self.length} one after the"
            " other by each of "
        )
        text += f"{team}, {self.rows.describe()}, partial sums over the rows of a block"
        body = self._by_warps() if self.warps > 1 else self._by_block()
        buffers = (*self.k.buffers, *self.parts.values())
        return self.blocks.lowered(
            self.k.kernel, buffers, body, self.warps * self.team, self.k.work(), text
        )

    def _warps(self) -> int:
        """As many as have room for a line of each sum."""
        return max(1, min(MOST_WARPS, loop_axes.power_of_two(MOST_LINES / self._line())))

    def _line(self) -> int:
        """Bytes of all sums."""
        return sum(
            u.node.size * u.node.dtype.itemsize
            for u in self.k.kernel.columns
            if u.node.op is Op.REDUCE
        )

    def _place(self, t: ColumnSum) -> ColumnSum:
        """The sum where a team keeps it: in registers where each thread adds to its own columns,
        else in shared memory or L2."""
        axis = t.index.as_var
        if axis in self.rows.unroll and axis is not None and axis.extent <= MOST_SHARE * self.team:
            return replace(t, acc=replace(t.acc, space=THREAD))
        if self.warps > 1 or self._line() <= MOST_LINES:
            return t
        return replace(
            t, acc=self.parts[t.node], index=var(self.blocks.grid) * t.acc.size + t.index
        )

    def _by_block(self) -> list[Stmt]:
        """Sums of one team are those of its block."""
        body = self._team_rows()
        for t, old in zip(self.added, self.sums, strict=True):
            if t.acc.space != GLOBAL:
                body.append(
                    self._store_line(t, self.parts[t.node], var(self.blocks.grid) * old.acc.size)
                )
        return body

    def _by_warps(self) -> list[Stmt]:
        """A line of each sum for each warp, in shared memory; their sums."""
        lines = [
            Buf(f"lines{i}", t.acc.dtype, self.warps * t.acc.size, SCRATCH)
            for i, t in enumerate(self.sums)
        ]
        own = self._team_rows()
        own += [
            self._store_line(t, line, var(self.warp) * t.acc.size)
            for t, line in zip(self.added, lines, strict=True)
        ]
        body: list[Stmt] = [*map(Alloc, lines), For(self.warp, self.warps, WARPS, own)]
        for t, line in zip(self.sums, lines, strict=True):
            c, total = Var("c", t.acc.size), Buf("total", t.acc.dtype, 1, REG)
            kind = t.node.arg[0]
            add = Reduce(total, Index(), kind, load(line, var(self.warp) * t.acc.size + var(c)))
            at = var(self.blocks.grid) * t.acc.size + var(c)
            inside: list[Stmt] = [
                Alloc(total, _start(t)),
                For(self.warp, self.warps, UNROLL, [add]),
            ]
            inside.append(Store(self.parts[t.node], at, load(total, Index())))
            body.append(For(c, c.extent, LANES, inside))
        return body

    def _team_rows(self) -> list[Stmt]:
        """A team's rows, one after the other, and its sums."""
        places = {t.node: t for t in self.added}
        body: list[Stmt] = []
        for t, old in zip(self.added, self.sums, strict=True):
            if t.acc.space == GLOBAL:
                c = Var("c", old.acc.size)
                at = var(self.blocks.grid) * old.acc.size + var(c)
                body.append(
                    For(c, c.extent, LANES, [Store(t.acc, at, const(_start(t), t.acc.dtype))])
                )
            else:
                body.append(Alloc(t.acc, _start(t)))
        for s in self.rows.stages:
            for loop in s.loops:
                loop.sums = [places[t.node] for t in loop.sums]
        return [
            *body,
            For(
                self.row,
                self.row.extent,
                SERIAL,
                self.rows.statements(),
                1,
                self.first,
                self.blocks.total,
            ),
        ]

    def _store_line(self, t: ColumnSum, to: Buf, first: Index) -> For:
        """The sums of a team, from where it keeps them."""
        axis = t.index.as_var if t.acc.space == THREAD else None
        c, unroll = (
            (axis, self.rows.unroll[axis]) if axis is not None else (Var("c", t.acc.size), 1)
        )
        return For(c, c.extent, LANES, [Store(to, first + var(c), load(t.acc, var(c)))], unroll)


def _start(t: ColumnSum) -> float | int | bool:
    return identity(t.node.arg[0], t.acc.dtype)
