"""Smooth functions between layers, and softmax. In: a Tensor. Out: one of the same shape.

All are safe from overflow and pass NaN on; piecewise.py has those made of straight pieces.
"""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double, as_positive, normalise_axis
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.random import drawing
from ...frontend.tensor.tensor import Tensor
from .common import in_float32, in_float32_at_least, numbers

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "gumbel_softmax",
    "log_softmax",
    "logsigmoid",
    "mish",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "tanh",
]

LEAST_DRAW = 2.0**-25  # half of the least number above 0 that rand draws
# Klambauer et al. 2017: keep mean 0 and variance 1
SELU_ALPHA, SELU_SCALE = (
    1.6732632423543772,
    1.0507009873554805,
)


@of_tensors
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016);
    `approximate="tanh"` is the cheaper form.

    >>> F.gelu(wf.tensor([1.0])).item()
    0.8413...
    """
    return x.gelu(approximate)


@of_tensors
def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x).

    >>> F.silu(wf.tensor([1.0])).item()
    0.7310...
    """
    return x.silu()


@in_float32
def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x)) (Misra 2019).

    >>> F.mish(wf.tensor([1.0])).item()
    0.8650...
    """
    return x * x.softplus().tanh()


@of_tensors
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    >>> F.sigmoid(wf.tensor([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return x.sigmoid()


@in_float32_at_least
def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)).

    >>> F.logsigmoid(wf.tensor([0.0, -1000.0])).tolist()
    [-0.693147..., -1000.0]
    """
    return -(-numbers("logsigmoid", x)).softplus()


@of_tensors
def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent.

    >>> F.tanh(wf.tensor([0.0, 1.0])).tolist()
    [0.0, 0.7615...]
    """
    return x.tanh()


@in_float32_at_least
def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold.

    >>> F.softplus(wf.tensor([0.0, 1000.0])).tolist()
    [0.693147..., 1000.0]
    """
    slope, limit = (
        as_double("softplus", "beta", beta),
        as_double("softplus", "threshold", threshold),
    )
    scaled = x * slope
    return ops.where(scaled > limit, x, scaled.softplus() / slope)


@in_float32
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> F.softsign(wf.tensor([1.0, -3.0])).tolist()
    [0.5, -0.75]
    """
    return x / (x.abs() + 1.0)


# ---------------------------------------------------------------- exponential below 0


@in_float32
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha * (exp(x) - 1) below; the derivative at 0 is alpha (Clevert et al. 2015).

    >>> F.elu(wf.tensor([2.0, -1000.0])).tolist()
    [2.0, -1.0]
    """
    return ops.where(x > 0.0, x, x.expm1() * as_double("elu", "alpha", alpha))


@in_float32
def selu(x: Tensor) -> Tensor:
    """elu with an alpha and a scale that keep mean 0 and variance 1 from layer to layer (Klambauer
    et al. 2017).

    >>> F.selu(wf.tensor([1.0])).item()
    1.0507...
    """
    return elu(x, SELU_ALPHA) * SELU_SCALE


@in_float32
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha * (exp(x / alpha) - 1) below, of slope 1 at 0 (Barron 2017).

    >>> F.celu(wf.tensor([2.0, -1000.0]), alpha=0.5).tolist()
    [2.0, -0.5]
    """
    scale = as_double("celu", "alpha", alpha)
    if scale == 0.0:
        raise errors.ArgumentError("celu: alpha must not be 0")
    return ops.where(x > 0.0, x, (x / scale).expm1() * scale)


# ---------------------------------------------------------------- along an axis


@of_tensors
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis.

    >>> F.softmax(wf.tensor([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    return x.softmax(axis=axis)


@of_tensors
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log(softmax(x)) along an axis.

    >>> F.log_softmax(wf.tensor([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    return x.log_softmax(axis=axis)


@of_tensors
def softmin(x: Tensor, axis: int = -1) -> Tensor:
    """softmax(-x) along an axis.

    >>> F.softmin(wf.tensor([0.0, 1000.0])).tolist()
    [1.0, 0.0]
    """
    return (-numbers("softmin", x)).softmax(axis=normalise_axis("softmin", axis, x.ndim))


@drawing
@in_float32
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, axis: int = -1) -> Tensor:
    """softmax((logits + g) / tau) along an axis with random g of the Gumbel distribution, drawn by
    weft's generator.

    The index of the greatest is a draw from softmax(logits). With hard the result is one-hot at
    that index, but has the gradients of the soft one (Jang, Gu and Poole 2016). Raises
    ArgumentError, AxisError, DTypeError.

    >>> F.gumbel_softmax(wf.tensor([0.0, 1000.0, 0.0]), hard=True).tolist()
    [0.0, 1.0, 0.0]
    """
    name, place = (
        "gumbel_softmax",
        normalise_axis("gumbel_softmax", axis, numbers("gumbel_softmax", logits).ndim),
    )
    spread = as_positive(name, "tau", tau)
    draws = ops.rand(*logits.shape, device=logits.device).clip(LEAST_DRAW)
    soft = ((logits - (-draws.log()).log()) / spread).softmax(axis=place)
    if not as_bool(name, "hard", hard):
        return soft
    numbered = ops.arange(soft.shape[place]).reshape(-1, *[1] * (soft.ndim - 1 - place))
    chosen = (numbered == soft.argmax(axis=place, keepdims=True)).astype(soft.dtype)
    return chosen.detach() + (soft - soft.detach())


@in_float32
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """a * sigmoid(b) of the two halves of an axis, which has half the extent then (Dauphin et al.
    2016). Raises ShapeError.

    >>> F.glu(wf.tensor([4.0, 6.0, 0.0, 0.0])).tolist()
    [2.0, 3.0]
    """
    place = normalise_axis("glu", axis, x.ndim)
    if x.shape[place] % 2 or not x.shape[place]:
        raise errors.ShapeError(f"glu: axis {axis} of shape {x.shape} does not have two halves")
    a, b = x.split(x.shape[place] // 2, place)
    return a * b.sigmoid()
