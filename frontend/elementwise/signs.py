"""Magnitude and sign, next floats, parts of a number. In: Nodes and Python numbers. Out: a Node."""

from __future__ import annotations

from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.broadcast import Operand, full_like
from .arithmetic import add, float_pair, neg, no_bool
from .bits import as_bits, bit_and, bit_or, signbit
from .comparison import eq, gt, isnan, logical_or, lt, where


def absolute(x: Node) -> Node:
    """|x|; its derivative at 0 is 0."""
    if x.dtype.kind in "bu":
        return x
    if x.dtype.kind == "i":
        return where(lt(x, 0), neg(x), x)
    return where(lt(x, 0.0), neg(x), where(eq(x, 0.0), 0.0, x))


def sign(x: Node) -> Node:
    """-1, 0 or 1; NaN stays NaN."""
    no_bool("sign", x)
    otherwise = where(eq(x, 0), 0, x) if x.dtype.is_float else full_like(x, 0)
    above = where(gt(x, 0), 1, otherwise)
    return above if x.dtype.kind == "u" else where(lt(x, 0), -1, above)


def copysign(a: Operand, b: Operand) -> Node:
    """|a| with the sign of b (of zeros and NaNs too), a float; the default dtype for integers."""
    x, y = float_pair("copysign", a, b)
    differs = node(Op.XOR, (signbit(x), signbit(y)))
    return where(differs, neg(x), x)


def nextafter(a: Operand, b: Operand) -> Node:
    """The next float from a towards b; b where they are equal, NaN where one is NaN. It has no derivative."""
    x, y = (node(Op.DETACH, (v,)) for v in float_pair("nextafter", a, b))
    bits = as_bits(x)
    least = bit_or(bit_and(as_bits(y), -(1 << (bits.dtype.bits - 1))), 1)  # the least subnormal, with the sign of y
    grows = eq(lt(x, y), gt(x, 0.0))  # the greater the magnitude, the greater the bits
    moved = where(eq(x, 0.0), least, add(bits, where(grows, 1, full_like(bits, -1))))
    found = where(eq(x, y), y, node(Op.BITCAST, (moved,), x.dtype))
    return where(logical_or(isnan(x), isnan(y)), add(x, y), found)


def real(x: Node) -> Node:
    """The real part: x itself."""
    return x


def imag(x: Node) -> Node:
    """The imaginary part: zeros."""
    return full_like(x, 0)


def conj(x: Node) -> Node:
    """The complex conjugate: x itself."""
    return x
