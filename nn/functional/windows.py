"""Products with weights and windows: linear, bilinear, convolutions, pools. In: Tensors in torch's
layouts. Out: Tensors."""

from __future__ import annotations

from ... import errors
from ...frontend.functions import products as dense
from ...frontend.tensor.binding import function, of_tensors
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows import convolution, pooling

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

linear = function(dense.linear)
conv1d, conv2d, conv3d = map(function, (convolution.conv1d, convolution.conv2d, convolution.conv3d))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    function,
    (convolution.conv_transpose1d, convolution.conv_transpose2d, convolution.conv_transpose3d),
)
max_pool1d, max_pool2d, max_pool3d = map(
    function, (pooling.max_pool1d, pooling.max_pool2d, pooling.max_pool3d)
)
avg_pool1d, avg_pool2d, avg_pool3d = map(
    function, (pooling.avg_pool1d, pooling.avg_pool2d, pooling.avg_pool3d)
)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    function,
    (pooling.adaptive_avg_pool1d, pooling.adaptive_avg_pool2d, pooling.adaptive_avg_pool3d),
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    function,
    (pooling.adaptive_max_pool1d, pooling.adaptive_max_pool2d, pooling.adaptive_max_pool3d),
)


@of_tensors
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[o] @ x2 + bias[o] for each output o: x1 (..., I), x2 (..., J), weight (O, I, J),
    bias (O,) -> (..., O).

    A linear layer of all products of two features, which are never stored. Raises ShapeError.

    >>> F.bilinear(wf.tensor([[1.0, 2.0]]), wf.tensor([[3.0, 4.0]]), wf.ones(1, 2, 2)).tolist()
    [[21.0]]
    """
    if (
        weight.ndim != 3
        or x1.shape[-1:] != weight.shape[1:2]
        or x2.shape != (*x1.shape[:-1], *weight.shape[2:])
    ):
        shapes = f"x1 {x1.shape}, x2 {x2.shape}, weight {weight.shape}"
        raise errors.ShapeError(
            f"bilinear: expected x1 (..., I), x2 (..., J) and weight (O, I, J), got {shapes}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise errors.ShapeError(
            f"bilinear: bias must have shape {weight.shape[:1]}, not {bias.shape}"
        )
    pairs = x1.unsqueeze(-1) * x2.unsqueeze(-2)
    features = weight.shape[1] * weight.shape[2]
    return linear(
        pairs.reshape(*x1.shape[:-1], features), weight.reshape(weight.shape[0], features), bias
    )  # type: ignore[no-any-return]
