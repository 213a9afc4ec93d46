"""Quotients and remainders. In: Nodes and Python numbers. Out: a Node of the operands' common dtype.

Integers never trap: x // 0 and x % 0 are 0, the least integer // -1 wraps.
"""

from __future__ import annotations

from math import inf

from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.broadcast import Operand, pair
from ..operands.in_float32 import in_float32
from .arithmetic import add, div, integers_for_bool, neg, sub
from .bits import signbit
from .comparison import eq, logical_and, lt, ne, where
from .rounding import floor


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


def divmod_(a: Operand, b: Operand) -> tuple[Node, Node]:
    """(a // b, a % b)."""
    return floordiv(a, b), mod(a, b)


@in_float32
def floordiv(a: Operand, b: Operand) -> Node:
    """The greatest whole number not above a / b; x // 0 is 0 for integers.

    Exact below 2**digits of the dtype, within 1 ULP above. Of infinities floor(a / b), as the Array API standard prefers.
    """
    x, y = integers_for_bool(*pair("floor_divide", a, b))
    if not x.dtype.is_float:
        return node(Op.IDIV, (x, y))
    is_below = node(Op.XOR, (signbit(x), signbit(y)))
    a, b = _magnitude(x), _magnitude(y)
    rest = node(Op.MOD, (a, b))
    quotient = div(a, b)
    down = floor(quotient)
    # a quotient just below a whole number may have been rounded to it: then the rest is nearly b
    may_be_below = logical_and(eq(quotient, down), lt(quotient, 2.0**x.dtype.digits))
    was_below = logical_and(may_be_below, lt(sub(b, rest), rest))
    whole = where(was_below, sub(down, 1.0), down)
    more = where(logical_and(ne(rest, 0.0), lt(b, inf)), add(whole, 1.0), whole)
    return where(is_below, neg(more), whole)
