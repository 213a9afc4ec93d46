"""Pooling. In: (N, C, *spatial) or (C, *spatial). Out: (N, C, *spatial') or (C, *spatial')."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair
from .. import functional as F
from ..module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]
Size = int | None | Sequence[int | None]


class _MaxPool(Module):
    spatial = 0

    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        dilation: Pair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        pooled = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self.spatial - 1]
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return pooled(x, *sizes, self.ceil_mode, self.return_indices)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        sizes = f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}, dilation={self.dilation}"
        return f"{sizes}, ceil_mode=True" if self.ceil_mode else sizes


class MaxPool1d(_MaxPool):
    """(N, C, L) -> (N, C, L'): the greatest element of each window; arguments as in F.max_pool1d. With or without N.

    >>> nn.MaxPool1d(2)(wf.tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[3.0, 5.0]]]
    """

    spatial = 1


class MaxPool2d(_MaxPool):
    """(N, C, H, W) -> (N, C, H', W'): the greatest element of each window; arguments as in F.max_pool2d. With or without N.

    >>> nn.MaxPool2d(3, stride=2, ceil_mode=True)(wf.rand(2, 3, 8, 8)).shape
    (2, 3, 4, 4)
    """

    spatial = 2


class MaxPool3d(_MaxPool):
    """(N, C, D, H, W) -> (N, C, D', H', W'): the greatest element of each window; arguments as in F.max_pool3d.

    With or without N.

    >>> nn.MaxPool3d(2, padding=(0, 1, 0))(wf.rand(2, 3, 4, 8, 8)).shape
    (2, 3, 2, 5, 4)
    """

    spatial = 3


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        sizes = f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"
        return f"{sizes}, ceil_mode=True" if self.ceil_mode else sizes


class AvgPool1d(_AvgPool):
    """(N, C, L) -> (N, C, L'): the mean of each window; arguments as in F.avg_pool1d. With or without N.

    >>> nn.AvgPool1d(2)(wf.tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[2.0, 3.5]]]
    """

    def forward(self, x: Tensor) -> Tensor:
        sizes = self.kernel_size, self.stride, self.padding
        return F.avg_pool1d(x, *sizes, self.ceil_mode, self.count_include_pad)  # type: ignore[no-any-return]


class _AvgPoolOfImages(_AvgPool):
    spatial = 0

    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        sizes = self.kernel_size, self.stride, self.padding
        how = self.ceil_mode, self.count_include_pad, self.divisor_override
        return (F.avg_pool2d, F.avg_pool3d)[self.spatial - 2](x, *sizes, *how)  # type: ignore[no-any-return]


class AvgPool2d(_AvgPoolOfImages):
    """(N, C, H, W) -> (N, C, H', W'): the mean of each window; arguments as in F.avg_pool2d. With or without N.

    >>> nn.AvgPool2d((2, 4))(wf.ones(2, 3, 8, 8)).shape
    (2, 3, 4, 2)
    """

    spatial = 2


class AvgPool3d(_AvgPoolOfImages):
    """(N, C, D, H, W) -> (N, C, D', H', W'): the mean of each window; arguments as in F.avg_pool3d. With or without N.

    >>> nn.AvgPool3d(2)(wf.ones(2, 3, 4, 8, 6)).shape
    (2, 3, 2, 4, 3)
    """

    spatial = 3


# ---------------------------------------------------------------- pools of a given size


class _AdaptivePool(Module):
    def __init__(self, output_size: Size) -> None:
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """(N, C, L) -> (N, C, output_size): means of cells that cover the line evenly. With or without N.

    >>> nn.AdaptiveAvgPool1d(2)(wf.tensor([[[1.0, 3.0, 2.0, 6.0]]])).tolist()
    [[[2.0, 4.0]]]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(x, self.output_size)  # type: ignore[no-any-return]


class AdaptiveAvgPool2d(_AdaptivePool):
    """(N, C, H, W) -> (N, C, *output_size): means of cells that cover the image evenly; None keeps an extent. With or without N.

    >>> nn.AdaptiveAvgPool2d((5, None))(wf.rand(1, 64, 8, 9)).shape
    (1, 64, 5, 9)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self.output_size)  # type: ignore[no-any-return]


class AdaptiveAvgPool3d(_AdaptivePool):
    """(N, C, D, H, W) -> (N, C, *output_size): means of cells that cover the volume evenly; None keeps an extent.

    With or without N.

    >>> nn.AdaptiveAvgPool3d((5, None, 1))(wf.rand(1, 64, 8, 9, 10)).shape
    (1, 64, 5, 9, 1)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(x, self.output_size)  # type: ignore[no-any-return]


class AdaptiveMaxPool1d(_AdaptivePool):
    """(N, C, L) -> (N, C, output_size): the greatest element of cells that cover the line evenly. With or without N.

    >>> nn.AdaptiveMaxPool1d(2)(wf.tensor([[[1.0, 3.0, 2.0, 6.0]]])).tolist()
    [[[3.0, 6.0]]]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(x, self.output_size)  # type: ignore[no-any-return]


class AdaptiveMaxPool2d(_AdaptivePool):
    """(N, C, H, W) -> (N, C, *output_size): the greatest element of cells that cover the image evenly. With or without N.

    >>> nn.AdaptiveMaxPool2d(3)(wf.rand(1, 64, 8, 9)).shape
    (1, 64, 3, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(x, self.output_size)  # type: ignore[no-any-return]


class AdaptiveMaxPool3d(_AdaptivePool):
    """(N, C, D, H, W) -> (N, C, *output_size): the greatest element of cells that cover the volume evenly. With or without N.

    >>> nn.AdaptiveMaxPool3d(3)(wf.rand(1, 64, 8, 9, 10)).shape
    (1, 64, 3, 3, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(x, self.output_size)  # type: ignore[no-any-return]
