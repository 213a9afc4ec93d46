"""Picking and replacing by integer arrays. In: Nodes. Out: a Node: GATHERs, SCATTERs and their broadcasting.

Negative indices count from the end except in gather and scatter_add. What is out of range raises IndexError when it is
computed, from a check that runs before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import errors
from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, cast, node
from ..ir.op import Op
from ..ir.site import Site, provenance, user_site
from ..ir.wrapped import wrapped
from . import storage
from .arguments import as_sequence, normalise_axis, shown
from .broadcast import Operand, as_node, broadcast_shape, broadcast_to, common_dtype, spread
from .elementwise import add, maximum, where
from .index_key import as_integers
from .movement import reordered, stack

Label = str | None  # the name of the first Tensor, which frontend/binding.py fills in


def site_of(what: str, x: Node, name: str | None) -> Site | None:
    """The user's line, with what a bounds check says is indexed: the array by its name, if it has one, and its shape."""
    site = user_site()
    if site is None:
        return None
    if name is None and x.op is Op.INPUT and isinstance(x.arg, storage.Leaf) and x.arg.owner is not None:
        owner = x.arg.owner()
        name = None if owner is None else owner.name
    return site[0], site[1], f"{what} {name!r} of shape {x.shape}" if name else f"{what} shape {x.shape}"


def picked(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """The GATHER, unless it would pick from nothing."""
    _require_elements(x, indices, axes)
    return node(Op.GATHER, (x, *indices), axes)


def _require_elements(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> None:
    for axis in axes:
        if x.shape[axis] == 0 and indices[0].size:
            raise errors.IndexError(f"index into axis {axis} of extent 0 of shape {x.shape}")


def axes_to(x: Node, count: int, place: int) -> Node:
    """The first `count` axes moved behind the next `place` ones."""
    if not place:
        return x
    return reordered(x, (*range(count, count + place), *range(count), *range(count + place, x.ndim)))


def _indices(name: str, x: Any) -> Node:
    """An integer Node, also from an int, from ints or from integer Nodes in a sequence."""
    if isinstance(x, range):
        x = as_sequence(name, "a range of indices", x)
    if isinstance(x, (list, tuple)) and any(isinstance(i, Node) for i in x):
        return stack([_indices(name, i) for i in x])
    if isinstance(x, (int, list, tuple)) and not isinstance(x, bool):
        x = _leaf(name, x)
        x = x if x.size else cast(x, dt.int64)
    if not isinstance(x, Node):
        raise errors.DTypeError(f"{name}: expected an integer tensor, got {type(x).__name__}")
    return as_integers(name, x)


def _leaf(name: str, x: Any) -> Node:
    """Python numbers, nested in sequences, as a value in memory."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise errors.ShapeError(f"{name}: the nested lists are not of equal lengths") from None
    dtype = dt.from_numpy(array.dtype)
    if dtype is None:
        raise errors.DTypeError(f"{name}: expected numbers, got {shown(x)}")
    return storage.operand(storage.from_array(array, dtype, copy=True))


# ---------------------------------------------------------------- picking


def take(x: Node, indices: Any, axis: int | None = None, *, name: Label = None) -> Node:
    """x[..., indices, ...] along one axis, or of the flattened x; shape: that of the indices in the place of the axis.

    indices: integers of any shape. Raises IndexError, DTypeError, ShapeError.
    """
    if axis is None:
        x, a = graph.reshape(x, (x.size,)), 0
    else:
        a = normalise_axis("take", axis, x.ndim)
    found = _indices("take", indices)
    with provenance(site_of("take from", x, name)):
        return axes_to(picked(x, [wrapped(found, x.shape[a])], (a,)), found.ndim, a)


def gather(x: Node, indices: Any, axes: int | Sequence[int] = (0,), *, name: Label = None) -> Node:
    """out[o, ..] = x[.., indices[k][o], ..] with indices[k] on axis axes[k]: shape of the (broadcast) indices + the other axes.

    indices: integers, or a tuple or list of several. They must lie in 0 .. extent-1; what does not raises IndexError when
    it is computed. Raises DTypeError, ShapeError.
    """
    places, found = _along_axes("gather", x, indices, axes)
    with provenance(site_of("gather from", x, name)):
        return picked(x, found, places)


def _along_axes(function: str, x: Node, indices: Any, axes: int | Sequence[int]) -> tuple[tuple[int, ...], list[Node]]:
    """The axes, and for each its indices as int64 of one shape."""
    several = indices if isinstance(indices, (tuple, list)) else (indices,)
    wanted = axes if isinstance(axes, (tuple, list)) else (axes,)
    places = tuple(normalise_axis(function, a, x.ndim) for a in wanted)
    if len(several) != len(places) or len(set(places)) != len(places) or not places:
        raise errors.ShapeError(f"{function}: {len(several)} indices for axes {wanted} of shape {x.shape}")
    found = [cast(_indices(function, i), dt.int64) for i in several]
    shape = broadcast_shape(function, [i.shape for i in found])
    return places, [broadcast_to(i, shape) for i in found]


def take_along_axis(x: Node, indices: Any, axis: int | None = -1, *, name: Label = None) -> Node:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on; the other axes of x and indices broadcast.

    axis None: of the flattened x, by 1-d indices. Raises IndexError, DTypeError, ShapeError.
    """
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    found, a = _indices("take_along_axis", indices), normalise_axis("take_along_axis", axis, x.ndim)
    with provenance(site_of("take_along_axis from", x, name)):
        return picked(x, _along("take_along_axis", x, found, a), tuple(range(x.ndim)))


def put_along_axis(x: Node, indices: Any, values: Operand, axis: int, *, name: Label = None) -> Node:
    """x with x[i, indices[i, j, k], k] = values[i, j, k] for axis 1, and so on; of equal places the last one counts.

    values: cast to x's dtype, broadcast to the shape of the indices. Raises IndexError, DTypeError, ShapeError.
    """
    found, a = _indices("put_along_axis", indices), normalise_axis("put_along_axis", axis, x.ndim)
    with provenance(site_of("put_along_axis into", x, name)):
        places = _along("put_along_axis", x, found, a)
        shape, new = places[0].shape, as_node("put_along_axis", values, x.dtype)
        if broadcast_shape("put_along_axis", [new.shape, shape]) != shape:
            raise errors.ShapeError(f"put_along_axis: values of shape {new.shape} do not fit indices of shape {shape}")
        return replaced(x, places, tuple(range(x.ndim)), graph.reshape(broadcast_to(new, shape), (prod(shape),)))


def _along(function: str, x: Node, indices: Node, a: int) -> list[Node]:
    """For each axis of x the index of what is picked, in the shape of the result."""
    beside = [d for k, d in enumerate(x.shape) if k != a]
    beside.insert(a, 1)
    if indices.ndim != x.ndim:
        raise errors.ShapeError(f"{function}: indices of shape {indices.shape} have not as many axes as shape {x.shape}")
    shape = broadcast_shape(function, [indices.shape, tuple(beside)])
    places = [spread(node(Op.IOTA, (), d), [k], shape) for k, d in enumerate(x.shape) if k != a]
    places.insert(a, broadcast_to(wrapped(indices, x.shape[a]), shape))
    return places


# ---------------------------------------------------------------- replacing


def replaced(x: Node, indices: Sequence[Node], axes: tuple[int, ...], values: Node) -> Node:
    """x with values[o, ..] at [.., indices[k][o], ..], o counting the elements of the indices; of equal places the last counts.

    The greatest o that is scattered to a place is the last that names it, in whatever order they are scattered.
    """
    winner = last_writer(x, indices, axes)
    taken = graph.reshape(winner, tuple(x.shape[a] for a in axes))
    chosen = picked(values, [maximum(taken, 0)], (0,))
    order = sorted(range(x.ndim), key=(*axes, *(a for a in range(x.ndim) if a not in axes)).__getitem__)
    return where(is_written(winner), reordered(chosen, tuple(order)), x)


def last_writer(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """At each place along `axes` of x the number of the last element of the indices that names it, or a negative number.

    int64, of x's shape with extent 1 for the other axes.
    """
    _require_elements(x, indices, axes)
    rest = x.ndim - len(axes)
    numbers = graph.reshape(node(Op.IOTA, (), indices[0].size), (*indices[0].shape, *(1,) * rest))
    shape = tuple(d if a in axes else 1 for a, d in enumerate(x.shape))
    return node(Op.SCATTER, (numbers, *indices), (axes, shape, "max"))


def is_written(winner: Node) -> Node:
    """Where last_writer found one."""
    return node(Op.LT, (graph.full(-1, dt.int64, winner.shape), winner))


def scatter_add(x: Node, indices: Any, values: Operand, axes: int | Sequence[int] = (0,), *, name: Label = None) -> Node:
    """x with values[o, ..] added at [.., indices[k][o], ..]: the adjoint of gather; repeated indices add up.

    indices: as in gather, in 0 .. extent-1. values: broadcast; the dtype is that of x + values. Raises IndexError when it is
    computed, DTypeError, ShapeError.
    """
    places, found = _along_axes("scatter_add", x, indices, axes)
    dtype = common_dtype("scatter_add", (x, values))
    new = as_node("scatter_add", values, dtype)
    whole = found[0].shape + tuple(d for a, d in enumerate(x.shape) if a not in places)
    if broadcast_shape("scatter_add", [new.shape, whole]) != whole:
        raise errors.ShapeError(f"scatter_add: values of shape {new.shape} do not fit {whole}")
    with provenance(site_of("scatter_add into", x, name)):
        _require_elements(x, found, places)
        sums = node(Op.SCATTER, (broadcast_to(new, whole), *found), (places, x.shape))
        return add(as_node("scatter_add", x, dtype), sums)


def masked_fill(x: Node, mask: Operand, value: Operand) -> Node:
    """value (in x's dtype) where the mask holds, else x; all three broadcast. Raises DTypeError, ShapeError."""
    found = common_dtype("masked_fill", [mask])
    if found is not dt.bool_:
        raise errors.DTypeError(f"masked_fill: expected a bool mask, got {found.name}")
    return where(mask, as_node("masked_fill", value, x.dtype), x)
