"""erfinv, lgamma and polygamma of float64 arrays in NumPy, as the interpreter and constants take
them. In, out: arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_EULER = 0.5772156649015329
# those of 2, 4, .. 16
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
)
_erf_of_each, _erfc_of_each = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_erf_of_each(x), dtype=np.float64)


def erfinv(y: Array) -> Array:
    """By S. Winitzki's approximation (2008) and three of Halley's steps, in terms of erfc where y
    is near 1."""
    a = np.abs(y)
    size = np.where(a < 1, a, 0.0)
    log = np.log1p(-size * size)
    half = 2 / (math.pi * 0.147) + log / 2
    x = np.sqrt(np.sqrt(half * half - log / 0.147) - half)
    for _ in range(3):
        excess = np.where(
            size < 0.5, erf(x) - size, (1 - size) - np.asarray(_erfc_of_each(x), np.float64)
        )
        step = excess * (math.sqrt(math.pi) / 2) * np.exp(x * x)
        x = x - step / (1 + x * step)
    return np.copysign(np.where(a < 1, x, np.where(a == 1, np.inf, np.nan)), y)


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):  # beyond all floats, or at a pole
        return math.inf


def lgamma(x: Array) -> Array:
    """log|Gamma(x)|: libm's, but from 0.5 to 12 by the Taylor series at 2, and the product of what
    lies between."""
    is_near = (x >= 0.5) & (x < 12)
    y, product = np.where(is_near, x, 2.0), np.ones_like(x)
    for _ in range(10):
        is_above = y >= 2.5
        y = np.where(is_above, y - 1, y)
        product = np.where(is_above, product * y, product)
    e = np.where(y < 1.5, y - 1, y - 2)
    series = e * (1 - _EULER) + e * e * _horner(
        e, [(-1) ** k * _zeta_less_one(k) / k for k in range(40, 1, -1)]
    )
    near = series + np.where(y < 1.5, -np.log1p(e), np.log(product))
    return np.where(is_near, near, np.asarray(np.frompyfunc(_lgamma, 1, 1)(x), dtype=np.float64))


@cache
def _zeta_less_one(k: int) -> float:
    """zeta(k) - 1 by Euler and Maclaurin."""
    n, term = 16, k / 2 * 16.0 ** (-k - 1)
    total = sum(i**-k for i in range(15, 1, -1)) + n**-k / 2 + n ** (1 - k) / (k - 1)
    for j, b in enumerate(_BERNOULLI[:6], 1):
        total += b * term
        term *= (k + 2 * j - 1) * (k + 2 * j) / n**2 / ((2 * j + 1) * (2 * j + 2))
    return float(total)


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, highest power first."""
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def polygamma(n: int, x: Array) -> Array:
    """The nth derivative of digamma: by recurrence to 20 + n, the asymptotic series there, and
    reflection of negative x."""
    y = np.where(x < 0, 1 - x, x)
    positive = _sums(n, y) * (-1.0) ** (n + 1)
    rest = x - np.floor(x + 0.5)
    slope = math.pi ** (n + 1) * _cotangent(n, 1 / np.tan(math.pi * rest))
    reflected = np.where(rest == 0, math.inf if n % 2 else math.nan, (-1.0) ** n * positive - slope)
    return np.where(x < 0, reflected, positive)


def _sums(n: int, x: Array) -> Array:
    """(-1)**(n+1) psi_n(x) for x >= 0."""
    steps = 20 + n
    large = x + steps
    total = -np.log(large) if n == 0 else math.factorial(n - 1) / large**n
    total = total + math.factorial(n) / (2 * large ** (n + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / large ** (
            2 * k + n
        )
    for k in range(steps - 1, 0, -1):
        total = total + math.factorial(n) / (x + k) ** (n + 1)
    return total + math.factorial(n) / x ** (n + 1)


def _cotangent(n: int, c: Array) -> Array:
    """The nth derivative of cot(t), where c is cot(t) and its derivative -(1 + c*c)."""
    polynomial = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-1, 0, -1])
    return _horner(c, polynomial.coef[::-1].tolist())
