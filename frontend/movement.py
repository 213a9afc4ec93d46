"""Views and joins. In: Nodes, shapes, axes. Out: a Node with the same elements elsewhere. Raises ShapeError."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .. import errors
from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, Op, Shape, node
from .arguments import Axes, flat_ints, normalise_axes, normalise_axis
from .broadcast import Scalar, as_node, broadcast_shape, broadcast_to, common_dtype, promote, spread, to_dtype
from .elementwise import lt, where

Widths = int | Sequence[int] | Sequence[Sequence[int]]


def reshape(x: Node, *shape: int | Sequence[int]) -> Node:
    """The same elements in row-major order in another shape; one extent may be -1."""
    return graph.reshape(x, _filled_in(x, flat_ints("reshape", shape)))


def _filled_in(x: Node, shape: Shape) -> Shape:
    known = prod(d for d in shape if d != -1)
    unknown = shape.count(-1)
    fits = not any(d < -1 for d in shape)
    if unknown == 1 and fits and known and x.size % known == 0:
        shape = tuple(x.size // known if d == -1 else d for d in shape)
    elif unknown or not fits or known != x.size:
        raise errors.ShapeError(f"reshape: {x.size} elements of shape {x.shape} do not fit shape {shape}")
    return shape


def permute(x: Node, *axes: int | Sequence[int]) -> Node:
    """Axis i of the result is axis axes[i] of x."""
    order = flat_ints("permute", axes)
    places = tuple(normalise_axis("permute", a, x.ndim) for a in order)
    if sorted(places) != list(range(x.ndim)):
        raise errors.ShapeError(f"permute: {order} is not an order of the {x.ndim} axes of shape {x.shape}")
    return reordered(x, places)


def reordered(x: Node, order: tuple[int, ...]) -> Node:
    """PERMUTE, nested ones joined and the identity dropped."""
    if x.op is Op.PERMUTE:
        x, order = x.src[0], tuple(x.arg[i] for i in order)
    return graph.permute(x, order)


def transpose(x: Node, *axes: int | Sequence[int]) -> Node:
    """No argument: all axes reversed; two ints: those two swapped; a sequence, or more ints: the order of the axes."""
    if not axes or axes == (None,):
        return reordered(x, tuple(range(x.ndim))[::-1])
    if len(axes) == 2:
        return swapaxes(x, *flat_ints("transpose", axes))
    return permute(x, *axes)


def swapaxes(x: Node, axis1: int, axis2: int) -> Node:
    """Two axes swapped."""
    order = list(range(x.ndim))
    a, b = normalise_axis("swapaxes", axis1, x.ndim), normalise_axis("swapaxes", axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return reordered(x, tuple(order))


def moveaxis(x: Node, source: int, destination: int) -> Node:
    """One axis moved to another place."""
    a, b = normalise_axis("moveaxis", source, x.ndim), normalise_axis("moveaxis", destination, x.ndim)
    order = [i for i in range(x.ndim) if i != a]
    order.insert(b, a)
    return reordered(x, tuple(order))


def to_shape(x: Node, *shape: int | Sequence[int]) -> Node:
    """x repeated to a shape to which it broadcasts."""
    target = flat_ints("broadcast_to", shape)
    if broadcast_shape("broadcast_to", [x.shape, target]) != target:
        raise errors.ShapeError(f"broadcast_to: shape {x.shape} does not broadcast to {target}")
    return broadcast_to(x, target)


def expand(x: Node, *shape: int | Sequence[int]) -> Node:
    """As broadcast_to; -1 keeps an axis."""
    target = flat_ints("expand", shape)
    lead = len(target) - x.ndim
    if lead < 0 or any(d == -1 and i < lead for i, d in enumerate(target)):
        raise errors.ShapeError(f"expand: shape {x.shape} does not expand to {target}")
    return to_shape(x, tuple(x.shape[i - lead] if d == -1 else d for i, d in enumerate(target)))


def squeeze(x: Node, axis: Axes = None) -> Node:
    """Axes of extent 1 dropped: all, or those named."""
    if axis is None:
        return graph.reshape(x, tuple(d for d in x.shape if d != 1))
    axes = normalise_axes("squeeze", axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise errors.ShapeError(f"squeeze: axes {axes} of shape {x.shape} are not all of extent 1")
    return graph.reshape(x, tuple(d for i, d in enumerate(x.shape) if i not in axes))


def unsqueeze(x: Node, axis: int | Sequence[int]) -> Node:
    """New axes of extent 1 at these places of the result."""
    count = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    axes = normalise_axes("unsqueeze", axis, count)
    rest = iter(x.shape)
    return graph.reshape(x, tuple(1 if i in axes else next(rest) for i in range(count)))


def flatten(x: Node, start_axis: int = 0, end_axis: int = -1) -> Node:
    """The axes from start to end (included) made one."""
    if not x.ndim:
        return graph.reshape(x, (1,))
    a, b = normalise_axis("flatten", start_axis, x.ndim), normalise_axis("flatten", end_axis, x.ndim)
    if a > b:
        raise errors.ShapeError(f"flatten: axis {start_axis} comes after axis {end_axis} in shape {x.shape}")
    return graph.reshape(x, (*x.shape[:a], prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))


def flip(x: Node, axis: Axes = None) -> Node:
    """The order of elements reversed along the axes."""
    axes = normalise_axes("flip", axis, x.ndim)
    return node(Op.FLIP, (x,), axes) if axes else x


def pad(x: Node, pad_width: Widths, value: Scalar = 0) -> Node:
    """pad_width elements of `value` around x: one int, one (before, after) for all axes, or one pair per axis (NumPy's form)."""
    widths = _pad_widths(x, pad_width)
    if not any(lo or hi for lo, hi in widths):
        return x
    arg = tuple((lo, hi, 0) for lo, hi in widths)
    if value == 0:
        return node(Op.PAD, (x,), arg)
    dtype = common_dtype("pad", (x, value))
    inside = node(Op.PAD, (graph.full(True, dt.bool_, x.shape),), arg)
    return where(inside, node(Op.PAD, (to_dtype(x, dtype),), arg), value)


def _pad_widths(x: Node, pad_width: Widths) -> list[tuple[int, int]]:
    if isinstance(pad_width, int):
        pairs: list[Any] = [(pad_width, pad_width)] * x.ndim
    elif len(pad_width) == 2 and all(isinstance(w, int) for w in pad_width):
        pairs = [tuple(pad_width)] * x.ndim
    else:
        pairs = list(pad_width)
    if len(pairs) != x.ndim or any(isinstance(p, int) or len(p) != 2 or min(p) < 0 for p in pairs):
        raise errors.ShapeError(f"pad: {pad_width} is not one pair of widths, none negative, per axis of shape {x.shape}")
    return [(int(lo), int(hi)) for lo, hi in pairs]


def window(x: Node, axis: int, size: int, stride: int = 1, dilation: int = 1) -> Node:
    """Windows along an axis: axis becomes the window's position, a new axis after it the place inside: SLICE(SKEW(EXPAND))."""
    a = normalise_axis("window", axis, x.ndim)
    reach = (size - 1) * dilation + 1
    if min(size, stride, dilation) < 1 or reach > x.shape[a]:
        raise errors.ShapeError(
            f"window: size {size}, stride {stride}, dilation {dilation} do not fit axis {axis} of shape {x.shape}"
        )
    x = graph.expand(x, ((a + 1, size),))
    x = node(Op.SKEW, (x,), (a, a + 1, dilation))
    if stride == 1:
        return x
    arg = [(0, d, 1) for d in x.shape]
    count = -(-x.shape[a] // stride)
    arg[a] = (0, (count - 1) * stride + 1, stride)
    return node(Op.SLICE, (x,), tuple(arg))


def concat(parts: Sequence[Node], axis: int = 0) -> Node:
    """Joined along an existing axis; the other extents must agree, dtypes promote."""
    if not parts:
        raise errors.ShapeError("concat: there is nothing to join")
    first = parts[0]
    a = normalise_axis("concat", axis, first.ndim)
    dtype = first.dtype
    for x in parts:
        if x.ndim != first.ndim or any(i != a and d != e for i, (d, e) in enumerate(zip(x.shape, first.shape, strict=True))):
            shapes = ", ".join(str(p.shape) for p in parts)
            raise errors.ShapeError(f"concat: shapes {shapes} differ in more than axis {a}")
        dtype = promote(dtype, x.dtype)
    return _joined([as_node("concat", x, dtype) for x in parts if x.shape[a]] or [as_node("concat", first, dtype)], a)


def _joined(parts: list[Node], axis: int) -> Node:
    """Each part padded to its place; a comparison with the position chooses among them."""
    if len(parts) == 1:
        return parts[0]
    extents = [x.shape[axis] for x in parts]
    total = sum(extents)
    shape = tuple(total if i == axis else d for i, d in enumerate(parts[0].shape))
    position = spread(node(Op.IOTA, (), total), [axis], shape)
    end = total
    out: Node | None = None
    for x, extent in zip(reversed(parts), reversed(extents), strict=True):
        arg = tuple((end - extent, total - end, 0) if i == axis else (0, 0, 0) for i in range(x.ndim))
        placed = node(Op.PAD, (x,), arg)
        out = placed if out is None else where(lt(position, end), placed, out)
        end -= extent
    assert out is not None
    return out


def stack(parts: Sequence[Node], axis: int = 0) -> Node:
    """Joined along a new axis; the shapes must be equal, dtypes promote."""
    if not parts:
        raise errors.ShapeError("stack: there is nothing to join")
    if any(x.shape != parts[0].shape for x in parts):
        raise errors.ShapeError(f"stack: shapes {', '.join(str(p.shape) for p in parts)} are not equal")
    a = normalise_axis("stack", axis, parts[0].ndim + 1)
    return concat([unsqueeze(x, a) for x in parts], a)


def split(x: Node, sizes: int | Sequence[int], axis: int = 0) -> list[Node]:
    """Pieces of one size (the last may be smaller) or of the sizes listed, as torch.split."""
    a = normalise_axis("split", axis, x.ndim)
    extent = x.shape[a]
    if isinstance(sizes, int):
        if sizes < 1:
            raise errors.ShapeError(f"split: pieces must have at least 1 element, not {sizes}")
        starts = range(0, max(extent, 1), sizes)
        sizes = [min(sizes, extent - s) for s in starts]
    if sum(sizes) != extent or any(s < 0 for s in sizes):
        raise errors.ShapeError(f"split: sizes {list(sizes)} do not add up to extent {extent} of axis {a}")
    out, start = [], 0
    for size in sizes:
        out.append(part(x, a, start, start + size))
        start += size
    return out


def part(x: Node, axis: int, start: int, stop: int) -> Node:
    """Elements start .. stop-1 of one axis."""
    return node(Op.SLICE, (x,), tuple((start, stop, 1) if i == axis else (0, d, 1) for i, d in enumerate(x.shape)))


def repeat(x: Node, *times: int | Sequence[int]) -> Node:
    """x laid side by side, times[i] copies along axis i (torch.repeat, numpy.tile)."""
    counts = flat_ints("repeat", times)
    if len(counts) < x.ndim or min(counts, default=1) < 0:
        raise errors.ShapeError(f"repeat: {counts} does not give a count, none negative, for each axis of shape {x.shape}")
    shape = (1,) * (len(counts) - x.ndim) + x.shape
    new = tuple((2 * i, c) for i, c in enumerate(counts))
    return graph.reshape(graph.expand(graph.reshape(x, shape), new), tuple(c * d for c, d in zip(counts, shape, strict=True)))


def contiguous(x: Node) -> Node:
    """The value, made to stand in memory in row-major order."""
    return node(Op.KEEP, (x,))

