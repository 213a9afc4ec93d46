"""Picking and replacing by integer arrays. In: Nodes. Out: a Node: GATHERs, SCATTERs and their
broadcasting.

Negative indices count from the end except in gather and scatter_add. What is out of range raises
IndexError when it is computed, from a check that runs before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, cast, node
from ...ir.graph.negative_indices import wrapped
from ...ir.graph.op import Op
from ...ir.graph.site import Site, provenance, user_site
from ...runtime.memory import storage
from ..elementwise.all import add, maximum, mul, where
from ..operands.arguments import as_int, as_ints, as_sequence, as_shape, normalise_axis
from ..operands.broadcast import (
    Operand,
    as_node,
    broadcast_shape,
    broadcast_to,
    common_dtype,
    spread,
)
from ..operands.likes import Nested
from .movement import reordered, stack

Label = str | None  # the name of the first Tensor, which frontend/tensor/binding.py fills in


def site_of(what: str, x: Node, name: str | None) -> Site | None:
    """The user's line, with what a bounds check says is indexed: the array by its name, if it has
    one, and its shape."""
    site = user_site()
    if site is None:
        return None
    if (
        name is None
        and x.op is Op.INPUT
        and isinstance(x.arg, storage.Leaf)
        and x.arg.owner is not None
    ):
        owner = x.arg.owner()
        name = None if owner is None else owner.name
    return (
        site[0],
        site[1],
        f"{what} {name!r} of shape {x.shape}" if name else f"{what} shape {x.shape}",
    )


def picked(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """The GATHER, unless it would pick from nothing."""
    _require_elements(x, indices, axes)
    return node(Op.GATHER, (x, *indices), axes)


def _require_elements(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> None:
    for axis in axes:
        if x.shape[axis] == 0 and indices[0].size:
            raise errors.IndexError(f"index into axis {axis} of extent 0 of shape {x.shape}")


def axes_to(x: Node, count: int, place: int) -> Node:
    """The first `count` axes moved after the next `place` ones."""
    if not place:
        return x
    return reordered(
        x, (*range(count, count + place), *range(count), *range(count + place, x.ndim))
    )


def _indices(name: str, x: object) -> Node:
    """An integer Node, also from an int, from ints or from integer Nodes in a sequence."""
    if isinstance(x, range):
        x = as_sequence(name, "a range of indices", x)
    if isinstance(x, (list, tuple)) and _holds_node(x):
        return stack([_indices(name, i) for i in x])
    if isinstance(x, (int, list, tuple)) and not isinstance(x, bool):
        x = _leaf(name, x)
        x = x if x.size else cast(x, dt.int64)
    if not isinstance(x, Node):
        raise errors.DTypeError(f"{name}: expected an integer tensor, got {type(x).__name__}")
    return as_integers(name, x)


def _holds_node(x: object) -> bool:
    return isinstance(x, Node) or (isinstance(x, (list, tuple)) and any(map(_holds_node, x)))


def _leaf(name: str, x: object) -> Node:
    """Python numbers, nested in sequences, as a value in memory."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise errors.ShapeError(f"{name}: the nested lists are not of equal lengths") from None
    dtype = dt.from_numpy(array.dtype)
    if dtype is None:
        raise errors.DTypeError(f"{name}: expected numbers, got {brief(x)}")
    return storage.operand(storage.from_array(array, dtype, copy=True))


# ---------------------------------------------------------------- picking


def take(x: Node, indices: Nested, axis: int | None = None, *, name: Label = None) -> Node:
    """x[..., indices, ...] along one axis, or of the flattened x; shape: that of the indices in the
    place of the axis.

    indices: integers of any shape. Raises IndexError, DTypeError, ShapeError.
    """
    if axis is None:
        x, a = graph.reshape(x, (x.size,)), 0
    else:
        a = normalise_axis("take", axis, x.ndim)
    places = _indices("take", indices)
    with provenance(site_of("take from", x, name)):
        return axes_to(picked(x, [wrapped(places, x.shape[a])], (a,)), places.ndim, a)


def gather(
    x: Node, indices: Nested, axis: int | Sequence[int] = (0,), *, name: Label = None
) -> Node:
    """The elements of x at these indices of an axis, or of several axes: rows of a table by their
    numbers.

    indices: integers for one axis, also in nested lists, or a tuple of such, or a list of Tensors,
    which broadcast, with one for each of several axes. Shape: that of the indices, then the other
    axes of x. Indices must lie in 0 .. extent-1; what does not raises IndexError when it is
    computed. Raises DTypeError, ShapeError. (The function that PyTorch calls gather is
    wf.take_along_axis.)

    >>> x = wf.tensor([[1, 2, 3], [4, 5, 6]])
    >>> wf.gather(x, [1, 0, 1]).tolist()
    [[4, 5, 6], [1, 2, 3], [4, 5, 6]]
    >>> wf.gather(x, ([1, 0], [2, 0]), axis=(0, 1)).tolist()
    [6, 1]
    """
    axes, places = _along_axes("gather", x, indices, axis)
    with provenance(site_of("gather from", x, name)):
        return picked(x, places, axes)


def _along_axes(
    function: str, x: Node, indices: Nested, axis: int | Sequence[int]
) -> tuple[tuple[int, ...], list[Node]]:
    """The axes, and for each its indices as int64 of one shape."""
    if getattr(axis, "ndim", 0):
        raise errors.DTypeError(
            f"{function}: axis must be an int or several, not {brief(axis)}; {_AS_TORCH[function]}"
        )
    wanted = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = tuple(normalise_axis(function, a, x.ndim) for a in wanted)
    several = (
        _by_axis(indices) if len(places) == 1 or not isinstance(indices, (tuple, list)) else indices
    )
    if len(several) != len(places) or len(set(places)) != len(places) or not places:
        raise errors.ShapeError(
            f"{function}: {len(several)} indices for axes {wanted} of shape {x.shape}"
        )
    integers = [cast(_indices(function, i), dt.int64) for i in several]
    shape = broadcast_shape(function, [i.shape for i in integers])
    return places, [broadcast_to(i, shape) for i in integers]


def _by_axis(indices: object) -> Sequence[object]:
    """The indices of each axis, of which there is one: the parts of a tuple or of a list of
    Tensors, else the whole."""
    if isinstance(indices, tuple) and not all(
        type(i) is int or isinstance(i, np.integer) for i in indices
    ):
        return indices
    return (
        indices
        if isinstance(indices, list) and indices and all(isinstance(i, Node) for i in indices)
        else (indices,)
    )


# what to write for PyTorch's functions of these names, which take (x, dim, index, ..)
_AS_TORCH = {
    "gather": "for one index per element of the result write wf.take_along_axis(x, indices, axis)",
    "scatter_add": (
        "for one index per value write wf.scatter_add(x, (rows, columns), values, (0, 1)), rows and"
        " columns broadcast"
    ),
}


def take_along_axis(x: Node, indices: Nested, axis: int | None = -1, *, name: Label = None) -> Node:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on; the other axes of x and
    indices broadcast.

    axis None: of the flattened x, by 1-d indices. Raises IndexError, DTypeError, ShapeError.
    """
    if axis is None:
        x, axis = graph.reshape(x, (x.size,)), 0
    integers, a = (
        _indices("take_along_axis", indices),
        normalise_axis("take_along_axis", axis, x.ndim),
    )
    with provenance(site_of("take_along_axis from", x, name)):
        return picked(x, _along("take_along_axis", x, integers, a), tuple(range(x.ndim)))


def put_along_axis(
    x: Node, indices: Nested, values: Operand, axis: int, *, name: Label = None
) -> Node:
    """x with x[i, indices[i, j, k], k] = values[i, j, k] for axis 1, and so on; of equal places the
    last one counts.

    values: cast to x's dtype, broadcast to the shape of the indices. Raises IndexError, DTypeError,
    ShapeError.
    """
    integers, a = (
        _indices("put_along_axis", indices),
        normalise_axis("put_along_axis", axis, x.ndim),
    )
    with provenance(site_of("put_along_axis into", x, name)):
        places = _along("put_along_axis", x, integers, a)
        shape, new = places[0].shape, as_node("put_along_axis", values, x.dtype)
        if broadcast_shape("put_along_axis", [new.shape, shape]) != shape:
            raise errors.ShapeError(
                f"put_along_axis: values of shape {new.shape} do not fit indices of shape {shape}"
            )
        return replaced(
            x, places, tuple(range(x.ndim)), graph.reshape(broadcast_to(new, shape), (prod(shape),))
        )


def as_strided(
    x: Node, shape: int | Sequence[int], strides: int | Sequence[int], offset: int = 0
) -> Node:
    """Element (i, j, ..) is element offset + i * strides[0] + j * strides[1] + .. of x in row-major
    order.

    Strides count elements and may be 0 or negative. What several elements show collects all their
    gradients. Where `reshape`, `window`, `diagonal` or an index can say it, they are faster: this
    gathers. Raises IndexError for places outside of x, ShapeError, DTypeError.

    >>> wf.as_strided(wf.arange(6), (2, 3), (1, 2)).tolist()
    [[0, 2, 4], [1, 3, 5]]
    """
    extents, steps = as_shape("as_strided", (shape,)), as_ints("as_strided", "strides", strides)
    first = as_int("as_strided", "offset", offset)
    if len(steps) != len(extents):
        raise errors.ShapeError(
            f"as_strided: {len(steps)} strides for the {len(extents)} axes of shape {extents}"
        )
    reach = [s * (d - 1) for s, d in zip(steps, extents, strict=True)]
    least, most = first + sum(min(r, 0) for r in reach), first + sum(max(r, 0) for r in reach)
    if prod(extents) and not 0 <= least <= most < x.size:
        raise errors.IndexError(
            f"as_strided: places {least} to {most} are not all in a Tensor of {x.size} elements"
        )
    place = graph.full(first if prod(extents) else 0, dt.int64, extents)
    for a, (d, step) in enumerate(zip(extents, steps, strict=True)):
        if d > 1 and step:
            place = add(place, spread(mul(node(Op.IOTA, (), d), step), [a], extents))
    return picked(graph.reshape(x, (x.size,)), [place], (0,))


def _along(function: str, x: Node, indices: Node, a: int) -> list[Node]:
    """For each axis of x the index of what is picked, in the shape of the result."""
    beside = [d for k, d in enumerate(x.shape) if k != a]
    beside.insert(a, 1)
    if indices.ndim != x.ndim:
        raise errors.ShapeError(
            f"{function}: indices of shape {indices.shape} do not have as many axes as shape"
            f" {x.shape}"
        )
    shape = broadcast_shape(function, [indices.shape, tuple(beside)])
    places = [spread(node(Op.IOTA, (), d), [k], shape) for k, d in enumerate(x.shape) if k != a]
    places.insert(a, broadcast_to(wrapped(indices, x.shape[a]), shape))
    return places


# ---------------------------------------------------------------- replacing


def replaced(x: Node, indices: Sequence[Node], axes: tuple[int, ...], values: Node) -> Node:
    """x with values[o, ..] at [.., indices[k][o], ..], o counting the elements of the indices; of
    equal places the last counts.

    The greatest o that is scattered to a place is the last that names it, in whatever order they
    are scattered.
    """
    winner = last_writer(x, indices, axes)
    taken = graph.reshape(winner, tuple(x.shape[a] for a in axes))
    chosen = picked(values, [maximum(taken, 0)], (0,))
    order = sorted(
        range(x.ndim), key=(*axes, *(a for a in range(x.ndim) if a not in axes)).__getitem__
    )
    return where(is_written(winner), reordered(chosen, tuple(order)), x)


def last_writer(x: Node, indices: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """At each place along `axes` of x the number of the last element of the indices that names it,
    or a negative number.

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


def scatter_add(
    x: Node,
    indices: Nested,
    values: Operand,
    axis: int | Sequence[int] = (0,),
    *,
    name: Label = None,
) -> Node:
    """A copy of x to which values[i] is added at index indices[i] of the axis, or of several axes;
    repeated indices add up.

    indices: as in gather, in 0 .. extent-1. values: of the shape that gather gives, or broadcast to
    it; the dtype is that of x + values. Raises IndexError when it is computed, DTypeError,
    ShapeError.

    >>> wf.scatter_add(wf.zeros(4), [1, 3, 1], wf.tensor([1.0, 2.0, 3.0])).tolist()
    [0.0, 4.0, 0.0, 2.0]
    """
    axes, places = _along_axes("scatter_add", x, indices, axis)
    dtype = common_dtype("scatter_add", (x, values))
    new = as_node("scatter_add", values, dtype)
    whole = places[0].shape + tuple(d for a, d in enumerate(x.shape) if a not in axes)
    if broadcast_shape("scatter_add", [new.shape, whole]) != whole:
        raise errors.ShapeError(f"scatter_add: values of shape {new.shape} do not fit {whole}")
    with provenance(site_of("scatter_add into", x, name)):
        _require_elements(x, places, axes)
        sums = node(Op.SCATTER, (broadcast_to(new, whole), *places), (axes, x.shape))
        return add(as_node("scatter_add", x, dtype), sums)


def masked_fill(x: Node, mask: Operand, value: Operand) -> Node:
    """value (in x's dtype) where the mask holds, else x; all three broadcast. Raises DTypeError,
    ShapeError."""
    dtype = common_dtype("masked_fill", [mask])
    if dtype is not dt.bool_:
        raise errors.DTypeError(f"masked_fill: expected a bool mask, got {dtype.name}")
    return where(mask, as_node("masked_fill", value, x.dtype), x)


def as_integers(name: str, indices: Node) -> Node:
    """The Node, which must hold integers. Raises DTypeError."""
    if not indices.dtype.is_int:
        raise errors.DTypeError(f"{name}: expected an integer tensor, got {indices.dtype.name}")
    return indices
