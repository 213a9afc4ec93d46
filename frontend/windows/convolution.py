"""Convolutions and transposed ones. In: images (N, C, *spatial), weights in torch's layouts. Out:
sums of products with windows.

A transposed convolution is the gradient of a convolution by its images, built as such: it compiles
to the same kernel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, permute, reduce, reshape
from ...ir.graph.shapes import Shape, addressable
from ..elementwise.all import add, mul
from ..functions.movement import part
from ..functions.products import Places, alike, summed
from ..functions.reductions import accumulator
from ..operands.arguments import as_int
from ..operands.autocast import runs_in_half
from ..operands.broadcast import spread
from .padding import pad
from .windows import Pair, Rank, Sizes, of_rank, overlaid, windows


@runs_in_half
def conv(
    rank: Rank,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Node:
    """x (N, C, *spatial) or (C, *spatial), weight (O, C // groups, *kernel), bias (O,) -> (N, O,
    *spatial'): torch's convolution.

    padding: zeros on both sides, "valid" for none, or "same" for as many as keep the extents (needs
    stride 1).
    """
    groups = as_int(rank.name, "groups", groups)
    _check(rank, x.shape, weight.shape, None if bias is None else bias.shape, groups)
    strides, dilations = rank.sizes("stride", stride), rank.sizes("dilation", dilation)
    kernel = weight.shape[2:]
    x, weight = _factors(rank.name, x, weight)
    x = pad(x, ((0, 0), (0, 0), *margins(rank, padding, kernel, strides, dilations)), 0.0)
    win = windows(rank, x, kernel, strides, dilations)
    plan = _axes(win.shape, weight.shape, groups)
    out = summed(
        [
            (reshape(win, plan.window), plan.window_places),
            (reshape(weight, plan.weight), plan.weight_places),
        ],
        plan.shape,
        plan.kept,
    )
    return _shifted(reshape(out, plan.out), bias)


conv1d = of_rank(
    conv, 1, ">>> F.conv1d(wf.ones(1, 1, 4), wf.ones(1, 1, 3)).tolist()\n    [[[3.0, 3.0]]]"
)
conv2d = of_rank(
    conv,
    2,
    ">>> F.conv2d(wf.ones(2, 3, 8, 8), wf.ones(4, 3, 3, 3), stride=2, padding=1).shape\n    (2, 4,"
    " 4, 4)",
)
conv3d = of_rank(
    conv,
    3,
    ">>> F.conv3d(wf.ones(2, 3, 4, 8, 8), wf.ones(5, 3, 2, 3, 3)).shape\n    (2, 5, 3, 6, 6)",
)


class _Axes(NamedTuple):
    """Shapes of windows and weight with the groups (where there are several) as an axis, and where
    their axes stand in N G O (outputs) | C (kernel), the extents of which are `shape`; the first
    `kept` remain; the result is of shape `out`."""

    window: Shape
    window_places: Places
    weight: Shape
    weight_places: Places
    shape: Shape
    kept: int
    out: Shape


@lru_cache(4096)
def _axes(window: Shape, weight: Shape, groups: int) -> _Axes:
    n, channels, *rest = window
    outs, kernel = tuple(rest[::2]), tuple(rest[1::2])
    split, g = ((groups,), 1) if groups > 1 else ((), 0)
    features = weight[0] // groups
    shape = (n, *split, features, *outs, channels // groups, *kernel)
    kept = 2 + g + len(outs)
    spatial = [place for i in range(len(outs)) for place in (2 + g + i, kept + 1 + i)]
    lead = tuple(range(1, 1 + g))
    return _Axes(
        (n, *split, channels // groups, *rest),
        (0, *lead, kept, *spatial),
        (*split, features, *weight[1:]),
        (*lead, 1 + g, *range(kept, len(shape))),
        addressable("convolution", shape),
        kept,
        (n, weight[0], *outs),
    )


@lru_cache(4096)
def _check(rank: Rank, x: Shape, weight: Shape, bias: Shape | None, groups: int) -> None:
    name = rank.name
    if len(weight) != 2 + rank.spatial:
        raise errors.ShapeError(
            f"{name}: weight must have {2 + rank.spatial} axes (O, C // groups, kernel), not shape"
            f" {weight}"
        )
    out_channels, per_group = weight[:2]
    if groups < 1 or out_channels % groups:
        raise errors.ShapeError(
            f"{name}: out_channels={out_channels} is not a multiple of groups={groups}"
        )
    if x[1] != per_group * groups:
        raise _wrong_channels(rank, x, weight, per_group * groups)
    _check_bias(name, bias, out_channels)


def _wrong_channels(rank: Rank, x: Shape, weight: Shape, channels: int) -> errors.ShapeError:
    """x: the shape of a batch, of one image where a user gave that alone."""
    wanted = (
        f"(N, {channels}, {rank.axes}) or ({channels}, {rank.axes}) for a weight of shape {weight}"
    )
    return errors.ShapeError(
        f"{rank.name}: expected x of shape {wanted}, got {x[1]} channels (as a batch {x})"
    )


def _check_bias(name: str, bias: Shape | None, out_channels: int) -> None:
    if bias is not None and bias != (out_channels,):
        raise errors.ShapeError(f"{name}: bias must have shape ({out_channels},), not {bias}")


def margins(
    rank: Rank, padding: Pair | str, kernel: Sizes, strides: Sizes, dilations: Sizes
) -> list[tuple[int, int]]:
    """How much padding stands before and after each spatial axis."""
    if not isinstance(padding, str):
        return [(p, p) for p in rank.sizes("padding", padding)]
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding != "same":
        raise errors.ArgumentError(
            f'{rank.name}: padding must be a number, a tuple, "valid" or "same", not'
            f" {brief(padding)}"
        )
    if any(s != 1 for s in strides):
        raise errors.ArgumentError(f'{rank.name}: padding="same" needs stride 1, not {strides}')
    totals = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    return [(t // 2, t - t // 2) for t in totals]


def _factors(name: str, x: Node, weight: Node) -> tuple[Node, Node]:
    """In the dtype of their products."""
    if x.dtype is not weight.dtype:
        x, weight = alike(name, x, weight)
    return accumulator(x, None), accumulator(weight, None)


def _shifted(out: Node, bias: Node | None) -> Node:
    return out if bias is None else add(out, spread(bias, (1,), out.shape))


# ---------------------------------------------------------------- transposed


@runs_in_half
def conv_transpose(
    rank: Rank,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> Node:
    """x (N, C, *spatial) or (C, *spatial), weight (C, O // groups, *kernel), bias (O,) -> (N, O,
    *spatial').

    The gradient of a convolution of this stride, padding and dilation by its images. Each extent
    becomes (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1; the last
    is below stride or dilation.
    """
    groups = as_int(rank.name, "groups", groups)
    _check_transposed(rank, x.shape, weight.shape, None if bias is None else bias.shape, groups)
    strides, dilations = rank.sizes("stride", stride, 1), rank.sizes("dilation", dilation, 1)
    pads, extra = rank.sizes("padding", padding), rank.sizes("output_padding", output_padding)
    if any(e >= max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
        raise errors.ArgumentError(
            f"{rank.name}: output_padding {extra} is not below stride {strides} or dilation"
            f" {dilations}"
        )
    x, weight = _factors(rank.name, x, weight)
    plan = _transposed_axes(x.shape, weight.shape, groups)
    images = spread(reshape(x, plan.image), plan.image_places, plan.products)
    products = mul(images, spread(reshape(weight, plan.weight), plan.weight_places, plan.products))
    win = permute(reduce("add", products, (plan.channel,)), plan.order)
    sizes = zip(x.shape[2:], weight.shape[2:], strides, dilations, extra, strict=True)
    full = tuple((n - 1) * s + (k - 1) * d + e + 1 for n, k, s, d, e in sizes)
    if any(f <= 2 * p for f, p in zip(full, pads, strict=True)):
        raise errors.ShapeError(f"{rank.name}: padding {pads} leaves nothing of the extents {full}")
    out = overlaid(reshape(win, plan.windows), full, strides, dilations)
    for axis, p in enumerate(pads, 2):
        out = part(out, axis, p, out.shape[axis] - p) if p else out
    return _shifted(out, bias)


conv_transpose1d = of_rank(
    conv_transpose,
    1,
    ">>> F.conv_transpose1d(wf.ones(1, 1, 2), wf.ones(1, 1, 3), stride=2).tolist()\n    [[[1.0,"
    " 1.0, 2.0, 1.0, 1.0]]]",
)
conv_transpose2d = of_rank(
    conv_transpose,
    2,
    ">>> F.conv_transpose2d(wf.ones(2, 4, 8, 8), wf.ones(4, 3, 4, 4), stride=2, padding=1).shape\n "
    "   (2, 3, 16, 16)",
)
conv_transpose3d = of_rank(
    conv_transpose,
    3,
    ">>> F.conv_transpose3d(wf.ones(2, 4, 3, 8, 8), wf.ones(4, 3, 2, 2, 2), stride=2).shape\n   "
    " (2, 3, 6, 16, 16)",
)


class _TransposedAxes(NamedTuple):
    """Shapes of images and weight with the groups (where there are several) as an axis, and where
    their axes stand in N G C (positions) O (kernel), of extents `products`. Without C (axis
    `channel`), in the order N G O (position, place inside of each window), they are of shape
    `windows`. Nothing is permuted before: the gradients of products are a convolution's."""

    image: Shape
    image_places: Places
    weight: Shape
    weight_places: Places
    products: Shape
    channel: int
    order: Places
    windows: Shape


@lru_cache(4096)
def _transposed_axes(x: Shape, weight: Shape, groups: int) -> _TransposedAxes:
    (n, channels, *extents), (_, features, *kernel) = x, weight
    split, g, spatial = ((groups,), 1, len(extents)) if groups > 1 else ((), 0, len(extents))
    per_group = channels // groups
    products = (n, *split, per_group, *extents, features, *kernel)
    channel, feature = 1 + g, 2 + g + spatial  # their places
    pairs = [p for i in range(spatial) for p in (1 + g + i, feature + i)]
    return _TransposedAxes(
        (n, *split, per_group, *extents),
        tuple(range(feature)),
        (*split, per_group, features, *kernel),
        (*range(1, channel + 1), *range(feature, len(products))),
        addressable("convolution", products),
        channel,
        (*range(1 + g), feature - 1, *pairs),
        (n, groups * features, *(e for both in zip(extents, kernel, strict=True) for e in both)),
    )


@lru_cache(4096)
def _check_transposed(rank: Rank, x: Shape, weight: Shape, bias: Shape | None, groups: int) -> None:
    name = rank.name
    if len(weight) != 2 + rank.spatial:
        raise errors.ShapeError(
            f"{name}: weight must have {2 + rank.spatial} axes (C, O // groups, kernel), not shape"
            f" {weight}"
        )
    if groups < 1 or weight[0] % groups:
        raise errors.ShapeError(
            f"{name}: in_channels={weight[0]} is not a multiple of groups={groups}"
        )
    if x[1] != weight[0]:
        raise _wrong_channels(rank, x, weight, weight[0])
    if 0 in x[2:] or 0 in weight[2:]:
        raise errors.ShapeError(
            f"{name}: there is nothing to place of x of shape {x} and a weight of shape {weight}"
        )
    _check_bias(name, bias, weight[1] * groups)
