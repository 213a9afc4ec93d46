"""Blocks of rows and columns that fit shared memory. In: a ChainProblem, its Panels, a CudaTarget. Out: Sizes."""

from __future__ import annotations

from math import prod

from ...chain.problem import ChainProblem, StagePlan
from ...chain.task import Sizes
from ...schedule import extent
from ..target import CudaTarget
from .panels import Panels
from .tiles import VECTOR

ROWS, COLUMNS = (128, 64, 32, 16), (64, 32, 16)
SUMS = 128  # bytes of sums of a thread of a square, beside which factors find registers
STATISTICS = 8  # values of a row beside the space: maximum, sum, factors of rescaling


def strip_stride(panels: Panels, columns: int) -> int:
    """From row to row of the space: a vector more than its columns, so that banks differ."""
    return columns + VECTOR // panels.dtype.itemsize


def shared_bytes(p: ChainProblem, plan: StagePlan, panels: Panels, rows: int, columns: int) -> int:
    """Upper bound of what a block needs."""
    strips = max(len(p.scores), sum(len(stage.kept) for stage in plan.stages)) * p.dtype.itemsize
    weights = len(p.results) * panels.dtype.itemsize if panels.dtype is not p.dtype else 0
    each = strip_stride(panels, columns) * (strips + weights) + STATISTICS * p.dtype.itemsize
    return panels.nbytes(rows, columns) + rows * each


def choose(p: ChainProblem, plan: StagePlan, panels: Panels, target: CudaTarget) -> Sizes:
    """The most columns, then the most rows, that leave room for a second block, and enough blocks for every multiprocessor.

    Columns decide the order of sums: they depend on the shared memory alone.
    """

    def fits(rows: int, columns: int, blocks: int) -> bool:
        return shared_bytes(p, plan, panels, rows, columns) <= target.shared_limit // blocks

    least = ROWS[-1]
    widths = [c for c in COLUMNS if c == COLUMNS[-1] or c < 2 * p.length()]
    columns = next((c for c in widths if fits(4 * least, c, 2)), next((c for c in widths if fits(least, c, 1)), widths[-1]))
    others = prod(extent(g) for g in p.batch + p.others)
    possible = [r for r in ROWS if r == least or (r < 2 * p.rows() and fits(r, columns, 2) and _has_registers(p, panels, r))]
    rows = next((r for r in possible if others * -(-p.rows() // r) >= target.multiprocessors), least)
    return Sizes(rows, -(-p.rows() // rows), columns, blocks=True)


def _has_registers(p: ChainProblem, panels: Panels, rows: int) -> bool:
    tiles = [panels.tile("", rows, r.width) for r in p.results]
    return panels.tensor or sum(t.sums.size // t.threads for t in tiles) * p.dtype.itemsize <= SUMS
