"""Means and deviations from them, where a large mean costs no digits. In: a Node, axes. Out: Nodes.

The mean is taken of distances from the first element along the axes, so that it is the nearest
float whatever their number. A first element far from all others does no harm: the sum of squares
grows more with it than the rounding does.
"""

from __future__ import annotations

from math import prod

from ...ir.graph.dtype import largest
from ...ir.graph.graph import Node, deviation_squared, node, reduce, reshape
from ...ir.graph.op import Op
from ..elementwise.all import add, detach, div, minimum, mul, sub
from ..operands.broadcast import spread


def moments(x: Node, axes: tuple[int, ...]) -> tuple[Node, Node, Node]:
    """(the mean m of x, x - m, the sum of the squares of that); the reduced axes of the first and
    the last have extent 1."""
    mean = _mean(x, axes)
    centred = sub(x, _back(mean, axes, x))
    ones = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    return (
        reshape(mean, ones),
        centred,
        reshape(reduce("add", deviation_squared(centred), axes), ones),
    )


def squared_deviations(x: Node, axes: tuple[int, ...]) -> Node:
    """The sum of (x - mean)**2 over the axes, less what the rounding of the mean adds: the square
    of a mean that should be 0 (Chan, Golub and LeVeque, The American Statistician 37, 1983).
    """
    centred = sub(x, _back(_mean(x, axes), axes, x))
    squares, rest = reduce("add", deviation_squared(centred), axes), reduce("add", centred, axes)
    extra = minimum(div(mul(rest, rest), _count(x, axes)), squares)
    # squares beyond all floats stay infinite
    return sub(squares, detach(minimum(extra, largest(x.dtype))))


def _mean(x: Node, axes: tuple[int, ...]) -> Node:
    if not x.size:
        return div(reduce("add", x, axes), _count(x, axes))
    kept = tuple(d for a, d in enumerate(x.shape) if a not in axes)
    first = detach(
        reshape(
            node(
                Op.SLICE, (x,), tuple((0, 1 if a in axes else d, 1) for a, d in enumerate(x.shape))
            ),
            kept,
        )
    )
    return add(first, div(reduce("add", sub(x, _back(first, axes, x)), axes), _count(x, axes)))


def _count(x: Node, axes: tuple[int, ...]) -> float:
    return float(prod(x.shape[a] for a in axes))


def _back(value: Node, axes: tuple[int, ...], x: Node) -> Node:
    """A value for each of the other axes, repeated along these."""
    return spread(value, [a for a in range(x.ndim) if a not in axes], x.shape)
