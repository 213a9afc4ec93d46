"""Quotients of symbolic integers that are no polynomials. In: two integers. Out: an Atom."""

from __future__ import annotations

import math

from .integer import Symbolic, terms_of
from .polynomial import UNKNOWN, Answers, Atom, Bounds, bounds, bracketed, text_of


class Quotient(Atom):
    """`of // by`, rounded down, where that is no polynomial."""

    __slots__ = ("_bounds", "by", "of")

    def __init__(self, of: int, by: int, number: int, scope: Answers) -> None:
        self.of, self.by, self.number, self.scope = of, by, number, scope
        self._bounds: Bounds | None = None

    @property
    def value(self) -> int:
        """For the values at hand."""
        of, by = (x.value if isinstance(x, Symbolic) else x for x in (self.of, self.by))
        return of // by

    @property
    def bounds(self) -> Bounds:
        """From those of the dividend."""
        if self._bounds is None:
            self._bounds = self._found_bounds()
        return self._bounds

    def _found_bounds(self) -> Bounds:
        low, high = bounds(terms_of(self.of))
        if isinstance(self.by, Symbolic):
            if self.by.bounds[0] < 1:
                return UNKNOWN
            return (0, high) if low >= 0 else (low, -1 if high < 0 else max(high, 0))
        return _floor(low, self.by), _floor(high, self.by)

    def __repr__(self) -> str:
        of, by = (text_of(dict(terms_of(x))) for x in (self.of, self.by))
        return f"({bracketed(of)} // {bracketed(by)})"


def _floor(x: float, by: int) -> float:
    return x if math.isinf(x) else x // by
