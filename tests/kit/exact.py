"""Exact references for quotients. In: floats. Out: assertions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np


def assert_floor_quotients(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """got is floor(a / b), exactly below 2**digits and within 1 ULP above; special values as the
    Array API standard has them."""
    digits = np.finfo(a.dtype).nmant + 1
    with np.errstate(all="ignore"):
        special = np.floor(a / b)
    for g, x, y, s in zip(got.tolist(), a.tolist(), b.tolist(), special.tolist(), strict=True):
        if not (np.isfinite(x) and np.isfinite(y) and y != 0):
            assert g == s or (np.isnan(g) and np.isnan(s)), (x, y, g, s)
            continue
        whole = floor(Fraction(x) / Fraction(y))
        if abs(whole) < 2**digits:
            assert g == whole, (x, y, g, whole)
        elif np.isfinite(g):
            assert abs(int(g) - whole) <= float(np.spacing(a.dtype.type(abs(g)))), (x, y, g, whole)
        else:
            assert abs(whole) > float(np.finfo(a.dtype).max), (x, y, g, whole)
        if whole == 0:
            assert np.signbit(g) == (np.signbit(x) != np.signbit(y)), (x, y, g)
