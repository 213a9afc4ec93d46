"""Elementwise functions as composites of the closed op set. In: Nodes and Python numbers. Out: a Node.

Every function follows NumPy on NaN, infinities and signed zeros; derivatives come out of the composites, so a form is
chosen whose derivative is finite wherever the function is smooth.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .. import errors
from ..ir import dtype as dt
from ..ir.dtype import DType
from ..ir.graph import Node, Op, node
from .broadcast import (
    Operand,
    Scalar,
    as_node,
    broadcast_shape,
    broadcast_to,
    common_dtype,
    default_float,
    full_like,
    number,
    pair,
    to_dtype,
    together,
)

# ---------------------------------------------------------------- arithmetic


def _no_bool(name: str, x: Node) -> None:
    if x.dtype.kind == "b":
        raise errors.DTypeError(f"{name}: not defined for bool; convert with .int() or use logical_not, & or |")


def add(a: Operand, b: Operand) -> Node:
    """a + b; of bools: or."""
    x, y = pair("add", a, b)
    return node(Op.OR if x.dtype is dt.bool_ else Op.ADD, (x, y))


def sub(a: Operand, b: Operand) -> Node:
    """a - b. Raises DTypeError for bools."""
    x, y = pair("subtract", a, b)
    _no_bool("subtract", x)
    return node(Op.SUB, (x, y))


def mul(a: Operand, b: Operand) -> Node:
    """a * b; of bools: and."""
    x, y = pair("multiply", a, b)
    return node(Op.AND if x.dtype is dt.bool_ else Op.MUL, (x, y))


def _floats(name: str, a: Operand, b: Operand) -> list[Node]:
    dtype = common_dtype(name, (a, b))
    return together(name, (a, b), dtype if dtype.is_float else default_float)


def div(a: Operand, b: Operand) -> Node:
    """a / b, a float; float32 for integers."""
    x, y = _floats("divide", a, b)
    return node(Op.DIV, (x, y))


def integers_for_bool(x: Node, y: Node) -> tuple[Node, Node]:
    """Two bools as int8; others stay."""
    return (to_dtype(x, dt.int8), to_dtype(y, dt.int8)) if x.dtype.kind == "b" else (x, y)


def mod(a: Operand, b: Operand) -> Node:
    """a % b with the sign of b; x % 0 is 0 for integers."""
    x, y = integers_for_bool(*pair("remainder", a, b))
    return node(Op.MOD, (x, y))


def floordiv(a: Operand, b: Operand) -> Node:
    """a // b, rounded down; x // 0 is 0 for integers."""
    x, y = integers_for_bool(*pair("floor_divide", a, b))
    if not x.dtype.is_float:
        return node(Op.IDIV, (x, y))
    # as NumPy: (a - a % b) / b is nearly whole; round it to the nearest
    quotient = div(sub(x, mod(x, y)), y)
    down = node(Op.FLOOR, (quotient,))
    nearest = where(lt(0.5, sub(quotient, down)), add(down, 1.0), down)
    return where(eq(y, 0.0), div(x, y), nearest)


def neg(x: Node) -> Node:
    """-x. Raises DTypeError for bool."""
    _no_bool("negative", x)
    return node(Op.NEG, (x,))


def positive(x: Node) -> Node:
    """x itself."""
    return x


# ---------------------------------------------------------------- comparison and logic


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


def _bitwise(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    def function(a: Operand, b: Operand) -> Node:
        x, y = pair(name, a, b)
        if x.dtype.is_float:
            raise errors.DTypeError(f"{name}: defined for bool and integers, not for {x.dtype.name}")
        return node(op, (x, y))

    function.__name__ = name
    function.__doc__ = f"{name.replace('_', ' ')} of bools or integers; raises DTypeError for floats."
    return function


bit_and = _bitwise("bitwise_and", Op.AND)
bit_or = _bitwise("bitwise_or", Op.OR)
bit_xor = _bitwise("bitwise_xor", Op.XOR)


def _shift(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    def function(a: Operand, b: Operand) -> Node:
        x, y = pair(name, a, b)
        if not x.dtype.is_int:
            raise errors.DTypeError(f"{name}: defined for integers, not for {x.dtype.name}")
        return node(op, (x, y))

    function.__name__ = name
    function.__doc__ = f"{name.replace('_', ' ')} of integers; by the width or more: 0 or the sign. Raises DTypeError."
    return function


shift_left = _shift("left_shift", Op.SHL)
shift_right = _shift("right_shift", Op.SHR)


def invert(x: Node) -> Node:
    """~x: not, of bools; every bit flipped, of integers. Raises DTypeError for floats."""
    if x.dtype.is_float:
        raise errors.DTypeError(f"invert: defined for bool and integers, not for {x.dtype.name}")
    return node(Op.XOR, (x, full_like(x, True if x.dtype.kind == "b" else (1 << x.dtype.bits) - 1)))


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


# ---------------------------------------------------------------- functions of one float


def as_float(x: Node) -> Node:
    """x, as float32 if it is not a float."""
    return x if x.dtype.is_float else to_dtype(x, default_float)


def float_op(op: Op, doc: str, arg: Any = None) -> Callable[[Node], Node]:
    """A function of one float: the op, after a cast of what is not a float."""

    def function(x: Node) -> Node:
        return node(op, (as_float(x),), arg)

    function.__name__ = op.value
    function.__doc__ = f"{doc}; float32 for integers."
    return function


sqrt_ = float_op(Op.SQRT, "Square root: NaN below 0")


def rsqrt(x: Node) -> Node:
    """1 / sqrt(x)."""
    return div(1.0, sqrt_(x))


def reciprocal(x: Node) -> Node:
    """1 / x, a float."""
    return div(1.0, x)


def square(x: Node) -> Node:
    """x * x."""
    return mul(x, x)


def absolute(x: Node) -> Node:
    """|x|; its derivative at 0 is 0."""
    if x.dtype.kind in "bu":
        return x
    if x.dtype.kind == "i":
        return where(lt(x, 0), neg(x), x)
    return where(lt(x, 0.0), neg(x), where(eq(x, 0.0), 0.0, x))


def sign(x: Node) -> Node:
    """-1, 0 or 1; NaN stays NaN."""
    _no_bool("sign", x)
    otherwise = where(eq(x, 0), 0, x) if x.dtype.is_float else full_like(x, 0)
    above = where(gt(x, 0), 1, otherwise)
    return above if x.dtype.kind == "u" else where(lt(x, 0), -1, above)


def floor(x: Node) -> Node:
    """The greatest whole number not above x; integers stay."""
    return node(Op.FLOOR, (x,)) if x.dtype.is_float else x


def ceil(x: Node) -> Node:
    """The least whole number not below x; integers stay."""
    return neg(floor(neg(x))) if x.dtype.is_float else x


def trunc(x: Node) -> Node:
    """The whole part of x, towards 0; integers stay."""
    return where(lt(x, 0.0), ceil(x), floor(x)) if x.dtype.is_float else x


def round_(x: Node) -> Node:
    """The nearest whole number, halves to even; integers stay."""
    if not x.dtype.is_float:
        return x
    down = floor(x)
    rest = sub(x, down)
    is_odd = ne(mul(floor(mul(down, 0.5)), 2.0), down)
    up = node(Op.OR, (gt(rest, 0.5), node(Op.AND, (eq(rest, 0.5), is_odd))))
    nearest = where(up, add(down, 1.0), down)
    return where(eq(nearest, 0.0), mul(x, 0.0), nearest)  # x * 0 keeps the sign of a zero


def detach(x: Node) -> Node:
    """The same value, without a gradient."""
    return node(Op.DETACH, (x,))


def cast(x: Node, dtype: DType) -> Node:
    """x in another dtype: a float to an integer truncates and saturates (NaN gives 0), integers wrap, bool is x != 0."""
    return to_dtype(x, dtype)


def constant(value: Scalar, dtype: DType) -> Node:
    """A 0-d constant. Raises OverflowError where it does not fit."""
    return number("full", value, dtype)
