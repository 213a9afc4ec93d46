"""Systems of linear equations in NumPy. In: stacks of matrices. Out: their solutions or factors; the
first pivot that is not as it should be.

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
    a, n = a.copy(), a.shape[-1]
    every = np.arange(len(a))
    rows = np.tile(np.arange(n), (len(a), 1))
    bad = np.zeros(len(a), np.int64)
    for k in range(n):
        place = _pivot(np.abs(a[:, k:, k])) + k
        for x in (a, rows):
            x[every, place], x[every, k] = x[every, k], x[every, place]
        bad = np.where((bad == 0) & (a[:, k, k] == 0), k + 1, bad)
        a[:, k + 1 :, k] /= a[:, k, k, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, None, k, k + 1 :]
    return Solved(_substituted(a, b[every[:, None], rows]), bad)


def _pivot(sizes: Array) -> Array:
    """Where the first greatest is; a NaN is chosen if it comes first, and never replaced."""
    place, best = np.zeros(len(sizes), np.int64), sizes[:, 0]
    for i in range(1, sizes.shape[1]):
        bigger = best < sizes[:, i]
        place, best = np.where(bigger, i, place), np.where(bigger, sizes[:, i], best)
    return place


def _substituted(lu: Array, x: Array) -> Array:
    """Forward through the lower factor, whose diagonal is 1, then backward through the upper."""
    n = lu.shape[-1]
    for i in range(n):
        for k in range(i):
            x[:, i] -= lu[:, i, k, None] * x[:, k]
    for i in reversed(range(n)):
        for k in reversed(range(i + 1, n)):
            x[:, i] -= lu[:, i, k, None] * x[:, k]
        x[:, i] /= lu[:, i, i, None]
    return x


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
