"""Images of other sizes, and windows as columns, as layers. In: Tensors (N, C, *spatial). Out: Tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend.windows.windows import Pair
from .. import functional as F
from .stateless import Unary, layer

__all__ = ["Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample"]


@layer(F.interpolate)
class Upsample(Unary):
    size: int | Sequence[int] | None = None
    scale_factor: float | Sequence[float] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


@layer(F.pixel_shuffle)
class PixelShuffle(Unary):
    upscale_factor: int


@layer(F.pixel_unshuffle)
class PixelUnshuffle(Unary):
    downscale_factor: int


@layer(F.unfold)
class Unfold(Unary):
    kernel_size: Pair
    dilation: Pair = 1
    padding: Pair = 0
    stride: Pair = 1


@layer(F.fold)
class Fold(Unary):
    output_size: Pair
    kernel_size: Pair
    dilation: Pair = 1
    padding: Pair = 0
    stride: Pair = 1
