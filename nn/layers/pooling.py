"""Pooling. In: (N, C, *spatial). Out: (N, C, *spatial')."""

from __future__ import annotations

from ...frontend.tensor import Tensor
from ...frontend.windows import Pair
from .. import functional as F
from ..module import Module


class MaxPool2d(Module):
    """(N, C, H, W) -> (N, C, H', W'): the greatest element of each window."""

    def __init__(self, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1) -> None:
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """(N, C, H, W) -> (N, C, H', W'): the mean of each window."""

    def __init__(self, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"
