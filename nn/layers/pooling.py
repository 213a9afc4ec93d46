"""Pooling. In: (N, C, *spatial) or (C, *spatial). Out: (N, C, *spatial') or (C, *spatial')."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair
from .. import functional as F
from .stateless import Stateless, Unary, called, layer

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


@layer()
class _MaxPool(_Pool):
    kernel_size: Pair
    stride: Pair | None = None
    padding: Pair = 0
    dilation: Pair = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return called(self, x)  # type: ignore[no-any-return]


@layer()
class _AvgPool(_Pool, Unary):
    kernel_size: Pair
    stride: Pair | None = None
    padding: Pair = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


@layer()
class _AvgPoolOfImages(_AvgPool):
    divisor_override: int | None = None


@layer()
class _AdaptivePool(Unary):
    output_size: Size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


@layer(F.max_pool1d)
class MaxPool1d(_MaxPool): ...


@layer(F.max_pool2d)
class MaxPool2d(_MaxPool): ...


@layer(F.max_pool3d)
class MaxPool3d(_MaxPool): ...


@layer(F.avg_pool1d)
class AvgPool1d(_AvgPool): ...


@layer(F.avg_pool2d)
class AvgPool2d(_AvgPoolOfImages): ...


@layer(F.avg_pool3d)
class AvgPool3d(_AvgPoolOfImages): ...


@layer(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_AdaptivePool): ...


@layer(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_AdaptivePool): ...


@layer(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_AdaptivePool): ...


@layer(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptivePool): ...


@layer(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptivePool): ...


@layer(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptivePool): ...
