"""sin, cos and tan of any finite argument. In: a float32 or float64 Val. Out: sin(x + turns*pi/2)
and tan(x) in basic ops.

|x| = n*pi/2 + r with |r| <= pi/4; n mod 4 chooses sin or cos of r, and its sign. Up to a limit
n*pi/2 is subtracted in three parts (Cody and Waite), beyond it the needed bits of 2/pi are
multiplied (Payne and Hanek, 1983), rarely.
"""

from __future__ import annotations

from fractions import Fraction

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import const
from .build import (
    Val,
    absolute,
    bits,
    cast,
    equal,
    fast_two_sum,
    floor,
    fma,
    horner,
    rarely,
    round_scaled,
    sign_bit,
    two_product,
    two_sum,
    where,
    with_sign,
)

PI_2 = 1.5707963267948966
PI_2_LO = 6.123233995736766e-17

# Up to here the three parts of pi/2 leave r an error far below its last place.
_LIMIT = {dt.float32: 1e5, dt.float64: 2.0**30}
_PARTS = {
    dt.float32: (1.57079601e00, 3.13916473e-07, 5.39030253e-15),
    dt.float64: (PI_2, PI_2_LO, -1.4973849048591698e-33),
}
# float32: N. Juffa (stackoverflow.com/questions/30463616); float64: fdlibm k_sin.c and k_cos.c.
_SIN = {
    dt.float32: (2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1),
    dt.float64: (
        1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
    ),
}  # fmt: skip
_COS = {
    dt.float32: (2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1.0),
    dt.float64: (
        -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02, -0.5,
        1.0,
    ),
}  # fmt: skip

# (tan(r) - r)/r**3 over r*r up to (pi/4)**2: minimax fits, error 2**-29 and 2**-60 of tan(r).
_TAN = {
    dt.float32: (
        0.0044138152465719544, 1.000580995147571e-05, 0.010901652125883447, 0.021255395470017986,
        0.054065423039041376, 0.13332611386694726, 0.3333335138150401,
    ),
    dt.float64: (
        9.79714978959607e-06, -2.427568673911321e-05, 4.8661468072443435e-05,
        -2.5692349070495854e-05, 6.729175711450246e-05, 8.350673398062518e-05,
        0.00024377729718280097, 0.0005888554389086615, 0.0014560477786192255, 0.003592100505680379,
        0.008863237964573155, 0.021869488396311077, 0.05396825397302741, 0.1333333333332509,
        0.3333333333333338,
    ),
}  # fmt: skip

# 2/pi in binary, 1,192 bits after the point.
TWO_OVER_PI_BITS = 1192
TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73EE8"
    "8235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F46"
    "3F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC",
    16,
)


def sin(x: Val, turns: int) -> Val:
    a = absolute(x)
    r, n = _HUGE[x.dtype](a)
    usual, unusual = (
        _from_quadrant(*reduced, turns) for reduced in (_moderate(a), (cast(r, x.dtype), n))
    )
    value = rarely(a > _LIMIT[x.dtype], unusual, usual)
    return with_sign(value, sign_bit(x)) if turns % 2 == 0 else value


def cos_sin_of_turn(part: Val, whole: int) -> tuple[Val, Val]:
    """cos and sin of 2 pi part / whole, of a whole number 0 <= part < whole that is a float.

    Four times it is reduced by quarters of the whole without rounding; what the angle that is left
    is rounded by, `rest`, is added to first order.
    """
    n, shifted = round_scaled(part, 4.0 / whole)
    quarter = fma(n, -float(whole), part * 4.0)
    unit = float(part.dtype.numpy.type(PI_2 / whole))
    r = quarter * unit
    rest = fma(quarter, unit, -r) + quarter * _left_of_unit(whole, unit)
    cosine, sine = (_from_quadrant(r, bits(shifted), turns) for turns in (1, 0))
    return fma(-rest, sine, cosine), fma(rest, cosine, sine)


def _left_of_unit(whole: int, unit: float) -> float:
    """pi / 2 / whole - unit."""
    return float((Fraction(PI_2) + Fraction(PI_2_LO)) / whole - Fraction(unit))


def tan(x: Val) -> Val:
    """tan(r), or -1/tan(r) for odd n; float32 is reduced and evaluated in float64."""
    a = absolute(x)
    r, n = _HUGE[x.dtype](a)
    usual = _tan_of_rest(*_moderate(cast(a, dt.float64)), x.dtype)
    value = rarely(a > _LIMIT[x.dtype], _tan_of_rest(r, n, x.dtype), usual)
    return with_sign(cast(value, x.dtype), sign_bit(x))


def _tan_of_rest(r: Val, n: Val, to: DType) -> Val:
    z = r * r
    t = fma(r * z, horner(z, _TAN[to]), r)
    return where(equal(n & 1, 0), t, -1.0 / t)


def _moderate(a: Val) -> tuple[Val, Val]:
    """r, and an integer whose low two bits are n mod 4, for 0 <= a <= the limit."""
    n, shifted = round_scaled(a, 2.0 / 3.141592653589793)
    r = a
    for part in _PARTS[a.dtype]:
        r = fma(n, -part, r)
    return r, bits(shifted)


def _from_quadrant(r: Val, n: Val, turns: int) -> Val:
    """sin(r + (n + turns)*pi/2)."""
    z = r * r
    sine = fma(horner(z, _SIN[r.dtype]) * z, r, r)
    cosine = horner(z, _COS[r.dtype])
    quadrant = n + turns
    return with_sign(
        where(equal(quadrant & 1, 0), sine, cosine), (quadrant & 2) << (r.dtype.bits - 2)
    )


def _window(offset: Val, count: int, padding: int, steps: tuple[int, ...]) -> list[Val]:
    """`count` words of 64 bits of (padding zeros, then the bits of 2/pi), from the bit `offset` on;
    uint64.

    Word offset // 64 is chosen by WHEREs on the bits of the word number (`steps`), then the words
    are shifted.
    """
    total = count + 1 + sum(steps)
    words = [_constant_word(i, padding) for i in range(total)]
    number = offset >> 6
    for step in steps:
        stay = equal(number & step, 0)
        words = [where(stay, near, far) for near, far in zip(words, words[step:], strict=False)]
    places = cast(offset, dt.uint64)
    shift, back = places & 63, ~places & 63  # a shift by 64 places is one by 1 and one by 63
    return [(words[i] << shift) | (words[i + 1] >> 1 >> back) for i in range(count)]


def _constant_word(i: int, padding: int) -> Val:
    return Val(const(TWO_OVER_PI >> (TWO_OVER_PI_BITS + padding - 64 * (i + 1)), dt.uint64))


def _huge32(a: Val) -> tuple[Val, Val]:
    """_moderate for 2**16 <= a, with r in float64.

    In integers: a = m * 2**e, and m * 2**e * 2/pi mod 4 has 2 bits before the point and 62 after
    it.
    """
    exponent = cast(bits(a) >> 23, dt.int64)
    m = cast((bits(a) & 0x7FFFFF) | 0x800000, dt.uint64)
    high, low = _window(exponent - (127 + 16), 2, 9, (1,))
    turns = m * high + ((m * (low >> 32)) >> 32)
    fraction = cast(turns << 2, dt.int64) >> 2
    r = cast(fraction, dt.float64) * (PI_2 * 2.0**-62)
    return r + cast(a - a, dt.float64), cast((turns >> 62) + ((turns >> 61) & 1), dt.int32)


def _huge64(a: Val) -> tuple[Val, Val]:
    """_moderate for 2**30 <= a, as four products of floats with their errors; next to a multiple of
    pi/2, 61 bits cancel."""
    exponent = bits(a) >> 52
    m = cast((bits(a) & 0xFFFFFFFFFFFFF) | (1 << 52), dt.float64)
    high, mid, low = _window(exponent - (1023 + 30), 3, 24, (8, 4, 2, 1))
    h0, l0 = two_product(m * 2.0**-50, cast(high >> 12, dt.float64))
    h1, l1 = two_product(m * 2.0**-102, cast(((high & 0xFFF) << 40) | (mid >> 24), dt.float64))
    h2, l2 = two_product(m * 2.0**-154, cast(((mid & 0xFFFFFF) << 28) | (low >> 36), dt.float64))
    h3 = m * 2.0**-190 * cast(low & 0xFFFFFFFFF, dt.float64)
    whole, error = two_sum((h0 - floor(fma(h0, 0.25, 0.5)) * 4.0) + l0, h1)
    n, shifted = round_scaled(whole, 1.0)
    small, small_error = two_sum(l1, h2)
    part, part_error = two_sum(small, error)
    fraction, fraction_error = two_sum(whole - n, part)
    turn, turn_lo = fast_two_sum(
        fraction, fraction_error + (part_error + (small_error + (l2 + h3)))
    )
    product, product_lo = two_product(turn, PI_2)
    r = product + fma(turn, PI_2_LO, fma(turn_lo, PI_2, product_lo))
    return r + (a - a), bits(shifted) & 3


_HUGE = {dt.float32: _huge32, dt.float64: _huge64}
