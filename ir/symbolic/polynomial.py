"""Polynomials with whole coefficients. In: their terms. Out: bounds, quotients, texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

Bounds = tuple[float, float]
UNKNOWN: Bounds = (-math.inf, math.inf)


class Answers:
    """Who answers what is asked of symbolic integers (scope.py, arguments.py)."""

    is_laid_out: bool  # all have values, and nothing is recorded or refused
    marked: ClassVar[bool] = True  # texts show that an integer is symbolic

    def answer(self, difference: Any, relation: str) -> bool:
        """How the difference of two integers compares with 0."""
        raise NotImplementedError

    def read(self, x: Any) -> int:
        """The value of an integer."""
        raise NotImplementedError

    def quotient(self, x: int, by: int) -> int:
        """`x // by`, of which at least one is symbolic, and nothing divides exactly."""
        raise NotImplementedError


class Atom:
    """What a monomial is a product of."""

    __slots__ = ("number", "scope")
    scope: Answers
    number: int  # atoms of a scope are in order

    @property
    def value(self) -> int:
        raise NotImplementedError

    @property
    def bounds(self) -> Bounds:
        """Least and greatest value."""
        raise NotImplementedError

    @property
    def start(self) -> tuple[int, int] | None:
        """A bound, and the sign of the way from there: the greatest value only where there is no
        least one."""
        low, high = self.bounds
        if not math.isinf(low):
            return int(low), 1
        return None if math.isinf(high) else (int(high), -1)


Monomial = tuple[Atom, ...]
Terms = Sequence[tuple[Monomial, int]]


def ordered(atoms: Sequence[Atom]) -> Monomial:
    """Their product."""
    return tuple(sorted(atoms, key=lambda a: a.number))


def bounds(terms: Terms) -> Bounds:
    """Of a polynomial: the sum of those of its terms in numbers that begin at 0."""
    if any(a.start is None for m, _ in terms for a in m):
        return UNKNOWN
    shifted: dict[Monomial, int] = {}
    for m, c in terms:
        for left, factor in _expanded(m):
            shifted[left] = shifted.get(left, 0) + c * factor
    low = high = float(shifted.pop((), 0))
    for m, c in shifted.items():
        most = math.prod(a.bounds[1] - a.bounds[0] for a in m)
        low += min(0, c * most) if c else 0
        high += max(0, c * most) if c else 0
    return low, high


def _expanded(m: Monomial) -> list[tuple[Monomial, int]]:
    """The product of the atoms of a monomial, each as its start plus or minus a number that begins
    at 0, which the atom then stands for."""
    out: list[tuple[Monomial, int]] = [((), 1)]
    for a in m:
        assert a.start is not None
        first, sign = a.start
        out = [((*n, a), c * sign) for n, c in out] + [(n, c * first) for n, c in out if first]
    return out


def divided(m: Monomial, c: int, by: Terms) -> tuple[Monomial, int] | None:
    """A term divided by a polynomial, if that is exact."""
    if len(by) > 1:
        return None
    ((factors, d),) = by
    left = list(m)
    for a in factors:
        if a not in left:
            return None
        left.remove(a)
    return None if c % d else (tuple(left), c // d)


def exact_quotient(x: Terms, by: Terms) -> dict[Monomial, int] | None:
    """x / by where that is a polynomial with whole coefficients, by long division."""
    left, found = dict(x), dict[Monomial, int]()
    first = min(by, key=_rank)
    while left:
        part = divided(*min(left.items(), key=_rank), [first])
        if part is None:
            return None
        found[part[0]] = part[1]
        for m, c in by:
            both = ordered((*part[0], *m))
            left[both] = left.get(both, 0) - part[1] * c
            if not left[both]:
                del left[both]
    return found


def _rank(term: tuple[Monomial, int]) -> tuple[int, list[int]]:
    """The leading term comes first: graded lexicographic order, which products keep."""
    atoms = term[0]
    return -len(atoms), [a.number for a in atoms]


def bracketed(text: str) -> str:
    """As a factor."""
    return text if text.strip("()").isalnum() else f"({text})"


def text_of(terms: Mapping[Monomial, int]) -> str:
    """`3`, `n`, `2*n + 1`."""
    parts = [
        "*".join([*([str(c)] if c != 1 or not m else []), *map(repr, m)]) for m, c in terms.items()
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"
