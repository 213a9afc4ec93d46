"""Sums of products over all steps of k, block by block. In: Windows, the sums of a tile, a product.
Out: statements.

    one block     acc = 0;  for k: acc += a * b
    more          kept = 0;  for block: { acc = 0;  for k of the block: acc += a * b;  kept += acc }

The error of a sum grows with the additions that follow each other. What is kept is in the level-1
cache, and the blocks follow from the extents of k alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ....ir.graph.graph import Node, const
from ....ir.graph.index import Index, Var, var
from ....ir.loops.loop import LANES, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ....ir.symbolic.integer import Symbolic
from ....ir.symbolic.questions import has_several
from ...kernels.evaluate import load
from ...kernels.loop_axes import cut, fresh, nested

# of a block, as 32 channels of 3 x 3: relative errors of 3e-7 in float32, for 0 to 2 % of the time
MOST_STEPS = 288

Product = Callable[[dict[Var, Index]], Node]


@dataclass(frozen=True)
class Sums:
    """The accumulators of a tile: the element of `acc`, in registers, for each position along the
    axes, and where it is kept."""

    axes: Sequence[Var]  # the last in lanes
    acc: Buf
    number: Index
    kept: Buf
    at: Index

    def each(self, *statements: Stmt) -> list[Stmt]:
        """The statements for every accumulator, one after the other for each."""
        return nested(self.axes, list(statements), UNROLL, LANES)

    def keep(self, total: Node) -> list[Stmt]:
        """The total where sums are kept."""
        return [] if total.arg[0] is self.kept else self.each(Store(self.kept, self.at, total))


@dataclass(frozen=True)
class Blocks:
    """Steps of k: one of each of the outer axes, so many neighbours of the next one, all of the
    others."""

    outer: Sequence[Var]
    axis: Var
    size: int
    inner: Sequence[Var]

    @property
    def count(self) -> int:
        return prod(v.extent for v in self.outer) * -(-self.axis.extent // self.size)

    @property
    def steps(self) -> int:
        return self.size * prod(v.extent for v in self.inner)


def blocks(reduced: Sequence[Var]) -> Blocks:
    """Blocks of MOST_STEPS steps at most, as long as possible."""
    outer = 0
    while prod(v.extent for v in reduced[outer + 1 :]) > MOST_STEPS:
        outer += 1
    axis, inner = reduced[outer], reduced[outer + 1 :]
    most = max(1, MOST_STEPS // prod(v.extent for v in inner))
    size = most if isinstance(axis.extent, Symbolic) else min(axis.extent, most)
    return Blocks(reduced[:outer], axis, size, inner)


def described(reduced: Sequence[Var]) -> str:
    """What a schedule says of its steps."""
    b = blocks(reduced)
    return (
        f"all {prod(v.extent for v in reduced)} steps in"
        f" registers{f', {b.steps} at a time' if has_several(b.count) else ''}"
    )


def sum_products(reduced: Sequence[Var], sums: Sums, product: Product) -> tuple[list[Stmt], Node]:
    """Statements that add up all products, and the total: in registers of one block, kept of
    more."""
    b, done, total = blocks(reduced), load(sums.acc, sums.number), load(sums.kept, sums.at)
    outer, block, axis = (
        fresh(b.outer),
        Var("block", -(-b.axis.extent // b.size)),
        Var(b.axis.name, b.size),
    )
    inner, first = fresh(b.inner), var(block) * b.size if has_several(b.count) else Index()
    k = [*map(var, outer), first + var(axis), *map(var, inner)]
    add = Reduce(sums.acc, sums.number, "add", product(dict(zip(reduced, k, strict=True))))
    one: list[Stmt] = [Alloc(sums.acc, 0)]
    one.append(
        For(
            axis,
            b.size,
            SERIAL,
            nested(inner, sums.each(add)),
            1,
            *cut(first, b.axis.extent, b.size),
        )
    )
    if not has_several(b.count):
        return one, done
    one += sums.each(Reduce(sums.kept, sums.at, "add", done))
    return [
        *sums.each(Store(sums.kept, sums.at, const(0, sums.kept.dtype))),
        *nested([*outer, block], one),
    ], total
