"""Images of other sizes, and windows as columns. In: Tensors (N, C, *spatial). Out: Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_double, as_int, as_ints
from ...frontend.tensor.binding import function, of_tensors
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows import windows as blocks
from ...ir.graph.brief import brief
from .common import in_float32

__all__ = ["fold", "interpolate", "pixel_shuffle", "pixel_unshuffle", "unfold"]
LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}  # and the axes that x has then
IMAGES = {3: "(N, C, L)", 4: "(N, C, H, W)", 5: "(N, C, D, H, W)"}

unfold, fold = function(blocks.unfold2d, "unfold"), function(blocks.fold2d, "fold")


@in_float32
def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """(N, C, L), (N, C, H, W) or (N, C, D, H, W) in another size, which is given, or floor(extent *
    scale_factor).

    mode: "nearest" for the element at floor(i * old / new), "nearest-exact" for that at floor((i +
    0.5) * old / new), "linear" (lines), "bilinear" (images) or "trilinear" (volumes) for means of
    neighbours by distance; then align_corners keeps the outermost where they are, and what is not
    finite makes its lines NaN. Raises ArgumentError, DTypeError, ShapeError.

    >>> F.interpolate(wf.tensor([[[1.0, 2.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    >>> F.interpolate(wf.tensor([[[1.0, 2.0]]]), 4, mode="linear").tolist()
    [[[1.0, 1.25, 1.75, 2.0]]]
    """
    as_choice("interpolate", "mode", mode, ["nearest", "nearest-exact", *LINEAR])
    if x.ndim not in IMAGES or LINEAR.get(mode, x.ndim) != x.ndim:
        shape = (
            IMAGES[LINEAR[mode]] if mode in LINEAR else "(N, C, L), (N, C, H, W) or (N, C, D, H, W)"
        )
        raise errors.ShapeError(
            f"interpolate: mode {mode!r} takes x of shape {shape}, got {x.shape}"
        )
    if mode in LINEAR and not x.dtype.is_float:
        raise errors.DTypeError(
            f"interpolate: mode {mode!r} takes means of floats, got {x.dtype.name}"
        )
    if align_corners is not None and mode not in LINEAR:
        raise errors.ArgumentError(
            "interpolate: align_corners is for modes 'linear', 'bilinear' and 'trilinear', not"
            f" {mode!r}"
        )
    aligned = as_bool("interpolate", "align_corners", align_corners)
    for axis, (new, step) in enumerate(_sizes(x.shape[2:], size, scale_factor), 2):
        if mode in LINEAR:
            x = _blended(
                x, axis, new, (x.shape[axis] - 1) / max(1, new - 1) if aligned else step, aligned
            )
        else:
            x = _nearest(x, axis, new, step, 0.5 if mode == "nearest-exact" else 0.0)
    return x


@of_tensors
def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) -> (..., C, H * r, W * r): channels become places of r x r blocks (Shi
    et al. 2016).

    >>> F.pixel_shuffle(wf.arange(4).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0, 1], [2, 3]]]]
    """
    r = _factor("pixel_shuffle", x, "upscale_factor", upscale_factor)
    *lead, c, h, w = x.shape
    if c % (r * r):
        raise errors.ShapeError(
            f"pixel_shuffle: the {c} channels of shape {x.shape} are no multiple of {r} * {r}"
        )
    parts = x.reshape(prod(lead), c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(*lead, c // (r * r), h * r, w * r)


@of_tensors
def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) -> (..., C * r * r, H, W): the inverse of pixel_shuffle.

    >>> F.pixel_unshuffle(wf.arange(4).reshape(1, 1, 2, 2), 2).tolist()
    [[[[0]], [[1]], [[2]], [[3]]]]
    """
    r = _factor("pixel_unshuffle", x, "downscale_factor", downscale_factor)
    *lead, c, h, w = x.shape
    if h % r or w % r:
        raise errors.ShapeError(
            f"pixel_unshuffle: the last axes of shape {x.shape} are no multiples of"
            f" downscale_factor={r}"
        )
    parts = x.reshape(prod(lead), c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4)
    return parts.reshape(*lead, c * r * r, h // r, w // r)


def _factor(name: str, x: Tensor, what: str, factor: int) -> int:
    r = as_int(name, what, factor)
    if r < 1 or x.ndim < 3:
        raise errors.ShapeError(
            f"{name}: expected x of shape (..., C, H, W) and {what} at least 1, got {x.shape}"
            f" and {r}"
        )
    return r


def _sizes(extents: tuple[int, ...], size: Any, scale_factor: Any) -> list[tuple[int, float]]:
    """For each spatial axis the new extent, and how far its neighbours are apart in the old one."""
    if (size is None) == (scale_factor is None):
        raise errors.ArgumentError(
            f"interpolate: either size or scale_factor is given, not {brief(size)} and"
            f" {brief(scale_factor)}"
        )
    if size is not None:
        news = as_ints("interpolate", "size", size, len(extents))
        steps = [old / new if new else 0.0 for old, new in zip(extents, news, strict=True)]
    else:
        each = (
            scale_factor
            if isinstance(scale_factor, (tuple, list))
            else [scale_factor] * len(extents)
        )
        factors = [as_double("interpolate", "scale_factor", f) for f in each]
        if len(factors) != len(extents) or not all(0 < f < float("inf") for f in factors):
            kinds = f"a positive number or {len(extents)} of them"
            raise errors.ArgumentError(
                f"interpolate: scale_factor must be {kinds}, not {brief(scale_factor)}"
            )
        news, steps = (
            tuple(int(old * f) for old, f in zip(extents, factors, strict=True)),
            [1.0 / f for f in factors],
        )
    if min(*news, *extents) < 1:
        raise errors.ShapeError(
            f"interpolate: there is no image of {news} made of one of {extents}"
        )
    return list(zip(news, steps, strict=True))


def _nearest(x: Tensor, axis: int, new: int, step: float, shift: float) -> Tensor:
    old = x.shape[axis]
    if step * new == old and new % old == 0:
        return ops.repeat(x, new // old, axis=axis)  # type: ignore[no-any-return]
    place = ((ops.arange(new).float() + shift) * step).floor().long()  # in float32, as torch
    return ops.take(x, place.minimum(old - 1), axis=axis)  # type: ignore[no-any-return]


def _blended(x: Tensor, axis: int, new: int, step: float, aligned: bool) -> Tensor:
    """A product with the matrix of shares, which are computed where they are used: its gradient is
    a product as well.

    An axis that keeps its extent stays as it is, whatever the factor, as in torch.
    """
    if new == x.shape[axis]:
        return x
    shift = 0.0 if aligned else 0.5
    place = ((ops.arange(new).to(x.dtype) + shift) * step - shift).clip(0.0, x.shape[axis] - 1.0)
    shares = (1.0 - (place.reshape(new, 1) - ops.arange(x.shape[axis]).to(x.dtype)).abs()).maximum(
        0.0
    )
    return ops.moveaxis(ops.tensordot(x, shares, ([axis], [1])), -1, axis)  # type: ignore[no-any-return]
