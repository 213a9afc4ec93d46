"""Batches of small systems of equations. In: a routine, its sources. Out: whether kernels of our
own compute it (ir/passes/small_systems.py), and not a library."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..graph.graph import Node
from ..graph.routine import Routine

NAMES = frozenset({"solve", "inv", "cholesky", "solve_triangular"})
MOST_ROWS = 16  # LAPACK takes microseconds to begin with each matrix, as long as this for all of it
MOST_COLUMNS = 32  # of right-hand sides
FEWEST = 16  # systems, below which compiling a kernel is not worth it


def is_small(routine: Routine, src: Sequence[Node]) -> bool:
    """Are these many systems of few real equations?"""
    if routine.name not in NAMES or any(not s.dtype.is_float for s in src):
        return False
    *batch, n, _ = src[0].shape
    fits = 0 < n <= MOST_ROWS and 0 < src[-1].shape[-1] <= MOST_COLUMNS
    return fits and prod(batch) >= FEWEST and not routine.pairs
