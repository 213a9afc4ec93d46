"""Systems of linear equations taken apart: where matrices and right-hand sides are, and the
statements for one system. In: a Kernel of one SOLVE or CHOLESKY, private memory. Out: statements.

solve         for blocks of right-hand sides: load both; eliminate; substitute; store
cholesky      load; factor; store
check         the number of the first bad pivot, which is 0 where there is none
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, unravel
from ...ir.graph.op import Op
from ...ir.kernels.kernel import cost
from ...ir.loops.loop import UNROLL, Alloc, Check, Param, Stmt, Store
from .elimination import (
    BLOCK,
    INTEGERS,
    Array,
    Cholesky,
    Elimination,
    Memory,
    each,
    register,
)
from .evaluate import counter
from .single_op import SingleOpKernel

SITE = Param("pivots")  # the number of the kernel's check

MOST_SIDES = 32  # right-hand sides of a block: the matrix is eliminated anew for each
WHOLE_ROWS = 4  # matrices of so few rows are loaded as one row of all elements


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
    def sides(self) -> int:
        """The right-hand sides of a block: all blocks are equal."""
        return max(w for w in range(1, MOST_SIDES + 1) if self.columns % w == 0)

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
        bad = register("bad", INTEGERS[self.node.dtype])
        work = self._solved if self.node.op is Op.SOLVE else self._factored
        check = Check(cast(bad.value(), dt.int64), 1, SITE, system)
        return [Alloc(bad.buf, 0), *work(system, bad, memory), check]

    def _solved(self, system: Index, bad: Array, memory: Memory) -> list[Stmt]:
        e = Elimination(self.n, self.sides, bad, self.node.dtype, memory)

        def matrix(i: Index, j: Index) -> list[Stmt]:
            return [e.put(self.source(0, system, i, j), i, j)]

        def block(b: Index) -> list[Stmt]:
            first = b * self.sides

            def side(i: Index, j: Index) -> list[Stmt]:
                return [e.put(self.source(1, system, i, first + j), i, j + self.n)]

            def solution(i: Index, j: Index) -> list[Stmt]:
                return [self.result(e.element(i, j + self.n), system, i, first + j)]

            return [
                *cells(self.n, self.n, matrix),
                *cells(self.n, self.sides, side),
                *e.eliminated(),
                *e.substituted(),
                *cells(self.n, self.sides, solution),
            ]

        return [*e.alloc(), *each("s", self.columns // self.sides, block)]

    def _factored(self, system: Index, bad: Array, memory: Memory) -> list[Stmt]:
        c, zero = Cholesky(self.n, bad, self.node.dtype, memory), const(0, self.node.dtype)

        def loaded(i: Index, j: Index) -> list[Stmt]:
            return [c.lower.put(self.source(0, system, i, j), i, j)]

        def stored(i: Index, j: Index) -> list[Stmt]:
            above = node(Op.LT, (counter(i), counter(j)))
            factor = node(Op.WHERE, (above, zero, c.lower.value(i, j)))
            return [self.result(factor, system, i, j)]

        return [
            *c.alloc(),
            *cells(self.n, self.n, loaded),
            *c.factored(),
            *cells(self.n, self.n, stored),
        ]


def cells(rows: int, columns: int, body: Callable[[Index, Index], list[Stmt]]) -> list[Stmt]:
    """A body for every element of a matrix, in unrolled pieces of rows, which lanes load and store
    as vectors; a small one is seen as one row."""
    if max(rows, columns) <= WHOLE_ROWS:
        shape = rows, columns
        return each("e", rows * columns, lambda e: body(*unravel(e, shape)), UNROLL)
    width = max(w for w in range(1, BLOCK + 1) if columns % w == 0)

    def row(i: Index) -> list[Stmt]:
        def block(b: Index) -> list[Stmt]:
            return each("j", width, lambda j: body(i, b * width + j), UNROLL)

        return each("b", columns // width, block)

    return each("i", rows, row)
