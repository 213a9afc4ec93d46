"""Initial values of parameters. In: a shape. Out: a Tensor drawn from weft's generator (`wf.manual_seed`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

from .. import errors
from ..frontend import ops
from ..frontend.arguments import as_double, as_shape
from ..frontend.tensor import Tensor

Shape = Sequence[int]


def uniform(shape: Shape, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform in [low, high). Drawn flat, with the bounds as inputs, so that every parameter shares one kernel."""
    extents, low, high = as_shape("uniform", (shape,)), as_double("uniform", "low", low), as_double("uniform", "high", high)
    draws = ops.rand(prod(extents))
    return (draws * ops.tensor(high - low, draws.dtype) + ops.tensor(low, draws.dtype)).reshape(*extents)


def normal(shape: Shape, mean: float = 0.0, std: float = 1.0) -> Tensor:
    extents, mean, std = as_shape("normal", (shape,)), as_double("normal", "mean", mean), as_double("normal", "std", std)
    draws = ops.randn(prod(extents))
    return (draws * ops.tensor(std, draws.dtype) + ops.tensor(mean, draws.dtype)).reshape(*extents)


def fans(shape: Shape) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight of shape (out, in, *kernel)."""
    out, into, *kernel = _weight_shape("fans", shape)
    return into * prod(kernel), out * prod(kernel)


def _weight_shape(name: str, shape: Shape) -> tuple[int, ...]:
    extents = as_shape(name, (shape,))
    if len(extents) < 2:
        raise errors.ShapeError(f"{name}: a weight has the shape (out, in, *kernel), not {extents}")
    return extents


def kaiming_uniform(shape: Shape, a: float = 0.0) -> Tensor:
    """Uniform with bound sqrt(6 / ((1 + a**2) * fan_in)) (He et al. 2015, for leaky relu of slope a)."""
    a = as_double("kaiming_uniform", "a", a)
    bound = sqrt(6.0 / ((1.0 + a * a) * max(1, fans(shape)[0])))
    return uniform(shape, -bound, bound)


def xavier_uniform(shape: Shape, gain: float = 1.0) -> Tensor:
    """Uniform with bound gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    bound = as_double("xavier_uniform", "gain", gain) * sqrt(6.0 / max(1, sum(fans(shape))))
    return uniform(shape, -bound, bound)


def layer_weight(shape: Shape) -> Tensor:
    """torch's default for Linear and convolutions: kaiming_uniform with a = sqrt(5), so the bound is 1 / sqrt(fan_in)."""
    return kaiming_uniform(shape, sqrt(5.0))


def layer_bias(weight_shape: Shape) -> Tensor:
    """torch's default bias: uniform with bound 1 / sqrt(fan_in) of the weight."""
    bound = 1.0 / sqrt(max(1, fans(weight_shape)[0]))
    return uniform(_weight_shape("layer_bias", weight_shape)[:1], -bound, bound)
