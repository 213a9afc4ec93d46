"""Fourier transforms of a few complex values in registers. In: the parts of each as Vals. Out: the
parts of each result, in order.

An even number is that of its even and its odd values, an odd one is summed as it stands: the values
at j and n - j share their products. Factors exp(-2 pi i k / n) are constants.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import NamedTuple

from ..math.build import Val, fma


class Pair(NamedTuple):
    """A complex value."""

    re: Val
    im: Val

    def __add__(self, other: Pair) -> Pair:  # type: ignore[override]
        return Pair(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.re - other.re, self.im - other.im)


def times(a: Pair, re: Val | float, im: Val | float) -> Pair:
    """a * (re + i im)."""
    return Pair(fma(a.re, re, -(a.im * im)), fma(a.im, re, a.re * im))


def transformed(a: list[Pair]) -> list[Pair]:
    """The sums of a[j] exp(-2 pi i j k / n) over j."""
    if len(a) % 2:
        return _odd(a)
    even, odd = (transformed(a[k::2]) if len(a) > 2 else a[k::2] for k in range(2))
    turned = [_turned(x, k, len(a)) for k, x in enumerate(odd)]
    pairs = list(zip(even, turned, strict=True))
    return [*[x + y for x, y in pairs], *[x - y for x, y in pairs]]


def _turned(a: Pair, k: int, n: int) -> Pair:
    """a * exp(-2 pi i k / n) for k < n / 2."""
    if k == 0:
        return a
    if 4 * k == n:
        return Pair(a.im, -a.re)
    if 8 * k == n:
        return Pair((a.re + a.im) * sqrt(0.5), (a.im - a.re) * sqrt(0.5))
    if 8 * k == 3 * n:
        return Pair((a.im - a.re) * sqrt(0.5), (a.re + a.im) * -sqrt(0.5))
    return times(a, cos(2 * pi * k / n), -sin(2 * pi * k / n))


def _odd(a: list[Pair]) -> list[Pair]:
    n, first, half = len(a), a[0], range(1, len(a) // 2 + 1)
    sums, differences = [a[j] + a[n - j] for j in half], [a[j] - a[n - j] for j in half]
    turned = [Pair(d.im, -d.re) for d in differences]
    out = [sum(sums[1:], first + sums[0])] * n
    for k in half:
        angles = [2 * pi * (j * k % n) / n for j in half]
        even = _weighted(sums, [cos(t) for t in angles], first)
        odd = _weighted(turned, [sin(t) for t in angles])
        out[k], out[n - k] = even + odd, even - odd
    return out


def _weighted(values: list[Pair], weights: list[float], start: Pair | None = None) -> Pair:
    """The start plus the sum of values times real weights."""
    total = start
    for v, w in zip(values, weights, strict=True):
        if total is None:
            total = Pair(v.re * w, v.im * w)
        else:
            total = Pair(fma(v.re, w, total.re), fma(v.im, w, total.im))
    assert total is not None
    return total
