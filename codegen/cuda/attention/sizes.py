"""Blocks of rows and columns that fit shared memory. In: a ChainProblem, its Panels, a CudaTarget. Out: Sizes."""

from __future__ import annotations

from math import prod

from ...chain.problem import ChainProblem
from ...chain.task import Sizes
from ...schedule import extent
from ..target import CudaTarget
from .panels import SIDE, VECTOR, Panels

ROWS, COLUMNS = (128, 64, 32, 16), (64, 32, 16)  # a thread has the SIDE-th part of each
STATISTICS = 8  # values of a row beside the space: maximum, sum, factors of rescaling


def strip_stride(p: ChainProblem, columns: int) -> int:
    """From row to row of the space: a vector more than its columns, so that banks differ."""
    return columns + VECTOR // p.dtype.itemsize


def shared_bytes(p: ChainProblem, panels: Panels, strips: int, rows: int, columns: int) -> int:
    """Upper bound of what a block needs."""
    space = rows * (strip_stride(p, columns) * strips + STATISTICS)
    return panels.nbytes(rows, columns) + space * p.dtype.itemsize


def choose(p: ChainProblem, panels: Panels, strips: int, target: CudaTarget) -> Sizes:
    """The most columns, then the most rows, that leave room for a second block, and enough blocks for every multiprocessor.

    Columns decide the order of sums: they depend on the shared memory alone.
    """

    def fits(rows: int, columns: int, blocks: int) -> bool:
        return shared_bytes(p, panels, strips, rows, columns) <= target.shared_limit // blocks

    least = ROWS[-1]
    widths = [c for c in COLUMNS if c == COLUMNS[-1] or c < 2 * p.length()]
    columns = next((c for c in widths if fits(4 * least, c, 2)), next((c for c in widths if fits(least, c, 1)), widths[-1]))
    others = prod(extent(g) for g in p.batch + p.others)
    possible = [r for r in ROWS if r == least or (r < 2 * p.rows() and fits(r, columns, 2))]
    rows = next((r for r in possible if others * -(-p.rows() // r) >= target.multiprocessors), least)
    return Sizes(rows, -(-p.rows() // rows), columns, blocks=True)


def of_thread(size: int) -> int:
    """A thread's share of rows or columns."""
    return size // SIDE
