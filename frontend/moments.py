"""Means and deviations from them. In: a Node, axes. Out: Nodes, the reduced axes kept with extent 1.

A large mean costs no digits: what its rounding adds to the sum of squares, the square of a mean that should be 0, is taken off
again (Chan, Golub and LeVeque, The American Statistician 37, 1983).
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Node, node, reduce, reshape
from ..ir.op import Op
from .broadcast import spread
from .elementwise import add, detach, div, minimum, mul, sub


def moments(x: Node, axes: tuple[int, ...], near: bool = True) -> tuple[Node, Node, Node]:
    """(the mean m of x, x - m, the sum of the squares of that).

    near: the mean is taken of distances from the first element, so that it is the nearest float whatever their number. A first
    element far from all others does no harm: the sum of squares grows more with it than the rounding does. Without `near`, x is
    read element by element alone, so that whatever computes it stays in the same kernel.
    """
    count, kept = float(prod(x.shape[a] for a in axes)), tuple(d for a, d in enumerate(x.shape) if a not in axes)

    def back(value: Node) -> Node:
        return spread(value, [a for a in range(x.ndim) if a not in axes], x.shape)

    if near and x.size:
        first = detach(reshape(node(Op.SLICE, (x,), tuple((0, 1 if a in axes else d, 1) for a, d in enumerate(x.shape))), kept))
        mean = add(first, div(reduce("add", sub(x, back(first)), axes), count))
    else:
        mean = div(reduce("add", x, axes), count)
    centred = sub(x, back(mean))
    squares, rest = reduce("add", mul(centred, centred), axes), reduce("add", centred, axes)
    total = sub(squares, detach(minimum(div(mul(rest, rest), count), squares)))
    ones = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    return reshape(mean, ones), centred, reshape(total, ones)
