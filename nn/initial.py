"""Distributions of initial values. In: a shape. Out: a lazy Tensor drawn from weft's generator
(`wf.manual_seed`).

The functions of nn/init.py assign these to a Tensor; layers make their Parameters of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, prod, sqrt
from typing import Any

import numpy as np

from .. import errors
from ..frontend import ops
from ..frontend.operands.arguments import as_choice, as_double, as_shape
from ..frontend.operands.broadcast import as_dtype, default_float
from ..frontend.tensor.random import drawing
from ..frontend.tensor.tensor import Tensor

Shape = Sequence[int]
ALMOST_ONE = 1.0 - 2.0**-24
NONLINEARITIES = (
    *(
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
    ),
    *("tanh", "relu", "leaky_relu", "selu"),
)


@drawing
def uniform(shape: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Tensor:
    """Uniform in [low, high). Drawn flat, with the bounds as inputs, so that every parameter shares
    one kernel.

    >>> nn.init.uniform((2, 3), -1.0, 1.0).shape
    (2, 3)
    """
    low, high = as_double("uniform", "low", low), as_double("uniform", "high", high)
    return _affine(ops.rand, as_shape("uniform", (shape,)), high - low, low, dtype)


@drawing
def normal(shape: Shape, mean: float = 0.0, std: float = 1.0, dtype: Any = None) -> Tensor:
    """Normal with this mean and standard deviation.

    >>> nn.init.normal((100, 100), mean=3.0, std=0.0).mean().item()
    3.0
    """
    mean, std = as_double("normal", "mean", mean), as_double("normal", "std", std)
    return _affine(ops.randn, as_shape("normal", (shape,)), std, mean, dtype)


def _affine(draw: Any, shape: tuple[int, ...], scale: float, offset: float, dtype: Any) -> Tensor:
    draws = draw(prod(shape), dtype=dtype)
    return (draws * ops.tensor(scale, draws.dtype) + ops.tensor(offset, draws.dtype)).reshape(
        *shape
    )


def trunc_normal(
    shape: Shape,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    dtype: Any = None,
) -> Tensor:
    """Normal with this mean and standard deviation, but none outside of [a, b]; by the inverse of
    its distribution function.

    >>> draws = nn.init.trunc_normal((1000,), std=2.0, a=-1.0, b=1.0)
    >>> draws.min().item() >= -1, draws.max().item() <= 1
    (True, True)
    """
    mean, std = as_double("trunc_normal", "mean", mean), as_double("trunc_normal", "std", std)
    a, b = as_double("trunc_normal", "a", a), as_double("trunc_normal", "b", b)
    if not (a < b and std > 0.0):
        raise errors.ArgumentError(
            f"trunc_normal: a must be less than b, and std positive, not {a=}, {b=}, {std=}"
        )
    below, above = (erf((bound - mean) / (std * sqrt(2.0))) for bound in (a, b))
    draws = inverse_erf(uniform(shape, below, above, dtype).clip(-ALMOST_ONE, ALMOST_ONE))
    return (draws * (std * sqrt(2.0)) + mean).clip(a, b)


def inverse_erf(x: Tensor) -> Tensor:
    """x with erf(x) given, for |erf(x)| < 1, in 5 digits (Giles 2010, Approximating the erfinv
    function, single precision)."""
    w = -(ops.log1p(-x) + ops.log1p(x))
    return (
        ops.where(
            w < 5.0,
            _polynomial(CENTRE, w - 2.5),
            _polynomial(TAIL, ops.maximum(w, 5.0).sqrt() - 3.0),
        )
        * x
    )


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """By Horner's rule, the highest power first."""
    out = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        out = out * x + c
    return out


CENTRE = (
    *(
        2.81022636e-08,
        3.43273939e-07,
        -3.5233877e-06,
        -4.39150654e-06,
        0.00021858087,
        -0.00125372503,
        -0.00417768164,
    ),
    *(0.246640727, 1.50140941),
)
TAIL = (
    *(
        -0.000200214257,
        0.000100950558,
        0.00134934322,
        -0.00367342844,
        0.00573950773,
        -0.0076224613,
        0.00943887047,
    ),
    *(1.00167406, 2.83297682),
)


# ---------------------------------------------------------------- weights


def fans(shape: Shape) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight of shape (out, in, *kernel). Raises ShapeError for less than
    two axes.

    >>> nn.init.fans((8, 3, 5, 5))
    (75, 200)
    """
    out, into, *kernel = _weight_shape("fans", shape)
    return into * prod(kernel), out * prod(kernel)


def _weight_shape(name: str, shape: Shape) -> tuple[int, ...]:
    extents = as_shape(name, (shape,))
    if len(extents) < 2:
        raise errors.ShapeError(f"{name}: a weight has the shape (out, in, *kernel), not {extents}")
    return extents


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance after a nonlinearity: 1 for linear, conv and sigmoid,
    sqrt(2) for relu, as in torch.

    param: the slope of leaky_relu, 0.01 unless given.

    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    match as_choice("calculate_gain", "nonlinearity", nonlinearity, NONLINEARITIES):
        case "tanh":
            return 5.0 / 3.0
        case "relu":
            return sqrt(2.0)
        case "leaky_relu":
            slope = 0.01 if param is None else as_double("calculate_gain", "param", param)
            return sqrt(2.0 / (1.0 + slope * slope))
        case "selu":
            return 0.75
    return 1.0


def xavier_uniform(shape: Shape, gain: float = 1.0, dtype: Any = None) -> Tensor:
    """Uniform with bound gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> abs(nn.init.xavier_uniform((4, 2))).max().item() <= 1
    True
    """
    bound = sqrt(3.0) * _xavier("xavier_uniform", shape, gain)
    return uniform(shape, -bound, bound, dtype)


def xavier_normal(shape: Shape, gain: float = 1.0, dtype: Any = None) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> nn.init.xavier_normal((4, 2)).shape
    (4, 2)
    """
    return normal(shape, 0.0, _xavier("xavier_normal", shape, gain), dtype)


def _xavier(name: str, shape: Shape, gain: float) -> float:
    return as_double(name, "gain", gain) * sqrt(2.0 / max(1, sum(fans(shape))))


def kaiming_uniform(
    shape: Shape,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    dtype: Any = None,
) -> Tensor:
    """Uniform with bound gain * sqrt(3 / fan) (He et al. 2015); a: the slope of the leaky relu that
    follows.

    >>> abs(nn.init.kaiming_uniform((2, 6), nonlinearity="relu")).max().item() <= 1
    True
    """
    bound = sqrt(3.0) * _kaiming("kaiming_uniform", shape, a, mode, nonlinearity)
    return uniform(shape, -bound, bound, dtype)


def kaiming_normal(
    shape: Shape,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    dtype: Any = None,
) -> Tensor:
    """Normal with standard deviation gain / sqrt(fan) (He et al. 2015); a: the slope of the leaky
    relu that follows.

    >>> nn.init.kaiming_normal((2, 6), mode="fan_out").shape
    (2, 6)
    """
    return normal(shape, 0.0, _kaiming("kaiming_normal", shape, a, mode, nonlinearity), dtype)


def _kaiming(name: str, shape: Shape, a: float, mode: str, nonlinearity: str) -> float:
    a = as_double(name, "a", a)
    fan = fans(shape)[as_choice(name, "mode", mode, ("fan_in", "fan_out")) == "fan_out"]
    return calculate_gain(nonlinearity, a) / sqrt(max(1, fan))


@drawing
def orthogonal(shape: Shape, gain: float = 1.0, dtype: Any = None) -> Tensor:
    """Rows or columns, whichever are fewer, of a matrix drawn evenly from all orthogonal ones,
    times gain (Saxe et al. 2014).

    A weight of more axes counts as a matrix of shape (out, rest). It is computed now: NumPy
    factorises normal draws.

    >>> w = nn.init.orthogonal((2, 5))
    >>> bool(wf.allclose(w @ w.T, wf.eye(2), atol=1e-6))
    True
    """
    extents = _weight_shape("orthogonal", shape)
    gain = as_double("orthogonal", "gain", gain)
    dtype = default_float() if dtype is None else as_dtype(dtype)
    rows, columns = extents[0], prod(extents[1:])
    draws = ops.randn(
        max(rows, columns), min(rows, columns), dtype=np.float64, device="cpu"
    ).numpy()
    q, r = np.linalg.qr(draws)
    # else the signs of a column would not be even (Mezzadri 2007)
    q *= np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    return ops.tensor(gain * (q if rows >= columns else q.T), dtype).reshape(*extents)


# ---------------------------------------------------------------- what layers start from


def layer_weight(shape: Shape) -> Tensor:
    """torch's default for Linear and convolutions: kaiming_uniform with a = sqrt(5), so the bound
    is 1 / sqrt(fan_in).

    >>> abs(nn.init.layer_weight((5, 100))).max().item() <= 0.1
    True
    """
    return kaiming_uniform(shape, sqrt(5.0))


def layer_bias(weight_shape: Shape) -> Tensor:
    """torch's default bias: uniform with bound 1 / sqrt(fan_in) of the weight, of which the shape
    is given.

    >>> nn.init.layer_bias((5, 100)).shape
    (5,)
    """
    bound = 1.0 / sqrt(max(1, fans(weight_shape)[0]))
    return uniform(_weight_shape("layer_bias", weight_shape)[:1], -bound, bound)
