"""Comparison, logic, choice and limits. In: Nodes and Python numbers. Out: a Node.

Every function follows NumPy on NaN, infinities and signed zeros.
"""

from __future__ import annotations

from functools import partial
from math import inf

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, const, node, shaped
from ...ir.graph.op import Op
from ..lazy import weak_numbers
from ..operands.broadcast import (
    Operand,
    Scalar,
    as_node,
    broadcast_shape,
    broadcast_to,
    common_dtype,
    full_like,
    holds,
    pair,
    promote,
    to_dtype,
    together,
)
from . import complex_functions as cx
from .arithmetic import no_complex
from .bits import invert

# ---------------------------------------------------------------- order


def _comparable(name: str, a: Operand, b: Operand) -> list[Node]:
    """Two operands of one shape, and of dtypes in which their order is that of their values.

    A signed integer and a uint64 stay what they are; a wide integer and a float meet in float64, as
    in NumPy; a Python integer that a dtype cannot hold becomes an infinity.
    """
    if isinstance(a, Node) and isinstance(b, Node) and a.dtype is b.dtype and a.shape == b.shape:
        return [a, b]
    if isinstance(a, Node) and a.dtype.is_float and type(b) is float:
        return [a, full_like(a, b)]
    if not isinstance(a, Node) or not isinstance(b, Node):
        a, b = _of_number(name, a, b)
    elif weak_numbers.marks and _is_one_weak(a, b):
        a, b = _of_weak(name, a, b)
    elif {a.dtype.kind, b.dtype.kind} != {"i", "u"} or dt.uint64 not in (a.dtype, b.dtype):
        dtype = _meeting(a.dtype, b.dtype)
        a, b = to_dtype(a, dtype), to_dtype(b, dtype)
    shape = broadcast_shape(name, [a.shape, b.shape])
    return [broadcast_to(a, shape), broadcast_to(b, shape)]


def _meeting(a: DType, b: DType) -> DType:
    whole, common = a if a.is_int else b, promote(a, b)
    is_wide = whole.is_int and whole.bits > 16
    if common.is_complex:
        return dt.complex128 if is_wide else common
    return dt.float64 if common.is_float and is_wide else common


def _of_number(name: str, a: Operand, b: Operand) -> tuple[Node, Node]:
    """Nodes of two operands, not both Nodes."""
    dtype = common_dtype(name, (a, b))
    for x, value in ((a, b), (b, a)):
        if isinstance(x, Node) and isinstance(value, float | complex):
            dtype = _meeting(x.dtype, dtype)
        elif isinstance(x, Node) and isinstance(value, int) and not holds(dtype, value):
            dtype, beyond = (dtype if dtype.is_float else dt.float32), inf if value > 0 else -inf
            return (
                (to_dtype(x, dtype), const(beyond, dtype))
                if x is a
                else (const(beyond, dtype), to_dtype(x, dtype))
            )
    return as_node(name, a, dtype), as_node(name, b, dtype)


def _is_one_weak(a: Node, b: Node) -> bool:
    """Does one stand for a Python number, and are not both integers, which are compared as they
    are."""
    return (a in weak_numbers.marks) != (b in weak_numbers.marks) and not (
        a.dtype.is_int and b.dtype.is_int
    )


def _of_weak(name: str, a: Node, b: Node) -> tuple[Node, Node]:
    strong = b if a in weak_numbers.marks else a
    dtype = _meeting(strong.dtype, common_dtype(name, (a, b)))
    return as_node(name, a, dtype), as_node(name, b, dtype)


def _less(x: Node, y: Node) -> Node:
    if x.dtype is y.dtype:
        return shaped(Op.LT, (x, y), None, dt.bool_, x.shape)
    if x.dtype.kind == "i":  # y is a uint64
        return node(Op.OR, (_is_negative(x), node(Op.LT, (to_dtype(x, dt.uint64), y))))
    return node(Op.AND, (logical_not(_is_negative(y)), node(Op.LT, (x, to_dtype(y, dt.uint64)))))


def _less_equal(x: Node, y: Node) -> Node:
    if x.dtype.is_float:
        return node(Op.OR, (node(Op.LT, (x, y)), node(Op.EQ, (x, y))))
    return logical_not(_less(y, x))


def _is_negative(x: Node) -> Node:
    return node(Op.LT, (x, full_like(x, 0)))


def _ordered(name: str, a: Operand, b: Operand) -> list[Node]:
    """The same of operands that have an order. Raises DTypeError for complex ones."""
    x, y = _comparable(name, a, b)
    no_complex(name, x)
    return [x, y]


def lt(a: Operand, b: Operand) -> Node:
    """a < b."""
    return _less(*_ordered("less", a, b))


def gt(a: Operand, b: Operand) -> Node:
    """a > b."""
    x, y = _ordered("greater", a, b)
    return _less(y, x)


def eq(a: Operand, b: Operand) -> Node:
    """a == b."""
    x, y = _comparable("equal", a, b)
    if x.dtype.is_complex:
        return cx.equal(x, y)
    if x.dtype is y.dtype:
        return shaped(Op.EQ, (x, y), None, dt.bool_, x.shape)
    signed, unsigned = (x, y) if x.dtype.kind == "i" else (y, x)
    same_bits = node(Op.EQ, (to_dtype(signed, dt.uint64), unsigned))
    return node(Op.AND, (logical_not(_is_negative(signed)), same_bits))


def ne(a: Operand, b: Operand) -> Node:
    """a != b."""
    return logical_not(eq(a, b))


def le(a: Operand, b: Operand) -> Node:
    """a <= b."""
    return _less_equal(*_ordered("less_equal", a, b))


def ge(a: Operand, b: Operand) -> Node:
    """a >= b."""
    x, y = _ordered("greater_equal", a, b)
    return _less_equal(y, x)


# ---------------------------------------------------------------- logic


def logical_not(x: Node) -> Node:
    """True where x is False or 0."""
    return eq(x, 0) if x.dtype.kind != "b" else node(Op.XOR, (x, full_like(x, True)))


def logical_and(a: Operand, b: Operand) -> Node:
    """True where both are not 0."""
    return node(Op.AND, together("logical_and", [_truth(a), _truth(b)]))


def logical_or(a: Operand, b: Operand) -> Node:
    """True where at least one is not 0."""
    return node(Op.OR, together("logical_or", [_truth(a), _truth(b)]))


def logical_xor(a: Operand, b: Operand) -> Node:
    """True where exactly one is not 0."""
    return node(Op.XOR, together("logical_xor", [_truth(a), _truth(b)]))


def _truth(x: Operand) -> Operand:
    return to_dtype(x, dt.bool_) if isinstance(x, Node) else bool(x)


def isnan(x: Node) -> Node:
    """True where x is NaN, or a part of it."""
    if x.dtype.is_complex:
        return cx.is_nan(x)
    return ne(x, x)


def isinf(x: Node) -> Node:
    """True where x is infinite, or a part of it."""
    if x.dtype.is_complex:
        return cx.is_infinite(x)
    if not x.dtype.is_float:
        return node(Op.LT, (x, x))
    return node(Op.OR, (eq(x, inf), eq(x, -inf)))


def isfinite(x: Node) -> Node:
    """True where x is neither NaN nor infinite."""
    if x.dtype.is_complex:
        return cx.is_finite(x)
    if not x.dtype.is_float:
        return eq(x, x)
    return node(Op.AND, (lt(x, inf), gt(x, -inf)))


# ---------------------------------------------------------------- choice and limits


def where(condition: Operand, a: Operand, b: Operand) -> Node:
    """a where the condition holds (is not 0), else b; all three broadcast."""
    c = as_node("where", _truth(condition), dt.bool_)
    if (
        isinstance(a, Node)
        and a.shape == c.shape
        and not (isinstance(b, Node) and b.shape != c.shape)
    ):
        x, y = pair("where", a, b)
        return shaped(Op.WHERE, (c, x, y), None, x.dtype, c.shape)
    dtype = common_dtype("where", (a, b))
    x, y = as_node("where", a, dtype), as_node("where", b, dtype)
    shape = broadcast_shape("where", [c.shape, x.shape, y.shape])
    return node(Op.WHERE, [broadcast_to(n, shape) for n in (c, x, y)])


def _with_order(name: str, a: Operand, b: Operand) -> list[Node]:
    """Two operands of one dtype and shape. Raises DTypeError for complex ones."""
    x, y = pair(name, a, b)
    no_complex(name, x)
    return [x, y]


def maximum(a: Operand, b: Operand) -> Node:
    """The greater one, NaN if either is NaN; the gradient of ties is shared equally."""
    x, y = _with_order("maximum", a, b)
    return node(Op.OR if x.dtype is dt.bool_ else Op.MAX, (x, y))


def minimum(a: Operand, b: Operand) -> Node:
    """The smaller one, NaN if either is NaN; the gradient of ties is shared equally."""
    x, y = _with_order("minimum", a, b)
    if x.dtype is dt.bool_:
        return node(Op.AND, (x, y))
    return reversed_order(node(Op.MAX, (reversed_order(x), reversed_order(y))))


def reversed_order(x: Node) -> Node:
    """An exact involution that turns the order of x's dtype round: -x of floats, ~x otherwise."""
    return node(Op.NEG, (x,)) if x.dtype.is_float else invert(x)


def fmax(a: Operand, b: Operand) -> Node:
    """The greater one, the other one where one is NaN."""
    x, y = _with_order("fmax", a, b)
    return where(isnan(y), x, where(isnan(x), y, maximum(x, y)))


def fmin(a: Operand, b: Operand) -> Node:
    """The smaller one, the other one where one is NaN."""
    x, y = _with_order("fmin", a, b)
    return where(isnan(y), x, where(isnan(x), y, minimum(x, y)))


def clip(x: Node, /, min: Operand | None = None, max: Operand | None = None) -> Node:
    """x limited to [min, max], max where they cross; NaN where one is NaN; the gradient is 1 on the
    bounds.

    The dtype is x's (a float if x is an integer and a bound a float). A Python integer beyond all
    values of an integer x limits nothing, or raises OverflowError where it would be the result.
    """
    given = [bound for bound in (min, max) if bound is not None]
    no_complex("clip", x)
    if not x.dtype.is_float:
        dtype = common_dtype("clip", (x, *given))
        x = to_dtype(x, dtype) if dtype.is_float else x
    if min is not None and not _is_idle(x.dtype, min, 0):
        x = where(_passes(lt(x, min), min), as_node("clip", min, x.dtype), x)
    if max is not None and not _is_idle(x.dtype, max, 1):
        x = where(_passes(gt(x, max), max), as_node("clip", max, x.dtype), x)
    return x


def _is_idle(dtype: DType, bound: Operand, side: int) -> bool:
    """Is a Python integer beyond all values of an integer dtype, so that it limits nothing?"""
    if not dtype.is_int or not isinstance(bound, int | float):
        return False
    extreme = dt.limits(dtype)[side]
    return bound <= extreme if side == 0 else bound >= extreme


def _passes(beyond: Node, bound: Operand) -> Node:
    """`beyond`, and also where the bound is NaN."""
    if isinstance(bound, Node):
        return logical_or(beyond, isnan(bound)) if bound.dtype.is_float else beyond
    return logical_or(beyond, True) if bound != bound else beyond


def nan_to_num(
    x: Node, /, nan: Scalar = 0.0, posinf: Scalar | None = None, neginf: Scalar | None = None
) -> Node:
    """x with other numbers for NaN and the infinities: unless given, the greatest and the least
    finite number of its dtype."""
    if x.dtype.is_complex:
        return cx.by_parts(partial(nan_to_num, nan=nan, posinf=posinf, neginf=neginf), x)
    if not x.dtype.is_float:
        return x
    most = dt.largest(x.dtype)
    x = where(eq(x, inf), most if posinf is None else posinf, x)
    x = where(eq(x, -inf), -most if neginf is None else neginf, x)
    return where(isnan(x), nan, x)
