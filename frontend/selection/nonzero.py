"""Values that decide shapes: where a mask holds, how often a number occurs. In: Nodes. Out: Nodes;
most compute at once."""

from __future__ import annotations

import weakref

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, cast, node, reshape
from ...ir.graph.op import Op
from ...ir.graph.shapes import addressable
from ...runtime.memory import storage
from ..elementwise.all import floordiv, invert, mod, reversed_order
from ..functions import reductions
from ..functions.movement import part, stack
from ..lazy import realize
from ..lazy.new_tensor import wrap
from ..operands.arguments import Axes, as_int, normalise_axes
from ..operands.broadcast import Operand, as_dtype, to_dtype

MOST_REMEMBERED = 1 << 16  # elements of a mask whose positions are kept as long as that is
# by mask: `x[m], y[m], z[m] = ...` finds them once
_known: weakref.WeakKeyDictionary[Node, Node] = weakref.WeakKeyDictionary()


def computed(*nodes: Node) -> list[Node]:
    """The values of the Nodes, in memory, from one program."""
    tensors = [wrap(n) for n in nodes]
    realize.realize(*tensors)
    # one Leaf for one memory
    return [t.node if t.node.op is Op.INPUT else storage.leaf(realize.value(t)) for t in tensors]


def number(n: Node) -> int:
    """The integer that a 0-d Node is."""
    return int(wrap(n).item())


def positions(mask: Node) -> Node:
    """int64 flat row-major positions of the Trues, shape (how many,): a view of memory. Realises
    the mask's pending values."""
    if not mask.size:
        return graph.full(0, dt.int64, (0,))
    trues = _known.get(mask)
    if trues is None:
        order, count = trues_first(mask)
        trues = part(order, 0, 0, number(count))
        if mask.size <= MOST_REMEMBERED:
            _known[mask] = trues
    return trues


def trues_first(mask: Node, *others: Node) -> list[Node]:
    """All flat positions of a mask that is not empty, those of the Trues in front; the number of
    Trues; the other values.

    In memory, from one program. The order is that of a stable sort.
    """
    flat = reshape(mask, (mask.size,))
    order = node(Op.ARGSORT, (invert(flat),), (0, False))
    return computed(order, graph.reduce("add", cast(flat, dt.int64), (0,)), *others)


def flatnonzero(x: Node) -> Node:
    """int64 positions of the elements of the flattened x that are not 0 (NaN is not). Realises
    x."""
    return positions(to_dtype(x, dt.bool_))


def nonzero(x: Node) -> tuple[Node, ...]:
    """For each axis the int64 indices of the elements that are not 0 (NaN is not), in row-major
    order. Realises x.

    Raises ShapeError for a 0-d x.
    """
    if not x.ndim:
        raise errors.ShapeError(
            "nonzero: a 0-d tensor has no axis to index; compare it with 0 instead"
        )
    return _unravelled(flatnonzero(x), x.shape)


def _unravelled(place: Node, shape: tuple[int, ...]) -> tuple[Node, ...]:
    out = []
    for extent in reversed(shape[1:]):
        out.append(mod(place, max(extent, 1)))
        place = floordiv(place, max(extent, 1))
    return (place, *reversed(out))


def argwhere(x: Node) -> Node:
    """The int64 index of each element that is not 0, in row-major order: shape (how many, axes of
    x). Realises x."""
    places = flatnonzero(x)
    if not x.ndim:
        return graph.full(0, dt.int64, (places.size, 0))
    return stack(_unravelled(places, x.shape), 1)


def count_nonzero(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The number of elements that are not 0 (NaN is not 0), int64; lazy."""
    axes = normalise_axes("count_nonzero", axis, x.ndim)
    return reductions.sum(to_dtype(x, dt.bool_), axes, keepdims, dtype=as_dtype(int))


def bincount(x: Node, weights: Operand | None = None, minlength: int = 0) -> Node:
    """How often each of 0 .. max(x) occurs in a 1-d x of integers, as int64; or the sums of their
    weights. Realises x.

    At least `minlength` results. Raises ShapeError unless x is 1-d and weights have its shape,
    DTypeError unless x is of integers, IndexError for negative elements.
    """
    _check_bins(x, weights, minlength)
    length = as_int("bincount", "minlength", minlength)
    if x.size:
        highest = graph.reduce("max", x, (0,))
        lowest = reversed_order(graph.reduce("max", reversed_order(x), (0,)))
        low, high, x = computed(lowest, highest, x)
        if number(low) < 0:
            raise errors.IndexError(
                f"bincount: {number(low)} is negative, only 0 and above are counted"
            )
        length = max(length, number(high) + 1)
    values = graph.full(1, dt.int64, x.shape) if weights is None else weights
    assert isinstance(values, Node)
    return node(Op.SCATTER, (values, cast(x, dt.int64)), ((0,), addressable("bincount", (length,))))


def _check_bins(x: Node, weights: Operand | None, minlength: int) -> None:
    if x.ndim != 1:
        raise errors.ShapeError(f"bincount: x must be 1-d, not of shape {x.shape}")
    if not x.dtype.is_int:
        raise errors.DTypeError(f"bincount: x must be of integers, not {x.dtype.name}")
    if weights is not None and not isinstance(weights, Node):
        raise errors.DTypeError(f"bincount: weights must be a tensor, not {brief(weights)}")
    if weights is not None and weights.shape != x.shape:
        raise errors.ShapeError(
            f"bincount: weights of shape {weights.shape} do not fit x of shape {x.shape}"
        )
    if as_int("bincount", "minlength", minlength) < 0:
        raise errors.ShapeError(f"bincount: minlength must be 0 or more, not {minlength}")
