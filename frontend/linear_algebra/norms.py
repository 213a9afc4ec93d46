"""Norms of vectors and matrices, condition numbers. In: Nodes. Out: Nodes."""

from __future__ import annotations

from math import inf

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, full, reshape
from ..elementwise.all import absolute, div, mul
from ..functions import cumulative, reductions
from ..functions.movement import moveaxis
from ..operands.arguments import Axes, as_bool, as_double, axes_in_order
from .calls import matrices, of_floats, square
from .equations import inv
from .factorisations import svdvals

ORDERS = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"


@of_floats
def vector_norm(x: Node, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Node:
    """sum(|x| ** ord) ** (1 / ord) of the elements along the axes, by default all; inf and -inf:
    greatest and least |x|; 0: how many are not 0. Its gradient at a vector of zeros is 0."""
    return cumulative.norm(x, ord, axis, keepdims)


@of_floats
def matrix_norm(x: Node, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Node:
    """The norm of matrices (.., m, n). "fro": the root of the sum of squares; "nuc": the sum of
    singular values; 2 and -2: the greatest and least of these; 1 and -1: the greatest and least sum
    of |x| along columns, inf and -inf: along rows.

    Raises ShapeError, ArgumentError.
    """
    kept = as_bool("matrix_norm", "keepdims", keepdims)
    return _of_matrices("matrix_norm", matrices("matrix_norm", x), ord, kept)


def _of_matrices(name: str, x: Node, ord: object, keepdims: bool) -> Node:
    word = ord if isinstance(ord, str) else None
    if ord is None or word == "fro":
        return cumulative.norm(x, 2, (-2, -1), keepdims)
    out = _nuclear(x) if word == "nuc" else _of_order(name, x, ord)
    return reshape(out, (*x.shape[:-2], 1, 1)) if keepdims else out


def _nuclear(x: Node) -> Node:
    return reductions.sum(svdvals(x), -1)


def _of_order(name: str, x: Node, ord: object) -> Node:
    order = None if isinstance(ord, str) else as_double(name, "ord", ord)
    if order not in (1, -1, 2, -2, inf, -inf):
        raise errors.ArgumentError(f"{name}: ord must be {ORDERS}, not {brief(ord)}")
    assert order is not None
    if abs(order) == 2:
        values = svdvals(x)
    else:
        values = reductions.sum(absolute(x), -2 if abs(order) == 1 else -1)
    if not values.shape[-1] and order > 0:
        return full(0, x.dtype.part, x.shape[:-2])
    return (reductions.max if order > 0 else reductions.min)(values, -1)


@of_floats
def norm(
    x: Node, /, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> Node:
    """As numpy.linalg.norm: with an order and two axes (or a matrix and no axis) that of matrices,
    as `matrix_norm` has it, else that of the elements along the axes, as `vector_norm` has it.
    Without an order, the root of the sum of squares of all of them.

    Raises ShapeError, ArgumentError.
    """
    if ord is None:
        return cumulative.norm(x, 2, axis, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axes_in_order("norm", axis, x.ndim)
    if len(axes) == 1:
        return cumulative.norm(x, as_double("norm", "ord", ord), axes, keepdims)
    if len(axes) != 2:
        raise errors.ShapeError(f"norm: an order needs one axis or two, not {len(axes)}")
    out = _of_matrices("norm", moveaxis(x, axes, (-2, -1)), ord, False)
    kept = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    return reshape(out, kept) if as_bool("norm", "keepdims", keepdims) else out


@of_floats
def cond(x: Node, /, p: float | str | None = None) -> Node:
    """The condition number of matrices: norm(x) * norm(inv(x)) in a norm of `matrix_norm`; of order
    2, which None is too, the greatest singular value by the least, of any shape.

    Raises ShapeError, ArgumentError.
    """
    order = 2.0 if p is None else p if isinstance(p, str) else as_double("cond", "p", p)
    if order in (2, -2):
        s = svdvals(matrices("cond", x))
        if not s.shape[-1]:
            raise errors.ShapeError(f"cond: there is none of shape {x.shape}")
        greatest, least = reductions.max(s, -1), reductions.min(s, -1)
        return div(least, greatest) if order == -2 else div(greatest, least)
    x = square("cond", x)
    return mul(_of_matrices("cond", x, order, False), _of_matrices("cond", inv(x), order, False))
