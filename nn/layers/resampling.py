"""Images of other sizes, and windows as columns, as layers. In: Tensors (N, C, *spatial). Out:
Tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.windows.windows import Pair
from .. import functional as F
from .stateless import Unary

__all__ = ["Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample"]


class Upsample(Unary, function=F.interpolate):
    size: int | Sequence[int] | None = None
    scale_factor: float | Sequence[float] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None

    def extra_repr(self) -> str:
        size = (
            f"size={self.size}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor}"
        )
        return f"{size}, mode={self.mode!r}"


class PixelShuffle(Unary, function=F.pixel_shuffle):
    upscale_factor: int


class PixelUnshuffle(Unary, function=F.pixel_unshuffle):
    downscale_factor: int


class Unfold(Unary, function=F.unfold):
    kernel_size: Pair
    dilation: Pair = 1
    padding: Pair = 0
    stride: Pair = 1


class Fold(Unary, function=F.fold):
    output_size: Pair
    kernel_size: Pair
    dilation: Pair = 1
    padding: Pair = 0
    stride: Pair = 1
