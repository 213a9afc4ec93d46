"""log. In: a float32 or float64 Val. Out: the same function in basic ops."""

from __future__ import annotations

from math import inf, nan

from ..ir import dtype as dt
from .math_build import Val, bits, cast, choose, equal, fma, from_bits, horner, where

LN2_HI = 6.93147180369123816490e-01  # fdlibm e_log.c: 33 bits, so n * LN2_HI is exact
LN2_LO = 1.90821492927058770002e-10

BIAS64 = 2.0**52 + 1023
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)


def log(x: Val) -> Val:
    """inf and NaN pass through, below 0 is NaN, 0 is -inf; subnormals are scaled up first."""
    y = _LOG[x.dtype](x)
    y = where(x < inf, y, x)
    y = where(x < 0.0, nan, y)
    return where(equal(x, 0.0), -inf, y)


def _log32(x: Val) -> Val:
    """N. Juffa's logf (stackoverflow.com/questions/39821367): x = 2**e * (1 + f), f in [-1/3, 1/3], one polynomial in f."""
    small = x < 1.17549435e-38
    i = bits(where(small, x * 2.0**23, x))
    e = (i - 0x3F2AAAAB) >> 23
    f = from_bits(i - (e << 23)) - 1.0
    exponent = cast(e, dt.float32) + choose(small, -23.0, 0.0, dt.float32)
    z = f * f
    p = fma(fma(f, -0.130310059, 0.140869141), z, fma(f, -0.121489234, 0.139809728))
    for c in (-0.166846126, 0.200120315, -0.249996230, 0.333331972, -0.500000000):
        p = fma(p, f, c)
    return fma(exponent, 0.693147182, fma(p, z, f))


def normal64(x: Val) -> tuple[Val, Val]:
    """A positive float64 scaled up to a normal one, and the bias of its exponent for split64."""
    small = x < 2.2250738585072014e-308
    return where(small, x * 2.0**54, x), choose(small, BIAS64 + 54, BIAS64, dt.float64)


def split64(x: Val, bias: Val | float) -> tuple[Val, Val]:
    """x = 2**e * m for a positive normal float64, m in [sqrt(1/2), sqrt(2)): (e as a float, m). 0 and inf are not special."""
    i = bits(x) + (0x3FF0000000000000 - _SQRT_HALF)
    biased = cast(cast(i, dt.uint64) >> 52, dt.int64)
    # 2**52 | biased is a float64 whose value is 2**52 + biased: AVX2 has no conversion from int64.
    return from_bits(biased | 0x4330000000000000) - bias, from_bits((i & 0xFFFFFFFFFFFFF) + _SQRT_HALF)


def _log64(x: Val) -> Val:
    """fdlibm e_log.c: f = m-1, s = f/(2+f), log(1+f) = f - (f*f/2 - s*(f*f/2 + R(s*s)))."""
    e, m = split64(*normal64(x))
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    remainder = horner(z, _LG) * z
    half_square = f * f * 0.5
    return fma(e, LN2_HI, f - (half_square - fma(s, half_square + remainder, e * LN2_LO)))


_LG = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
    2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
)  # fmt: skip
_LOG = {dt.float32: _log32, dt.float64: _log64}
