"""Elimination and Cholesky factors of one matrix -> statements, for a lane. In: an Array that holds
the matrix. Out: statements that leave what is made of it there.

eliminated    for k: the row of the greatest |a[i, k]| changes places with row k;
              for i > k: a[i, j] -= a[i, k] / a[k, k] * a[k, j] for j > k
substituted   for i from the last: x[i] -= a[i, p] * x[p] for p > i; x[i] /= a[i, i]
cholesky      for k: a[i, k] -= a[i, p] * a[k, p] for p < k; the root of a[k, k]; a[i, k] /= a[k, k]

Right-hand sides are columns behind the matrix. Columns are taken in whole blocks, from the one that
column k + 1 is in: what stands left of the pivots is not needed any more. Nothing branches on data:
rows change places by WHERE. Each operation is rounded, and terms are subtracted one after the
other, as in ir/ops/systems.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Var, var
from ...ir.graph.op import Op
from ...ir.loops.loop import REG, SERIAL, UNROLL, Alloc, Buf, For, Stmt, Store
from .evaluate import counter, load

UNROLLED_ROWS = 3  # systems of so few rows have no loops: more would take half a second to compile
BLOCK = 8  # columns at once: a row of them stays in registers
INTEGERS = {dt.float32: dt.int32, dt.float64: dt.int64}  # as wide, so that lanes match

Body = Callable[[Index], list[Stmt]]


@dataclass(frozen=True)
class Array:
    """Memory of a lane, in row-major order: where its element number i is in a buffer."""

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


def registers(name: str, dtype: DType, rows: int, columns: int) -> Array:
    """A matrix of a lane's own; what a processor has no register for is on the stack."""
    return Array(Buf(name, dtype, rows * columns, REG), columns)


# what gives private memory: a name, a dtype, rows, columns
Memory = Callable[[str, DType, int, int], Array]


def numbered(i: Index, dtype: DType) -> Node:
    """An index as a value of this dtype."""
    return cast(counter(i), dtype)


def each(name: str, count: int, body: Body, kind: str = SERIAL) -> list[Stmt]:
    """A body for every number below `count`."""
    if count < 2:
        return body(Index()) if count else []
    v = Var(name, count)
    return [For(v, count, kind, body(var(v)))]


def below(k: Index, n: int, body: Body) -> list[Stmt]:
    """A body for the rows from the last one down to k + 1."""
    most, last = n - 1 - k.bounds[0], Index(const=n - 1)
    if not k.terms:
        return each("i", most, lambda v: body(last - v), _kind(n))
    v = Var("i", most)
    return [For(v, most, SERIAL, body(last - var(v)), base=k + 1, total=n)]


def _kind(n: int) -> str:
    return UNROLL if n <= UNROLLED_ROWS else SERIAL


@dataclass(frozen=True)
class Pivots:
    """`bad`: the number of the first bad pivot, from 1, or 0."""

    bad: Array

    def flagged(self, k: Index, wrong: Node) -> Store:
        """Pivot k is bad where this holds, unless one before it is."""
        dtype, bad = self.bad.buf.dtype, self.bad.value()
        first = node(Op.AND, (wrong, node(Op.EQ, (bad, const(0, dtype)))))
        return self.bad.put(node(Op.WHERE, (first, numbered(k + 1, dtype), bad)))


# ---------------------------------------------------------------- elimination


class Elimination:
    """n equations whose right-hand sides are the last `sides` columns of `a`: their solutions take
    the place of these."""

    def __init__(self, n: int, sides: int, bad: Array, dtype: DType, memory: Memory) -> None:
        self.n, self.sides, self.pivots = n, sides, Pivots(bad)
        self.width = min(BLOCK, n + sides)
        self.blocks = -(-(n + sides) // self.width)
        columns = self.blocks * self.width
        self.first = columns - n - sides  # the column of the matrix; those before it mean nothing
        self.a, self.factors = memory("a", dtype, n, columns), memory("factors", dtype, n, 1)
        self.place = register("place", bad.buf.dtype)
        self.size, self.pivot, self.held = (
            register(name, dtype) for name in ("size", "pivot", "held")
        )
        self.row, self.old = (register(name, dtype, self.width) for name in ("row", "old"))

    def alloc(self) -> list[Stmt]:
        own = (self.place, self.size, self.pivot, self.held, self.row, self.old)
        return [s for array in (self.a, self.factors, *own) for s in array.alloc()]

    def element(self, i: Index, j: Index) -> Node:
        """Of the matrix, or of the right-hand sides behind it."""
        return self.a.value(i, j + self.first)

    def put(self, value: Node, i: Index, j: Index) -> Store:
        return self.a.put(value, i, j + self.first)

    def eliminated(self) -> list[Stmt]:
        """All steps: those that begin with the same block of columns are a loop."""
        if self.n <= UNROLLED_ROWS:
            steps = [self._step(Index(const=k), self._block(k)) for k in range(self.n - 1)]
        else:
            runs = [list(ks) for _, ks in groupby(range(self.n - 1), self._block)]
            steps = [self._steps(ks) for ks in runs]
        last = Index(const=self.n - 1)
        return [*[s for step in steps for s in step], self._flagged(last, self.element(last, last))]

    def _block(self, k: int) -> int:
        return (self.first + k + 1) // self.width

    def _steps(self, ks: list[int]) -> list[Stmt]:
        block = self._block(ks[0])
        return each("k", len(ks), lambda k: self._step(k + ks[0], block))

    def _flagged(self, k: Index, pivot: Node) -> Store:
        return self.pivots.flagged(k, node(Op.EQ, (pivot, const(0, pivot.dtype))))

    def _step(self, k: Index, block: int) -> list[Stmt]:
        columns = each(
            "b",
            self.blocks - block,
            lambda b: self._reduced(k, (b + block) * self.width),
            _kind(self.n),
        )
        return [
            *self._searched(k),
            self._flagged(k, self.pivot.value()),
            *below(k, self.n, lambda i: [self._factor(k, i)]),
            *columns,
            self.put(self.pivot.value(), k, k),
        ]

    def _searched(self, k: Index) -> list[Stmt]:
        """The greatest element of column k from row k on, and its place."""
        integers, first = self.place.buf.dtype, self.element(k, k)

        def seen(i: Index) -> list[Stmt]:
            x = self.element(i, k)
            bigger = node(Op.LT, (self.size.value(), magnitude(x)))
            better = (
                (self.place, numbered(i, integers)),
                (self.pivot, x),
                (self.size, magnitude(x)),
            )
            return [t.put(node(Op.WHERE, (bigger, new, t.value()))) for t, new in better]

        return [
            self.place.put(numbered(k, integers)),
            self.size.put(magnitude(first)),
            self.pivot.put(first),
            self.held.put(first),
            *below(k, self.n, seen),
        ]

    def _is_place(self, i: Index) -> Node:
        return node(Op.EQ, (self.place.value(), numbered(i, self.place.buf.dtype)))

    def _factor(self, k: Index, i: Index) -> Stmt:
        """That of row i, after rows have changed places."""
        moved = node(Op.WHERE, (self._is_place(i), self.held.value(), self.element(i, k)))
        return self.factors.put(node(Op.DIV, (moved, self.pivot.value())), i)

    def _reduced(self, k: Index, first: Index) -> list[Stmt]:
        """A block of columns: row k and the row at `place` change places, and the rows below are
        reduced."""
        a, row, old = self.a, self.row, self.old

        def across(body: Body) -> list[Stmt]:
            return each("j", self.width, body, UNROLL)

        def held(j: Index) -> list[Stmt]:
            return [t.put(a.value(k, first + j), j) for t in (row, old)]

        def found(i: Index, j: Index) -> Stmt:
            here = node(Op.WHERE, (self._is_place(i), a.value(i, first + j), row.value(j)))
            return row.put(here, j)

        def less_row(i: Index, j: Index) -> Stmt:
            moved = node(Op.WHERE, (self._is_place(i), old.value(j), a.value(i, first + j)))
            return a.put(less(moved, self.factors.value(i), row.value(j)), i, first + j)

        return [
            *across(held),
            *below(k, self.n, lambda i: across(lambda j: [found(i, j)])),
            *across(lambda j: [a.put(row.value(j), k, first + j)]),
            *below(k, self.n, lambda i: across(lambda j: [less_row(i, j)])),
        ]

    # ------------------------------------------------------------ substitution

    def substituted(self) -> list[Stmt]:
        """From the last row on, the right-hand sides become solutions."""
        width = max(w for w in range(1, BLOCK + 1) if self.sides % w == 0)
        return each("b", self.sides // width, lambda b: self._solved(b * width + self.n, width))

    def _solved(self, first: Index, width: int) -> list[Stmt]:
        def reduced(i: Index, p: Index) -> list[Stmt]:
            def side(j: Index) -> list[Stmt]:
                x = less(self.element(i, first + j), self.element(i, p), self.element(p, first + j))
                return [self.put(x, i, first + j)]

            return each("j", width, side, UNROLL)

        def row(i: Index) -> list[Stmt]:
            def side(j: Index) -> list[Stmt]:
                x = node(Op.DIV, (self.element(i, first + j), self.element(i, i)))
                return [self.put(x, i, first + j)]

            return [
                *below(i, self.n, lambda p: reduced(i, p)),
                *each("j", width, side, UNROLL),
            ]

        if self.n <= UNROLLED_ROWS:
            return [s for i in reversed(range(self.n)) for s in row(Index(const=i))]
        return each("i", self.n, lambda v: row(Index(const=self.n - 1) - v))


def less(x: Node, a: Node, b: Node) -> Node:
    """x - a*b."""
    return node(Op.SUB, (x, node(Op.MUL, (a, b))))


def magnitude(x: Node) -> Node:
    """|x|, a NaN for a NaN: without the sign bit."""
    integers = INTEGERS[x.dtype]
    size = node(Op.AND, (node(Op.BITCAST, (x,), integers), const(dt.limits(integers)[1], integers)))
    return node(Op.BITCAST, (size,), x.dtype)


# ---------------------------------------------------------------- Cholesky


class Cholesky:
    """`lower` is a symmetric matrix, and becomes its factor where a factor has elements."""

    def __init__(self, n: int, bad: Array, dtype: DType, memory: Memory) -> None:
        self.n, self.pivots = n, Pivots(bad)
        self.lower, self.total = memory("lower", dtype, n, n), register("total", dtype)

    def alloc(self) -> list[Stmt]:
        return [*self.lower.alloc(), *self.total.alloc()]

    def factored(self) -> list[Stmt]:
        """Column by column."""
        if self.n <= BLOCK:
            return [s for k in range(self.n) for s in self._column(Index(const=k))]
        return each("k", self.n, self._column)

    def _column(self, k: Index) -> list[Stmt]:
        lower, total = self.lower, self.total
        pivot, zero = lower.value(k, k), const(0, lower.buf.dtype)
        wrong = node(Op.OR, (node(Op.LT, (pivot, zero)), node(Op.EQ, (pivot, zero))))

        def element(i: Index) -> list[Stmt]:
            def reduced(p: Index) -> list[Stmt]:
                return [total.put(less(total.value(), lower.value(i, p), lower.value(k, p)))]

            terms = self._before(k, reduced)
            return [total.put(lower.value(i, k)), *terms, lower.put(total.value(), i, k)]

        def divided(i: Index) -> list[Stmt]:
            return [lower.put(node(Op.DIV, (lower.value(i, k), pivot)), i, k)]

        return [
            *below(k - 1, self.n, element),
            self.pivots.flagged(k, wrong),
            lower.put(node(Op.SQRT, (pivot,)), k, k),
            *below(k, self.n, divided),
        ]

    def _before(self, k: Index, body: Body) -> list[Stmt]:
        """A body for the numbers below k."""
        if not k.terms:
            return each("p", k.const, body, UNROLL)
        v = Var("p", self.n)
        return [For(v, self.n, SERIAL, body(var(v)), base=Index(const=self.n) - k, total=self.n)]
