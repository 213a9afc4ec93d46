"""exp, expm1 and tanh. In: a float32 or float64 Val. Out: the same function in basic ops."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from .build import (
    MAGIC_BITS,
    MANTISSA,
    Val,
    absolute,
    at_least,
    at_most,
    bits,
    fma,
    from_bits,
    horner,
    keep_tiny,
    ldexp,
    round_scaled,
    sign_bit,
    where,
    with_sign,
)

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Exp:
    """exp(x) = 2**n * (1 + r + r*r*q(r)), n = round(x / ln 2), r = x - n*(ln2_hi + ln2_lo), |r| <=
    ln2 / 2."""

    ln2_hi: float
    ln2_lo: float
    q: tuple[float, ...]
    lowest: float  # exp rounds to 0 from here down
    highest: float  # and overflows from here up


# float32: coefficients of Cephes expf. float64: ln2 as in fdlibm e_exp.c, q a minimax fit of
# (exp(r)-1-r)/r**2, error 2**-58 relative to exp(r).
_EXP = {
    dt.float32: _Exp(
        0.693145751953125,
        1.42860682030941723212e-6,
        (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
            5.0000001201e-1),
        -104.0,
        89.0,
    ),
    dt.float64: _Exp(
        6.93147180369123816490e-01,
        1.90821492927058770002e-10,
        (
            2.5000130246894904e-08, 2.7630309811522885e-07, 2.7557586682292104e-06,
            2.4801492943199404e-05, 0.0001984126950556411, 0.0013888888943761164,
            0.008333333333495294, 0.04166666666652975, 0.1666666666666641, 0.5000000000000011,
        ),
        -746.0,
        710.0,
    ),
}  # fmt: skip

# (exp(r)-1-r)/r**2, minimax relative to expm1(r): error 2**-32 with coefficients in float32,
# 2**-61.
_EXPM1_Q = {
    dt.float32: (0.000198866124, 0.00139416114, 0.00833331328, 0.0416663475, 0.166666672, 0.5),
    dt.float64: (
        2.0875365076254436e-09, 2.5109024752239483e-08, 2.755740265209879e-07,
        2.7557244253284672e-06, 2.48015871723857e-05, 0.0001984126988607441, 0.0013888888888962518,
        0.008333333333321653, 0.04166666666666651, 0.16666666666666677, 0.5,
    ),
}  # fmt: skip
# (2**r - 1)/r for |r| <= 1/2, minimax relative to 2**r: error 2**-29 (float32), 2**-58.
EXP2_P = {
    dt.float32: (0.000154764028, 0.0013400279, 0.00961800385, 0.055503279, 0.240226507,
        0.693147182),
    dt.float64: (
        4.434780584522546e-10, 7.073791173046296e-09, 1.0178199565676449e-07,
        1.3215435238663931e-06, 1.5252733493012387e-05, 0.0001540353045719412, 0.001333355814677486,
        0.00961812910759406, 0.055504108664820084, 0.2402265069591013, 0.6931471805599453,
    ),
}  # fmt: skip
# as `lowest` and `highest`
_EXP2_RANGE = {
    dt.float32: (-151.0, 129.0),
    dt.float64: (-1076.0, 1025.0),
}
# expm1 is -1 below, overflows above, and is x up to `tiny`
_EXPM1_RANGE = {dt.float32: (-32.0, 89.0, 2.0**-25), dt.float64: (-64.0, 710.0, 2.0**-54)}


def _reduced(x: Val) -> tuple[Val, Val]:
    """r of the formula above, and a float whose low bits hold n."""
    c = _EXP[x.dtype]
    n, shifted = round_scaled(x, LOG2_E)
    return fma(n, -c.ln2_lo, fma(n, -c.ln2_hi, x)), shifted


def power_of_two(shifted: Val, offset: int = 0) -> Val:
    """2**(n + offset) for the n in the low bits of `shifted`; within the exponent range only."""
    mantissa = MANTISSA[shifted.dtype]
    return from_bits(
        (bits(shifted) << mantissa) + (bits_of_one(shifted) + offset * (1 << mantissa))
    )


def bits_of_one(x: Val) -> int:
    return 0x3F800000 if x.dtype is dt.float32 else 0x3FF0000000000000


def exp_parts(x: Val) -> tuple[Val, Val]:
    """exp(x) = p * 2**n as p and a float whose low bits hold n."""
    r, shifted = _reduced(x)
    q = horner(r, _EXP[x.dtype].q)
    return fma(r * r, q, r) + 1.0, shifted


def exp(x: Val, base: int | None = None) -> Val:
    """base**x; the base is e or 2."""
    p, shifted = _exp2_parts(x) if base == 2 else exp_parts(_clamped(x))
    return ldexp(p, whole_part(shifted))


def _clamped(x: Val) -> Val:
    c = _EXP[x.dtype]
    return at_least(at_most(x, c.highest), c.lowest)


def _exp2_parts(x: Val) -> tuple[Val, Val]:
    """2**x = p * 2**n; p = 1 + r*P(r), r = x - n is exact."""
    lowest, highest = _EXP2_RANGE[x.dtype]
    x = at_least(at_most(x, highest), lowest)
    n, shifted = round_scaled(x, 1.0)
    r = x - n
    return fma(r, horner(r, EXP2_P[x.dtype]), 1.0), shifted


def whole_part(shifted: Val) -> Val:
    """The n in the low bits of `shifted`."""
    return bits(shifted) - MAGIC_BITS[shifted.dtype]


def expm1(x: Val) -> Val:
    lowest, highest, tiny = _EXPM1_RANGE[x.dtype]
    clamped = at_least(at_most(x, highest), lowest)
    return keep_tiny(x, tiny, scaled_expm1(clamped, 1, x.dtype) * 2.0)


def scaled_expm1(x: Val, halvings: int, to: DType) -> Val:
    """expm1(x) / 2**halvings as accurate as `to` needs: h*(r + r*r*q(r)) + (h - 2**-halvings), h =
    2**(n - halvings)."""
    r, shifted = _reduced(x)
    h = power_of_two(shifted, -halvings)
    return fma(fma(r * r, horner(r, _EXPM1_Q[to]), r), h, h - 2.0**-halvings)


def tanh(x: Val) -> Val:
    magnitude = _TANH[x.dtype](absolute(x))
    return with_sign(magnitude, sign_bit(x))


def _tanh32(a: Val) -> Val:
    """Cephes tanhf: an odd polynomial below 0.625, else 1 - 2/(exp(2a) + 1); 1 from 9.02."""
    z = a * a
    p = horner(
        z,
        (
            -5.70498872745e-3,
            2.06390887954e-2,
            -5.37397155531e-2,
            1.33314422036e-1,
            -3.33332819422e-1,
        ),
    )
    near = fma(p * z, a, a)
    clamped = at_most(a, 10.0)
    e, shifted = exp_parts(clamped + clamped)
    far = fma(1.0 / fma(e, power_of_two(shifted), 1.0), -2.0, 1.0)
    return where(a < 0.625, near, far)


def _tanh64(a: Val) -> Val:
    """t / (t + 2), t = expm1(2a); 1 from 19.1."""
    clamped = at_most(a, 20.0)
    t = scaled_expm1(clamped + clamped, 0, dt.float64)
    return t / (t + 2.0)


_TANH = {dt.float32: _tanh32, dt.float64: _tanh64}
