"""log to the bases e, 2 and 10, and log1p. In: a float32 or float64 Val. Out: the same function in
basic ops."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from .build import (
    Val,
    bits,
    cast,
    choose,
    equal,
    fma,
    from_bits,
    horner,
    keep_tiny,
    number,
    two_sum,
    where,
)

BIAS64 = 2.0**52 + 1023
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_TWO = {dt.float32: 0x40000000, dt.float64: 0x4000000000000000}  # the bits of 2.0


@dataclass(frozen=True)
class _Base:
    """log(2) and 1/ln(base), each as a sum of two floats; an exponent times log2_hi is exact."""

    log2_hi: float
    log2_lo: float
    scale_hi: float = 1.0
    scale_lo: float = 0.0


_BASES = {
    (None, dt.float32): _Base(0.693147182, 0.0),
    (2, dt.float32): _Base(1.0, 0.0, 1.44269502, 1.92596303e-08),
    (10, dt.float32): _Base(0.301025391, 4.60503907e-06, 0.434294492, -1.010305e-08),
    (None, dt.float64): _Base(
        6.93147180369123816490e-01, 1.90821492927058770002e-10
    ),  # fdlibm e_log.c
    (2, dt.float64): _Base(1.0, 0.0, 1.4426950408889634, 2.0355273740931033e-17),
    (10, dt.float64): _Base(
        0.30102999560767785, 5.630334806675098e-11, 0.4342944819032518, 1.098319650216765e-17
    ),
}


def log(x: Val, base: int | None = None) -> Val:
    """inf and NaN pass through, below 0 is NaN, 0 is -inf; subnormals are scaled up first."""
    constants = _BASES[base, x.dtype]
    if x.dtype is dt.float32:
        y = _of_parts32(*_parts32(x), constants)
    else:
        e, m = split64(*normal64(x))
        y = _of_parts64(e, m - 1.0, constants, dt.float64)
    return _with_limits(x, 0.0, y)


def log1p(x: Val) -> Val:
    """log(1 + x), with the same special cases; what is tiny passes through."""
    return keep_tiny(
        x,
        2.0**-25 if x.dtype is dt.float32 else 2.0**-54,
        _with_limits(x, -1.0, log_of_sum(x, x.dtype)),
    )


def _with_limits(x: Val, pole: float, y: Val) -> Val:
    y = where(x < inf, y, x)
    y = where(x < pole, nan, y)
    return where(equal(x, pole), -inf, y)


def log_of_sum(x: Val, to: DType, twos: Val | None = None) -> Val:
    """log(1 + x) + twos * log(2) as accurate as `to` needs, -1 < x < inf.

    1 + x = u + lost = 2**e * (m + lost * 2**-e), the first sum rounded; m - 1 + lost * 2**-e is x
    itself if e is 0.
    """
    u, lost = two_sum(x, number(1.0, x.dtype))
    if x.dtype is dt.float32:
        e, m = _split32(u)
        return _of_parts32(cast(e, dt.float32), _restored(u, m, lost), _BASES[None, dt.float32])
    exponent, m = split64(u, BIAS64)
    exponent = exponent if twos is None else exponent + twos
    return _of_parts64(exponent, _restored(u, m, lost), _BASES[None, dt.float64], to)


def _restored(u: Val, m: Val, lost: Val) -> Val:
    """m - 1 + lost * m/u; m/u is a power of two, halved so that it is never too small."""
    twice = from_bits((bits(m) - bits(u)) + _TWO[u.dtype])
    return fma(lost * 0.5, twice, m - 1.0)


def _split32(x: Val) -> tuple[Val, Val]:
    """x = 2**e * m for a positive normal float32, m in [2/3, 4/3): (e, m)."""
    i = bits(x)
    e = (i - 0x3F2AAAAB) >> 23
    return e, from_bits(i - (e << 23))


def _parts32(x: Val) -> tuple[Val, Val]:
    small = x < 1.17549435e-38
    e, m = _split32(where(small, x * 2.0**23, x))
    return cast(e, dt.float32) + choose(small, -23.0, 0.0, dt.float32), m - 1.0


def _of_parts32(e: Val, f: Val, base: _Base) -> Val:
    """log(2**e * (1 + f)) for f in [-1/3, 1/3]: N. Juffa's logf
    (stackoverflow.com/questions/39821367), one polynomial in f."""
    z = f * f
    p = fma(fma(f, -0.130310059, 0.140869141), z, fma(f, -0.121489234, 0.139809728))
    for c in (-0.166846126, 0.200120315, -0.249996230, 0.333331972, -0.500000000):
        p = fma(p, f, c)
    if base.scale_hi == 1.0:
        return fma(e, base.log2_hi, fma(p, z, f))
    return _in_base(e, f, p * z, base)


def _in_base(e: Val, f: Val, rest: Val, base: _Base) -> Val:
    """e * log(2) + (f + rest) / ln(base), where `rest` is small beside f."""
    small = fma(rest, base.scale_hi, fma(f, base.scale_lo, e * base.log2_lo))
    return fma(e, base.log2_hi, fma(f, base.scale_hi, small))


def normal64(x: Val) -> tuple[Val, Val]:
    """A positive float64 scaled up to a normal one, and the bias of its exponent for split64."""
    small = x < 2.2250738585072014e-308
    return where(small, x * 2.0**54, x), choose(small, BIAS64 + 54, BIAS64, dt.float64)


def split64(x: Val, bias: Val | float) -> tuple[Val, Val]:
    """x = 2**e * m for a positive normal float64, m in [sqrt(1/2), sqrt(2)): (e as a float, m). 0
    and inf are not special."""
    i = bits(x) + (0x3FF0000000000000 - _SQRT_HALF)
    biased = cast(cast(i, dt.uint64) >> 52, dt.int64)
    # 2**52 | biased is a float64 whose value is 2**52 + biased: AVX2 has no conversion from int64.
    return from_bits(biased | 0x4330000000000000) - bias, from_bits(
        (i & 0xFFFFFFFFFFFFF) + _SQRT_HALF
    )


def _of_parts64(e: Val, f: Val, base: _Base, to: DType) -> Val:
    """fdlibm e_log.c: s = f/(2+f), log(1+f) = f - (f*f/2 - s*(f*f/2 + R(s*s)))."""
    s = f / (f + 2.0)
    z = s * s
    remainder = horner(z, _LG[to]) * z
    half_square = f * f * 0.5
    if base.scale_hi == 1.0:
        return fma(
            e, base.log2_hi, f - (half_square - fma(s, half_square + remainder, e * base.log2_lo))
        )
    return _in_base(e, f, fma(s, half_square + remainder, -half_square), base)


# R(z)/z: a minimax fit, error 2**-37 of log(1 + f); fdlibm's.
_LG = {
    dt.float32: (0.23579231994602623, 0.28537487699032066, 0.40000331767517744, 0.6666666566516513),
    dt.float64: (
        1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
        2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
        6.666666666666735130e-01,
    ),
}  # fmt: skip
