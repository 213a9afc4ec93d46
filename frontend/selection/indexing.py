"""Indexing. In: a Node and what stands between the brackets. Out: a Node, for an assignment too:
the new value of the whole.

Ints, slices, None and ... make views. Index arrays make a GATHER; a mask that is read becomes the
positions of its Trues, which computes it. An assignment chooses between the new values and the old
ones; by a mask it computes nothing, unless the values are as many as the Trues.
"""

from __future__ import annotations

import weakref
from functools import reduce
from math import prod

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.graph import Node, node
from ...ir.graph.negative_indices import wrapped
from ...ir.graph.op import Op
from ...ir.graph.rewrite import constant_of
from ...ir.graph.shapes import Shape
from ...ir.graph.site import provenance, user_site
from ...runtime.memory import storage
from ..elementwise.all import bit_and, clip, eq, where
from ..functions.gather import axes_to, is_written, last_writer, picked, replaced, site_of
from ..functions.movement import reordered
from ..lazy import state
from ..lazy.new_tensor import wrap
from ..lazy.realize import realize
from ..operands.broadcast import Operand, as_node, broadcast_to, spread
from .index_key import Key, index_shape, parse
from .nonzero import MOST_REMEMBERED, positions

# by mask, as the positions are: made of these alone, not of the mask
_known: weakref.WeakKeyDictionary[Node, Node] = weakref.WeakKeyDictionary()
Line = tuple[str, int]  # of a file


def getitem(x: Node, key: object, name: str | None = None) -> Node:
    """x[key]; `name` is the array's in errors. Raises IndexError, DTypeError, ShapeError."""
    k = parse(x, key)
    region = _region(x, k)
    if not k.arrays:
        return graph.reshape(region, tuple(k.kept))
    with provenance(site_of("index into", x, name)):
        indices = _indices(region, k)
        _check_if_empty(region, indices, k)
        _check_positions(region, indices, k)
        out = picked(region, indices, k.axes)
        count = indices[0].ndim
        return axes_to(graph.reshape(out, (*indices[0].shape, *k.kept)), count, k.place)


def _region(x: Node, k: Key) -> Node:
    """What the ints and slices leave of x; every axis is still there, those of a mask joined."""
    x = graph.reshape(x, tuple(k.shape))
    if any(s != (0, d, 1) for s, d in zip(k.slices, k.shape, strict=True)):
        x = node(Op.SLICE, (x,), tuple(k.slices))
    return node(Op.FLIP, (x,), tuple(k.flips)) if k.flips else x


def _indices(region: Node, k: Key) -> list[Node]:
    """The index arrays as int64 of one shape; masks are computed."""
    integers = [
        _trues(i) if i.dtype is dt.bool_ else wrapped(i, region.shape[axis]) for axis, i in k.arrays
    ]
    shape = index_shape("index", integers)
    return [broadcast_to(i, shape) for i in integers]


def _trues(mask: Node) -> Node:
    """The positions of the Trues of a flat mask."""
    trues = _known.get(mask)
    if trues is None:
        known = constant_of(mask)
        if known is not None:
            return node(Op.IOTA, (), mask.size if known else 0)
        # changes nothing, but shows that no bounds check is needed
        trues = clip(positions(mask), 0, mask.size - 1)
        if mask.size <= MOST_REMEMBERED:
            _known[mask] = trues
    return trues


# ---------------------------------------------------------------- assignment


def setitem(x: Node, key: object, value: Operand, name: str | None = None) -> Node:
    """x with x[key] = value, cast to x's dtype and broadcast; of equal index arrays the last one
    counts.

    Raises IndexError, DTypeError, ShapeError.
    """
    k = parse(x, key)
    region, new = _region(x, k), as_node("assignment", value, x.dtype)
    places = _places_that_vary(k)
    with provenance(site_of("assignment into", x, name)):
        if places:
            return _put_at(
                x,
                places,
                graph.reshape(_fitted(_trimmed(new, len(k.kept)), tuple(k.kept)), region.shape),
            )
        if k.arrays:
            new = _with_values(region, k, new)
        else:
            new = graph.reshape(_fitted(_trimmed(new, len(k.kept)), tuple(k.kept)), region.shape)
        return graph.reshape(_put_back(graph.reshape(x, tuple(k.shape)), region, k, new), x.shape)


def _put_back(x: Node, region: Node, k: Key, new: Node) -> Node:
    """x with its region replaced."""
    if region is x:
        return new
    return where(
        _spread_out(x, k, graph.full(True, dt.bool_, region.shape)), _spread_out(x, k, new), x
    )


_last_places: dict[Line, dict[int, int]] = {}  # by line: where it has assigned


def _places_that_vary(k: Key) -> dict[int, int]:
    """The position on each axis where x[i] = v, x[:, j] = v assign, if the line did so elsewhere
    before: a loop over positions is one program if they are inputs. A traced function keeps them,
    as it is one program anyway."""
    ends = list(zip(k.slices, k.shape, strict=True))
    whole = [s == (0, d, 1) for s, d in ends]
    if (
        k.arrays
        or k.flips
        or not all(w or s[1] == s[0] + 1 for w, (s, _) in zip(whole, ends, strict=True))
    ):
        return {}
    places = {axis: s[0] for axis, (s, _) in enumerate(ends) if not whole[axis]}
    line = user_site()
    if line is None or not places or (state.traces and state.trace() is not None):
        return {}
    before = _last_places.get(line[:2])
    _last_places[line[:2]] = places
    return (
        places if before is not None and before != places and before.keys() == places.keys() else {}
    )


def _put_at(x: Node, places: dict[int, int], new: Node) -> Node:
    """x with the value, of extent 1 on these axes, at the places."""
    hits = []
    for axis, place in places.items():
        at = graph.expand_to(storage.scalar_leaf(place, dt.int64), (x.shape[axis],))
        hits.append(spread(eq(node(Op.IOTA, (), x.shape[axis]), at), [axis], x.shape))
    return where(reduce(bit_and, hits), broadcast_to(new, x.shape), x)


def _spread_out(x: Node, k: Key, value: Node) -> Node:
    """The adjoint of _region: the value at its place in x's shape, zeros elsewhere."""
    if k.flips:
        value = node(Op.FLIP, (value,), tuple(k.flips))
    margins = []
    for (start, _, step), count, d in zip(k.slices, value.shape, x.shape, strict=True):
        reach = (count - 1) * step + 1 if count else 0
        margins.append((start, d - start - reach, step - 1))
    return node(Op.PAD, (value,), tuple(margins))


def _with_values(region: Node, k: Key, value: Node) -> Node:
    """The region with the value at what the index arrays and masks select."""
    (axis, mask), *others = k.arrays
    if not others and mask.dtype is dt.bool_:
        value = _trimmed(value, len(k.kept) + 1)
        same = _same_for_all(value, k, 1)
        if same is not None:
            shown = str((*k.kept[: k.place], "Trues", *k.kept[k.place :])).replace("'", "")
            new = _fitted(same, tuple(k.kept), value, shown)
            return where(spread(mask, [axis], region.shape), _beside(region, k, new), region)
    indices = _indices(region, k)
    shape, count = indices[0].shape, indices[0].ndim
    whole = (*k.kept[: k.place], *shape, *k.kept[k.place :])
    value = _trimmed(value, len(whole))
    new = _fitted(value, whole)
    if not prod(shape):
        _check_positions(region, indices, k)
        return region
    _check_if_empty(region, indices, k)
    if not count:  # of numbers alone
        return node(Op.PUT, (region, new, *indices), k.axes)
    same = _same_for_all(value, k, count)
    if same is not None:
        hit = broadcast_to(is_written(last_writer(region, indices, k.axes)), region.shape)
        return where(hit, _beside(region, k, broadcast_to(same, tuple(k.kept))), region)
    order = (*range(k.place, k.place + count), *range(k.place), *range(k.place + count, len(whole)))
    rows = graph.reshape(reordered(new, order), (prod(shape), *_others(region, k)))
    return replaced(region, indices, k.axes, rows)


def _check_if_empty(region: Node, indices: list[Node], k: Key) -> None:
    """Where nothing is selected no program will check the indices later: it is done at once."""
    if indices[0].size and not region.size:
        realize(wrap(last_writer(region, indices, k.axes)))


def _check_positions(region: Node, indices: list[Node], k: Key) -> None:
    """Checks the 0-d index arrays at once where empty ones beside them select nothing, as NumPy
    does."""
    if not indices[0].size:
        for axis, index in k.arrays:
            if index.shape == () and index.dtype is not dt.bool_:
                realize(wrap(last_writer(region, [wrapped(index, region.shape[axis])], (axis,))))


def _trimmed(value: Node, ndim: int) -> Node:
    """Without leading axes of extent 1 beyond ndim."""
    extra = value.ndim - ndim
    return (
        graph.reshape(value, value.shape[extra:])
        if extra > 0 and value.shape[:extra] == (1,) * extra
        else value
    )


def _fitted(value: Node, shape: Shape, given: Node | None = None, shown: str = "") -> Node:
    """The value broadcast to the shape; an error shows `given` and `shown` in their place."""
    behind = shape[len(shape) - value.ndim :]
    if value.ndim > len(shape) or any(
        d not in (1, e) for d, e in zip(value.shape, behind, strict=True)
    ):
        own, wanted = (given or value).shape, shown or shape
        raise errors.ShapeError(
            f"assignment: could not broadcast a value of shape {own} into the selected shape"
            f" {wanted}"
        )
    return broadcast_to(value, shape)


def _same_for_all(value: Node, k: Key, count: int) -> Node | None:
    """The value without the `count` axes of the index arrays, where it does not vary along them."""
    lead = len(k.kept) + count - value.ndim
    along = range(max(k.place - lead, 0), max(k.place + count - lead, 0))
    if lead < 0 or any(value.shape[axis] != 1 for axis in along):
        return None
    return graph.reshape(value, tuple(d for axis, d in enumerate(value.shape) if axis not in along))


def _beside(region: Node, k: Key, value: Node) -> Node:
    """A value of the shape `kept` repeated along the axes of the index arrays."""
    return graph.expand(
        graph.reshape(value, _others(region, k)), tuple((a, region.shape[a]) for a in k.axes)
    )


def _others(region: Node, k: Key) -> Shape:
    """The extents of the region's axes without index arrays."""
    return tuple(d for axis, d in enumerate(region.shape) if axis not in k.axes)
