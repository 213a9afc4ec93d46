"""Sums of products of two tiles in shared memory, in registers. In: sizes, Matrices. Out: statements.

    Square       threads in a square, each for itself: rows 16 apart and neighbouring elements
    Fragments    tensor cores: 16 rows a warp, where ir/fragments.py says
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....ir.dtype import DType
from ....ir.fragments import SQUARE, WARP
from ....ir.graph import Node, const, node
from ....ir.index import Index, Var, var
from ....ir.loop import LANES, SERIAL, THREAD, UNROLL, Buf, For, Matrix, Multiply, Reduce, Stmt, Store
from ....ir.op import Op
from ...evaluate import load

VECTOR = 16  # bytes that a thread loads at once
SIDE = 16  # threads along each side of a square
WARP_ROWS = SQUARE[0]


@dataclass(frozen=True)
class Sum:
    """One of a thread's sums."""

    buf: Buf
    place: Index

    @property
    def now(self) -> Node:
        return load(self.buf, self.place)

    def store(self, value: Node) -> Stmt:
        return Store(self.buf, self.place, value)


Each = Callable[[Index, Index, Sum], list[Stmt]]  # row, element, sum


class Tile:
    """rows x width sums; what lies behind the width is computed too, up to `padded`."""

    threads: int
    padded: int
    sums: Buf

    def each(self, body: Each) -> Stmt:
        """The body for every sum of a thread."""
        raise NotImplementedError

    def add(self, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        """Adds products of so many steps."""
        raise NotImplementedError

    def clear(self) -> Stmt:
        return self.each(lambda _, __, s: [s.store(const(0, s.buf.dtype))])


class Square(Tile):
    """16 x 16 threads. Of `width` elements each has `vector` neighbours, and more of them in steps of a line of threads."""

    threads = SIDE * SIDE

    def __init__(self, name: str, dtype: DType, rows: int, width: int, apart: bool) -> None:
        most, each = VECTOR // dtype.itemsize, -(-width // SIDE)
        self.vector = 1 if apart else min(each, most)
        self.vectors, self.rows = -(-each // self.vector), rows // SIDE
        self.padded = self.vector * self.vectors * SIDE
        self.steps = most  # that are loaded at once
        self.sums = Buf(name, dtype, self.threads * self.rows * self.vector * self.vectors, THREAD)
        self.thread = Var("t", self.threads)

    def each(self, body: Each) -> Stmt:
        return For(self.thread, self.threads, LANES, [self._each(body)])

    def _each(self, body: Each) -> Stmt:
        i, v, n = Var("i", self.rows), Var("v", self.vectors), Var("n", self.vector)
        down, along = var(self.thread).divmod(SIDE)
        number = (var(i) * self.vectors + var(v)) * self.vector + var(n)
        place = var(self.thread) * (self.sums.size // self.threads) + number
        element = along * self.vector + var(n) + var(v) * (SIDE * self.vector)
        return nest([i, v, n], body(down * self.rows + var(i), element, Sum(self.sums, place)))

    def add(self, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        k, u = Var("k", -(-steps // self.steps)), Var("u", self.steps)
        step = var(k) * self.steps + var(u)

        def product(row: Index, element: Index, s: Sum) -> list[Stmt]:
            return [Reduce(s.buf, s.place, "add", node(Op.MUL, (_of(rows, row, step), _of(lanes, element, step))))]

        body = For(u, u.extent, UNROLL, [self._each(product)])
        return For(self.thread, self.threads, LANES, [For(k, k.extent, SERIAL, [body])])


class Fragments(Tile):
    """A warp for each 16 rows."""

    def __init__(self, name: str, dtype: DType, rows: int, width: int) -> None:
        self.rows, self.threads = rows, threads_of(rows)
        self.padded = -(-width // SQUARE[0]) * SQUARE[0]
        self.sums = Buf(name, dtype, rows * self.padded, THREAD)
        self.thread = Var("t", self.threads)

    def each(self, body: Each) -> Stmt:
        j, low, right = Var("j", self.padded // SQUARE[1]), Var("low", 2), Var("right", 2)
        warp, thread = var(self.thread).divmod(WARP)
        row = warp * WARP_ROWS + thread // 4 + var(low) * 8
        element = var(j) * SQUARE[1] + thread % 4 * 2 + var(right)
        place = var(self.thread) * (self.sums.size // self.threads) + (var(j) * 2 + var(low)) * 2 + var(right)
        return For(self.thread, self.threads, LANES, [nest([j, low, right], body(row, element, Sum(self.sums, place)))])

    def add(self, rows: Matrix, lanes: Matrix, steps: int) -> Stmt:
        return Multiply(self.sums, rows, lanes, (self.rows, self.padded, steps), (WARP_ROWS, self.padded))


def threads_of(rows: int) -> int:
    """Those of a block on tensor cores."""
    return rows // WARP_ROWS * WARP


def _of(m: Matrix, i: Index, k: Index) -> Node:
    """The element of a row (or lane) at a step."""
    return load(m.buf, m.first + i * m.across + k * m.along)


def nest(axes: list[Var], body: list[Stmt]) -> Stmt:
    """The body for every element of a small tile, as straight-line code."""
    *front, last = axes
    loop: Stmt = For(last, last.extent, UNROLL, body)
    for v in reversed(front):
        loop = For(v, v.extent, UNROLL, [loop])
    return loop
