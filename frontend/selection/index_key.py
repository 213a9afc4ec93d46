"""Keys of index expressions. In: a Node and the items between the brackets. Out: a Key, the steps
that x[key] takes.

NumPy's rules: ints, slices, None and ... select views; a bool mask of m axes selects among the next
m axes of x as the positions of its Trues would; index arrays broadcast together, and their axes
stand where the first of them stands if all of them (and the ints) are neighbours, else in front.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from operator import index
from typing import Any

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, full, reshape
from ...ir.graph.shapes import Shape
from ..functions.gather import as_integers
from ..operands.broadcast import broadcast_shape

MAX_AXES = 64  # of NumPy's arrays


@dataclass
class Key:
    """x[key]: a RESHAPE to `shape`, SLICE, FLIP, then picking through `arrays` and a RESHAPE to the
    axes of the result."""

    shape: list[int] = field(default_factory=list)  # x's, with the axes of each mask joined to one
    slices: list[tuple[int, int, int]] = field(default_factory=list)
    flips: list[int] = field(default_factory=list)
    # (axis of `shape`, integers of any shape or a flat mask)
    arrays: list[tuple[int, Node]] = field(default_factory=list)
    # the result's extents without the axes of the index arrays
    kept: list[int] = field(default_factory=list)
    place: int = 0  # where in `kept` the axes of the index arrays go

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(axis for axis, _ in self.arrays)


def parse(x: Node, key: object) -> Key:
    """The steps of x[key]. Raises IndexError, DTypeError, ShapeError (a slice with step 0)."""
    items = key if isinstance(key, tuple) else (key,)
    used = [_axes_used(item) for item in items]
    if sum(used) > x.ndim:
        hint = "" if x.ndim else ": this is a single number, which .item() reads"
        raise errors.IndexError(
            f"index: {sum(used)} indices for {x.ndim} axes of shape {x.shape}{hint}"
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise errors.IndexError("index: an index may have only one ...")
    k = Key()
    advanced: list[tuple[int, int]] = []  # (number of the item, its place in `kept`)
    axis = 0
    for number, (item, taken) in enumerate(zip(items, used, strict=True)):
        if item is None:
            k.kept.append(1)
        elif item is Ellipsis:
            axis = _add_whole(k, x, axis, x.ndim - sum(used))
        elif isinstance(item, slice):
            _add_slice(k, x.shape[axis], item)
        else:
            advanced.append((number, len(k.kept)))
            _add_picking(k, x, axis, item)
        axis += taken
    _add_whole(k, x, axis, x.ndim - axis)
    if len(k.kept) > MAX_AXES:
        raise errors.IndexError(f"index: the result has more than {MAX_AXES} axes")
    if k.arrays and advanced[-1][0] - advanced[0][0] == len(advanced) - 1:
        k.place = advanced[0][1]
    return k


def _axes_used(item: object) -> int:
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.ndim if isinstance(item, Node) and item.dtype is dt.bool_ else 1


def _add_whole(k: Key, x: Node, axis: int, count: int) -> int:
    """The next axes as they are; the axis after them."""
    for extent in x.shape[axis : axis + count]:
        _add_slice(k, extent, slice(None))
    return axis + count


def _add_slice(k: Key, extent: int, item: slice) -> None:
    start, stop, step = _bounds(item, extent)
    count = len(range(start, stop, step))
    if count < 2:
        step = 1  # it may be too great for an int64
    if step < 0:
        k.flips.append(len(k.shape))
        start, step = start + (count - 1) * step, -step
    k.shape.append(extent)
    k.slices.append((start, min(extent, start + count * step), step) if count else (0, 0, 1))
    k.kept.append(count)


def _bounds(item: slice, extent: int) -> tuple[int, int, int]:
    try:
        return item.indices(extent)
    except errors.WeftError:  # of a Tensor that is no index
        raise
    except ValueError:
        raise errors.ShapeError("index: the step of a slice is 0") from None
    except TypeError:
        raise errors.DTypeError(f"index: the bounds of {item} are not ints") from None


def _add_picking(k: Key, x: Node, axis: int, item: object) -> None:
    """An int, an index array or a mask."""
    place = len(k.shape)
    if isinstance(item, bool):
        item = full(item, dt.bool_, ())
    if isinstance(item, Node) and item.dtype is dt.bool_:
        extents = x.shape[axis : axis + item.ndim]
        if any(i not in (0, extent) for i, extent in zip(item.shape, extents, strict=True)):
            raise errors.IndexError(
                f"index: a mask of shape {item.shape} does not fit {_described(x, axis, extents)}"
            )
        if item.shape != extents:  # an empty mask fits any extent and selects nothing
            item = full(False, dt.bool_, extents)
        k.arrays.append((place, reshape(item, (item.size,))))
        k.shape.append(prod(extents))
        k.slices.append((0, item.size, 1))
    elif isinstance(item, Node):
        if not (item.shape or x.shape[axis]):
            raise errors.IndexError(f"index into axis {axis} of extent 0 of shape {x.shape}")
        k.arrays.append((place, as_integers("index", item)))
        k.shape.append(x.shape[axis])
        k.slices.append((0, x.shape[axis], 1))
    else:
        i = _position(x, axis, item)
        k.shape.append(x.shape[axis])
        k.slices.append((i, i + 1, 1))


def _described(x: Node, axis: int, extents: Shape) -> str:
    if len(extents) == x.ndim:
        return f"shape {x.shape}"
    return f"extents {extents} of the axes from {axis} on of shape {x.shape}"


def _position(x: Node, axis: int, item: Any) -> int:
    try:
        i = index(item)
    except TypeError:
        raise errors.DTypeError(
            f"index: {brief(item)} is neither an int, a slice, None, ... nor an integer tensor"
        ) from None
    extent = x.shape[axis]
    if not -extent <= i < extent:
        raise errors.IndexError(
            f"index into shape {x.shape}: index {brief(i)} is out of range for axis {axis} of"
            f" extent {extent}"
        )
    return i % extent


def index_shape(name: str, indices: list[Node]) -> Shape:
    """The shape to which index arrays broadcast. Raises IndexError."""
    try:
        return broadcast_shape(name, [i.shape for i in indices])
    except errors.ShapeError as error:
        raise errors.IndexError(str(error)) from None
