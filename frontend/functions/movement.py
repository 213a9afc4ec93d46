"""Views and joins. In: Nodes, shapes, axes. Out: a Node with the same elements elsewhere. Raises
ShapeError."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node, shaped
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, addressable, shape_of
from ...ir.ops.join import join
from ...runtime.memory.storage import reshape_strides
from ...runtime.memory.strides import strides_of
from ..elementwise.bits import reinterpreted
from ..operands.arguments import (
    Axes,
    as_int,
    as_shape,
    axes_in_order,
    flat_extents,
    flat_ints,
    normalise_axes,
    normalise_axis,
)
from ..operands.broadcast import as_dtype, as_node, broadcast_shape, broadcast_to, promote

View = tuple[Op, Any, Shape]  # an op, its argument, and the shape of what it makes


def reshape(
    x: Node, /, shape: int | Sequence[int] = (), *more: int, copy: bool | None = None
) -> Node:
    """The same elements in row-major order in another shape; one extent may be -1.

    Values never change, so a copy cannot be told from a view: the argument copy has no effect.
    """
    return graph.reshape(x, _filled_in("reshape", x, flat_extents("reshape", (shape, *more))))


def view(
    x: Node,
    /,
    shape: int | Sequence[int] | DType = (),
    *more: int,
    dtype: DType | str | None = None,
) -> Node:
    """As reshape, for a value that is the new shape as it lies in memory: no copy is needed. Raises
    ShapeError for others.

    view(dtype) is the value whose bytes these are: float32 as int32. A dtype of another width cuts
    the elements of the last axis up, or joins them. Of Python's types, int and float stand for
    those of x's width. No gradient passes, except between complex numbers and their parts.

    >>> wf.tensor([1.0, -2.0]).view(wf.int32).tolist()
    [1065353216, -1073741824]
    """
    asked = shape if dtype is None else dtype
    if isinstance(asked, (DType, str, type, np.dtype)):
        return reinterpreted(x, _dtype_of_view(x, asked))
    target = _filled_in("view", x, flat_extents("view", (shape, *more)))
    strides = strides_of(x)
    if reshape_strides(x.shape, strides, target) is None:
        raise errors.ShapeError(
            f"view: shape {x.shape} with strides {strides} is not contiguous, so shape {target}"
            f" would need a copy: call .contiguous() first, or .reshape{target}, which takes any"
            " value"
        )
    return graph.reshape(x, target)


def _dtype_of_view(x: Node, asked: Any) -> DType:
    name, is_one = {float: ("float", x.dtype.is_float), int: ("int", x.dtype.kind == "i")}.get(
        asked, ("", False)
    )
    return x.dtype if is_one else dt.BY_NAME.get(f"{name}{8 * x.dtype.itemsize}") or as_dtype(asked)


def _filled_in(name: str, x: Node, shape: Shape) -> Shape:
    known = prod(d for d in shape if d != -1)
    unknown = shape.count(-1)
    fits = not any(d < -1 for d in shape)
    addressable(name, tuple(d for d in shape if d != -1))
    if unknown == 1 and fits and known and x.size % known == 0:
        shape = tuple(x.size // known if d == -1 else d for d in shape)
    elif unknown or not fits or known != x.size:
        raise errors.ShapeError(
            f"{name}: {x.size} elements of shape {x.shape} do not fit shape {shape}"
        )
    return shape


def permute(x: Node, /, axes: int | Sequence[int] = (), *more: int) -> Node:
    """Axis i of the result is axis axes[i] of x."""
    order = flat_ints("permute", (axes, *more))
    places = tuple(normalise_axis("permute", a, x.ndim) for a in order)
    if sorted(places) != list(range(x.ndim)):
        raise errors.ShapeError(
            f"permute: {order} is not a permutation of the {x.ndim} axes of shape {x.shape}"
        )
    return reordered(x, places)


def reordered(x: Node, order: tuple[int, ...]) -> Node:
    """PERMUTE, nested ones joined and the identity dropped."""
    if x.op is Op.PERMUTE:
        x, order = x.src[0], tuple(x.arg[i] for i in order)
    return graph.permute(x, order)


def transpose(x: Node, *axes: int | Sequence[int]) -> Node:
    """No argument: all axes reversed; two ints: those two swapped; a sequence, or more ints: the
    order of the axes."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return reordered(x, tuple(range(x.ndim))[::-1])
    if len(axes) == 2:
        return swapaxes(x, *flat_ints("transpose", axes))
    return permute(x, axes[0] if len(axes) == 1 else flat_ints("transpose", axes))


def swapaxes(x: Node, /, axis1: int, axis2: int) -> Node:
    """Two axes swapped."""
    order = list(range(x.ndim))
    a, b = normalise_axis("swapaxes", axis1, x.ndim), normalise_axis("swapaxes", axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return reordered(x, tuple(order))


def moveaxis(x: Node, source: int | Sequence[int], destination: int | Sequence[int], /) -> Node:
    """One axis or several moved to other places; the others keep their order."""
    mine, places = (
        axes_in_order("moveaxis", source, x.ndim),
        axes_in_order("moveaxis", destination, x.ndim),
    )
    if len(mine) != len(places):
        raise errors.ShapeError(f"moveaxis: {len(mine)} axes do not go to {len(places)} places")
    order = [i for i in range(x.ndim) if i not in mine]
    for place, axis in sorted(zip(places, mine, strict=True)):
        order.insert(place, axis)
    return reordered(x, tuple(order))


def to_shape(x: Node, /, shape: int | Sequence[int] = (), *more: int) -> Node:
    """x repeated to a shape to which it broadcasts."""
    target = as_shape("broadcast_to", (shape, *more))
    if broadcast_shape("broadcast_to", [x.shape, target]) != target:
        raise errors.ShapeError(f"broadcast_to: shape {x.shape} does not broadcast to {target}")
    return broadcast_to(x, target)


def expand(x: Node, *shape: int | Sequence[int]) -> Node:
    """As broadcast_to; -1 keeps an axis."""
    target = flat_extents("expand", shape)
    lead = len(target) - x.ndim
    if lead < 0 or any(d == -1 and i < lead for i, d in enumerate(target)):
        raise errors.ShapeError(f"expand: shape {x.shape} does not expand to {target}")
    return to_shape(x, tuple(x.shape[i - lead] if d == -1 else d for i, d in enumerate(target)))


def squeeze(x: Node, /, axis: Axes = None) -> Node:
    """Axes of extent 1 dropped: all, or those named."""
    if axis is None:
        return graph.reshape(x, tuple(d for d in x.shape if d != 1))
    axes = normalise_axes("squeeze", axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise errors.ShapeError(f"squeeze: axes {axes} of shape {x.shape} are not all of extent 1")
    return graph.reshape(x, tuple(d for i, d in enumerate(x.shape) if i not in axes))


def unsqueeze(x: Node, /, axis: int | Sequence[int] = 0) -> Node:
    """New axes of extent 1 at these places of the result."""
    count = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    axes = axes_in_order("expand_dims", axis, count)
    rest = iter(x.shape)
    return graph.reshape(x, tuple(1 if i in axes else next(rest) for i in range(count)))


def flatten(x: Node, /, start_axis: int = 0, end_axis: int = -1) -> Node:
    """The axes from start to end (included) made one."""
    a, b = (normalise_axis("flatten", axis, max(1, x.ndim)) for axis in (start_axis, end_axis))
    if a > b:
        raise errors.ShapeError(
            f"flatten: axis {start_axis} comes after axis {end_axis} in shape {x.shape}"
        )
    return graph.reshape(x, (*x.shape[:a], prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))


def ravel(x: Node, /) -> Node:
    """All elements in row-major order, as a vector."""
    return graph.reshape(x, (x.size,))


def flip(x: Node, /, axis: Axes = None) -> Node:
    """The order of elements reversed along the axes."""
    axes = normalise_axes("flip", axis, x.ndim)
    return node(Op.FLIP, (x,), axes) if axes else x


def window(x: Node, axis: int, size: int, stride: int = 1, dilation: int = 1) -> Node:
    """Windows along an axis: the axis becomes the window's number, and a new axis after it the
    place inside the window.

    Windows begin `stride` elements after each other; their elements are `dilation` apart. It is a
    view: nothing is copied. Raises ShapeError where no window fits.

    >>> wf.window(wf.arange(5), 0, 3, stride=2).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    a = normalise_axis("window", axis, x.ndim)
    size, stride, dilation = (
        as_int("window", "size, stride and dilation", i) for i in (size, stride, dilation)
    )
    reach = (size - 1) * dilation + 1
    if min(size, stride, dilation) < 1 or reach > x.shape[a]:
        raise errors.ShapeError(
            f"window: size {size}, stride {stride}, dilation {dilation} do not fit axis {axis} of"
            f" shape {x.shape}"
        )
    for op, arg, shape in window_views(x.shape, a, size, stride, dilation):
        x = shaped(op, (x,), arg, x.dtype, shape)
    return x


def window_views(shape: Shape, axis: int, size: int, stride: int, dilation: int) -> list[View]:
    """The views that make windows along an axis, each with the shape of its result; the sizes must
    fit."""
    views: list[View] = []
    for op, arg in ((Op.EXPAND, ((axis + 1, size),)), (Op.SKEW, (axis, axis + 1, dilation))):
        shape = shape_of(op, shape, arg)
        views.append((op, arg, shape))
    if stride != 1:
        cut = tuple((0, d, stride if i == axis else 1) for i, d in enumerate(shape))
        views.append((Op.SLICE, cut, shape_of(Op.SLICE, shape, cut)))
    return views


def concat(parts: Sequence[Node], /, axis: int | None = 0) -> Node:
    """Joined along an existing axis (None: each flattened first); the other extents must agree,
    dtypes promote."""
    if not parts:
        raise errors.ShapeError("concat: there is nothing to join")
    if axis is None:
        parts, axis = [graph.reshape(x, (x.size,)) for x in parts], 0
    first = parts[0]
    a = normalise_axis("concat", axis, first.ndim)
    dtype = first.dtype
    for number, x in enumerate(parts):
        if _without(x.shape, a) != _without(first.shape, a) or x.ndim != first.ndim:
            shapes = f"part 0 of shape {first.shape} and part {number} of shape {x.shape}"
            raise errors.ShapeError(f"concat: {shapes} differ in more than axis {a}")
        dtype = promote(dtype, x.dtype)
    return _joined(
        [as_node("concat", x, dtype) for x in parts if x.shape[a]]
        or [as_node("concat", first, dtype)],
        a,
    )


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _joined(parts: list[Node], axis: int) -> Node:
    if len(parts) == 1:
        return parts[0]
    *starts, total = accumulate((x.shape[axis] for x in parts), initial=0)
    addressable("concat", tuple(total if i == axis else d for i, d in enumerate(parts[0].shape)))
    return join(list(zip(starts, parts, strict=True)), axis, total)


def stack(parts: Sequence[Node], /, axis: int = 0) -> Node:
    """Joined along a new axis; the shapes must be equal, dtypes promote."""
    if not parts:
        raise errors.ShapeError("stack: there is nothing to join")
    for number, x in enumerate(parts):
        if x.shape != parts[0].shape:
            raise errors.ShapeError(
                f"stack: part 0 of shape {parts[0].shape} and part {number} of shape {x.shape}"
                " differ"
            )
    a = normalise_axis("stack", axis, parts[0].ndim + 1)
    return concat([unsqueeze(x, a) for x in parts], a)


def split(x: Node, /, sizes: int | Sequence[int], axis: int = 0) -> list[Node]:
    """Pieces of one size (the last may be smaller) or of the sizes listed, as torch.split."""
    a = normalise_axis("split", axis, x.ndim)
    extent = x.shape[a]
    if not isinstance(sizes, (tuple, list)):
        sizes = as_int("split", "the size of a piece", sizes)
        if sizes < 1:
            raise errors.ShapeError(f"split: pieces must have at least 1 element, not {sizes}")
        starts = range(0, max(extent, 1), sizes)
        sizes = [min(sizes, extent - s) for s in starts]
    sizes = flat_ints("split", (sizes,))
    if sum(sizes) != extent or any(s < 0 for s in sizes):
        raise errors.ShapeError(
            f"split: sizes {list(sizes)} do not add up to extent {extent} of axis {a}"
        )
    out, start = [], 0
    for size in sizes:
        out.append(part(x, a, start, start + size))
        start += size
    return out


def part(x: Node, axis: int, start: int, stop: int) -> Node:
    """Elements start .. stop-1 of one axis."""
    return node(
        Op.SLICE,
        (x,),
        tuple((start, stop, 1) if i == axis else (0, d, 1) for i, d in enumerate(x.shape)),
    )


def contiguous(x: Node) -> Node:
    """The value, made to stand in memory in row-major order."""
    return node(Op.KEEP, (x,))
