"""Pooling. In: (N, C, *spatial) or (C, *spatial). Out: (N, C, *spatial') or (C, *spatial')."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair
from .. import functional as F
from .stateless import Stateless, Unary, called

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


class _Pool(Stateless):
    def extra_repr(self) -> str:
        names = "kernel_size", "stride", "padding", "dilation"
        sizes = {name: x for name, x in vars(self).items() if name in names}
        if sizes["stride"] is None:
            sizes["stride"] = sizes["kernel_size"]
        text = ", ".join(f"{name}={x}" for name, x in sizes.items())
        return f"{text}, ceil_mode=True" if vars(self)["ceil_mode"] else text


class _MaxPool(_Pool, kw_only=False):
    kernel_size: Pair
    stride: Pair | None = None
    padding: Pair = 0
    dilation: Pair = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return called(self, x)  # type: ignore[no-any-return]


class _AvgPool(_Pool, Unary, kw_only=False):
    kernel_size: Pair
    stride: Pair | None = None
    padding: Pair = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class _AvgPoolOfImages(_AvgPool, kw_only=False):
    divisor_override: int | None = None


class _AdaptivePool(Unary, kw_only=False):
    output_size: Size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxPool1d(_MaxPool, function=F.max_pool1d): ...


class MaxPool2d(_MaxPool, function=F.max_pool2d): ...


class MaxPool3d(_MaxPool, function=F.max_pool3d): ...


class AvgPool1d(_AvgPool, function=F.avg_pool1d): ...


class AvgPool2d(_AvgPoolOfImages, function=F.avg_pool2d): ...


class AvgPool3d(_AvgPoolOfImages, function=F.avg_pool3d): ...


class AdaptiveAvgPool1d(_AdaptivePool, function=F.adaptive_avg_pool1d): ...


class AdaptiveAvgPool2d(_AdaptivePool, function=F.adaptive_avg_pool2d): ...


class AdaptiveAvgPool3d(_AdaptivePool, function=F.adaptive_avg_pool3d): ...


class AdaptiveMaxPool1d(_AdaptivePool, function=F.adaptive_max_pool1d): ...


class AdaptiveMaxPool2d(_AdaptivePool, function=F.adaptive_max_pool2d): ...


class AdaptiveMaxPool3d(_AdaptivePool, function=F.adaptive_max_pool3d): ...
