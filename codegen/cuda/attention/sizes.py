"""Blocks of rows and columns that fit shared memory. In: a ChainProblem, its Panels, a CudaTarget.
Out: Sizes."""

from __future__ import annotations

from math import prod

from ...kernels.chain import ChainProblem
from ...kernels.chain_task import Sizes
from ...kernels.loop_axes import extent
from ..target import CudaTarget
from .panels import COLUMNS, Panels
from .tiles import VECTOR

ROWS = (128, 64, 32, 16)
# of a thread of a square, which loads as many factors; of float64 a quarter, whose other values
# take more, too
SUMS = 32
REGISTERS = 1 << 15  # of a block, where two share a multiprocessor; a thread has 256 at most
# bytes that a multiprocessor of compute capability 8 or 9 keeps of each block (CUDA C Programming
# Guide)
KEPT = 1 << 10
STATISTICS = 4  # values of a row: maximum, what stands for it, sum, factor of rescaling


def weights_stride(panels: Panels, columns: int) -> int:
    """From row to row of the weights: a vector more than the columns, so that banks differ."""
    return columns + VECTOR // panels.dtype.itemsize


def shared_bytes(p: ChainProblem, panels: Panels, rows: int, columns: int) -> int:
    """Upper bound of what a block needs."""
    weights = len(p.results) * weights_stride(panels, columns) * panels.dtype.itemsize
    shares = panels.tile(rows, columns).shares + 1 if p.chain.reduces else 0
    return panels.nbytes(rows, columns) + rows * (
        weights + (STATISTICS + 2 * shares) * p.dtype.itemsize
    )


def choose(p: ChainProblem, panels: Panels, target: CudaTarget) -> Sizes:
    """The most columns, then the most rows, that leave room for a second block, and enough blocks
    for every multiprocessor.

    Columns decide the order of sums: they depend on the room alone.
    """

    def fits(rows: int, columns: int, blocks: int) -> bool:
        room = target.shared_limit // blocks - (KEPT if blocks > 1 else 0)
        return shared_bytes(p, panels, rows, columns) <= room and has_registers(
            p, panels, rows, columns
        )

    least = ROWS[-1]
    widths = [c for c in COLUMNS if c == COLUMNS[-1] or c < 2 * p.length()]
    wishes = [(r, c, blocks) for r, blocks in ((64, 2), (32, 2), (16, 2), (16, 1)) for c in widths]
    columns = next((c for r, c, blocks in wishes if fits(r, c, blocks)), widths[-1])
    others = prod(extent(g) for g in p.batch + p.others)
    possible = [r for r in ROWS if r == least or (r < 2 * p.rows() and fits(r, columns, 2))]
    rows = next(
        (r for r in possible if others * -(-p.rows() // r) >= target.multiprocessors), least
    )
    return Sizes(rows, -(-p.rows() // rows), columns, blocks=True)


def has_registers(p: ChainProblem, panels: Panels, rows: int, columns: int) -> bool:
    """Do sums and scores take three quarters of a thread's registers at most, less 32 for addresses
    and factors?"""
    space, words = panels.tile(rows, columns), p.dtype.itemsize // 4
    sums = sum(panels.tile(rows, r.width).size for r in p.results) // space.threads * words
    scores = len(p.scores) * space.size // space.threads * words
    room = min(256, REGISTERS // space.threads) * 3 // 4 - 32
    return sums + scores <= room and (panels.tensor or sums * words <= SUMS)
