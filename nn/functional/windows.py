"""Products with weights and windows: linear, convolutions, pools. In: Tensors in torch's layouts. Out: Tensors."""

from __future__ import annotations

from ...frontend.functions import linear as dense
from ...frontend.tensor.binding import function
from ...frontend.windows import convolution, pooling

linear = function(dense.linear)
conv1d, conv2d, conv3d = map(function, (convolution.conv1d, convolution.conv2d, convolution.conv3d))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    function, (convolution.conv_transpose1d, convolution.conv_transpose2d, convolution.conv_transpose3d)
)
max_pool1d, max_pool2d, max_pool3d = map(function, (pooling.max_pool1d, pooling.max_pool2d, pooling.max_pool3d))
avg_pool1d, avg_pool2d, avg_pool3d = map(function, (pooling.avg_pool1d, pooling.avg_pool2d, pooling.avg_pool3d))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    function, (pooling.adaptive_avg_pool1d, pooling.adaptive_avg_pool2d, pooling.adaptive_avg_pool3d)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    function, (pooling.adaptive_max_pool1d, pooling.adaptive_max_pool2d, pooling.adaptive_max_pool3d)
)

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
