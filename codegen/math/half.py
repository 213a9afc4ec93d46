"""Casts from and to 16-bit floats. In: CAST Nodes. Out: Nodes of integer arithmetic, and at most
casts float16 <-> float32.

Every cast rounds once, to the nearest, halves to even; subnormals are kept, what is too large
becomes an infinity. float64 and wide integers pass through a float32 rounded to odd, which keeps
the second rounding from adding to the first.
"""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from .build import Val, absolute, bits, cast, choose, equal, from_bits, where


def expand_cast(n: Node, has_float16: bool) -> Node:
    """The cast without 16-bit floats, other than the casts that the target has an instruction
    for."""
    source, target = n.src[0].dtype, n.dtype
    if not (source.is_half or target.is_half) or (
        has_float16 and {source, target} == {dt.float16, dt.float32}
    ):
        return n
    x = Val(n.src[0])
    if source.is_half:
        x = _to_float32(x, has_float16)
    if target.is_half:
        return _from_float32(_with_few_digits(x, target), target, has_float16).node
    return (x if target is dt.float32 else cast(x, target)).node


def _bitcast(x: Val, dtype: DType) -> Val:
    return Val(node(Op.BITCAST, (x.node,), dtype))


# ---------------------------------------------------------------- from 16 bits


def _to_float32(x: Val, has_float16: bool) -> Val:
    if x.dtype is dt.bfloat16:
        return _bitcast(cast(_bitcast(x, dt.uint16), dt.uint32) << 16, dt.float32)
    if has_float16:
        return cast(x, dt.float32)
    half = cast(_bitcast(x, dt.uint16), dt.int32)
    sign = (half & 0x8000) << 16
    size = half & 0x7FFF
    # exponent and mantissa in place, then the exponent's bias; a float16 subnormal is a float32
    # subnormal on the way
    scaled = bits(from_bits(size << 13) * 2.0**112)
    return from_bits(where(size < 0x7C00, scaled, scaled | 0x7F800000) | sign)


# ---------------------------------------------------------------- to 16 bits


def _from_float32(x: Val, target: DType, has_float16: bool) -> Val:
    if target is dt.float16 and has_float16:
        return cast(x, dt.float16)
    half = _bfloat16_bits(x) if target is dt.bfloat16 else _float16_bits(x)
    return _bitcast(cast(half, dt.uint16), target)


def _bfloat16_bits(x: Val) -> Val:
    """The upper half, one more where the lower half is above the middle, or at the middle and the
    upper half odd."""
    whole = _bitcast(x, dt.uint32)
    rounded = (whole + ((whole >> 16) & 1) + 0x7FFF) >> 16
    return where(equal(x, x), rounded, (whole >> 16) | 0x40)


def _float16_bits(x: Val) -> Val:
    whole = bits(x)
    sign = (whole >> 16) & 0x8000
    size = whole & 0x7FFFFFFF
    normal = (size - (112 << 23) + ((size >> 13) & 1) + 0xFFF) >> 13
    subnormal = bits(absolute(x) + 0.5) - 0x3F000000  # the sum rounds to multiples of 2**-24
    infinite = choose(size > 0x7F800000, 0x7E00, 0x7C00, dt.int32)
    finite = where(size < 0x38800000, subnormal, normal)
    return where(size < 0x47800000, finite, infinite) | sign


# ---------------------------------------------------------------- to float32, for one rounding
# afterwards


def _with_few_digits(x: Val, target: DType) -> Val:
    """A float32 that rounds to the target as x does."""
    if x.dtype is dt.float32:
        return x
    if x.dtype is dt.float64:
        return _rounded_to_odd(x)
    if (
        target is dt.float16 or x.dtype.bits <= 16
    ):  # exact, or at least 2**24 and then infinite as a float16
        return cast(x, dt.float32)
    return _rounded_to_odd(cast(_with_sticky_bit(x) if x.dtype.bits == 64 else x, dt.float64))


def _rounded_to_odd(x: Val) -> Val:
    """float64 to float32, towards 0 with the last bit set where digits are lost (Boldo and
    Melquiond 2008)."""
    near = cast(x, dt.float32)
    back = cast(near, dt.float64)
    whole = bits(near)
    cut = where(absolute(back) > absolute(x), whole - 1, whole)
    return from_bits(where((back < x) | (back > x), cut | 1, whole))


def _with_sticky_bit(x: Val) -> Val:
    """A 64-bit integer that a float64 holds, with a bit for the last ones where they do not fit."""
    high = x >> 53
    fits = equal(high, 0) | equal(high, -1) if x.dtype is dt.int64 else equal(high, 0)
    last = choose(equal(x & 4095, 0), 0, 2048, x.dtype)
    return where(fits, x, (x & -4096) | last)
