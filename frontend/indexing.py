"""Indexing. In: a Node and what stands between the brackets. Out: a Node (functional also for assignment).

Ints, slices with any step, None and ... are views. Integer arrays make a GATHER; negative ones count from the end, and
what is out of range raises IndexError when it is computed, or at once where it is a Python int.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import errors
from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, Op, Shape, cast, node
from .arguments import normalise_axis
from .broadcast import as_node, broadcast_shape, broadcast_to, promote, spread
from .elementwise import add, lt, where
from .movement import reordered


@dataclass
class _Basic:
    """A basic index: SLICE, FLIP, the int axes dropped and new axes added by a RESHAPE to `shape`."""

    slices: list[tuple[int, int, int]] = field(default_factory=list)
    flips: list[int] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    arrays: list[tuple[int, Node]] = field(default_factory=list)  # (axis of the result of the basic part, indices)
    places: list[int] = field(default_factory=list)  # items that count as advanced, for NumPy's rule on where they go


def getitem(x: Node, key: Any) -> Node:
    """x[key]. Raises IndexError, DTypeError."""
    basic = _parse(x, key)
    out = _view(x, basic)
    return _gathered(out, basic) if basic.arrays else out


def _parse(x: Node, key: Any) -> _Basic:
    items = _with_ellipsis(x, key if isinstance(key, tuple) else (key,))
    basic = _Basic()
    axis = 0
    for place, item in enumerate(items):
        if item is None:
            basic.shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            _add_slice(basic, axis, item.indices(extent))
        elif isinstance(item, Node):
            basic.arrays.append((len(basic.shape), _checked_indices(item)))
            basic.places.append(place)
            _add_slice(basic, axis, (0, extent, 1))
        else:
            i = _int_index(item, axis, extent)
            basic.slices.append((i, i + 1, 1))
            basic.places.append(place)
        axis += 1
    return basic


def _with_ellipsis(x: Node, items: tuple[Any, ...]) -> list[Any]:
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > x.ndim:
        raise errors.IndexError(f"index: {used} indices for {x.ndim} axes of shape {x.shape}")
    fill = [slice(None)] * (x.ndim - used)
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise errors.IndexError("index: only one ... may stand in an index")
    at = dots[0] if dots else len(items)
    return [*items[:at], *fill, *items[at + 1 :]]


def _add_slice(basic: _Basic, axis: int, bounds: tuple[int, int, int]) -> None:
    start, _, step = bounds
    count = len(range(*bounds))
    if step < 0:
        basic.flips.append(axis)
        start, step = start + (count - 1) * step, -step
    stop = start + (count - 1) * step + 1 if count else start
    basic.slices.append((start, stop, step) if count else (0, 0, 1))
    basic.shape.append(count)


def _int_index(item: Any, axis: int, extent: int) -> int:
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        raise errors.DTypeError(f"index: {item!r} is neither an int, a slice, None, ... nor an integer tensor")
    i = item.__index__()
    if not -extent <= i < extent:
        raise errors.IndexError(f"index {i} is out of range for axis {axis} of extent {extent}")
    return int(i % extent)


def _checked_indices(indices: Node) -> Node:
    if indices.dtype.kind == "b":
        raise errors.DTypeError("index: a bool tensor selects a number of elements that is not known; use wf.where")
    if not indices.dtype.is_int:
        raise errors.DTypeError(f"index: expected an integer tensor, got {indices.dtype.name}")
    return cast(indices, dt.int64)


def _view(x: Node, basic: _Basic) -> Node:
    arg = tuple(basic.slices)
    if any(a != (0, d, 1) for a, d in zip(arg, x.shape, strict=True)):
        x = node(Op.SLICE, (x,), arg)
    if basic.flips:
        x = node(Op.FLIP, (x,), tuple(basic.flips))
    return graph.reshape(x, tuple(basic.shape))


def _gathered(x: Node, basic: _Basic) -> Node:
    axes = tuple(axis for axis, _ in basic.arrays)
    indices = [wrapped(i, x.shape[axis]) for axis, i in basic.arrays]
    shape = broadcast_shape("index", [i.shape for i in indices])
    out = _picked(x, [broadcast_to(i, shape) for i in indices], axes)
    side_by_side = basic.places[-1] - basic.places[0] == len(basic.places) - 1
    return _index_axes_to(out, len(shape), axes[0] if side_by_side else 0)


def _index_axes_to(x: Node, count: int, place: int) -> Node:
    """The first `count` axes moved behind the next `place` ones."""
    if not place:
        return x
    return reordered(x, (*range(count, count + place), *range(count), *range(count + place, x.ndim)))


def wrapped(indices: Node, extent: int) -> Node:
    """Negative indices counted from the end; `unwrapped` undoes it for error messages."""
    return where(lt(indices, 0), add(indices, extent), indices)


def unwrapped(index: int, extent: int, was_wrapped: bool) -> int:
    """The index that the user wrote, where `wrapped` gave one that is out of range."""
    return index - extent if was_wrapped and index < 0 else index


def is_wrapped(indices: Node) -> bool:
    """Did `wrapped` make this (perhaps repeated along new axes)?"""
    while indices.op is Op.EXPAND:
        indices = indices.src[0]
    if indices.op is not Op.WHERE:
        return False
    condition, below, plain = indices.src
    return condition.op is Op.LT and condition.src[0] is plain and below.op is Op.ADD and below.src[0] is plain


# ---------------------------------------------------------------- by integer tensors


def take(x: Node, indices: Node, axis: int | None = None) -> Node:
    """x[..., indices, ...] along one axis, or of the flattened x; negative indices count from the end."""
    if axis is None:
        x, a = graph.reshape(x, (x.size,)), 0
    else:
        a = normalise_axis("take", axis, x.ndim)
    found = _checked_indices(indices)
    out = _picked(x, [wrapped(found, x.shape[a])], (a,))
    return _index_axes_to(out, found.ndim, a)


def _picked(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """The gather, unless it would pick from nothing."""
    for axis in axes:
        if x.shape[axis] == 0 and indices[0].size:
            raise errors.IndexError(f"index into axis {axis} of extent 0 of shape {x.shape}")
    return node(Op.GATHER, (x, *indices), axes)


def gather(x: Node, indices: Sequence[Node], axes: Sequence[int] = (0,)) -> Node:
    """out[o, ..] = x[.., indices[k][o], ..] with indices[k] on axis axes[k]: shape of the (broadcast) indices + the other axes.

    Indices must lie in 0 .. extent-1; what does not raises IndexError when it is computed.
    """
    places = [normalise_axis("gather", a, x.ndim) for a in axes]
    if len(indices) != len(places) or len(set(places)) != len(places):
        raise errors.ShapeError(f"gather: {len(indices)} indices for axes {tuple(axes)} of shape {x.shape}")
    found = [_checked_indices(i) for i in indices]
    shape = broadcast_shape("gather", [i.shape for i in found])
    return _picked(x, [broadcast_to(i, shape) for i in found], tuple(places))


def take_along_axis(x: Node, indices: Node, axis: int) -> Node:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on (torch.gather); negative indices count from the end."""
    a = normalise_axis("take_along_axis", axis, x.ndim)
    found = _checked_indices(indices)
    if found.ndim != x.ndim or any(i > d for k, (i, d) in enumerate(zip(found.shape, x.shape, strict=True)) if k != a):
        raise errors.ShapeError(f"take_along_axis: indices of shape {found.shape} do not fit shape {x.shape} along axis {a}")
    places = _own_positions(found.shape)
    places[a] = wrapped(found, x.shape[a])
    return _picked(x, places, tuple(range(x.ndim)))


def _own_positions(shape: Shape) -> list[Node]:
    """For each axis the position along it, in the full shape."""
    return [spread(node(Op.IOTA, (), d), [i], shape) for i, d in enumerate(shape)]


def scatter_add(x: Node, indices: Sequence[Node], values: Node, axes: Sequence[int] = (0,)) -> Node:
    """x with values[o, ..] added at [.., indices[k][o], ..]: the adjoint of gather; repeated indices add up."""
    places = tuple(normalise_axis("scatter_add", a, x.ndim) for a in axes)
    found = [_checked_indices(i) for i in indices]
    shape = broadcast_shape("scatter_add", [i.shape for i in found])
    rest = tuple(d for i, d in enumerate(x.shape) if i not in places)
    if broadcast_shape("scatter_add", [values.shape, shape + rest]) != shape + rest:
        raise errors.ShapeError(f"scatter_add: values of shape {values.shape} do not fit {shape + rest}")
    dtype = promote(x.dtype, values.dtype)
    source = broadcast_to(as_node("scatter_add", values, dtype), shape + rest)
    operands = (source, *(broadcast_to(i, shape) for i in found))
    return add(as_node("scatter_add", x, dtype), node(Op.SCATTER, operands, (places, x.shape)))


# ---------------------------------------------------------------- assignment


def setitem(x: Node, key: Any, value: Any) -> Node:
    """x with x[key] replaced by value (broadcast, in x's dtype). A bool tensor of x's shape may be the key.

    Raises IndexError for integer tensors as keys: use where or scatter_add.
    """
    if isinstance(key, Node) and key.dtype.kind == "b":
        return where(_mask_like(x, key), as_node("setitem", value, x.dtype), x)
    basic = _parse(x, key)
    if basic.arrays:
        raise errors.IndexError("assignment to integer-array indices is not supported; use wf.where or wf.scatter_add")
    new = as_node("setitem", value, x.dtype)
    shape = tuple(basic.shape)
    lead = new.ndim - len(shape)
    if lead > 0 and new.shape[:lead] == (1,) * lead:
        new = graph.reshape(new, new.shape[lead:])
    if broadcast_shape("setitem", [new.shape, shape]) != shape:
        raise errors.ShapeError(f"setitem: a value of shape {new.shape} does not fit the selected shape {shape}")
    new = broadcast_to(new, shape)
    return where(_put(x, basic, graph.full(True, dt.bool_, shape)), _put(x, basic, new), x)


def _mask_like(x: Node, mask: Node) -> Node:
    if mask.shape != x.shape:
        raise errors.ShapeError(f"setitem: a mask of shape {mask.shape} does not fit shape {x.shape}")
    return mask


def _put(x: Node, basic: _Basic, value: Node) -> Node:
    """The adjoint of _view: the value at its place in x's shape, zeros elsewhere."""
    extents = tuple(len(range(*s)) for s in basic.slices)
    value = graph.reshape(value, extents)
    if basic.flips:
        value = node(Op.FLIP, (value,), tuple(basic.flips))
    arg = []
    for (start, _, step), count, d in zip(basic.slices, extents, x.shape, strict=True):
        reach = (count - 1) * step + 1 if count else 0
        arg.append((start, d - start - reach, step - 1))
    return node(Op.PAD, (value,), tuple(arg))

