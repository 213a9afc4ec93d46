"""Whole numbers near a value, quotients and remainders, magnitude and sign. In: Nodes and Python
numbers. Out: a Node.

Integers never trap: x // 0 and x % 0 are 0, the least integer // -1 wraps.
"""

from __future__ import annotations

from functools import partial
from math import inf, pi

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.ops.nodes import conj as conjugate
from ..operands.arguments import as_bool, as_int
from ..operands.broadcast import Operand, common_dtype, full_like, pair, to_dtype, together
from ..operands.in_float32 import in_float32
from . import complex_functions as cx
from .arithmetic import (
    add,
    as_float,
    div,
    integers_for_bool,
    mul,
    neg,
    no_bool,
    no_complex,
    real_pair,
    sub,
)
from .bits import as_bits, bit_and, bit_or, signbit
from .comparison import eq, gt, isfinite, isnan, le, logical_and, logical_or, lt, ne, where


def floor(x: Node) -> Node:
    """The greatest whole number not above x; integers stay."""
    no_complex("floor", x)
    return node(Op.FLOOR, (x,)) if x.dtype.is_float else x


def ceil(x: Node) -> Node:
    """The least whole number not below x; integers stay."""
    no_complex("ceil", x)
    return neg(floor(neg(x))) if x.dtype.is_float else x


def trunc(x: Node) -> Node:
    """The whole part of x, towards 0; integers stay."""
    no_complex("trunc", x)
    return where(lt(x, 0.0), ceil(x), floor(x)) if x.dtype.is_float else x


def round_(x: Node, /, decimals: int = 0) -> Node:
    """The nearest number with so many decimals (tens, hundreds, .. if negative), halves to even; as
    NumPy, by scaling."""
    most = 400  # beyond it no number of any dtype changes
    decimals = max(-most, min(as_int("round", "decimals", decimals), most))
    if x.dtype.is_complex:
        return cx.by_parts(partial(round_, decimals=decimals), x)
    if not x.dtype.is_float:
        return _whole_tens(x, -decimals) if decimals < 0 and x.dtype.is_int else x
    if not decimals:
        return _nearest(x)
    scale = 10 ** abs(decimals)
    if scale > dt.largest(x.dtype):  # x has fewer decimals than that, or none of its digits is left
        return x if decimals > 0 else where(isfinite(x), mul(x, 0.0), x)
    if decimals < 0:
        return mul(_nearest(div(x, float(scale))), float(scale))
    scaled = mul(x, float(scale))
    return where(isfinite(scaled), div(_nearest(scaled), float(scale)), x)


def _nearest(x: Node) -> Node:
    """The nearest whole number, halves to even."""
    down = floor(x)
    rest = sub(x, down)
    is_odd = ne(mul(floor(mul(down, 0.5)), 2.0), down)
    up = node(Op.OR, (gt(rest, 0.5), node(Op.AND, (eq(rest, 0.5), is_odd))))
    nearest = where(up, add(down, 1.0), down)
    return where(eq(nearest, 0.0), mul(x, 0.0), nearest)  # x * 0 keeps the sign of a zero


def _whole_tens(x: Node, zeros: int) -> Node:
    """The nearest multiple of 10**zeros, halves to even; 0 if the dtype cannot even hold that power
    of ten."""
    unit = 10**zeros
    if unit > dt.limits(x.dtype)[1]:
        return full_like(x, 0)
    down, rest = node(Op.IDIV, (x, full_like(x, unit))), node(Op.MOD, (x, full_like(x, unit)))
    is_odd = ne(node(Op.AND, (down, full_like(x, 1))), 0)
    up = node(Op.OR, (gt(rest, unit // 2), node(Op.AND, (eq(rest, unit // 2), is_odd))))
    return mul(where(up, add(down, 1), down), unit)


# ---------------------------------------------------------------- quotients and remainders


def mod(a: Operand, b: Operand) -> Node:
    """a - b * floor(a / b), exact, with the sign of b; x % 0 is 0 for integers, NaN for floats."""
    x, y = integers_for_bool(*pair("remainder", a, b))
    no_complex("remainder", x)
    return node(Op.MOD, (x, y))


def fmod(a: Operand, b: Operand) -> Node:
    """a - b * trunc(a / b), exact, with the sign of a; x mod 0 is 0 for integers, NaN for
    floats."""
    x, y = integers_for_bool(*pair("fmod", a, b))
    no_complex("fmod", x)
    if x.dtype.is_float:
        rest = node(Op.MOD, (_magnitude(x), _magnitude(y)))
        return where(signbit(x), neg(rest), rest)
    rest = node(Op.MOD, (x, y))
    return where(logical_and(ne(rest, 0), ne(signbit(x), signbit(rest))), sub(rest, y), rest)


def _magnitude(x: Node) -> Node:
    """|x| with slope 1 or -1 at the zeros, as the sign has it, so that the remainder's slope is 1
    there."""
    return where(signbit(x), neg(x), x)


def divmod_(a: Operand, b: Operand) -> tuple[Node, Node]:
    """(a // b, a % b)."""
    return floordiv(a, b), mod(a, b)


@in_float32
def floordiv(a: Operand, b: Operand) -> Node:
    """The greatest whole number not above a / b; x // 0 is 0 for integers.

    Exact below 2**digits of the dtype, within 1 ULP above. Of infinities floor(a / b), as the Array
    API standard prefers.
    """
    x, y = integers_for_bool(*pair("floor_divide", a, b))
    no_complex("floor_divide", x)
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


# ---------------------------------------------------------------- magnitude and sign, next floats,
# parts of a number


def absolute(x: Node) -> Node:
    """|x|, a float for complex x; its derivative at 0 is 0."""
    if x.dtype.is_complex:
        return cx.absolute(x)
    if x.dtype.kind in "bu":
        return x
    if x.dtype.kind == "i":
        return where(lt(x, 0), neg(x), x)
    return where(lt(x, 0.0), neg(x), where(eq(x, 0.0), 0.0, x))


def sign(x: Node) -> Node:
    """-1, 0 or 1; NaN stays NaN. Of a complex number, x / |x|."""
    no_bool("sign", x)
    if x.dtype.is_complex:
        return cx.sign(x)
    otherwise = where(eq(x, 0), 0, x) if x.dtype.is_float else full_like(x, 0)
    above = where(gt(x, 0), 1, otherwise)
    return above if x.dtype.kind == "u" else where(lt(x, 0), -1, above)


def copysign(a: Operand, b: Operand) -> Node:
    """|a| with the sign of b (of zeros and NaNs too), a float; the default dtype for integers."""
    x, y = real_pair("copysign", a, b)
    differs = node(Op.XOR, (signbit(x), signbit(y)))
    return where(differs, neg(x), x)


def nextafter(a: Operand, b: Operand) -> Node:
    """The next float from a towards b; b where they are equal, NaN where one is NaN. It has no
    derivative."""
    x, y = (node(Op.DETACH, (v,)) for v in real_pair("nextafter", a, b))
    bits = as_bits(x)
    # the least subnormal, with the sign of y
    least = bit_or(bit_and(as_bits(y), -(1 << (bits.dtype.bits - 1))), 1)
    grows = eq(lt(x, y), gt(x, 0.0))  # the greater the magnitude, the greater the bits
    moved = where(eq(x, 0.0), least, add(bits, where(grows, 1, full_like(bits, -1))))
    following = where(eq(x, y), y, node(Op.BITCAST, (moved,), x.dtype))
    return where(logical_or(isnan(x), isnan(y)), add(x, y), following)


def real(x: Node) -> Node:
    """The real part, a float: of a real number, x itself."""
    return cx.parts(x)[0] if x.dtype.is_complex else x


def imag(x: Node) -> Node:
    """The imaginary part, a float: of a real number, 0."""
    return cx.parts(x)[1] if x.dtype.is_complex else full_like(x, 0)


def angle(x: Node) -> Node:
    """The angle of a complex number in [-pi, pi], in radians: of a real one, 0 or pi."""
    if x.dtype.is_complex:
        return cx.angle(x)
    x = as_float(x)
    return where(isnan(x), x, where(signbit(x), pi, 0.0))


def conj(x: Node) -> Node:
    """The complex conjugate: of a real number, x itself."""
    return conjugate(x)


def complex_(re: Operand, im: Operand) -> Node:
    """re + im * 1j of two floats; the default dtype for integers. Raises DTypeError for complex
    ones."""
    x, y = real_pair("complex", re, im)
    return cx.of(*(to_dtype(p, dt.float32) if p.dtype.is_half else p for p in (x, y)))


# ---------------------------------------------------------------- nearly equal


@in_float32
def isclose(
    a: Operand, b: Operand, /, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False
) -> Node:
    """True where |a - b| <= atol + rtol * |b|, or a == b; NaNs are close with equal_nan. Integers
    count as float64."""
    dtype = common_dtype("isclose", (a, b))
    x, y = together("isclose", (a, b), dtype if dtype.is_inexact else dt.float64)
    near = le(absolute(sub(x, y)), add(mul(absolute(y), rtol), atol))
    close = logical_or(eq(x, y), logical_and(near, isfinite(y)))
    return (
        logical_or(close, logical_and(isnan(x), isnan(y)))
        if as_bool("isclose", "equal_nan", equal_nan)
        else close
    )
