"""The sizes of a chain of contractions. In: a Chain. Out: whether one kernel suits them."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Numbers alone, since a program of many sizes asks them again. `rows` and `columns` of the
    space, `terms` of each score's sum, `widths` of the results; `sums`: bytes of those that sum
    over the rows; `tasks`: blocks of rows, which are one with such sums; `total` multiply-adds.
    `in_blocks`: may the columns come in blocks? `only_blocks`: must they?"""

    rows: int
    columns: int
    terms: tuple[int, ...]
    widths: tuple[int, ...]
    sums: int
    tasks: int
    total: int
    itemsize: int
    reduces: bool
    in_blocks: bool
    only_blocks: bool

    def may_be_worth(self) -> bool:
        """Are there sizes that are worth a kernel, as far as is known of them all?"""
        space = self.rows * self.columns
        return self.reduces or not any(is_below(space, o) for o in self._operands())

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
            block = BLOCK_ROWS * (2 * sum(self.terms) + sum(self.widths)) * self.itemsize
            return block <= MOST_BLOCK and self.in_blocks and not self.sums
        return (self.in_blocks and not self.sums) or self.columns <= MOST_HELD

    @property
    def _pay(self) -> bool:
        if not self.reduces and self.rows * self.columns < max(self._operands()):
            return False
        return self.tasks >= MIN_TASKS or self.total < SMALL_WORK

    def _operands(self) -> list[int]:
        """From which elements on a space without reductions is not stored, by each of its factors:
        reading these costs less."""
        return [LARGE_SPACE * (self.rows + self.columns) * n for n in (*self.terms, *self.widths)]


def sizes_of(chain: Chain, in_blocks: bool, only_blocks: bool) -> ChainSizes:
    """Those of a chain."""
    batch, rows, columns = (
        prod(v.extent for v in axes) for axes in (chain.batch, chain.rows, chain.columns)
    )
    widths = {u: width(u, chain.labels[u]) for u in chain.results}
    itemsize = chain.scores[0].node.dtype.itemsize  # that of all
    sums = columns * itemsize * sum(widths[u] for u in chain.results if chain.sums_rows(u))
    *others, last = [v.extent for v in chain.rows]
    return ChainSizes(
        rows=rows,
        columns=columns,
        terms=tuple([prod(v.extent for v in u.inner_vars(u.kept_vars())) for u in chain.scores]),
        widths=tuple(widths.values()),
        sums=sums,
        tasks=batch if sums else batch * prod(others) * -(-last // BLOCK_ROWS),
        total=sum(prod(domain(u.node)) for u in chain.contractions),
        itemsize=itemsize,
        reduces=chain.reduces,
        in_blocks=in_blocks,
        only_blocks=only_blocks,
    )


def width(u: Unit, labels: Labels) -> int:
    """Lanes of a result outside the space, of which `labels` has its variables."""
    return prod(v.extent for v in u.kept_vars() if v not in labels)
