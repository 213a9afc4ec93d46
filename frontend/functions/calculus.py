"""Derivatives and integrals of samples. In: Nodes along an axis, the distances between them. Out:
Nodes."""

from __future__ import annotations

from typing import TypeGuard

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, reshape
from ..elementwise.all import add, as_float, div, mul, sub
from ..operands.arguments import Axes, as_int, axes_in_order, normalise_axis
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import Operand, as_node, common_dtype
from ..operands.in_float32 import in_float32
from ..operands.likes import Nested
from . import reductions
from .cumulative import diff
from .movement import concat, part

Distance = Node | float  # between neighbours: one for all, or one each


def gradient(
    x: Node, /, *spacing: Nested, axis: Axes = None, edge_order: int = 1
) -> Node | tuple[Node, ...]:
    """The derivative of x along an axis by differences of neighbours: numpy.gradient; a tuple for
    several axes, or all (None).

    spacing: the distance between samples (1), one for all axes or one per axis; or per axis their
    coordinates. Inside the difference is central, at the ends one-sided, of order edge_order, 1 or
    2. A float of x's shape. Raises ShapeError where there are fewer than edge_order + 1 samples,
    ArgumentError, DTypeError, AxisError.

    >>> wf.gradient(wf.tensor([1.0, 2.0, 4.0, 7.0])).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    order = as_int("gradient", "edge_order", edge_order)
    if order not in (1, 2):
        raise errors.ArgumentError(f"gradient: edge_order must be 1 or 2, not {order}")
    axes = tuple(range(x.ndim)) if axis is None else axes_in_order("gradient", axis, x.ndim)
    given = (
        spacing * len(axes)
        if len(spacing) == 1 and _is_number(spacing[0])
        else spacing or (1.0,) * len(axes)
    )
    if len(given) != len(axes):
        raise errors.ArgumentError(f"gradient: {len(spacing)} spacings for {len(axes)} axes")
    slopes = tuple(_derivative(as_float(x), a, h, order) for a, h in zip(axes, given, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _is_number(h: Nested) -> TypeGuard[Operand]:
    return isinstance(h, (int, float)) or (isinstance(h, Node) and not h.ndim)


def _derivative(x: Node, axis: int, spacing: Nested, order: int) -> Node:
    n = x.shape[axis]
    if n <= order:
        raise errors.ShapeError(
            f"gradient: axis {axis} of shape {x.shape} has too few samples for edge_order {order}"
        )
    return _slopes(x, axis, _distances(x, axis, spacing), order)


def _distances(x: Node, axis: int, spacing: Nested) -> Distance:
    """A number, or the distances between neighbours in a shape that broadcasts with x."""
    if _is_number(spacing):
        return (
            as_node("gradient", spacing, x.dtype) if isinstance(spacing, Node) else float(spacing)
        )
    if not isinstance(spacing, Node) or spacing.shape != (x.shape[axis],):
        what = f"of shape {spacing.shape}" if isinstance(spacing, Node) else brief(spacing)
        raise errors.ShapeError(
            f"gradient: coordinates along axis {axis} must be a vector of {x.shape[axis]}, not"
            f" {what}"
        )
    return reshape(
        as_node("gradient", diff(spacing), x.dtype),
        (-1 + x.shape[axis], *(1,) * (x.ndim - 1 - axis)),
    )


@in_float32
def _slopes(x: Node, axis: int, distance: Distance, order: int) -> Node:
    """Slopes between neighbours, and at each sample that of the parabola through it and its
    neighbours."""
    n = x.shape[axis]

    def cut(y: Node, start: int, stop: int) -> Node:
        """Some elements along the axis, which the distances begin with."""
        return part(y, y.ndim - x.ndim + axis, start, stop)

    between = div(sub(cut(x, 1, n), cut(x, 0, n - 1)), distance)
    if isinstance(distance, Node) and distance.ndim:
        d0, d1 = cut(distance, 0, n - 2), cut(distance, 1, n - 1)
        s0, s1 = cut(between, 0, n - 2), cut(between, 1, n - 1)
        inside = div(add(mul(s0, d1), mul(s1, d0)), add(d0, d1))
    else:
        inside = div(
            sub(cut(x, 2, n), cut(x, 0, n - 2)),
            mul(distance, 2.0) if isinstance(distance, Node) else 2.0 * distance,
        )
    first, last = cut(between, 0, 1), cut(between, n - 2, n - 1)
    if order == 2:
        first = sub(mul(first, 2.0), cut(inside, 0, 1))
        last = sub(mul(last, 2.0), cut(inside, n - 3, n - 2))
    return concat([first, inside, last], axis)


@runs_in_float32
@in_float32
def trapezoid(y: Node, x: Node | None = None, dx: Operand = 1.0, axis: int = -1) -> Node:
    """The integral of y along an axis by the trapezoidal rule: numpy.trapezoid.

    x: coordinates, along the axis or of y's shape; without them samples are dx apart. Raises
    ShapeError, AxisError.

    >>> wf.trapezoid(wf.tensor([1.0, 2.0, 3.0]), dx=2.0).item()
    8.0
    """
    place = normalise_axis("trapezoid", axis, y.ndim)
    y, n = as_float(y), y.shape[place]
    width: Operand = dx
    if x is not None:
        shape = (n, *(1,) * (y.ndim - 1 - place)) if x.ndim == 1 else x.shape
        if x.ndim == 1 and x.size != n:
            raise errors.ShapeError(
                f"trapezoid: {x.size} coordinates for {n} samples along axis {place} of shape"
                f" {y.shape}"
            )
        width = diff(reshape(x, shape), axis=place - y.ndim)
    later, earlier = (part(y, place, min(i, n), max(n - 1 + i, 0)) for i in (1, 0))
    dtype = common_dtype("trapezoid", (y, width))
    area = mul(mul(as_node("trapezoid", add(later, earlier), dtype), 0.5), width)
    return reductions.sum(area, place)
