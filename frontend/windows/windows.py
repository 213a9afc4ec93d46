"""Windows of images. In: Nodes of shape (N, C, *spatial). Out: each spatial axis as two: the window's position, the place inside.

What follows from shapes and arguments alone is found once: it recurs at every step of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, NamedTuple

from ... import errors
from ...ir.graph.graph import Node, reshape, shaped
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, shape_of
from ...ir.graph.site import provenance, user_site
from ..functions.movement import View, window_views
from ..operands.arguments import as_ints

Pair = int | Sequence[int]
Sizes = tuple[int, ...]  # one for each spatial axis


class Rank(NamedTuple):
    """A function of images with so many spatial axes."""

    name: str
    spatial: int

    @property
    def axes(self) -> str:
        return ("L", "H, W", "D, H, W")[self.spatial - 1]

    def sizes(self, what: str, value: Pair, least: int = 0) -> Sizes:
        """One int for each spatial axis. Raises DTypeError, ArgumentError."""
        found = as_ints(self.name, what, value, self.spatial)
        if any(i < least for i in found):
            raise errors.ArgumentError(f"{self.name}: {what} must be at least {least}, not {value}")
        return found


def of_rank(inner: Callable[..., Any], spatial: int, example: str, name: str = "") -> Callable[..., Any]:
    """inner(rank, x, ...) as a function of x with so many spatial axes and an example; one image is a batch of one."""
    rank = Rank(name or f"{inner.__name__}{spatial}d", spatial)

    @wraps(inner)
    def call(x: Node, *args: Any, **kwargs: Any) -> Any:
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


# ---------------------------------------------------------------- windows, and sums of what lies in them


def windows(rank: Rank, x: Node, kernel: Sizes, strides: Sizes, dilations: Sizes) -> Node:
    """(N, C, *spatial) -> N, C, then (position, place inside) for each spatial axis."""
    for op, arg, shape in _views(rank.name, x.shape, kernel, strides, dilations):
        x = shaped(op, (x,), arg, x.dtype, shape)
    return x


@lru_cache(4096)
def _views(name: str, shape: Shape, kernel: Sizes, strides: Sizes, dilations: Sizes) -> tuple[View, ...]:
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
        margins = tuple((0, behind, strides[i] - 1) if a == axis else (0, 0, 0) for a in range(len(shape)))
        steps = (Op.PAD, margins), (Op.UNSKEW, (axis, axis + 1, dilations[i])), (Op.REDUCE, ("add", (axis + 1,)))
        for op, arg in steps:
            shape = shape_of(op, shape, arg)
            views.append((op, arg, shape))
    return tuple(views)
