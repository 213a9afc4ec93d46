"""Images of other sizes, and windows as columns, as layers. In: Tensors (N, C, *spatial). Out: Tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair
from .. import functional as F
from ..module import Module

__all__ = ["Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample"]


class Upsample(Module):
    """(N, C, L), (N, C, H, W) or (N, C, D, H, W) in another size; arguments as in F.interpolate.

    >>> nn.Upsample(scale_factor=2, mode="bilinear")(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class PixelShuffle(Module):
    """(..., C * r * r, H, W) -> (..., C, H * r, W * r) for r = upscale_factor: channels become places of blocks.

    >>> nn.PixelShuffle(3)(wf.rand(1, 9, 4, 4)).shape
    (1, 1, 12, 12)
    """

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H * r, W * r) -> (..., C * r * r, H, W) for r = downscale_factor: the inverse of PixelShuffle.

    >>> nn.PixelUnshuffle(3)(wf.rand(1, 1, 12, 12)).shape
    (1, 9, 4, 4)
    """

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """(N, C, H, W) -> (N, C * KH * KW, L): the windows of a convolution as columns; with or without N.

    >>> nn.Unfold((2, 3))(wf.rand(2, 5, 3, 4)).shape
    (2, 30, 4)
    """

    def __init__(self, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1) -> None:
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, x: Tensor) -> Tensor:
        return F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """(N, C * KH * KW, L) -> (N, C, *output_size): columns added up where Unfold took them from; with or without N.

    >>> nn.Fold((4, 5), (2, 2))(wf.rand(1, 12, 12)).shape
    (1, 3, 4, 5)
    """

    def __init__(self, output_size: Pair, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        sizes = self.kernel_size, self.dilation, self.padding, self.stride
        return F.fold(x, self.output_size, *sizes)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
