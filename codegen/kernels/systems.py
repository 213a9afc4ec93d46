"""Systems of linear equations taken apart: where matrices and right-hand sides are, and the
statements for one system. In: a Kernel of one SOLVE or CHOLESKY, private memory. Out: statements.

    a[i, j] = source[i, j]
    elimination.py: its factors; the number of the first bad pivot, 0 where there is none
    for columns c:  x[i, c] = b[order[i], c]; substitution; result[i, c] = x[i, c]
    check           that number
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Var, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import cost
from ...ir.loops.loop import SERIAL, UNROLL, Alloc, Check, For, Param, Stmt, Store
from .elimination import (
    BLOCK,
    INTEGERS,
    UNROLLED_ROWS,
    Array,
    Elimination,
    cholesky,
    each,
    register,
    substituted,
)
from .evaluate import as_index, counter
from .single_op import SingleOpKernel

SITE = Param("pivots")  # the number of the kernel's check

# what gives private memory: a name, a dtype, rows, columns
Memory = Callable[[str, DType, int, int], Array]


class Systems(SingleOpKernel):
    """The systems of a SOLVE or CHOLESKY, numbered by the leading axes."""

    @property
    def n(self) -> int:
        return self.node.src[0].shape[-1]

    @property
    def columns(self) -> int:
        return self.node.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        return self.node.shape[:-2]

    @property
    def count(self) -> int:
        return prod(self.batch)

    @property
    def work(self) -> int:
        """Operations of one system."""
        return cost(self.node) * self.n * self.columns

    @property
    def width(self) -> int:
        """The columns that are solved at once: all blocks are equal."""
        return max(w for w in range(1, BLOCK + 1) if self.columns % w == 0)

    def at(self, system: Index, i: Index, j: Index) -> list[Index]:
        """Of an element of a system."""
        return [*unravel(system if self.count > 1 else Index(), self.batch), i, j]

    def source(self, k: int, system: Index, i: Index, j: Index) -> Node:
        """An element of a matrix, or of a right-hand side."""
        return self.evaluator.value(self.node.src[k], self.at(system, i, j))

    def result(self, value: Node, system: Index, i: Index, j: Index) -> Store:
        return Store(self.out.buf, self.out.at(self.at(system, i, j)), value)

    def body(self, system: Index, memory: Memory) -> list[Stmt]:
        """All of one system."""
        dtype = self.node.dtype
        a, bad = memory("a", dtype, self.n, self.n), register("bad", INTEGERS[dtype])
        work = self._solved if self.node.op is Op.SOLVE else self._factored
        check = Check(cast(bad.value(), dt.int64), 1, SITE, system)
        return [*a.alloc(), Alloc(bad.buf, 0), *work(system, a, bad, memory), check]

    def _solved(self, system: Index, a: Array, bad: Array, memory: Memory) -> list[Stmt]:
        order = memory("order", bad.buf.dtype, self.n, 1)
        x = memory("x", a.buf.dtype, self.n, self.width)
        block = Var("c", self.columns // self.width)
        first = var(block) * self.width if block.extent > 1 else Index()

        def loaded(i: Index, j: Index) -> list[Stmt]:
            return [a.put(self.source(0, system, i, j), i, j)]

        def right_side(i: Index, j: Index) -> list[Stmt]:
            row = as_index(cast(order.value(i), dt.int64), self.n)
            return [x.put(self.source(1, system, row, first + j), i, j)]

        def stored(i: Index, j: Index) -> list[Stmt]:
            return [self.result(x.value(i, j), system, i, first + j)]

        columns = [
            *cells(self.n, self.width, right_side),
            *substituted(a, x),
            *cells(self.n, self.width, stored),
        ]
        return [
            *order.alloc(),
            *x.alloc(),
            *cells(self.n, self.n, loaded),
            *Elimination(a, order, bad).statements(),
            *([For(block, block.extent, SERIAL, columns)] if block.extent > 1 else columns),
        ]

    def _factored(self, system: Index, a: Array, bad: Array, memory: Memory) -> list[Stmt]:
        zero = const(0, a.buf.dtype)

        def stored(i: Index, j: Index) -> list[Stmt]:
            above = node(Op.LT, (counter(i), counter(j)))
            return [self.result(node(Op.WHERE, (above, zero, a.value(i, j))), system, i, j)]

        return [
            *cholesky(a, bad, lambda i, j: self.source(0, system, i, j)),
            *cells(self.n, self.n, stored),
        ]


def cells(rows: int, columns: int, body: Callable[[Index, Index], list[Stmt]]) -> list[Stmt]:
    """A body for every element of a matrix; a small one is seen as one row, which lanes load and
    store as vectors."""
    if rows * columns <= UNROLLED_ROWS**2:
        cell = Var("e", rows * columns)
        i, j = unravel(var(cell) if cell.extent > 1 else Index(), (rows, columns))
        return [For(cell, cell.extent, UNROLL, body(i, j))]
    return each("i", 0, rows, lambda i: each("j", 0, columns, lambda j: body(i, j), UNROLL))
