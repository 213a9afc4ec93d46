"""Systems of linear equations in NumPy. In: stacks of matrices. Out: their solutions or factors,
and the first pivot that is not as it should be.

All systems of a stack at once, one rounded operation after the other, in the order that compiled
kernels have too, so that both give the same bits (Golub and Van Loan, Matrix Computations, 3.4 and
4.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .values import Array


class Solved(NamedTuple):
    """`bad`: of each system the number of the first bad pivot, counted from 1; 0 if there is
    none."""

    value: Array
    bad: np.ndarray[Any, Any]


def solve(a: Array, b: Array) -> Solved:
    """x with a @ x = b, by elimination with partial pivoting; a pivot that is 0 is bad.

    a: (systems, n, n), b: (systems, n, m).
    """
    n, every = a.shape[-1], np.arange(len(a))
    both = np.concatenate([a, b], 2)
    bad = np.zeros(len(a), np.int64)
    for k in range(n):
        place = _pivot(np.abs(both[:, k:, k])) + k
        both[every, place], both[every, k] = both[every, k], both[every, place]
        bad = np.where((bad == 0) & (both[:, k, k] == 0), k + 1, bad)
        factors = both[:, k + 1 :, k] / both[:, k, k, None]
        both[:, k + 1 :, k + 1 :] -= factors[:, :, None] * both[:, None, k, k + 1 :]
    return Solved(_substituted(both[:, :, :n], both[:, :, n:]), bad)


def _pivot(sizes: Array) -> Array:
    """Where the greatest is: of equals the first one, else the last. A NaN is chosen if it comes
    first, and never replaced."""
    place, best = np.zeros(len(sizes), np.int64), sizes[:, 0]
    for i in reversed(range(1, sizes.shape[1])):
        bigger = best < sizes[:, i]
        place, best = np.where(bigger, i, place), np.where(bigger, sizes[:, i], best)
    return place


def _substituted(upper: Array, x: Array) -> Array:
    """From the last row on, into x."""
    n = upper.shape[-1]
    for i in reversed(range(n)):
        for p in reversed(range(i + 1, n)):
            x[:, i] -= upper[:, i, p, None] * x[:, p]
        x[:, i] /= upper[:, i, i, None]
    return x.copy()


def cholesky(a: Array) -> Solved:
    """The lower factor of a: (systems, n, n), of which the lower triangle is read; a pivot that is
    0 or less is bad."""
    out, n = np.tril(a), a.shape[-1]
    bad = np.zeros(len(a), np.int64)
    for k in range(n):
        for p in range(k):
            out[:, k:, k] -= out[:, k:, p] * out[:, k, p, None]
        bad = np.where((bad == 0) & (out[:, k, k] <= 0), k + 1, bad)
        out[:, k, k] = np.sqrt(out[:, k, k])
        out[:, k + 1 :, k] /= out[:, k, k, None]
    return Solved(out, bad)
