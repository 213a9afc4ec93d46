"""Factors of one matrix -> statements, for a lane. In: an Array that holds the matrix. Out:
statements that leave its factors there.

eliminated    for k: the row of the greatest |a[i, k]| changes places with row k; for i > k:
              a[i, k] /= a[k, k], a[i, j] -= a[i, k] * a[k, j] for j > k
substituted   x[i] -= a[i, k] * x[k] for k < i; then from the end, x[i] /= a[i, i]
cholesky      for k: a[i, k] -= a[i, p] * a[k, p] for p < k; the root of a[k, k]; a[i, k] /= a[k, k]

Nothing branches on data: rows change places by WHERE. Each operation is rounded, and terms are
subtracted one after the other, as in ir/ops/systems.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Var, var
from ...ir.graph.op import Op
from ...ir.loops.loop import REG, SERIAL, UNROLL, Alloc, Buf, For, Stmt, Store
from .evaluate import counter, load

UNROLLED_ROWS = 4  # systems of so few rows have no loops
BLOCK = 8  # columns at once: a row of them stays in registers
INTEGERS = {dt.float32: dt.int32, dt.float64: dt.int64}  # as wide, so that lanes match


@dataclass(frozen=True)
class Array:
    """Memory of a lane: where element number i of it is in a buffer."""

    buf: Buf
    columns: int = 1
    at: Callable[[Index], Index] = lambda i: i

    def place(self, i: Index, j: Index | None) -> Index:
        return self.at(i if j is None else i * self.columns + j)

    def value(self, i: Index | None = None, j: Index | None = None) -> Node:
        return load(self.buf, self.place(i or Index(), j))

    def put(self, value: Node, i: Index | None = None, j: Index | None = None) -> Store:
        return Store(self.buf, self.place(i or Index(), j), value)

    def alloc(self) -> list[Stmt]:
        """None for an argument of the kernel."""
        return [Alloc(self.buf)] if self.buf.space == REG else []


def register(name: str, dtype: DType, size: int = 1) -> Array:
    return Array(Buf(name, dtype, size, REG))


def numbered(i: Index, dtype: DType) -> Node:
    """An index as a value of this dtype."""
    return cast(counter(i), dtype)


def each(
    name: str, first: int, stop: int, body: Callable[[Index], list[Stmt]], kind: str = SERIAL
) -> list[Stmt]:
    """A body for every number from first up to stop."""
    if stop - first < 2:
        return body(Index(const=first)) if stop > first else []
    v = Var(name, stop - first)
    return [For(v, v.extent, UNROLL if v.extent < UNROLLED_ROWS else kind, body(var(v) + first))]


@dataclass(frozen=True)
class Pivots:
    """`bad`: the number of the first bad pivot, from 1, or 0."""

    bad: Array

    def flagged(self, k: int, wrong: Node) -> Store:
        """Pivot k is bad where this holds, unless one before it is."""
        dtype = self.bad.buf.dtype
        first = node(Op.AND, (wrong, node(Op.EQ, (self.bad.value(), const(0, dtype)))))
        return self.bad.put(node(Op.WHERE, (first, const(k + 1, dtype), self.bad.value())))


class Elimination:
    """Statements that make `a` its factors, without the 1s of the lower one, and `order` the
    numbers of the rows in their new places."""

    def __init__(self, a: Array, order: Array, bad: Array) -> None:
        self.a, self.order, self.pivots, self.n = a, order, Pivots(bad), a.columns
        integers, dtype = order.buf.dtype, a.buf.dtype
        self.place, self.number = register("place", integers), register("number", integers)
        self.size = register("size", dtype)
        self.row, self.old = register("row", dtype, BLOCK), register("old", dtype, BLOCK)

    def statements(self) -> list[Stmt]:
        """All steps, after the loop that numbers the rows."""
        own = (self.place, self.number, self.size, self.row, self.old)
        integers = self.order.buf.dtype
        return [
            *[s for array in own for s in array.alloc()],
            *each("i", 0, self.n, lambda i: [self.order.put(numbered(i, integers), i)]),
            *[s for k in range(self.n) for s in self._step(k)],
        ]

    def _step(self, k: int) -> list[Stmt]:
        at, zero = Index(const=k), const(0, self.a.buf.dtype)
        wrong = self.pivots.flagged(k, node(Op.EQ, (self.a.value(at, at), zero)))
        if k == self.n - 1:
            return [wrong]

        def divided(moved: Node, i: Index, j: Index) -> Node:
            return node(Op.DIV, (moved, self.row.value(j)))

        def reduced(moved: Node, i: Index, j: Index) -> Node:
            return less(moved, self.a.value(i, at), self.row.value(j))

        return [
            *self._searched(k),
            *self._renumbered(k),
            *self._exchanged(k, k, 1, divided),
            wrong,
            *[s for block in _blocks(0, k) for s in self._exchanged(k, *block)],
            *[s for block in _blocks(k + 1, self.n) for s in self._exchanged(k, *block, reduced)],
        ]

    def _searched(self, k: int) -> list[Stmt]:
        """`place`: the first row from k on whose element in column k is the greatest."""
        at, integers = Index(const=k), self.place.buf.dtype

        def seen(i: Index) -> list[Stmt]:
            new = magnitude(self.a.value(i, at))
            bigger = node(Op.LT, (self.size.value(), new))
            number = numbered(i, integers)
            return [
                self.place.put(node(Op.WHERE, (bigger, number, self.place.value()))),
                self.size.put(node(Op.WHERE, (bigger, new, self.size.value()))),
            ]

        return [
            self.place.put(const(k, integers)),
            self.size.put(magnitude(self.a.value(at, at))),
            *each("i", k + 1, self.n, seen),
        ]

    def _is_place(self, i: Index) -> Node:
        return node(Op.EQ, (self.place.value(), numbered(i, self.place.buf.dtype)))

    def _renumbered(self, k: int) -> list[Stmt]:
        at, order, number = Index(const=k), self.order, self.number

        def exchanged(i: Index) -> list[Stmt]:
            here = self._is_place(i)
            own = order.value(i)
            return [
                number.put(node(Op.WHERE, (here, own, number.value()))),
                order.put(node(Op.WHERE, (here, order.value(at), own)), i),
            ]

        return [
            number.put(order.value(at)),
            *each("i", k + 1, self.n, exchanged),
            order.put(number.value(), at),
        ]

    def _exchanged(self, k: int, first: int, width: int, new: Moved | None = None) -> list[Stmt]:
        """A few columns of row k and the row at `place` change places; rows below become `new` of
        what is there then."""
        a, row, old, at = self.a, self.row, self.old, Index(const=k)

        def across(body: Callable[[Index], list[Stmt]]) -> list[Stmt]:
            return each("j", 0, width, body, UNROLL)

        def held(j: Index) -> list[Stmt]:
            return [t.put(a.value(at, j + first), j) for t in (row, old)]

        def found(i: Index, j: Index) -> list[Stmt]:
            chosen = node(Op.WHERE, (self._is_place(i), a.value(i, j + first), row.value(j)))
            return [row.put(chosen, j)]

        def below(i: Index, j: Index) -> list[Stmt]:
            moved = node(Op.WHERE, (self._is_place(i), old.value(j), a.value(i, j + first)))
            return [a.put(new(moved, i, j) if new else moved, i, j + first)]

        return [
            *across(held),
            *each("i", k + 1, self.n, lambda i: across(lambda j: found(i, j))),
            *across(lambda j: [a.put(row.value(j), at, j + first)]),
            *each("i", k + 1, self.n, lambda i: across(lambda j: below(i, j))),
        ]


# a new element below the pivot: of what is there, its row, its column in the block
Moved = Callable[[Node, Index, Index], Node]


def _blocks(first: int, stop: int) -> list[tuple[int, int]]:
    """(first column, how many)."""
    return [(j, min(BLOCK, stop - j)) for j in range(first, stop, BLOCK)]


def less(x: Node, a: Node, b: Node) -> Node:
    """x - a*b."""
    return node(Op.SUB, (x, node(Op.MUL, (a, b))))


def magnitude(x: Node) -> Node:
    """|x|, a NaN for a NaN: without the sign bit."""
    integers = INTEGERS[x.dtype]
    size = node(Op.AND, (node(Op.BITCAST, (x,), integers), const(dt.limits(integers)[1], integers)))
    return node(Op.BITCAST, (size,), x.dtype)


# ---------------------------------------------------------------- substitution


def substituted(lu: Array, x: Array) -> list[Stmt]:
    """x becomes the solution for the factors of an elimination, all its columns at once."""
    n, diagonal = lu.columns, lu.value
    row, other = Var("i", n), Var("k", n)

    def reduced(i: Index, k: Index) -> list[Stmt]:
        return each(
            "j",
            0,
            x.columns,
            lambda j: [x.put(less(x.value(i, j), lu.value(i, k), x.value(k, j)), i, j)],
            UNROLL,
        )

    def divided(i: Index) -> list[Stmt]:
        pivot = diagonal(i, i)
        return each(
            "j",
            0,
            x.columns,
            lambda j: [x.put(node(Op.DIV, (x.value(i, j), pivot)), i, j)],
            UNROLL,
        )

    # k < i, and from the end: as many turns, whatever row it is
    before = Index(const=n) - var(row)
    i, k = Index(const=n - 1) - var(row), Index(const=n - 1) - var(other)
    forward = For(other, n, SERIAL, reduced(var(row), var(other)), base=before, total=n)
    backward = For(other, n, SERIAL, reduced(i, k), base=before, total=n)
    return [
        For(row, n, SERIAL, [forward]),
        For(row, n, SERIAL, [backward, *divided(i)]),
    ]


# ---------------------------------------------------------------- Cholesky


def cholesky(
    lower: Array, bad: Array, source: Callable[[Index, Index], Node]
) -> list[Stmt]:
    """`lower` becomes the factor of a symmetric matrix, where a factor has elements; the source
    gives those of the matrix."""
    total = register("total", lower.buf.dtype)
    steps = [s for k in range(lower.columns) for s in _column(lower, Pivots(bad), total, source, k)]
    return [*total.alloc(), *steps]


def _column(
    lower: Array,
    pivots: Pivots,
    total: Array,
    source: Callable[[Index, Index], Node],
    k: int,
) -> list[Stmt]:
    at, zero = Index(const=k), const(0, lower.buf.dtype)

    def reduced(i: Index, p: Index) -> list[Stmt]:
        return [total.put(less(total.value(), lower.value(i, p), lower.value(at, p)))]

    def element(i: Index) -> list[Stmt]:
        terms = each("p", 0, k, lambda p: reduced(i, p), UNROLL)
        return [total.put(source(i, at)), *terms, lower.put(total.value(), i, at)]

    pivot = lower.value(at, at)
    wrong = node(Op.OR, (node(Op.LT, (pivot, zero)), node(Op.EQ, (pivot, zero))))
    return [
        *each("i", k, lower.columns, element),
        pivots.flagged(k, wrong),
        lower.put(node(Op.SQRT, (pivot,)), at, at),
        *each(
            "i",
            k + 1,
            lower.columns,
            lambda i: [lower.put(node(Op.DIV, (lower.value(i, at), pivot)), i, at)],
        ),
    ]
