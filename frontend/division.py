"""Quotients and remainders. In: Nodes and Python numbers. Out: a Node of the operands' common dtype.

Integers never trap: x // 0 and x % 0 are 0, the least integer // -1 wraps.
"""

from __future__ import annotations

from ..ir import dtype as dt
from ..ir.graph import Node, Op, node
from .arithmetic import add, div, integers_for_bool, mul, neg, sub
from .bits import signbit
from .broadcast import Operand, pair, to_dtype
from .comparison import eq, isinf, isnan, logical_and, logical_or, lt, ne, where
from .half import in_float32


def mod(a: Operand, b: Operand) -> Node:
    """a - b * floor(a / b), exact, with the sign of b; x % 0 is 0 for integers, NaN for floats."""
    x, y = integers_for_bool(*pair("remainder", a, b))
    return node(Op.MOD, (x, y))


def fmod(a: Operand, b: Operand) -> Node:
    """a - b * trunc(a / b), exact, with the sign of a; x mod 0 is 0 for integers, NaN for floats."""
    x, y = integers_for_bool(*pair("fmod", a, b))
    if x.dtype.is_float:
        rest = node(Op.MOD, (_magnitude(x), _magnitude(y)))
        return where(signbit(x), neg(rest), rest)
    rest = node(Op.MOD, (x, y))
    return where(logical_and(ne(rest, 0), ne(signbit(x), signbit(rest))), sub(rest, y), rest)


def _magnitude(x: Node) -> Node:
    """|x| with slope 1 or -1 at the zeros, as the sign has it, so that the remainder's slope is 1 there."""
    return where(signbit(x), neg(x), x)


@in_float32
def floordiv(a: Operand, b: Operand) -> Node:
    """a // b, rounded down; x // 0 is 0 for integers. Of infinities floor(a / b), as the Array API standard has it."""
    x, y = integers_for_bool(*pair("floor_divide", a, b))
    if not x.dtype.is_float:
        return node(Op.IDIV, (x, y))
    if x.dtype.is_half:  # the steps would round in between
        return to_dtype(floordiv(to_dtype(x, dt.float32), to_dtype(y, dt.float32)), x.dtype)
    # as NumPy: (x - rest) / y is nearly whole, so it is rounded to the nearest; a zero has the sign of x / y
    direct, rest = div(x, y), fmod(x, y)
    quotient = div(sub(x, rest), y)
    differs = logical_and(ne(rest, 0.0), ne(lt(rest, 0.0), lt(y, 0.0)))
    quotient = where(differs, sub(quotient, 1.0), quotient)
    down = node(Op.FLOOR, (quotient,))
    nearest = where(lt(0.5, sub(quotient, down)), add(down, 1.0), down)
    nearest = where(eq(nearest, 0.0), mul(direct, 0.0), nearest)
    return where(logical_or(isnan(rest), isinf(y)), node(Op.FLOOR, (direct,)), nearest)
