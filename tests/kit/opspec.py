"""A row of the op table: what it builds, from which inputs, and how near its values must come to
the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Spec:
    """One input. Domains: any, positive, unit (-1, 1), inside (away from +-1), above (1), small
    (-4, 4), away (from 0), spread (distinct), zeros (some 0), bool, whole (any integer), shift (0
    .. bits + 2), index (below `extent`)."""

    shape: tuple[int, ...]
    dtype: DType
    domain: str = "any"
    extent: int = 0


@dataclass(frozen=True)
class Row:
    name: str
    build: Callable[..., Node]
    reference: Callable[..., Any]
    inputs: tuple[Spec, ...]
    differentiable: bool = False
    ulp: float = 0
    magnitude: float = 0.0
    specials: bool = True  # inf, nan, -0.0 and subnormals may be among the inputs


_serial = iter(range(1 << 40, 1 << 41))


def leaves(row: Row) -> list[Node]:
    """Fresh INPUTs for the row."""
    return [graph.leaf(next(_serial), s.dtype, s.shape) for s in row.inputs]


def values(row: Row, rng: np.random.Generator, specials: bool = False) -> list[Array]:
    """One array per input, from its domain; with specials where the row allows them."""
    return [draw(s, rng, specials and row.specials) for s in row.inputs]


def draw(spec: Spec, rng: np.random.Generator, specials: bool) -> Array:
    kind = spec.dtype.kind
    shape, to = spec.shape, spec.dtype.numpy
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape) == 1)
    if spec.domain == "index":
        return np.asarray(rng.integers(0, spec.extent, shape), dtype=to)
    if kind in "iu":
        return _draw_integer(spec, rng, specials)
    x = np.asarray(rng.normal(size=shape) * 2)
    match spec.domain:
        case "positive":
            x = np.exp(x)
        case "unit":
            x = np.tanh(x)
        case "inside":
            x = np.tanh(x) * 0.9
        case "above":
            x = np.exp(x) + 1.1
        case "small":
            x = np.tanh(x) * 4
        case "away":
            x = np.sign(x) * (np.abs(x) + 0.5)
        case "spread":
            x = np.asarray(rng.permutation(x.size).reshape(shape) * 0.3 - x.size * 0.1)
        case "zeros":
            x = np.where(rng.random(shape) < 0.3, 0.0, x)
    x = np.asarray(x, dtype=to)
    return _sprinkle(x, rng, _special_floats(to)) if specials else x


def _draw_integer(spec: Spec, rng: np.random.Generator, specials: bool) -> Array:
    info = np.iinfo(spec.dtype.numpy)
    ranges = {"shift": (0, spec.dtype.bits + 2), "small": (max(int(info.min), -9), 10)}
    lo, hi = ranges.get(spec.domain, (int(info.min), int(info.max)))
    x = np.asarray(rng.integers(lo, hi, spec.shape, dtype=spec.dtype.numpy))
    extremes = np.array(
        [info.min, info.max, 0, 1, info.max - info.max // 2], dtype=spec.dtype.numpy
    )
    return _sprinkle(x, rng, extremes) if specials and spec.domain == "any" else x


def _special_floats(to: np.dtype[Any]) -> Array:
    info = finfo(to)
    tiny, most = info.smallest_subnormal, info.max
    return np.array(
        [
            np.inf,
            -np.inf,
            np.nan,
            -0.0,
            0.0,
            1.0,
            -1.0,
            tiny,
            -tiny,
            info.tiny,
            most,
            -most,
            0.5,
            1e4,
        ],
        dtype=to,
    )


def finfo(dtype: np.dtype[Any]) -> Any:
    """np.finfo, of bfloat16 too."""
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def float_info(dtype: np.dtype[Any]) -> tuple[float, float]:
    """(distance from 1 to the next number, least normal number); zeros for other dtypes."""
    if dtype.kind not in "fV":
        return 0.0, 0.0
    return float(finfo(dtype).eps), float(finfo(dtype).tiny)


def _sprinkle(x: Array, rng: np.random.Generator, specials: Array) -> Array:
    flat = x.reshape(-1).copy()
    for at in rng.permutation(flat.size)[: max(1, flat.size // 2)]:
        flat[at] = rng.choice(specials)
    return flat.reshape(x.shape)


def assert_matches(got: Array, want: Array, ulp: float = 0, magnitude: float = 0.0) -> None:
    """Equal up to `ulp`, NaN where NaN; bit for bit (signs of zeros too) for ulp 0."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (
        got.dtype,
        want.dtype,
        got.shape,
        want.shape,
    )
    eps, tiny = float_info(want.dtype)
    if want.dtype.kind == "V":  # NumPy knows little of bfloat16
        got, want = got.astype(np.float32), want.astype(np.float32)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    got, want = np.where(np.isnan(want), 0, got), np.where(np.isnan(want), 0, want)
    if ulp == 0:
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    scale = np.maximum(np.maximum(np.abs(want[finite]).astype(np.float64), magnitude), tiny)
    error = np.abs(got[finite].astype(np.float64) - want[finite].astype(np.float64))
    assert (error <= ulp * eps * scale).all(), (error / scale / eps).max(initial=0)
