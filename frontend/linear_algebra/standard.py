"""Products and diagonals with the standard's signatures: functions that Weft has under other
arguments. In: Nodes. Out: Nodes.

https://data-apis.org/array-api/2024.12/API_specification/linear_algebra_functions.html
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import errors
from ...ir.graph.graph import Node
from ..functions import products, rearrange, vectors
from ..operands.likes import DTypeLike
from .calls import matrices


def cross(x1: Node, x2: Node, /, *, axis: int = -1) -> Node:
    """The cross product of vectors of three elements along an axis; the other axes broadcast."""
    return vectors.cross(x1, x2, axis)


def diagonal(x: Node, /, *, offset: int = 0) -> Node:
    """The diagonals of matrices (.., m, n), moved by the offset to the right."""
    return rearrange.diagonal(matrices("diagonal", x), offset, -2, -1)


def matmul(x1: Node, x2: Node, /) -> Node:
    """x1 @ x2."""
    return products.matmul(x1, x2)


def matrix_transpose(x: Node, /) -> Node:
    """The last two axes swapped."""
    return rearrange.matrix_transpose(x)


def outer(x1: Node, x2: Node, /) -> Node:
    """Every product of an element of one vector with one of the other: (m, n). Raises
    ShapeError."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise errors.ShapeError(f"outer: expected vectors, got shapes {x1.shape} and {x2.shape}")
    return products.outer(x1, x2)


def tensordot(x1: Node, x2: Node, /, *, axes: int | Sequence[int | Sequence[int]] = 2) -> Node:
    """The sum over pairs of axes: the last `axes` of x1 with the first of x2, or those listed."""
    return products.tensordot(x1, x2, axes)


def trace(x: Node, /, *, offset: int = 0, dtype: DTypeLike = None) -> Node:
    """The sums of the diagonals of matrices (.., m, n)."""
    return rearrange.trace(matrices("trace", x), offset, -2, -1, dtype)


def vecdot(x1: Node, x2: Node, /, *, axis: int = -1) -> Node:
    """The sum of products along one axis of both; the other axes broadcast."""
    return products.vecdot(x1, x2, axis)
