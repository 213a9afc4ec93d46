"""Comparison, logic, choice and limits. In: Nodes and Python numbers. Out: a Node.

Every function follows NumPy on NaN, infinities and signed zeros.
"""

from __future__ import annotations

from math import inf

from ..ir import dtype as dt
from ..ir.graph import Node, Op, node
from .bits import invert
from .broadcast import Operand, as_node, broadcast_shape, broadcast_to, common_dtype, full_like, pair, to_dtype, together


def lt(a: Operand, b: Operand) -> Node:
    """a < b."""
    return node(Op.LT, pair("less", a, b))


def gt(a: Operand, b: Operand) -> Node:
    """a > b."""
    x, y = pair("greater", a, b)
    return node(Op.LT, (y, x))


def eq(a: Operand, b: Operand) -> Node:
    """a == b."""
    return node(Op.EQ, pair("equal", a, b))


def ne(a: Operand, b: Operand) -> Node:
    """a != b."""
    return logical_not(eq(a, b))


def le(a: Operand, b: Operand) -> Node:
    """a <= b."""
    x, y = pair("less_equal", a, b)
    if x.dtype.is_float:
        return node(Op.OR, (node(Op.LT, (x, y)), node(Op.EQ, (x, y))))
    return logical_not(node(Op.LT, (y, x)))


def ge(a: Operand, b: Operand) -> Node:
    """a >= b."""
    x, y = pair("greater_equal", a, b)
    return le(y, x)


def logical_not(x: Node) -> Node:
    """True where x is False or 0."""
    return eq(x, 0) if x.dtype.kind != "b" else node(Op.XOR, (x, full_like(x, True)))


def logical_and(a: Operand, b: Operand) -> Node:
    """Are both not 0."""
    return node(Op.AND, together("logical_and", [_truth(a), _truth(b)]))


def logical_or(a: Operand, b: Operand) -> Node:
    """Is one of them not 0."""
    return node(Op.OR, together("logical_or", [_truth(a), _truth(b)]))


def _truth(x: Operand) -> Operand:
    return to_dtype(x, dt.bool_) if isinstance(x, Node) else bool(x)


def isnan(x: Node) -> Node:
    """Is x a NaN."""
    return ne(x, x)


def isinf(x: Node) -> Node:
    """Is x one of the infinities."""
    if not x.dtype.is_float:
        return node(Op.LT, (x, x))
    return node(Op.OR, (eq(x, inf), eq(x, -inf)))


def isfinite(x: Node) -> Node:
    """Is x neither NaN nor an infinity."""
    if not x.dtype.is_float:
        return eq(x, x)
    return node(Op.AND, (lt(x, inf), gt(x, -inf)))


def where(condition: Operand, a: Operand, b: Operand) -> Node:
    """a where the condition holds (is not 0), else b; all three broadcast."""
    c = as_node("where", _truth(condition), dt.bool_)
    dtype = common_dtype("where", (a, b))
    x, y = as_node("where", a, dtype), as_node("where", b, dtype)
    shape = broadcast_shape("where", [c.shape, x.shape, y.shape])
    return node(Op.WHERE, [broadcast_to(n, shape) for n in (c, x, y)])


def maximum(a: Operand, b: Operand) -> Node:
    """The greater one, NaN if either is NaN; the gradient of ties is shared equally."""
    x, y = pair("maximum", a, b)
    return node(Op.OR if x.dtype is dt.bool_ else Op.MAX, (x, y))


def minimum(a: Operand, b: Operand) -> Node:
    """The smaller one, NaN if either is NaN; the gradient of ties is shared equally."""
    x, y = pair("minimum", a, b)
    if x.dtype is dt.bool_:
        return node(Op.AND, (x, y))
    return reversed_order(node(Op.MAX, (reversed_order(x), reversed_order(y))))


def reversed_order(x: Node) -> Node:
    """An exact involution that turns the order of x's dtype round: -x of floats, ~x otherwise."""
    return node(Op.NEG, (x,)) if x.dtype.is_float else invert(x)


def clip(x: Node, min: Operand | None = None, max: Operand | None = None) -> Node:
    """x limited to [min, max]; the gradient is 1 on the bounds."""
    if min is not None:
        x = where(lt(x, min), min, x)
    return x if max is None else where(gt(x, max), max, x)
