"""Arrays with repetitions, extremes and special floats, to be sorted. In: a shape, a dtype, a seed.
Out: arrays; comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
from weft.ir.graph import dtype as dt

Array = np.ndarray[Any, Any]
DTYPES = [d for d in dt.ALL if not (d.is_half or d.is_complex)]  # NumPy's order is the reference
SPECIALS = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-44, -1e-44, 1.0, 3.4e38)
SHAPES = [
    (0,),
    (1,),
    (2,),
    (17,),
    (129,),
    (300,),
    (5, 0),
    (0, 4),
    (1, 6),
    (6, 1),
    (7, 20),
    (3, 130),
    (140, 2),
    (2, 3, 31),
]


def drawn(shape: tuple[int, ...], d: dt.DType, seed: int) -> Array:
    """Values with many repetitions, the dtype's extremes and special floats."""
    rng = np.random.default_rng(seed)
    if d.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if d.is_float:
        x = np.where(
            rng.random(shape) < 0.5, rng.integers(-3, 4, shape), rng.standard_normal(shape)
        ).astype(d.numpy)
        return np.where(rng.random(shape) < 0.3, rng.choice(np.array(SPECIALS, d.numpy), shape), x)
    info = np.iinfo(d.numpy)
    whole = rng.integers(info.min, info.max, shape, d.numpy, endpoint=True)
    return np.where(rng.random(shape) < 0.5, whole, whole % 5).astype(d.numpy)


def same(got: Any, want: Any) -> None:
    got, want = np.asarray(got.numpy()), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
