"""Transcendental functions and powers. In: Nodes and Python numbers. Out: a Node.

Values and special cases are those of the Array API standard; the ops' derivatives stand in ir/grad.py.
"""

from __future__ import annotations

from math import inf

from ..ir import dtype as dt
from ..ir.graph import Node, Op, node
from .broadcast import Operand, Scalar, common_dtype, full_like, to_dtype, together
from .elementwise import (
    add,
    as_float,
    bit_and,
    detach,
    div,
    float_op,
    gt,
    integers_for_bool,
    lt,
    mul,
    ne,
    sqrt_,
    sub,
    where,
)

exp = float_op(Op.EXP, "e ** x")
log = float_op(Op.LOG, "Natural logarithm: -inf at 0, NaN below")
sin = float_op(Op.SIN, "Sine of radians", 0)
cos = float_op(Op.SIN, "Cosine of radians", 1)
tanh = float_op(Op.TANH, "Hyperbolic tangent")
erf = float_op(Op.ERF, "Error function")


def tan(x: Node) -> Node:
    """Tangent of radians."""
    return div(sin(x), cos(x))


def exp2(x: Node) -> Node:
    """2 ** x."""
    return power(2.0, as_float(x))


def log2(x: Node) -> Node:
    """Logarithm to the base 2."""
    return mul(log(x), 1.4426950408889634)


def log10(x: Node) -> Node:
    """Logarithm to the base 10."""
    return mul(log(x), 0.4342944819032518)


def log1p(x: Node) -> Node:
    """log(1 + x), accurate for small x: the rounding error of 1 + x is put back to first order."""
    x = as_float(x)
    u = add(1.0, x)
    lost = div(sub(x, sub(u, 1.0)), u)
    regular = node(Op.AND, (gt(u, 0.0), lt(u, inf)))
    return add(log(u), detach(where(regular, lost, 0.0)))


def expm1(x: Node) -> Node:
    """exp(x) - 1, accurate for small x: there 2t / (1 - t) with t = tanh(x/2)."""
    x = as_float(x)
    small = node(Op.AND, (lt(x, 0.5), gt(x, -0.5)))
    t = tanh(mul(where(small, x, 0.0), 0.5))
    return where(small, div(mul(t, 2.0), sub(1.0, t)), sub(exp(x), 1.0))


# ---------------------------------------------------------------- powers


def power(a: Operand, b: Operand) -> Node:
    """a ** b. Small whole exponents are products, 0.5 is a square root; integers wrap.

    Raises ValueError for an integer to a negative Python integer; a negative element of an integer exponent gives 0.
    """
    dtype = common_dtype("power", (a, b))
    if isinstance(a, Node) and not isinstance(b, Node) and (dtype.is_float or isinstance(b, int)):
        return _scalar_power(to_dtype(a, dt.int64 if dtype.kind == "b" else dtype), b)
    x, y = together("power", (a, b), dtype)
    return node(Op.POW, (x, y)) if dtype.is_float else _integer_power(*integers_for_bool(x, y))


def _scalar_power(x: Node, exponent: Scalar) -> Node:
    if exponent in (0, 1, 2, 3, 4):
        return _product_power(x, int(exponent))
    if not x.dtype.is_float:
        if exponent < 0:
            raise ValueError(f"power: integers to the negative power {exponent} are not integers; convert to float first")
        return _product_power(x, int(exponent))
    if exponent == -1:
        return div(1.0, x)
    if exponent == 0.5:
        return sqrt_(x)
    return node(Op.POW, (x, full_like(x, exponent)))


def _product_power(x: Node, exponent: int) -> Node:
    """By repeated squaring."""
    result: Node | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else node(Op.MUL, (result, x))
        exponent >>= 1
        if exponent:
            x = node(Op.MUL, (x, x))
    return full_like(x, 1) if result is None else result


def _integer_power(x: Node, exponent: Node) -> Node:
    """Square and multiply over the bits of the exponent, modulo 2**bits."""
    result = full_like(x, 1)
    for bit in range(exponent.dtype.bits - (exponent.dtype.kind == "i")):
        is_set = ne(bit_and(exponent, 1 << bit), 0)
        result = where(is_set, mul(result, x), result)
        x = mul(x, x)
    return where(lt(exponent, 0), 0, result) if exponent.dtype.kind == "i" else result
