"""bfloat16 in NumPy arrays, without NumPy's help. In: numbers. Out: their bits as uint16, or the
float32 values of such bits.

This is for values that come from a user or go to one, and for the oracle; compiled code converts in
codegen/math/half.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DIGITS, LEAST_EXPONENT = 8, -133


def rounded(x: Array) -> Array:
    """float32 whose values are those of bfloat16 nearest to x, halves to even; x of any dtype,
    rounded in one step."""
    with np.errstate(all="ignore"):
        x = (
            _with_sticky_bit(x)
            if x.dtype.kind in "iu" and x.dtype.itemsize == 8
            else x.astype(np.float64)
        )
        spacing = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - DIGITS, LEAST_EXPONENT))
        return np.asarray(np.rint(x / spacing) * spacing).astype(np.float32)


def _with_sticky_bit(x: Array) -> Array:
    """64-bit integers as float64 that round to fewer digits as the integers do."""
    exact = [
        (int(v) >> 12 << 1 | bool(int(v) & 4095)) * 2048.0 if abs(int(v)) >> 53 else float(v)
        for v in x.ravel()
    ]
    return np.array(exact, np.float64).reshape(x.shape)


def bits(x: Array) -> Array:
    """uint16: the bfloat16 nearest to each x; NaNs are quiet."""
    value = rounded(x)
    out = (value.view(np.uint32) >> 16).astype(np.uint16)
    return np.where(np.isnan(value), out | np.uint16(0x40), out)


def values(bits: Array) -> Array:
    """The float32 values of bfloat16 bits."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)
