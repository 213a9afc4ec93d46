"""exp and tanh. In: a float32 or float64 Val. Out: the same function in basic ops."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import dtype as dt
from .math_build import (
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
    ldexp,
    round_scaled,
    sign_bit,
    where,
    with_sign,
)

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Exp:
    """exp(x) = 2**n * (1 + r + r*r*q(r)), n = round(x / ln 2), r = x - n*(ln2_hi + ln2_lo), |r| <= ln2 / 2."""

    ln2_hi: float
    ln2_lo: float
    q: tuple[float, ...]
    lowest: float  # exp rounds to 0 from here down
    highest: float  # and overflows from here up


# float32: coefficients of Cephes expf. float64: ln2 as in fdlibm e_exp.c, q a minimax fit of (exp(r)-1-r)/r**2,
# error 2**-58 relative to exp(r).
_EXP = {
    dt.float32: _Exp(
        0.693145751953125,
        1.42860682030941723212e-6,
        (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
        -104.0,
        89.0,
    ),
    dt.float64: _Exp(
        6.93147180369123816490e-01,
        1.90821492927058770002e-10,
        (
            2.5000130246894904e-08, 2.7630309811522885e-07, 2.7557586682292104e-06, 2.4801492943199404e-05,
            0.0001984126950556411, 0.0013888888943761164, 0.008333333333495294, 0.04166666666652975,
            0.1666666666666641, 0.5000000000000011,
        ),
        -746.0,
        710.0,
    ),
}  # fmt: skip

# (exp(r)-1-r)/r**2, minimax relative to expm1(r), error 2**-61.
_EXPM1_Q = (
    2.0875365076254436e-09, 2.5109024752239483e-08, 2.755740265209879e-07, 2.7557244253284672e-06,
    2.48015871723857e-05, 0.0001984126988607441, 0.0013888888888962518, 0.008333333333321653,
    0.04166666666666651, 0.16666666666666677, 0.5,
)  # fmt: skip


def _reduced(x: Val) -> tuple[Val, Val]:
    """r of the formula above, and a float whose low bits hold n."""
    c = _EXP[x.dtype]
    n, shifted = round_scaled(x, LOG2_E)
    return fma(n, -c.ln2_lo, fma(n, -c.ln2_hi, x)), shifted


def power_of_two(shifted: Val) -> Val:
    """2**n for the n in the low bits of `shifted`; within the exponent range only."""
    mantissa = MANTISSA[shifted.dtype]
    return from_bits((bits(shifted) << mantissa) + bits_of_one(shifted))


def bits_of_one(x: Val) -> int:
    return 0x3F800000 if x.dtype is dt.float32 else 0x3FF0000000000000


def exp_parts(x: Val) -> tuple[Val, Val]:
    """exp(x) = p * 2**n as p and a float whose low bits hold n."""
    r, shifted = _reduced(x)
    q = horner(r, _EXP[x.dtype].q)
    return fma(r * r, q, r) + 1.0, shifted


def exp(x: Val) -> Val:
    c = _EXP[x.dtype]
    p, shifted = exp_parts(at_least(at_most(x, c.highest), c.lowest))
    return ldexp(p, bits(shifted) - MAGIC_BITS[x.dtype])


def tanh(x: Val) -> Val:
    magnitude = _TANH[x.dtype](absolute(x))
    return with_sign(magnitude, sign_bit(x))


def _tanh32(a: Val) -> Val:
    """Cephes tanhf: an odd polynomial below 0.625, else 1 - 2/(exp(2a) + 1); 1 from 9.02."""
    z = a * a
    p = horner(z, (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1))
    near = fma(p * z, a, a)
    clamped = at_most(a, 10.0)
    e, shifted = exp_parts(clamped + clamped)
    far = fma(1.0 / fma(e, power_of_two(shifted), 1.0), -2.0, 1.0)
    return where(a < 0.625, near, far)


def _tanh64(a: Val) -> Val:
    """t / (t + 2), t = expm1(2a) = 2**n * (r + r*r*q(r)) + (2**n - 1); 1 from 19.1."""
    clamped = at_most(a, 20.0)
    r, shifted = _reduced(clamped + clamped)
    scale = power_of_two(shifted)
    t = fma(fma(r * r, horner(r, _EXPM1_Q), r), scale, scale - 1.0)
    return t / (t + 2.0)


_TANH = {dt.float32: _tanh32, dt.float64: _tanh64}
