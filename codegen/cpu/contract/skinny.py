"""Skinny contractions: a matrix, read once, against a few rows. In: a Problem. Out: Loops, or None where it is not skinny.

stream    the matrix is contiguous along its own axis: lanes over that axis, sums in L1      x @ W, A.T @ v
dot       it is contiguous along k: lanes over k, sums in registers                          x @ W.T, A @ v
outer     k is short: lanes over the output, nothing kept                                    u @ v.T

Either factor may be the matrix: the roles of rows and lanes do not depend on the layout of the output. What bounds all of
these is memory, so that the matrix is neither packed nor read twice.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.index import var
from ....wording import plural
from ...kernels.contraction import Problem, contiguous, read_once
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from .dot import lower_dot
from .outer import lower_outer
from .stream import lower_stream

MOST_STREAM_ROWS = 48  # beyond, their sums do not stay in L1, and packing the matrix pays
MOST_DOT_ROWS = 16  # beyond, the matrix is transposed while it is packed
SCATTER = 16  # steps of k that cost as much as a store of one element of a vector
COMBINE = 8  # vectors of k that cost as much as the sum of a vector's lanes
FEW_ROWS = 8  # with fewer, packing costs more than combining lanes
MOST_STEPS = 12  # of k in an outer product
LEAST_MATRIX = 1 << 12  # elements of the matrix below which nothing is bound by memory


def lower_skinny(p: Problem, target: Target, tuning: Tuning) -> Lowered | None:
    """Loops of a skinny contraction."""
    if p.k <= MOST_STEPS and p.n >= p.width and p.m * p.n >= LEAST_MATRIX:
        return lower_outer(p, target, tuning, f"only {plural(p.k, 'step')} of k")
    return _matrix(p, False, target, tuning) or _matrix(_swapped(p), True, target, tuning)


def _swapped(p: Problem) -> Problem:
    """The same contraction with the rows as lanes: the output is then stored transposed."""
    return replace(p, rows=p.lanes, lanes=p.rows, row_factor=p.lane_factor, lane_factor=p.row_factor)


def _matrix(p: Problem, swapped: bool, target: Target, tuning: Tuning) -> Lowered | None:
    """The schedule that reads the lane factor in the order it lies in, if it is a matrix against few rows."""
    if not p.lanes or p.m > MOST_STREAM_ROWS or p.m >= p.n or min(p.n, p.k) <= MOST_STEPS or p.n * p.k < LEAST_MATRIX:
        return None
    by = {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}
    matrix = p.factor(p.lane_factor, by)
    if not read_once(matrix, p):
        return None
    if contiguous(matrix, p.lanes[-1][-1]):
        large = p.n * p.k * matrix.dtype.itemsize > target.l1
        if p.m < p.width or p.k >= SCATTER * p.m if swapped else large:
            return lower_stream(p, target, tuning, f"{p.m} rows, the matrix is contiguous along its own axis")
    elif contiguous(matrix, p.reduced[-1][-1]) and _dot_pays(p, swapped):
        return lower_dot(p, target, tuning, f"{p.m} rows, the matrix is contiguous along k")
    return None


def _dot_pays(p: Problem, swapped: bool) -> bool:
    """Against packing: rows that are the output's lanes fill vectors from a width on."""
    most = p.width - 1 if swapped else MOST_DOT_ROWS
    return p.m <= most and (p.k >= COMBINE * p.width or p.m < FEW_ROWS)
