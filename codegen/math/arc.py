"""atan, asin, acos, atan2 and hypot. In: float32 or float64 Vals. Out: the same function in basic
ops."""

from __future__ import annotations

from math import inf

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from .build import (
    Val,
    absolute,
    choose,
    equal,
    fma,
    horner,
    in_double,
    sign_bit,
    sqrt,
    where,
    with_sign,
)
from .trig import PI_2, PI_2_LO

PI, PI_LO = 2.0 * PI_2, 2.0 * PI_2_LO
_PI_4, _PI_4_LO = PI_2 / 2.0, PI_2_LO / 2.0
_TAN_PI_8 = 0.41421356237309503

# (atan(t) - t)/t**3 over t*t up to tan(pi/8)**2, and (asin(s) - s)/s**3 over s*s up to 1/4: minimax
# fits, error 2**-35 and 2**-59 relative to the function.
_ATAN = {
    dt.float32: (
        0.04748847830525919, -0.08478742928391346, 0.11045167723990568, -0.14282049615209164,
        0.19999905532389728, -0.33333332520101255,
    ),
    dt.float64: (
        -0.017927237427028203, 0.038083377297403895, -0.0504006861056999, 0.05848064710253859,
        -0.0666312908506922, 0.07692062513943518, -0.0909089789364347, 0.11111110788487724,
        -0.14285714280305534, 0.19999999999954798, -0.33333333333333204,
    ),
}  # fmt: skip
_ASIN = {
    dt.float32: (
        0.03468211974954449, 0.007479275149298568, 0.024614628387041284, 0.03011093455523542,
        0.044660099690931085, 0.07499948438822027, 0.1666666718540569,
    ),
    dt.float64: (
        0.032660414834141255, -0.02104938562777614, 0.021742521189534087, 0.003692259882954456,
        0.01078390444692848, 0.011398283226829651, 0.01398089370294835, 0.017351606336896714,
        0.022372215270493562, 0.030381942699441333, 0.04464285717473253, 0.07499999999970763,
        0.1666666666666676,
    ),
}  # fmt: skip


def atan(x: Val) -> Val:
    return in_double(_atan, x)


def _atan(x: Val, to: DType) -> Val:
    """atan(1/a) is pi/2 - atan(a)."""
    a = absolute(x)
    steep = a > 1.0
    y = _atan_of_fraction(where(steep, 1.0 / a, a), to)
    return with_sign(where(steep, PI_2 - (y - PI_2_LO), y), sign_bit(x))


def _atan_of_fraction(q: Val, to: DType) -> Val:
    """For q in [0, 1]: atan(q) = pi/4 + atan((q - 1)/(q + 1)), and a polynomial up to tan(pi/8)."""
    large = q > _TAN_PI_8
    t = where(large, (q - 1.0) / (q + 1.0), q)
    z = t * t
    y = fma(t * z, horner(z, _ATAN[to]), t)
    return where(large, (y + _PI_4_LO) + _PI_4, y)


def atan2(y: Val, x: Val) -> Val:
    return in_double(_atan2, y, x)


def _atan2(y: Val, x: Val, to: DType) -> Val:
    """The angle in the octant between the nearer half axis and the diagonal, then turned and
    reflected into its own."""
    ay, ax = absolute(y), absolute(x)
    steep = ay > ax
    less, greater = where(steep, ax, ay), where(steep, ay, ax)
    # 0/0 counts as 0, inf/inf as 1
    fraction = where(
        equal(less, greater), choose(equal(less, 0.0), 0.0, 1.0, x.dtype), less / greater
    )
    angle = _atan_of_fraction(fraction, to)
    left = sign_bit(x) < 0
    turned = with_sign(angle, sign_bit(where(steep, -x, x)))
    base = where(steep, PI_2, choose(left, PI, 0.0, x.dtype))
    base_lo = where(steep, PI_2_LO, choose(left, PI_LO, 0.0, x.dtype))
    total = where(steep | left, base + (turned + base_lo), angle)
    return with_sign(total, sign_bit(y))


def hypot(x: Val, y: Val) -> Val:
    ax, ay = absolute(x), absolute(y)
    return where(equal(ax, inf) | equal(ay, inf), inf, in_double(_hypot, ax, ay))


def _hypot(x: Val, y: Val, to: DType) -> Val:
    """The operands are scaled by a power of two where a square of float64 would overflow or be
    subnormal."""
    if to is dt.float32:
        return sqrt(fma(x, x, y * y))
    greater = where(x < y, y, x)
    great, small = greater > 2.0**500, greater < 2.0**-450
    scale = where(great, 2.0**-600, choose(small, 2.0**600, 1.0, to))
    back = where(great, 2.0**600, choose(small, 2.0**-600, 1.0, to))
    x, y = x * scale, y * scale
    return sqrt(fma(x, x, y * y)) * back


def _arc(x: Val, to: DType) -> tuple[Val, Val]:
    """(is |x| above 1/2, asin(|x|), or where it is above asin(sqrt((1 - |x|)/2)), the half of
    acos(|x|))."""
    a = absolute(x)
    large = a > 0.5
    z = where(large, (1.0 - a) * 0.5, a * a)
    s = where(large, sqrt(z), a)
    return large, fma(s * z, horner(z, _ASIN[to]), s)


def asin(x: Val) -> Val:
    return in_double(_asin, x)


def _asin(x: Val, to: DType) -> Val:
    large, y = _arc(x, to)
    return with_sign(where(large, PI_2 - (y + y - PI_2_LO), y), sign_bit(x))


def acos(x: Val) -> Val:
    return in_double(_acos, x)


def _acos(x: Val, to: DType) -> Val:
    large, y = _arc(x, to)
    twice = y + y
    beyond = where(x < 0.0, PI - (twice - PI_LO), twice)
    return where(large, beyond, PI_2 - (with_sign(y, sign_bit(x)) - PI_2_LO))
