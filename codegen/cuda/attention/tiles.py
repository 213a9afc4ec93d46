"""Sums of products of two tiles in shared memory, in registers. In: sizes, Matrices. Out:
statements.

Square       threads in a square, each for itself: rows 16 apart and neighbouring elements
Fragments    tensor cores: 16 rows a warp, where ir/loops/tensor_core_layout.py says
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import (
    LANES,
    SERIAL,
    THREAD,
    UNROLL,
    Buf,
    For,
    Matrix,
    Multiply,
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.tensor_core_layout import SQUARE, WARP
from ...kernels.evaluate import load
from ...kernels.loop_axes import nested

VECTOR = 16  # bytes that a thread loads at once
SIDE = 16  # threads along each side of a square


@dataclass(frozen=True)
class Place:
    """Of one sum: in the tile, in the registers of the block, and among the rows of its thread."""

    row: Index
    element: Index
    at: Index
    line: Index


class Tile:
    """rows x width sums; elements past the width are computed too, up to `padded`. `shares` threads
    share a row."""

    def __init__(
        self, dtype: DType, threads: int, size: int, padded: int, lines: int, shares: int
    ) -> None:
        self.dtype, self.threads, self.size, self.padded, self.lines, self.shares = (
            dtype,
            threads,
            size,
            padded,
            lines,
            shares,
        )
        self.thread = Var("t", threads)

    def buf(self, name: str) -> Buf:
        return Buf(name, self.dtype, self.size, THREAD)

    @property
    def first(self) -> Index:
        """The first sum of a thread."""
        return var(self.thread) * (self.size // self.threads)

    def by_threads(self, body: list[Stmt]) -> Stmt:
        return For(self.thread, self.threads, LANES, body)

    def clear(self, sums: Buf) -> Stmt:
        return self.by_threads(self.each(lambda p: [Store(sums, p.at, const(0, sums.dtype))]))

    def each(self, body: Callable[[Place], list[Stmt]]) -> list[Stmt]:
        """The body for every sum of a thread."""
        raise NotImplementedError

    def each_line(self, body: Callable[[Index, Index, Index], list[Stmt]]) -> list[Stmt]:
        """The body for every row of a thread: its number there, in the tile, and that of the thread
        in the row."""
        line = Var("line", self.lines)
        row, share = self.line(var(line))
        return nested([line], body(var(line), row, share), last=UNROLL)

    def line(self, line: Index) -> tuple[Index, Index]:
        """A row of a thread, and the thread's number there."""
        raise NotImplementedError

    def add(self, sums: Buf, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        """Adds products of so many steps."""
        raise NotImplementedError


class Square(Tile):
    """16 x 16 threads. Of `width` elements each has `vector` neighbours, and more of them in steps
    of a line of threads."""

    def __init__(self, dtype: DType, rows: int, width: int, apart: bool) -> None:
        # steps: that are loaded at once
        self.steps, each = (
            VECTOR // dtype.itemsize,
            -(-width // SIDE),
        )
        self.vector = 1 if apart else min(each, self.steps)
        self.vectors = -(-each // self.vector)
        padded = self.vector * self.vectors * SIDE
        super().__init__(dtype, SIDE * SIDE, rows * padded, padded, rows // SIDE, SIDE)

    def line(self, line: Index) -> tuple[Index, Index]:
        down, along = var(self.thread).divmod(SIDE)
        return down * self.lines + line, along

    def each(self, body: Callable[[Place], list[Stmt]]) -> list[Stmt]:
        i, v, n = Var("i", self.lines), Var("v", self.vectors), Var("n", self.vector)
        row, along = self.line(var(i))
        element = along * self.vector + var(n) + var(v) * (SIDE * self.vector)
        number = (var(i) * self.vectors + var(v)) * self.vector + var(n)
        return nested(
            [i, v, n], body(Place(row, element, self.first + number, var(i))), UNROLL, UNROLL
        )

    def add(self, sums: Buf, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        k, u = Var("k", -(-steps // self.steps)), Var("u", self.steps)
        step = var(k) * self.steps + var(u)

        def product(p: Place) -> list[Stmt]:
            return [
                Reduce(
                    sums,
                    p.at,
                    "add",
                    node(Op.MUL, (_of(rows, p.row, step), _of(lanes, p.element, step))),
                )
            ]

        return self.by_threads(
            [For(k, k.extent, SERIAL, [For(u, u.extent, UNROLL, self.each(product))])]
        )


class Fragments(Tile):
    """A warp for each 16 rows."""

    def __init__(self, dtype: DType, rows: int, width: int) -> None:
        padded = -(-width // SQUARE[0]) * SQUARE[0]
        super().__init__(dtype, rows // SQUARE[0] * WARP, rows * padded, padded, 2, 4)
        self.rows = rows

    def line(self, line: Index) -> tuple[Index, Index]:
        warp, thread = var(self.thread).divmod(WARP)
        return warp * SQUARE[0] + thread // 4 + line * 8, thread % 4

    def each(self, body: Callable[[Place], list[Stmt]]) -> list[Stmt]:
        j, low, right = Var("j", self.padded // SQUARE[1]), Var("low", 2), Var("right", 2)
        row, share = self.line(var(low))
        element, number = (
            var(j) * SQUARE[1] + share * 2 + var(right),
            (var(j) * 2 + var(low)) * 2 + var(right),
        )
        return nested(
            [j, low, right],
            body(Place(row, element, self.first + number, var(low))),
            UNROLL,
            UNROLL,
        )

    def add(self, sums: Buf, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        return Multiply(
            sums, rows, lanes, (self.rows, self.padded, steps), (SQUARE[0], self.padded)
        )


def _of(m: Matrix, i: Index, k: Index) -> Node:
    """The element of a row (or lane) at a step."""
    return load(m.buf, m.first + i * m.across + k * m.along)
