"""Layers of products and windows. In: Nodes in torch's layouts. Out: a Node: padded windows, reduced, or sums of products.

A convolution is the sum of products of windows and weights, a pool a reduction of windows. What follows from shapes and
arguments alone is found once: it recurs at every step of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .. import errors
from ..ir.dtype import lowest
from ..ir.graph import Node, provenance, reshape, shaped, user_site
from ..ir.shapes import Shape, addressable
from . import reductions
from .arguments import as_int, as_ints, shown
from .broadcast import spread
from .contract import Places, alike, summed
from .elementwise import add
from .movement import View, window_views
from .padding import pad
from .reductions import accumulator

Pair = int | Sequence[int]


# ---------------------------------------------------------------- linear


def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x @ weight.T + bias, with weight of shape (out_features, in_features)."""
    if weight.ndim != 2:
        raise errors.ShapeError(f"linear: weight must have shape (out_features, in_features), not {weight.shape}")
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise errors.ShapeError(f"linear: the last axis of x must be in_features={weight.shape[1]}, but x has shape {x.shape}")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise errors.ShapeError(f"linear: bias must have shape {weight.shape[:1]}, not {bias.shape}")
    with provenance(user_site()):  # one look for the user's line, not one per Node
        if x.dtype is not weight.dtype:
            x, weight = alike("linear", x, weight)
        rows, columns, shape = _linear_axes(x.shape, weight.shape)
        out = summed([(x, rows), (weight, columns)], shape, x.ndim)
        return out if bias is None else add(out, bias)


@lru_cache(4096)
def _linear_axes(x: Shape, weight: Shape) -> tuple[Places, Places, Shape]:
    """Where the axes of x and of the weight stand in x's axes but the last | out_features | in_features, and those extents."""
    last = len(x) - 1
    return (*range(last), last + 1), (last, last + 1), addressable("linear", (*x[:-1], *weight))


# ---------------------------------------------------------------- convolution


def conv1d(
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Node:
    """x (N, C, L), weight (O, C // groups, K) -> (N, O, L')."""
    return _conv("conv1d", x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Node:
    """x (N, C, H, W), weight (O, C // groups, KH, KW) -> (N, O, H', W')."""
    return _conv("conv2d", x, weight, bias, stride, padding, dilation, groups)


def _conv(
    name: str, x: Node, weight: Node, bias: Node | None, stride: Pair, padding: Pair | str, dilation: Pair, groups: int
) -> Node:
    spatial = 1 if name == "conv1d" else 2
    groups = as_int(name, "groups", groups)
    _check_conv(name, x.shape, weight.shape, None if bias is None else bias.shape, groups, spatial)
    strides, dilations = as_ints(name, "stride", stride, spatial), as_ints(name, "dilation", dilation, spatial)
    kernel = weight.shape[2:]
    with provenance(user_site()):  # one look for the user's line, not one per Node
        if x.dtype is not weight.dtype:
            x, weight = alike(name, x, weight)
        x, weight = accumulator(x, None), accumulator(weight, None)
        x = _padded(x, _conv_padding(name, padding, kernel, strides, dilations), 0.0)
        win = _windows(name, x, kernel, strides, dilations)  # N C, then (output, kernel) of each spatial axis
        plan = _conv_axes(win.shape, weight.shape, groups)
        out = summed(
            [(reshape(win, plan.window), plan.window_places), (reshape(weight, plan.weight), plan.weight_places)],
            plan.shape,
            plan.kept,
        )
        out = reshape(out, plan.out)
        return out if bias is None else add(out, spread(bias, (1,), out.shape))


class _ConvAxes(NamedTuple):
    """Shapes of windows and weight with the groups (where there are several) as an axis, and where their axes stand in
    N G O (outputs) | C (kernel), the extents of which are `shape`; the first `kept` remain; the result is of shape `out`."""

    window: Shape
    window_places: Places
    weight: Shape
    weight_places: Places
    shape: Shape
    kept: int
    out: Shape


@lru_cache(4096)
def _conv_axes(window: Shape, weight: Shape, groups: int) -> _ConvAxes:
    n, channels, *rest = window
    outs, kernel = tuple(rest[::2]), tuple(rest[1::2])
    split, g = ((groups,), 1) if groups > 1 else ((), 0)
    features = weight[0] // groups
    shape = (n, *split, features, *outs, channels // groups, *kernel)
    kept = 2 + g + len(outs)
    spatial = [place for i in range(len(outs)) for place in (2 + g + i, kept + 1 + i)]
    lead = tuple(range(1, 1 + g))
    return _ConvAxes(
        (n, *split, channels // groups, *rest),
        (0, *lead, kept, *spatial),
        (*split, features, *weight[1:]),
        (*lead, 1 + g, *range(kept, len(shape))),
        addressable("convolution", shape),
        kept,
        (n, weight[0], *outs),
    )


@lru_cache(4096)
def _check_conv(name: str, x: Shape, weight: Shape, bias: Shape | None, groups: int, spatial: int) -> None:
    axes = ("L", "H, W")[spatial - 1]
    if len(weight) != 2 + spatial:
        raise errors.ShapeError(f"{name}: weight must have {2 + spatial} axes (O, C // groups, kernel), not shape {weight}")
    out_channels, per_group = weight[:2]
    if groups < 1 or out_channels % groups:
        raise errors.ShapeError(f"{name}: out_channels={out_channels} is not a multiple of groups={groups}")
    if len(x) != 2 + spatial or x[1] != per_group * groups:
        wanted = f"(N, {per_group * groups}, {axes})"
        raise errors.ShapeError(f"{name}: expected x of shape {wanted} for a weight of shape {weight}, got {x}")
    if bias is not None and bias != (out_channels,):
        raise errors.ShapeError(f"{name}: bias must have shape ({out_channels},), not {bias}")


def _conv_padding(
    name: str, padding: Pair | str, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        if any(s != 1 for s in strides):
            raise errors.ArgumentError(f'{name}: padding="same" needs stride 1, not {strides}')
        totals = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
        return [(t // 2, t - t // 2) for t in totals]
    if isinstance(padding, str):
        raise errors.ArgumentError(f'{name}: padding is a number, a tuple, "valid" or "same", not {shown(padding)}')
    return [(p, p) for p in as_ints(name, "padding", padding, len(kernel))]


def _padded(x: Node, widths: Sequence[tuple[int, int]], value: float) -> Node:
    return pad(x, ((0, 0), (0, 0), *widths), value)


# ---------------------------------------------------------------- windows


def _windows(name: str, x: Node, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> Node:
    """Each spatial axis of (N, C, ...) becomes two: the window's position and the place inside it."""
    for op, arg, shape in _views(name, x.shape, kernel, strides, dilations):
        x = shaped(op, (x,), arg, x.dtype, shape)
    return x


@lru_cache(4096)
def _views(
    name: str, shape: Shape, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[View, ...]:
    views: list[View] = []
    for i, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
        axis = 2 + 2 * i
        if min(k, s, d) < 1:
            raise errors.ArgumentError(f"{name}: kernel size, stride and dilation must be at least 1, not {k}, {s} and {d}")
        reach = (k - 1) * d + 1
        if reach > shape[axis]:
            raise errors.ShapeError(f"{name}: a window of {reach} does not fit the padded extent {shape[axis]} of axis {2 + i}")
        views += window_views(shape, axis, k, s, d)
        shape = views[-1][2]
    return tuple(views)


# ---------------------------------------------------------------- pools


def max_pool1d(x: Node, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1) -> Node:
    """The greatest element of each window of (N, C, L); stride defaults to kernel_size. Ties share the gradient equally."""
    return _max_pool("max_pool1d", x, kernel_size, stride, padding, dilation)


def max_pool2d(x: Node, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1) -> Node:
    """The greatest element of each window of (N, C, H, W); stride defaults to kernel_size. Ties share the gradient equally."""
    return _max_pool("max_pool2d", x, kernel_size, stride, padding, dilation)


def avg_pool1d(x: Node, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Node:
    """The mean of each window of (N, C, L), padding zeros included."""
    return _avg_pool("avg_pool1d", x, kernel_size, stride, padding)


def avg_pool2d(x: Node, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Node:
    """The mean of each window of (N, C, H, W), padding zeros included."""
    return _avg_pool("avg_pool2d", x, kernel_size, stride, padding)


def _max_pool(name: str, x: Node, kernel: Pair, stride: Pair | None, padding: Pair, dilation: Pair) -> Node:
    with provenance(user_site()):
        win = _pool_windows(name, x, kernel, stride, padding, dilation, lowest(x.dtype))
        return reductions.max(win, tuple(range(3, win.ndim, 2)))


def _avg_pool(name: str, x: Node, kernel: Pair, stride: Pair | None, padding: Pair) -> Node:
    with provenance(user_site()):
        win = _pool_windows(name, x, kernel, stride, padding, 1, 0.0)
        return reductions.mean(win, tuple(range(3, win.ndim, 2)))


def _pool_windows(name: str, x: Node, kernel: Pair, stride: Pair | None, padding: Pair, dilation: Pair, fill: float) -> Node:
    spatial = int(name[-2])
    if x.ndim != 2 + spatial:
        raise errors.ShapeError(f"{name}: expected x of shape (N, C, {('L', 'H, W')[spatial - 1]}), got {x.shape}")
    sizes, pads = as_ints(name, "kernel_size", kernel, spatial), as_ints(name, "padding", padding, spatial)
    strides = sizes if stride is None else as_ints(name, "stride", stride, spatial)
    if any(2 * p > k for p, k in zip(pads, sizes, strict=True)):
        raise errors.ArgumentError(f"{name}: padding {pads} may be at most half of the kernel size {sizes}")
    x = _padded(x, [(p, p) for p in pads], fill)
    return _windows(name, x, sizes, strides, as_ints(name, "dilation", dilation, spatial))
