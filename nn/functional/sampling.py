"""Images read at any place. In: images (N, C, *spatial), and places from -1 to 1. Out: images of
those places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import and_
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_shape
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from .common import in_float32

__all__ = ["affine_grid", "grid_sample"]

# how many neighbours of a place count along each axis
TAPS = {
    "nearest": 1,
    "bilinear": 2,
    "bicubic": 4,
}
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75  # the parameter a of Keys 1981


@in_float32
def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """x (N, C, H, W) at the places grid (N, H', W', 2), each (column, row), gives (N, C, H', W');
    volumes likewise with 3.

    Places go from -1 to 1: from the outer edges of the first to the last elements, with
    align_corners between their middles. mode: "bilinear" (trilinear for volumes) or, for images,
    "bicubic" for weighted means of neighbours, "nearest" for the one nearest. padding_mode says
    what lies outside: "zeros", the "border", or its mirror image by "reflection". Source: Jaderberg
    et al. 2015. Raises ShapeError, DTypeError, ArgumentError.

    >>> x = wf.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> F.grid_sample(x, wf.tensor([[[[0.0, 0.0], [-1.0, -1.0]]]]), align_corners=True).tolist()
    [[[[2.5, 1.0]]]]
    """
    name, spatial = "grid_sample", x.ndim - 2
    kind = as_choice(name, "mode", mode, [*TAPS])
    as_choice(name, "padding_mode", padding_mode, PADDINGS)
    aligned = as_bool(name, "align_corners", align_corners)
    _check_grid(x, grid)
    if kind == "bicubic" and spatial == 3:
        raise errors.ArgumentError(
            f"{name}: mode 'bicubic' is for images (N, C, H, W), not for x of shape {x.shape}"
        )
    batch = ops.arange(x.shape[0]).reshape(-1, *[1] * (2 * spatial))
    places, shares, insides = [batch], [], []
    for i, extent in enumerate(x.shape[2:]):
        at = _in_elements(grid[..., spatial - 1 - i], extent, aligned)
        place, share, inside = _taps(at, extent, kind, padding_mode, aligned)
        # N, the grid, the taps of each axis
        along = (
            *at.shape,
            *(TAPS[kind] if i == k else 1 for k in range(spatial)),
        )
        places.append(place.reshape(along))
        shares.append(share.reshape(along))
        insides.append(inside.reshape(along))
    pixels = ops.gather(x, list(ops.broadcast_arrays(*places)), (0, *range(2, x.ndim)))
    # a share of 0 leaves a NaN one
    pixels = ops.where(reduce(and_, insides).unsqueeze(-1), pixels, 0.0)
    weighted = pixels * prod(shares[1:], start=shares[0]).unsqueeze(-1)
    return ops.moveaxis(weighted.sum(axis=tuple(range(1 + spatial, 1 + 2 * spatial))), -1, 1)  # type: ignore[no-any-return]


def _check_grid(x: Tensor, grid: Tensor) -> None:
    if (
        x.ndim not in (4, 5)
        or grid.ndim != x.ndim
        or (grid.shape[0], grid.shape[-1]) != (x.shape[0], x.ndim - 2)
    ):
        shapes = (
            "x (N, C, H, W) and grid (N, H', W', 2), or x (N, C, D, H, W) and grid (N, D', H',"
            " W', 3)"
        )
        raise errors.ShapeError(
            f"grid_sample: expected {shapes}, got x {x.shape} and grid {grid.shape}"
        )
    if not x.dtype.is_float or not grid.dtype.is_float:
        raise errors.DTypeError(
            f"grid_sample: x and grid must be floats, not {x.dtype.name} and {grid.dtype.name}"
        )
    if not prod(x.shape[2:]):
        raise errors.ShapeError(f"grid_sample: there is nothing to read from x of shape {x.shape}")


def _in_elements(at: Tensor, extent: int, aligned: bool) -> Tensor:
    """A place between -1 and 1 as a number of elements from the first."""
    return (at + 1.0) * ((extent - 1) / 2.0) if aligned else ((at + 1.0) * extent - 1.0) * 0.5


def _taps(
    at: Tensor, extent: int, mode: str, padding: str, aligned: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """On a new last axis: which elements a place is made of, the share of each, and whether the
    image has it.

    One that it has not stands at the nearest that it has, with a share of 0.
    """
    if mode != "bicubic":  # which pads its neighbours instead
        at = _padded(at, extent, padding, aligned)
    first = at.round() if mode == "nearest" else at.floor()
    # counted from `first`
    taps = ops.arange(TAPS[mode]).astype(at.dtype) - (1.0 if mode == "bicubic" else 0.0)
    place = first.unsqueeze(-1) + taps
    share = _shares((at - first).unsqueeze(-1), taps, mode)
    if mode == "bicubic":
        place = _padded(place, extent, padding, aligned)
    inside = (place >= 0.0) & (place <= extent - 1.0)
    return (
        place.clip(0.0, extent - 1.0).long().clip(0, extent - 1),
        ops.where(inside, share, 0.0),
        inside,
    )


def _shares(part: Tensor, taps: Tensor, mode: str) -> Tensor:
    """Of the elements at floor + taps, for a place this part of an element after its floor."""
    if mode == "nearest":
        return ops.ones_like(part)
    if mode == "bilinear":
        return ops.where(taps == 0.0, 1.0 - part, part)
    d = (part - taps).abs()
    near = ((CUBIC + 2.0) * d - (CUBIC + 3.0)) * d * d + 1.0
    return ops.where(d <= 1.0, near, ((d - 5.0) * d + 8.0) * d * CUBIC - 4.0 * CUBIC)


def _padded(at: Tensor, extent: int, padding: str, aligned: bool) -> Tensor:
    """A place that lies inside unless the padding is zeros."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, span = (0.0, extent - 1.0) if aligned else (-0.5, float(extent))
        if not span:
            return at * 0.0
        away = (at - low).abs()
        turns = (away / span).floor()
        rest = away - turns * span
        at = ops.where(turns % 2.0 == 0.0, rest, span - rest) + low
    return at.clip(0.0, extent - 1.0)


@in_float32
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid (N, H, W, 2) of places theta[n] @ (column, row, 1) for grid_sample to an image of
    size (N, C, H, W).

    theta has shape (N, 2, 3); with (N, 3, 4) and size (N, C, D, H, W) a grid (N, D, H, W, 3).
    align_corners as in grid_sample. Raises ShapeError, DTypeError.

    >>> F.affine_grid(wf.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).tolist()
    [[[[0.0, 0.0], [1.0, 0.0]]]]
    """
    name, shape = "affine_grid", as_shape("affine_grid", (size,))
    spatial = len(shape) - 2
    if spatial not in (2, 3) or theta.shape != (shape[0], spatial, spatial + 1):
        shapes = (
            "theta (N, 2, 3) and size (N, C, H, W), or theta (N, 3, 4) and size (N, C, D, H, W)"
        )
        raise errors.ShapeError(
            f"{name}: expected {shapes}, got theta {theta.shape} and size {brief(size)}"
        )
    if not theta.dtype.is_float:
        raise errors.DTypeError(f"{name}: theta must hold floats, not {theta.dtype.name}")
    aligned = as_bool(name, "align_corners", align_corners)
    out: Any = theta[:, :, -1].reshape(shape[0], *[1] * spatial, spatial)
    for i, extent in enumerate(shape[2:]):
        at = ops.arange(extent).astype(theta.dtype)
        at = (
            at * (2.0 / max(extent - 1, 1)) - 1.0
            if aligned and extent > 1
            else (at * 2.0 + 1.0) / extent - 1.0
        )
        column = theta[:, :, spatial - 1 - i].reshape(shape[0], *[1] * spatial, spatial)
        out = out + at.reshape(*[extent if k == i else 1 for k in range(spatial)], 1) * column
    return out  # type: ignore[no-any-return]
