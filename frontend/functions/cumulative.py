"""Along an axis: running sums and products, differences; norms. In: Nodes. Out: Nodes. Raises
ShapeError, DTypeError."""

from __future__ import annotations

from math import inf

from ... import errors
from ...ir.gradient.rules import running_product
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ..elementwise.all import absolute, add, as_float, imag, ne, real, square, sub
from ..elementwise.transcendental import power
from ..operands.arguments import Axes, as_bool, as_double, as_int, normalise_axes, normalise_axis
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import Operand, broadcast_to, to_dtype
from ..operands.in_float32 import in_float32
from ..operands.likes import DTypeLike
from . import reductions
from .movement import concat, part
from .products import alike


@runs_in_float32
def cumsum(x: Node, /, axis: int | None = None, dtype: DTypeLike = None) -> Node:
    """Running sum along one axis, or of the flattened x; of bools and integers in 64 bits unless
    dtype says otherwise."""
    return _running("cumsum", Op.SCAN, x, axis, dtype)


@runs_in_float32
def cumprod(x: Node, /, axis: int | None = None, dtype: DTypeLike = None) -> Node:
    """Running product along one axis, or of the flattened x; of bools and integers in 64 bits
    unless dtype says otherwise."""
    return _running("cumprod", Op.SCANMUL, x, axis, dtype)


@runs_in_float32
def cumulative_sum(
    x: Node, /, *, axis: int | None = None, dtype: DTypeLike = None, include_initial: bool = False
) -> Node:
    """Running sum along an axis, which may be left out for a vector; include_initial: a 0 comes
    first, one element more."""
    return _cumulative("cumulative_sum", Op.SCAN, x, axis, dtype, include_initial)


@runs_in_float32
def cumulative_prod(
    x: Node, /, *, axis: int | None = None, dtype: DTypeLike = None, include_initial: bool = False
) -> Node:
    """Running product along an axis, which may be left out for a vector; include_initial: a 1 comes
    first."""
    return _cumulative("cumulative_prod", Op.SCANMUL, x, axis, dtype, include_initial)


def _running(name: str, op: Op, x: Node, axis: int | None, dtype: DTypeLike) -> Node:
    x = reductions.accumulator(x, dtype)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    place = normalise_axis(name, axis, x.ndim)
    if x.dtype is dt.bool_:  # of numbers 0 and 1: "any so far", "all so far"
        return to_dtype(node(op, (to_dtype(x, dt.int64),), place), dt.bool_)
    if x.dtype.is_complex and op is Op.SCANMUL:
        return running_product(x, place)
    return node(op, (x,), place)


def _cumulative(
    name: str, op: Op, x: Node, axis: int | None, dtype: DTypeLike, include_initial: bool
) -> Node:
    if axis is None and x.ndim > 1:
        raise errors.ShapeError(f"{name}: shape {x.shape} has several axes: name one")
    out = _running(name, op, x, axis, dtype)
    if not as_bool(name, "include_initial", include_initial):
        return out
    place = 0 if axis is None else normalise_axis(name, axis, x.ndim)
    first = tuple(1 if a == place else d for a, d in enumerate(out.shape))
    return concat([graph.full(int(op is Op.SCANMUL), out.dtype, first), out], place)


def diff(
    x: Node,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Node:
    """x[1:] - x[:-1] along an axis, n times; of bools whether neighbours differ.

    prepend, append: values put before and after x first; x's shape but for the axis, or a number.
    """
    times = as_int("diff", "n", n)
    place = normalise_axis("diff", axis, x.ndim)
    if times < 0:
        raise errors.ShapeError(f"diff: {times} is a negative number of times")
    if not times:
        return x
    parts = alike("diff", *(p for p in (prepend, x, append) if p is not None))
    edge = tuple(1 if a == place else d for a, d in enumerate(x.shape))
    x = concat([p if p.ndim else broadcast_to(p, edge) for p in parts], place)
    for _ in range(min(times, x.shape[place])):
        later, earlier = part(x, place, 1, x.shape[place]), part(x, place, 0, x.shape[place] - 1)
        x = ne(later, earlier) if x.dtype is dt.bool_ else sub(later, earlier)
    return x


@runs_in_float32
@in_float32
def norm(x: Node, /, ord: float = 2, axis: Axes = None, keepdims: bool = False) -> Node:
    """The norm sum(|x| ** ord) ** (1 / ord) of the elements along the axes; inf and -inf: greatest
    and least |x|; 0: how many are not 0. Its gradient at a vector of zeros is 0.
    """
    x = as_float(x)
    order = as_double("norm", "ord", ord)
    axes = normalise_axes("norm", axis, x.ndim)
    if order in (inf, -inf):
        return (reductions.max if order > 0 else reductions.min)(absolute(x), axes, keepdims)
    if order == 0:
        return to_dtype(reductions.sum(ne(x, 0), axes, keepdims), x.dtype.part)
    if x.dtype.is_complex and order == 2:
        x = add(square(real(x)), square(imag(x)))
        return reductions.root(reductions.sum(x, axes, keepdims))
    powers = power(x, 2) if order == 2 else power(absolute(x), order) if order != 1 else absolute(x)
    total = reductions.sum(powers, axes, keepdims)
    if order == 1:
        return total
    if order < 0:
        return power(total, 1 / order)
    return reductions.root(total, order)
