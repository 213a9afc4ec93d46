"""The sizes of a chain of contractions. In: a Chain. Out: whether one kernel suits them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from ..symbolic.decisions import decided
from ..symbolic.questions import is_below, text
from .kernel import Chain, Labels, Unit, domain

# of a score's sum, and lanes of a result: their operands stay in the level-1 and level-2 caches
MOST_TERMS = 256
# columns whose scores a kernel can hold for a block of rows, where they cannot come in blocks
MOST_HELD = 4096
# bytes of results that sum over the rows, which a kernel holds until the last row, on the stack
MOST_SUMS = 1 << 21
MIN_TASKS = 8  # blocks of rows that keep every thread busy
SMALL_WORK = 1 << 22  # multiply-adds below which parallelism does not matter
BLOCK_ROWS = 16
# bytes of 16 rows and columns of all factors, held in a GPU's shared memory: 64 KiB on the smallest
MOST_BLOCK = 48 << 10
LARGE_SPACE = 2  # times its operands, from which a space without reductions is not stored


@dataclass(frozen=True)
class ChainSizes:
    """Those of a chain. `in_blocks`: may its columns come in blocks? `only_blocks`: may a kernel
    hold no more than a block?"""

    chain: Chain
    in_blocks: bool
    only_blocks: bool

    @cached_property
    def rows(self) -> int:
        """Of the space."""
        return prod(v.extent for v in self.chain.rows)

    @cached_property
    def columns(self) -> int:
        """Of the space."""
        return prod(v.extent for v in self.chain.columns)

    @cached_property
    def terms(self) -> list[int]:
        """Of the sum of each score."""
        return [prod(v.extent for v in u.inner_vars(u.kept_vars())) for u in self.chain.scores]

    @cached_property
    def widths(self) -> list[int]:
        """Of each result: its lanes outside the space."""
        return [width(u, self.chain.labels[u]) for u in self.chain.results]

    @cached_property
    def sums(self) -> int:
        """Bytes of the results that sum over the rows."""
        results = zip(self.chain.results, self.widths, strict=True)
        over_rows = [w * u.node.dtype.itemsize for u, w in results if self.chain.sums_rows(u)]
        return self.columns * sum(over_rows)

    @cached_property
    def tasks(self) -> int:
        """Blocks of rows; all of them are one where results sum over the rows."""
        batch = prod(v.extent for v in self.chain.batch)
        *others, last = [v.extent for v in self.chain.rows]
        return batch if self.sums else batch * prod(others) * -(-last // BLOCK_ROWS)

    @cached_property
    def total(self) -> int:
        """Multiply-adds."""
        return sum(prod(domain(u.node)) for u in self.chain.contractions)

    @cached_property
    def block(self) -> int:
        """Bytes of a block of rows and columns of all factors."""
        in_a_row = 2 * sum(self.terms) + sum(self.widths)
        return BLOCK_ROWS * in_a_row * self.chain.scores[0].node.dtype.itemsize

    def may_be_worth(self) -> bool:
        """Are there sizes that are worth a kernel, as far as is known of them all?"""
        space = self.rows * self.columns
        return self.chain.reduces or not any(is_below(space, o) for o in self._operands())

    def are_worth(self) -> bool:
        """Do operands fit caches, are there enough blocks of rows, and does storing the space cost
        more than reading operands? Decided at once for sizes that are not known."""
        numbers = (self.rows, self.columns, self.tasks, self.total, *self.terms, *self.widths)
        how = f"a space of {text(self.rows)} x {text(self.columns)} is computed where it is read"
        return decided(lambda: self._fit and self._pay, numbers, how)

    @property
    def _fit(self) -> bool:
        if max(self.terms) > MOST_TERMS or self.sums > MOST_SUMS:
            return False
        if self.only_blocks:
            return self.block <= MOST_BLOCK and self.in_blocks and not self.sums
        return (self.in_blocks and not self.sums) or self.columns <= MOST_HELD

    @property
    def _pay(self) -> bool:
        if not self.chain.reduces and self.rows * self.columns < max(self._operands()):
            return False
        return self.tasks >= MIN_TASKS or self.total < SMALL_WORK

    def _operands(self) -> list[int]:
        """From which elements on a space without reductions is not stored, by each of its factors:
        reading these costs less."""
        return [LARGE_SPACE * (self.rows + self.columns) * n for n in (*self.terms, *self.widths)]


def width(u: Unit, labels: Labels) -> int:
    """Lanes of a result outside the space, of which `labels` has its variables."""
    return prod(v.extent for v in u.kept_vars() if v not in labels)
