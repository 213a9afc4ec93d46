"""lgamma and the derivatives of digamma. In: a float32 or float64 Val. Out: the same function in
basic ops."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, factorial, inf, log2, nan, pi

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from .build import Val, absolute, equal, floor, fma, horner, in_double, number, rarely, where
from .log import log

# lgamma(1 + f) / (f * (f - 1)) - _NEAR_BASE for 0 <= f < 3/2, as a quotient: error of lgamma 2**-35
# and 2**-60.
_NEAR_BASE = 0.46875
_NEAR = {
    dt.float32: (
        (-0.006609003699655922, -0.07949894333165035, -0.18743906871790517, -0.03658293537254502,
            0.10846566488836477),
        (0.014840511356491871, 0.2597993974334387, 1.1888209032129897, 1.9238201427089596, 1.0),
    ),
    dt.float64: (
        (
            -0.00010004198418719241, -0.004062396041342715, -0.04461847216019873,
            -0.19135714242779545, -0.3444829757198178, -0.1917776514002617, 0.10903440148684482,
            0.10846566490153287,
        ),
        (
            0.00021774361822489663, 0.010426808323982633, 0.14641949445930913, 0.8850684408183325,
            2.6661840559267627, 4.184388730762819, 3.266340277645024, 1.0,
        ),
    ),
}  # fmt: skip
# x * (lgamma(x) - (x - 1/2) * (log(x) - 1) - _HALF_LOG) over 1 / x**2 for x >= 8: error of lgamma
# 2**-40 and 2**-60.
_FAR = {
    dt.float32: (0.000780058300794401, -0.0027776989144319302, 0.0833333332653635),
    dt.float64: (
        -0.0016532372492024914, 0.0008373083776194599, -0.0005952029368773997,
        0.0007936506668624145, -0.00277777777761, 0.0833333333333333,
    ),
}  # fmt: skip
_HALF_LOG = 0.41893853320467274  # (log(2 pi) - 1) / 2
# sin(pi r) / r over r**2 for |r| <= 1/2: error 2**-35 and 2**-61.
_SIN_PI = {
    dt.float32: (
        -0.007022163894075603, 0.08204647920458862, -0.5992513302336453, 2.5501632403359227,
        -5.16771276211684, 3.1415926535233534,
    ),
    dt.float64: (
        7.694727316690282e-07, -2.190318542289983e-05, 0.0004662996887764286, -0.007370430478764076,
        0.082145886569893, -0.5992645293187383, 2.550164039877294, -5.167712780049969,
        3.141592653589793,
    ),
}  # fmt: skip
_TINY = 2.0**-60  # lgamma(x) is -log|x| up to here
_WHOLE = 2.0**52  # floats from here on are whole


def lgamma(x: Val) -> Val:
    """log|Gamma(x)|: inf at 0, at negative whole numbers and at infinities."""
    return in_double(_lgamma, x)


def _lgamma(x: Val, to: DType) -> Val:
    """Of a negative x by log(pi / |x sin(pi x)|) - lgamma(-x)."""
    a = absolute(x)
    positive, log_a = _positive(a, to)
    sine = absolute(_sin_pi(_rest(a), to))
    reflected = where(a < _TINY, -log_a, log(number(pi, x.dtype) / (sine * a)) - positive)
    return rarely(x < 0.0, where(a < _WHOLE, reflected, a + inf), positive)


def _positive(x: Val, to: DType) -> tuple[Val, Val]:
    """(lgamma(x) for x >= 0, log(x) for x < 1).

    Below 1 by lgamma(1 + x) - log(x), below 8 by lgamma(y) + log((x-1) (x-2) .. y) with 1 <= y <
    2.5, then by Stirling's series.
    """
    is_small, is_large = x < 1.0, ~(x < 8.0)
    y, product = x, number(1.0, x.dtype)
    for i in range(1, 7):
        below = x - float(i)
        enough = ~(below < 1.5)
        y, product = where(enough, below, y), where(enough, product * below, product)
    f = where(is_small, x, y - 1.0)
    logarithm = log(where(is_small | is_large, x, product))
    above, under = (horner(f, c) for c in _NEAR[to])
    g = f * (f - 1.0)
    near = fma(g, above / under, g * _NEAR_BASE) + where(is_small, -logarithm, logarithm)
    r = 1.0 / x
    far = fma(x - 0.5, logarithm - 1.0, fma(r, horner(r * r, _FAR[to]), _HALF_LOG))
    return where(is_large, far, near), logarithm


def _rest(x: Val) -> Val:
    """x minus the nearest whole number, exact."""
    return x - floor(x + 0.5)


def _sin_pi(r: Val, to: DType) -> Val:
    """sin(pi r) for |r| <= 1/2."""
    return r * horner(r * r, _SIN_PI[to])


# ---------------------------------------------------------------- digamma and its derivatives


def polygamma(x: Val, n: int) -> Val:
    """The nth derivative of digamma, 0 being digamma itself."""
    return in_double(lambda y, to: _polygamma(y, to, n), x)


def _polygamma(x: Val, to: DType, n: int) -> Val:
    """Of a negative x by (-1)**n psi_n(1 - x) - pi * (the nth derivative of cot(pi x))."""
    is_negative = x < 0.0
    y = where(is_negative, 1.0 - x, x)
    sign = 1.0 if n % 2 else -1.0
    positive = _sums(y, to, n) * sign
    r = _rest(x)
    cotangent = _sin_pi(0.5 - absolute(r), to) / _sin_pi(r, to)
    reflected = positive * -sign - horner(cotangent, [c * pi ** (n + 1) for c in _cotangents(n)])
    return rarely(is_negative, where(equal(r, 0.0), inf if n % 2 else nan, reflected), positive)


def _sums(x: Val, to: DType, n: int) -> Val:
    """(-1)**(n+1) psi_n(x) for x >= 0: n! / x**(n+1) and so on below a bound, and the asymptotic
    series from there."""
    bound, series = _asymptotic(n, -58 if to is dt.float64 else -32)
    large = x
    for k in range(bound):
        large = where(x < float(bound - k), x + float(k + 1), large)
    r = 1.0 / large
    lead = -log(large) if n == 0 else _power(r, n) * float(factorial(n - 1))
    total = fma(_power(r, n + 1), horner(r * r, [0.0, *series]) * r + factorial(n) / 2, lead)
    for k in reversed(range(bound)):
        passed = _power(1.0 / (x + float(k) if k else x), n + 1) * float(factorial(n))
        total = total + where(x < float(bound - k), passed, number(0.0, x.dtype))
    return total


def _power(x: Val, n: int) -> Val:
    out = x
    for _ in range(n - 1):
        out = out * x
    return out


@cache
def _asymptotic(n: int, error: int) -> tuple[int, list[float]]:
    """The bound, and the terms B(2k) (2k+n-1)! / (2k)! of the series from there, highest first;
    relative error 2**error."""
    terms = [_bernoulli(2 * k) * factorial(2 * k + n - 1) / factorial(2 * k) for k in range(1, 12)]
    bound = 4
    while True:
        lead = 1.0 if n == 0 else factorial(n - 1) / bound**n
        for count, t in enumerate(terms):
            if log2(abs(t) / lead) - (2 * count + 2 + n) * log2(bound) < error:
                return bound, [float(t) for t in terms[:count]][::-1]
        bound += 1


@cache
def _bernoulli(n: int) -> Fraction:
    return (
        Fraction(1)
        if n == 0
        else -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)
    )


@cache
def _cotangents(n: int) -> list[float]:
    """The nth derivative of cot(t) as a polynomial in cot(t), highest power first: c' is -(1 +
    c*c)."""
    c = [0, 1]  # lowest power first
    for _ in range(n):
        slope = [k * v for k, v in enumerate(c)][1:]
        c = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return [float(v) for v in reversed(c)]
