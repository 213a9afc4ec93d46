"""Flags of operands that are not finite, from phases that run first where a mask may rule out
blocks of columns. In: a chain. Out: Flags.

    flag[batch, block of columns] = is 0 times any value of the block not 0?

What is multiplied by weights that the mask makes 0 must be finite for a block to be left out: 0
times it would be NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ....ir.graph import dtype as dt
from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import GLOBAL, LANES, REG, Alloc, Buf, For, Reduce, Stmt, Store
from ....wording import plural
from ...kernels.chain import ChainProblem, Result
from ...kernels.chain_task import Sizes, Task
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut
from ...kernels.lowered import Lowered
from ..schedules.grid import Blocks

THREADS = 256
Operand = tuple[int, Callable[[Index, Index], Node]]  # elements of a line, the value of one


@dataclass(frozen=True)
class Flags:
    """A flag for each block of lines of each batch element; lines are columns, or rows."""

    buf: Buf
    blocks: int
    of_rows: bool

    def now(self, position: Index, row_blocks: int, part: Index) -> Node:
        """The flag of a block of columns, as a block of rows reads it."""
        return load(
            self.buf, position if self.of_rows else position // row_blocks * self.blocks + part
        )


class Check(Task):
    """The operands of a block of lines."""

    def __init__(self, p: ChainProblem, s: Sizes, of_rows: bool) -> None:
        super().__init__(p, s)
        self.of_rows = of_rows
        self.size = s.rows if of_rows else s.columns
        self.lines = p.rows() if of_rows else p.length()
        self.blocks = -(-self.lines // self.size)
        self.all = (*self.shape[:-1], self.blocks)
        self.flags = Flags(
            Buf("row_flags" if of_rows else "flags", dt.int64, prod(self.all), GLOBAL),
            self.blocks,
            of_rows,
        )

    def operands(self) -> list[Operand]:
        p = self.p
        operands: list[Operand] = (
            [] if self.of_rows else [(r.width, self._value_of(r)) for r in p.results]
        )
        if p.chain.reduces:
            return operands
        follows = {r: self._follows(r)[not self.of_rows] for r in p.results}
        return operands + [(1, self._weight_of(r)) for r in p.results if follows[r]]

    def _weight_of(self, r: Result) -> Callable[[Index, Index], Node]:
        def weight(line: Index, _: Index) -> Node:
            return self.p.ruled_out(
                r, self._at(line, Index()) if self.of_rows else self._at(Index(), line)
            )

        return weight

    def lowered(self, kernel: Kernel, buffers: tuple[Buf, ...]) -> Lowered:
        """The phase that fills the flags."""
        blocks = Blocks(prod(self.all), 1)
        *self.batch, block = unravel(blocks.first, self.all)
        first = block * self.size
        acc = Buf("zeros", self.p.dtype, 1, REG)
        body: list[Stmt] = [
            Alloc(acc, 0),
            *(self._sum(acc, operand, first) for operand in self.operands()),
        ]
        total = load(acc, Index())
        flag = node(Op.WHERE, (node(Op.EQ, (total, total)), const(0, dt.int64), const(1, dt.int64)))
        body.append(Store(self.flags.buf, blocks.first, flag))
        text = (
            f"flags of {plural(self.blocks, 'block')} of {self.size}"
            f" {'rows' if self.of_rows else 'columns'}"
        )
        return blocks.lowered(kernel, buffers, body, THREADS, prod(self.all) * self.size, text)

    def _sum(self, acc: Buf, operand: Operand, first: Index) -> Stmt:
        """Adds 0 times every element of a block of lines."""
        width, value = operand
        x = Var("x", self.size * width)
        term = node(Op.MUL, (value(first + var(x) // width, var(x) % width), const(0, acc.dtype)))
        return For(
            x,
            x.extent,
            LANES,
            [Reduce(acc, Index(), "add", term)],
            1,
            *cut(first * width, self.lines * width, x.extent),
        )
