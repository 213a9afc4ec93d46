"""References for functions that NumPy has not. In: float64 or long double (80 bits) arrays. Out:
arrays as wide, at least."""

from __future__ import annotations

import math

import numpy as np

LONG = np.longdouble
PI = 4 * np.arctan(LONG(1))
GAMMA = LONG("0.57721566490153286060651209008240243")  # Euler's
HALF_LOG_2PI = np.log(2 * PI) / 2
BERNOULLI = [
    LONG(p) / LONG(q)
    for p, q in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
]


def erf(x: np.ndarray) -> np.ndarray:
    """libm's in float64; in long double 2/sqrt(pi) * x * exp(-x*x) * sum of (2 x*x)**n /
    (1*3*5..(2n+1)), 1 from 6.5 on."""
    if x.dtype == np.float64:
        return np.array([math.erf(v) for v in x.tolist()])
    t = np.minimum(np.abs(x), LONG(6.5))
    square = t * t
    term = total = t * np.exp(-square) * (2 / np.sqrt(PI))
    for n in range(1, 200):  # all terms are positive
        term = term * (2 * square) / (2 * n + 1)
        total = total + term
    return np.copysign(np.where(t < 6.5, total, t * 0 + 1), x)


def _erfc(x: np.ndarray) -> np.ndarray:
    """Of x >= 0: libm's in float64; in long double 1 - erf(x), from 1.5 on the continued fraction
    of Laplace."""
    if x.dtype == np.float64:
        return np.array([math.erfc(v) for v in x.tolist()])
    fraction = t = np.maximum(x, LONG(1.5))
    for n in range(200, 0, -1):
        fraction = t + n / (2 * fraction)
    return np.where(x < 1.5, 1 - erf(x), np.exp(-t * t) / (np.sqrt(PI) * fraction))


def erfinv(y: np.ndarray) -> np.ndarray:
    """By S. Winitzki's approximation and three of Halley's steps, in terms of erfc where y is near
    1; in y's dtype."""
    kind = y.dtype.type
    a = np.where(np.abs(y) < 1, np.abs(y), kind(0))
    log = np.log1p(-a * a)
    half = kind(2 / (PI * LONG(0.147))) + log / 2
    root = kind(np.sqrt(PI) / 2)
    x = np.where(a < 1e-6, a * root, np.sqrt(np.sqrt(half * half - log / kind(0.147)) - half))
    for _ in range(3):
        step = np.where(a < 0.5, erf(x) - a, (1 - a) - _erfc(x)) * np.exp(x * x) * root
        x = x - step / (1 + x * step)
    return np.copysign(
        np.where(np.abs(y) < 1, x, np.where(np.abs(y) == 1, kind("inf"), kind("nan"))), y
    )


def _zeta_less_one(k: int) -> np.longdouble:
    """zeta(k) - 1 by Euler and Maclaurin."""
    n = LONG(16)
    total = sum(LONG(i) ** -k for i in range(15, 1, -1)) + n**-k / 2 + n ** (1 - k) / (k - 1)
    rising, power, factorial = LONG(k), n ** (-k - 1), LONG(2)
    for j, b in enumerate(BERNOULLI, 1):
        total += b * rising * power / factorial
        rising, power, factorial = (
            rising * (k + 2 * j - 1) * (k + 2 * j),
            power / n**2,
            factorial * (2 * j + 1) * (2 * j + 2),
        )
    return total


SERIES = [(-1) ** k * _zeta_less_one(k) / k for k in range(2, 45)]


def _near_two(e: np.ndarray) -> np.ndarray:
    """log Gamma(2 + e) for |e| <= 1/2: its Taylor series."""
    total = e * 0
    for c in reversed(SERIES):
        total = total * e + c
    return e * (1 - GAMMA) + total * e * e


def lgamma(x: np.ndarray) -> np.ndarray:
    """log|Gamma(x)|: near 1 and 2 by a series, beyond 12 by Stirling's, between by a product, of
    negative x by reflection."""
    x = x.astype(LONG)
    positive, a = _log_gamma(np.abs(x)), np.abs(x)
    rest = a - np.floor(a + LONG(0.5))
    reflected = np.log(PI / np.abs(np.sin(PI * rest))) - np.log(a) - positive
    reflected = np.where((rest == 0) | np.isinf(a), LONG("inf"), reflected)
    return np.where((x < 0) & (a > 0), reflected, positive)


def _log_gamma(x: np.ndarray) -> np.ndarray:
    y, product = x, x * 0 + 1
    for _ in range(11):
        above = (y >= 2.5) & (x < 12)
        y = np.where(above, y - 1, y)
        product = np.where(above, product * y, product)
    e = np.where(y < 0.5, y, np.where(y < 1.5, y - 1, np.where(y < 2.5, y - 2, 0)))
    near = (
        _near_two(e)
        - np.where(y < 1.5, np.log1p(e), 0)
        - np.where(y < 0.5, np.log(np.where(y < 0.5, y, 1)), 0)
    )
    large = np.where(x < 12, LONG(12), x)
    series = sum(
        b / (2 * k * (2 * k - 1)) / large ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1)
    )
    stirling = (large - LONG(0.5)) * (np.log(large) - 1) + (HALF_LOG_2PI - LONG(0.5)) + series
    return np.where(x < 12, near + np.log(product), np.where(np.isnan(x), x, stirling))
