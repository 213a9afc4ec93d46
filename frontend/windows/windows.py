"""Windows of images. In: Nodes of shape (N, C, *spatial). Out: each spatial axis as two: the
window's position, the place inside.

What follows from shapes and arguments alone is found once: it recurs at every step of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from inspect import signature
from math import prod
from typing import NamedTuple

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, permute, reshape, shaped
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, shape_of
from ...ir.graph.site import provenance, user_site
from ..functions.movement import View, part, window_views
from ..operands.arguments import as_ints
from .padding import pad

Pair = int | Sequence[int]
Sizes = tuple[int, ...]  # one for each spatial axis
Result = Node | tuple[Node, ...]


class Rank(NamedTuple):
    """A function of images with so many spatial axes."""

    name: str
    spatial: int

    @property
    def axes(self) -> str:
        return ("L", "H, W", "D, H, W")[self.spatial - 1]

    def sizes(self, what: str, value: Pair, least: int = 0) -> Sizes:
        """One int for each spatial axis. Raises DTypeError, ArgumentError."""
        sizes = as_ints(self.name, what, value, self.spatial)
        if any(i < least for i in sizes):
            raise errors.ArgumentError(f"{self.name}: {what} must be at least {least}, not {value}")
        return sizes


def of_rank(
    inner: Callable[..., Result], spatial: int, example: str, name: str = ""
) -> Callable[..., Result]:
    """inner(rank, x, ...) as a function of x with so many spatial axes and an example; one image is
    a batch of one."""
    rank = Rank(name or f"{inner.__name__}{spatial}d", spatial)

    @wraps(inner)
    def call(x: Node, *args: object, **kwargs: object) -> Result:
        if x.ndim not in (1 + spatial, 2 + spatial):
            wanted = f"(N, C, {rank.axes}) or (C, {rank.axes})"
            raise errors.ShapeError(f"{rank.name}: expected x of shape {wanted}, got {x.shape}")
        with provenance(user_site()):  # one look for the user's line, not one per Node
            if x.ndim == 2 + spatial:
                return inner(rank, x, *args, **kwargs)
            out = inner(rank, reshape(x, (1, *x.shape)), *args, **kwargs)
            return _first(out) if isinstance(out, Node) else tuple(map(_first, out))

    given = signature(inner)
    call.__name__ = call.__qualname__ = rank.name
    call.__signature__ = given.replace(parameters=[*given.parameters.values()][1:])  # type: ignore[attr-defined]
    call.__doc__ = f"{inner.__doc__}\n\n    {example}\n"
    return call


def _first(batch: Node) -> Node:
    return reshape(batch, batch.shape[1:])


# ---------------------------------------------------------------- windows, and sums of what lies in
# them


def windows(rank: Rank, x: Node, kernel: Sizes, strides: Sizes, dilations: Sizes) -> Node:
    """(N, C, *spatial) -> N, C, then (position, place inside) for each spatial axis."""
    for op, arg, shape in _views(rank.name, x.shape, kernel, strides, dilations):
        x = shaped(op, (x,), arg, x.dtype, shape)
    return x


@lru_cache(4096)
def _views(
    name: str, shape: Shape, kernel: Sizes, strides: Sizes, dilations: Sizes
) -> tuple[View, ...]:
    views: list[View] = []
    for i, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
        axis = 2 + 2 * i
        if min(k, s, d) < 1:
            raise errors.ArgumentError(
                f"{name}: kernel size, stride and dilation must be at least 1, not {k}, {s} and {d}"
            )
        reach = (k - 1) * d + 1
        if reach > shape[axis]:
            raise errors.ShapeError(
                f"{name}: a window of {reach} does not fit the padded extent {shape[axis]} of axis"
                f" {2 + i}"
            )
        views += window_views(shape, axis, k, s, d)
        shape = views[-1][2]
    return tuple(views)


def overlaid(win: Node, extents: Sizes, strides: Sizes, dilations: Sizes) -> Node:
    """The adjoint of `windows`: (N, C, *extents), every window added at its place."""
    for op, arg, shape in _placings(win.shape, extents, strides, dilations):
        win = shaped(op, (win,), arg, win.dtype, shape)
    return win


@lru_cache(4096)
def _placings(shape: Shape, extents: Sizes, strides: Sizes, dilations: Sizes) -> tuple[View, ...]:
    views: list[View] = []
    for i in reversed(range(len(extents))):
        axis = 2 + 2 * i
        count, k = shape[axis : axis + 2]
        behind = extents[i] - (k - 1) * dilations[i] - (count - 1) * strides[i] - 1
        margins = tuple(
            (0, behind, strides[i] - 1) if a == axis else (0, 0, 0) for a in range(len(shape))
        )
        steps = (
            (Op.PAD, margins),
            (Op.UNSKEW, (axis, axis + 1, dilations[i])),
            (Op.REDUCE, ("add", (axis + 1,))),
        )
        for op, arg in steps:
            shape = shape_of(op, shape, arg)
            views.append((op, arg, shape))
    return tuple(views)


def unfold(
    rank: Rank, x: Node, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1
) -> Node:
    """(N, C, H, W) -> (N, C * KH * KW, L): the windows of a convolution, each a column; with or
    without N.

    Raises ArgumentError, and ShapeError for a window that does not fit.
    """
    kernel, pads = rank.sizes("kernel_size", kernel_size, 1), rank.sizes("padding", padding)
    strides, dilations = rank.sizes("stride", stride, 1), rank.sizes("dilation", dilation, 1)
    win = windows(
        rank, pad(x, ((0, 0), (0, 0), *((p, p) for p in pads)), 0), kernel, strides, dilations
    )
    n, c, *pairs = win.shape
    return reshape(permute(win, (0, 1, 3, 5, 2, 4)), (n, c * prod(pairs[1::2]), prod(pairs[::2])))


def fold(
    rank: Rank,
    x: Node,
    output_size: Pair,
    kernel_size: Pair,
    dilation: Pair = 1,
    padding: Pair = 0,
    stride: Pair = 1,
) -> Node:
    """(N, C * KH * KW, L) -> (N, C, *output_size): columns added up where unfold took them from,
    its gradient; with or without N.

    Raises ArgumentError, and ShapeError for columns that are not those of such an image.
    """
    rank = Rank(rank.name, 2)
    extents, kernel = (
        rank.sizes("output_size", output_size, 1),
        rank.sizes("kernel_size", kernel_size, 1),
    )
    strides, dilations = rank.sizes("stride", stride, 1), rank.sizes("dilation", dilation, 1)
    pads = rank.sizes("padding", padding)
    full = tuple(e + 2 * p for e, p in zip(extents, pads, strict=True))
    counts = tuple(
        (f - (k - 1) * d - 1) // s + 1
        for f, k, s, d in zip(full, kernel, strides, dilations, strict=True)
    )
    n, rows, columns = x.shape
    if min(counts) < 1 or columns != prod(counts) or rows % prod(kernel):
        wanted = (
            f"(N, C * {prod(kernel)}, {prod(counts)})" if min(counts) > 0 else "that no image has"
        )
        raise errors.ShapeError(
            f"fold: an image of {brief(extents)} has columns of shape {wanted}, but x has shape"
            f" {x.shape}"
        )
    win = permute(reshape(x, (n, rows // prod(kernel), *kernel, *counts)), (0, 1, 4, 2, 5, 3))
    out = overlaid(win, full, strides, dilations)
    for axis, (p, e) in enumerate(zip(pads, extents, strict=True), 2):
        out = part(out, axis, p, p + e)
    return out


unfold2d = of_rank(
    unfold, 2, ">>> F.unfold(wf.rand(2, 3, 8, 8), 3, padding=1).shape\n    (2, 27, 64)", "unfold"
)
fold2d = of_rank(
    fold,
    1,
    ">>> F.fold(wf.ones(1, 4, 4), (3, 3), 2).tolist()[0][0][1]\n    [2.0, 4.0, 2.0]",
    "fold",
)
