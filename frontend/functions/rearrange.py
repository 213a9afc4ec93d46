"""Elements repeated, shifted, turned, taken apart and on diagonals. In: Nodes, counts, axes. Out:
Nodes. Raises ShapeError."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.graph.shapes import addressable
from ...runtime.memory import storage
from ..operands.arguments import as_int, axes_in_order, flat_ints, normalise_axis
from ..operands.broadcast import broadcast_shape, broadcast_to, to_dtype
from ..operands.likes import DTypeLike, Nested
from . import reductions
from .cumulative import cumsum
from .gather import take
from .movement import concat, flip, moveaxis, part, ravel, reordered, split, swapaxes

# ---------------------------------------------------------------- repeats


def tile(x: Node, /, repetitions: int | Sequence[int], *more: int) -> Node:
    """x laid side by side, repetitions[i] copies along axis i; missing counts or axes in front are
    1."""
    counts = flat_ints("tile", (repetitions, *more))
    if min(counts, default=1) < 0:
        raise errors.ShapeError(f"tile: {counts} has a negative count")
    counts = (1,) * (x.ndim - len(counts)) + counts
    shape = (1,) * (len(counts) - x.ndim) + x.shape
    out = addressable("tile", tuple(c * d for c, d in zip(counts, shape, strict=True)))
    new = tuple((2 * i, c) for i, c in enumerate(counts))
    return graph.reshape(graph.expand(graph.reshape(x, shape), new), out)


def repeat(x: Node, repeats: Nested, /, *more: Nested, axis: int | None = None) -> Node:
    """Every element repeated in place along one axis, or in the flattened x: numpy.repeat.

    repeats: an int for all elements, or one count per element (a Tensor is computed, to know the
    shape of the result).
    """
    if more:
        counts = (repeats, *more)
        raise errors.DTypeError(
            "repeat: takes one count or a list of counts, and axis=; for copies of x use tile(x,"
            f" {brief(counts)})"
        )
    x, place = (ravel(x), 0) if axis is None else (x, normalise_axis("repeat", axis, x.ndim))
    if isinstance(repeats, (tuple, list)) or (isinstance(repeats, Node) and repeats.ndim):
        return _repeated_each(x, repeats, place)
    count = _require_count(as_int("repeat", "the count", repeats))
    shape = addressable(
        "repeat", tuple(d * count if a == place else d for a, d in enumerate(x.shape))
    )
    return graph.reshape(graph.expand(x, ((place + 1, count),)), shape)


def _repeated_each(x: Node, repeats: Nested, axis: int) -> Node:
    """The place in the result determines the element: the number of elements that end before it."""
    counts = _counts(repeats, x.shape[axis])
    total, least = (
        as_int("repeat", "a count", f(counts)) if counts.size else 0
        for f in (reductions.sum, reductions.min)
    )
    _require_count(least)
    addressable("repeat", tuple(total if a == axis else d for a, d in enumerate(x.shape)))
    if not total:
        return part(x, axis, 0, 0)
    ends = cumsum(counts)
    marks = node(Op.SCATTER, (graph.full(1, dt.int64, counts.shape), ends), ((0,), (total + 1,)))
    return take(x, part(cumsum(marks), 0, 0, total), axis)


def _require_count(count: int) -> int:
    if count < 0:
        raise errors.ShapeError(f"repeat: {count} is a negative count")
    return count


def _counts(repeats: Nested, extent: int) -> Node:
    """One count per element as int64."""
    if not isinstance(repeats, Node):
        given = flat_ints("repeat", (repeats,))
        _require_count(min(given, default=0))
        addressable("repeat", (sum(given),))
        numbers = np.array(given, np.int64)
        repeats = storage.operand(storage.from_array(numbers, dt.int64, copy=True))
    if not repeats.dtype.is_int:
        raise errors.DTypeError(f"repeat: counts must be integers, not {repeats.dtype.name}")
    if repeats.shape not in ((), (1,), (extent,)):
        raise errors.ShapeError(f"repeat: counts of shape {repeats.shape} for {extent} elements")
    return broadcast_to(to_dtype(repeats, dt.int64), (extent,))


# ---------------------------------------------------------------- shifts and pieces


def roll(x: Node, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Node:
    """Elements moved by `shift` places along the axes (one shift for all, or one each); what leaves
    comes in on the other side.

    Without an axis the flattened x is shifted.
    """
    shifts = flat_ints("roll", (shift,))
    if axis is None:
        return graph.reshape(_rolled(ravel(x), sum(shifts), 0), x.shape)
    axes = [
        normalise_axis("roll", a, x.ndim)
        for a in (axis if isinstance(axis, (tuple, list)) else (axis,))
    ]
    if len(shifts) not in (1, len(axes)):
        raise errors.ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for a, s in zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=True):
        x = _rolled(x, s, a)
    return x


def _rolled(x: Node, shift: int, axis: int) -> Node:
    extent = x.shape[axis]
    shift %= max(extent, 1)
    return (
        concat([part(x, axis, extent - shift, extent), part(x, axis, 0, extent - shift)], axis)
        if shift
        else x
    )


def flipud(x: Node, /) -> Node:
    """The order of elements along the first axis reversed."""
    return flip(x, 0)


def fliplr(x: Node, /) -> Node:
    """The order of elements along the second axis reversed."""
    return flip(x, 1)


def rot90(x: Node, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Node:
    """x turned k times by 90 degrees, from the first of two axes towards the second. Raises
    ShapeError, AxisError."""
    both = axes_in_order("rot90", axes, x.ndim)
    if len(both) != 2:
        raise errors.ShapeError(f"rot90: axes must be two ints, not {brief(axes)}")
    a, b = both
    match as_int("rot90", "k", k) % 4:
        case 0:
            return x
        case 1:
            return swapaxes(flip(x, b), a, b)
        case 2:
            return flip(x, (a, b))
    return flip(swapaxes(x, a, b), b)


def unstack(x: Node, /, axis: int = 0) -> tuple[Node, ...]:
    """The slices along an axis, without it."""
    place = normalise_axis("unstack", axis, x.ndim)
    shape = x.shape[:place] + x.shape[place + 1 :]
    return tuple(graph.reshape(part(x, place, i, i + 1), shape) for i in range(x.shape[place]))


def chunk(x: Node, /, chunks: int, axis: int = 0) -> list[Node]:
    """At most `chunks` pieces of equal size (the last may be smaller), as torch.chunk."""
    count = as_int("chunk", "the number of chunks", chunks)
    if count < 1:
        raise errors.ShapeError(f"chunk: {count} is not a number of pieces")
    extent = x.shape[normalise_axis("chunk", axis, x.ndim)]
    return split(x, max(1, -(-extent // count)), axis)


def vstack(parts: Sequence[Node], /) -> Node:
    """Joined along the first axis, vectors being rows."""
    return concat([broadcast_to(x, (1,) * (2 - x.ndim) + x.shape) for x in parts], 0)


def hstack(parts: Sequence[Node], /) -> Node:
    """Joined along the second axis, vectors along their only one."""
    parts = [ravel(x) if not x.ndim else x for x in parts]
    return concat(parts, 1 if parts and parts[0].ndim > 1 else 0)


def broadcast_arrays(*arrays: Node) -> tuple[Node, ...]:
    """All repeated to the shape to which they broadcast."""
    shape = broadcast_shape("broadcast_arrays", [x.shape for x in arrays]) if arrays else ()
    return tuple(broadcast_to(x, addressable("broadcast_arrays", shape)) for x in arrays)


def matrix_transpose(x: Node, /) -> Node:
    """The last two axes swapped. Raises ShapeError for fewer than two."""
    if x.ndim < 2:
        raise errors.ShapeError(
            f"matrix_transpose: expected at least two axes, got shape {x.shape}"
        )
    return moveaxis(x, -1, -2)


# ---------------------------------------------------------------- diagonals


def diagonal(x: Node, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The elements whose index on axis2 is that on axis1 + offset, along a new last axis."""
    a, b = axes_in_order("diagonal", (axis1, axis2), x.ndim)
    x = reordered(x, (*(i for i in range(x.ndim) if i not in (a, b)), a, b))
    offset = as_int("diagonal", "the offset", offset)
    top, left = max(-offset, 0), max(offset, 0)
    count = max(0, min(x.shape[-2] - top, x.shape[-1] - left))
    if not count:
        top = left = 0
    x = part(part(x, x.ndim - 2, top, top + count), x.ndim - 1, left, left + count)
    flat = graph.reshape(x, (*x.shape[:-2], count * count))
    return node(
        Op.SLICE, (flat,), (*((0, d, 1) for d in flat.shape[:-1]), (0, count * count, count + 1))
    )


def diag(x: Node, /, k: int = 0) -> Node:
    """The k-th diagonal of a matrix, or a square matrix with this vector there and zeros
    elsewhere."""
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise errors.ShapeError(f"diag: expected a vector or a matrix, got shape {x.shape}")
    k = as_int("diag", "k", k)
    n = x.size
    addressable("diag", (n + abs(k), n + abs(k)))
    square = graph.reshape(node(Op.PAD, (x,), ((0, 0, n),)), (n, n))
    return node(Op.PAD, (square,), ((max(-k, 0), max(k, 0), 0), (max(k, 0), max(-k, 0), 0)))


def trace(
    x: Node, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None
) -> Node:
    """The sum of a diagonal; of bools and integers in 64 bits unless dtype says otherwise."""
    return reductions.sum(diagonal(x, offset, axis1, axis2), -1, dtype=dtype)
