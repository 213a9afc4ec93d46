"""Functions made of straight pieces, between layers. In: a Tensor. Out: one of the same shape.

Where two pieces meet, the derivative is that of the lower one, except where the text says so. NaN
passes.
"""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_double
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from .common import in_float32

__all__ = [
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "prelu",
    "relu",
    "relu6",
    "threshold",
]


@of_tensors
def relu(x: Tensor) -> Tensor:
    """max(x, 0).

    >>> F.relu(wf.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return x.relu()


@of_tensors
def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6), with derivative 0 at both bounds.

    >>> F.relu6(wf.tensor([-1.0, 2.0, 8.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return hardtanh(x, 0.0, 6.0)


@of_tensors
def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [min_val, max_val], with derivative 0 at both bounds. Raises ArgumentError where
    they cross.

    >>> F.hardtanh(wf.tensor([-2.0, 0.5, 2.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    low, high = as_double("hardtanh", "min_val", min_val), as_double("hardtanh", "max_val", max_val)
    if not low <= high:
        raise errors.ArgumentError(f"hardtanh: min_val={low} must not be above max_val={high}")
    return ops.where(x <= low, low, ops.where(x >= high, high, x))


@in_float32
def hardsigmoid(x: Tensor) -> Tensor:
    """relu6(x + 3) / 6 (Courbariaux et al. 2015).

    >>> F.hardsigmoid(wf.tensor([-4.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return relu6(x + 3.0) / 6.0


@in_float32
def hardswish(x: Tensor) -> Tensor:
    """x * relu6(x + 3) / 6, of slope 0 at -3 and 1 at 3 (Howard et al. 2019).

    >>> F.hardswish(wf.tensor([1.5, 4.0])).tolist()
    [1.125, 4.0]
    """
    return x * relu6(x + 3.0) / 6.0


@in_float32
def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x above 0, negative_slope * x below.

    >>> F.leaky_relu(wf.tensor([-2.0, 2.0]), 0.25).tolist()
    [-0.5, 2.0]
    """
    return x.leaky_relu(negative_slope)


@in_float32
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x above 0, weight * x below: weight has one element, or one for each channel, along axis 1 of
    (N, C, ...).

    >>> F.prelu(wf.tensor([[-2.0, -2.0]]), wf.tensor([0.5, 0.25])).tolist()
    [[-1.0, -0.5]]
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise errors.ShapeError(
            f"prelu: weight has 1 element or {channels}, one for each channel, not shape"
            f" {weight.shape}"
        )
    shape = (channels, *[1] * (x.ndim - 2)) if weight.size > 1 else ()
    return ops.where(x > 0.0, x, weight.reshape(shape) * x)


@of_tensors
def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """x above the threshold, else value.

    >>> F.threshold(wf.tensor([0.5, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
    limit, below = (
        as_double("threshold", "threshold", threshold),
        as_double("threshold", "value", value),
    )
    return ops.where(x <= limit, below, x)
