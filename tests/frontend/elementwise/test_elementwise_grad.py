"""Derivatives of elementwise functions against central differences in float64, and by hand where a
function has a corner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf

X = np.array([-3.7, -1.2, -0.4, 0.3, 1.6, 2.9])
Y = np.array([1.1, -2.3, 0.7, 1.9, -0.6, 3.3])
SMOOTH: dict[str, Callable[..., wf.Tensor]] = {
    "add": wf.add, "subtract": wf.subtract, "multiply": wf.multiply, "divide": wf.divide,
    "remainder": wf.remainder,
    "fmod": wf.fmod, "floor_divide": wf.floor_divide, "maximum": wf.maximum, "minimum": wf.minimum,
    "fmax": wf.fmax,
    "fmin": wf.fmin, "copysign": wf.copysign, "clip-min": wf.clip,
    "clip-max": lambda x, y: wf.clip(x, max=y),
    "where": lambda x, y: wf.where(x > y, x * x, y),
    "isclose": lambda x, y: wf.where(wf.isclose(x, y), x, y * x),
    "abs": lambda x, y: wf.abs(x) * y, "negative": lambda x, y: wf.negative(x) * y,
    "square": lambda x, y: wf.square(x) + y,
    "sign": lambda x, y: wf.sign(x) * y, "reciprocal": lambda x, y: wf.reciprocal(x) * y,
    "sqrt": lambda x, y: wf.sqrt(x * x + y * y),
    "rsqrt": lambda x, y: wf.rsqrt(x * x + y * y), "floor": lambda x, y: wf.floor(x) * y,
    "ceil": lambda x, y: wf.ceil(x) * y,
    "trunc": lambda x, y: wf.trunc(x) * y, "round": lambda x, y: wf.round(x) * y,
    "decimals": lambda x, y: wf.round(x, 1) * y,
    "nan_to_num": lambda x, y: wf.nan_to_num(x * y), "real": lambda x, y: wf.real(x) * wf.conj(y),
    "imag": lambda x, y: wf.imag(x) + y,
}  # fmt: skip


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("name", SMOOTH)
def test_against_central_differences(name: str) -> None:
    wf.check_grad(SMOOTH[name], wf.tensor(X), wf.tensor(Y))


def slopes(function: Callable[[wf.Tensor], wf.Tensor], at: list[float]) -> list[float]:
    x = wf.tensor(at, requires_grad=True)
    return wf.grad(function(x).sum(), [x])[0].tolist()


def test_corners() -> None:
    inf, nan = float("inf"), float("nan")
    assert slopes(wf.abs, [0.0, -0.0, -2.0, inf]) == [0.0, 0.0, -1.0, 1.0]
    assert slopes(lambda x: wf.clip(x, -1.0, 1.0), [-1.0, 1.0, -2.0, 2.0, inf]) == [
        1.0,
        1.0,
        0.0,
        0.0,
        0.0,
    ]
    assert slopes(lambda x: wf.maximum(x, 1.0), [1.0, 2.0, 0.0]) == [0.5, 1.0, 0.0]
    assert slopes(lambda x: wf.fmax(x, nan), [1.0]) == [1.0] and slopes(
        lambda x: wf.fmax(nan, x), [1.0]
    ) == [1.0]
    assert slopes(lambda x: wf.fmod(x, 3.0), [0.0, -0.0, 3.0]) == [1.0, 1.0, 1.0]
    assert slopes(lambda x: x % 3.0, [0.0, 3.0, -3.0]) == [1.0, 1.0, 1.0]
    assert slopes(lambda x: wf.copysign(x, -1.0), [0.0, 2.0, -2.0]) == [-1.0, -1.0, 1.0]
    assert (
        slopes(wf.round, [0.5, 2.0])
        == slopes(wf.sign, [0.0, 2.0])
        == slopes(lambda x: x // 2.0, [0.0, 2.0])
        == [0.0, 0.0]
    )
    assert slopes(wf.nan_to_num, [nan, inf, 2.0]) == [0.0, 0.0, 1.0]
    assert slopes(lambda x: wf.nextafter(x, 9.0) + x, [1.0]) == [1.0]


def test_bounds_of_clip_receive_what_they_replace() -> None:
    x, low = wf.tensor([-2.0, 0.0, 3.0]), wf.tensor([-1.0, -1.0, -1.0], requires_grad=True)
    assert wf.grad(wf.clip(x, low, 1.0).sum(), [low])[0].tolist() == [1.0, 0.0, 0.0]
    wide = wf.tensor([-1.0], dtype="float64", requires_grad=True)
    assert wf.clip(x, wide).dtype is wf.float32 and wf.grad(wf.clip(x, wide).sum(), [wide])[
        0
    ].tolist() == [1.0]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
@pytest.mark.parametrize("shape", [(), (0,), (1, 1), (2, 0, 3)])
def test_every_shape(shape: tuple[int, ...], dtype: str) -> None:
    """Functions of empty, 0-d and single-element Tensors keep the shape."""
    t = wf.ones(shape, dtype=dtype)
    functions = [
        wf.positive,
        wf.floor,
        wf.ceil,
        wf.trunc,
        wf.round,
        wf.square,
        wf.signbit,
        wf.isnan,
        wf.isinf,
        wf.isfinite,
    ]
    functions += [
        wf.real,
        wf.imag,
        wf.conj,
        wf.nan_to_num,
        wf.reciprocal,
        wf.sqrt,
        wf.abs,
        lambda x: wf.clip(x, 0, 1),
        wf.logical_not,
    ]
    functions += [
        lambda x: wf.copysign(x, x),
        lambda x: wf.nextafter(x, x),
        lambda x: x % x,
        lambda x: x // x,
        lambda x: wf.fmod(x, x),
    ]
    results = [f(t) for f in functions]
    wf.realize(*results)
    assert all(r.numpy().shape == shape for r in results)
