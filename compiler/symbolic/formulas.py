"""Formulas of extents. In: the extents of two structures that differ in nothing else. Out: symbols,
and polynomials of them whose values both are.

A formula is a guess: before it serves other sizes, all of them are computed and compared
(Formulas.values_of). It need not be the right one to be safe, but to be useful.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod
from typing import Any

from ...ir.symbolic.integer import Symbolic, polynomial
from ...ir.symbolic.polynomial import Atom
from ...ir.symbolic.questions import value_of
from ...ir.symbolic.scope import LEAST, Quotient, Scope, Symbol, is_symbol, symbols_of
from .extents import Apart

NAMES = "nmklpqrst"
MOST_SYMBOLS = len(NAMES)
MOST_FACTORS = 3
MOST_DIVISOR = 8

Pair = tuple[int, int]


@dataclass(frozen=True)
class Formulas:
    """`extents`: of each place a number or a polynomial of the symbols of the scope; `places`: of
    the symbols in order, one where it stands alone."""

    scope: Scope
    extents: tuple[int, ...]
    places: tuple[int, ...]

    def values_of(self, extents: Sequence[int]) -> tuple[int, ...] | None:
        """The values of the symbols that give these extents, if there are any."""
        values = tuple([extents[place] for place in self.places])
        with self.scope.at(values):
            same = [value_of(f) == e for f, e in zip(self.extents, extents, strict=True)]
        return values if all(same) else None

    def narrowed(self, extents: Sequence[int]) -> Formulas | None:
        """The same for structures that have extents of 0 or 1 where these have: the symbols that
        those follow from are numbers. None if these extents do not fit, or no symbol is left."""
        values = self.values_of(extents)
        if values is None:
            return None
        given = dict(zip(self.scope.values, values, strict=True))
        pairs = zip(self.extents, extents, strict=True)
        fixed = {s for formula, e in pairs if e < LEAST for s in symbols_of(formula)}
        scope = Scope()
        now = {s: v if s in fixed else scope.symbol(s.name, v) for s, v in given.items()}

        def value(atom: Atom) -> int:
            if isinstance(atom, Quotient):
                return polynomial(atom.of, value) // polynomial(atom.by, value)
            assert isinstance(atom, Symbol)
            return now[atom]

        places = [p for p, s in zip(self.places, given, strict=True) if s not in fixed]
        found = tuple([polynomial(formula, value) for formula in self.extents])
        return Formulas(scope, found, tuple(places)) if fixed and places else None


def formulas(
    first: Apart, second: Apart, symbols: Mapping[Pair, str] | None = None
) -> Formulas | None:
    """Formulas for two structures with the same rest; the second is at hand. `symbols`: names by
    the extents in both. None if too much differs, or an axis has no or one element in one of
    them."""
    pairs = list(zip(first.extents, second.extents, strict=True))
    scope, places, symbols = Scope(), list[int](), symbols or {}
    names = (name for name in NAMES if name not in symbols.values())
    known: dict[Pair, Symbolic] = {}
    independent = _independent(pairs, second.sizes)
    for place in [*independent, *sorted(range(len(pairs)), key=pairs.__getitem__)]:
        pair = pairs[place]
        if pair[0] == pair[1] or pair in known:
            continue
        fitting = None if place in independent else _fitting(pair, known)
        if fitting is None:
            if len(places) == MOST_SYMBOLS or min(pair) < LEAST:
                return None
            fitting = scope.symbol(symbols.get(pair) or next(names), pair[1])
            places.append(place)
        known[pair] = fitting
    found = [known[p] if p[0] != p[1] else p[1] for p in pairs]
    return Formulas(scope, tuple(found), tuple(places)) if places else None


def _independent(pairs: Sequence[Pair], sizes: Sequence[int]) -> list[int]:
    """Where the sizes stand of which all others are multiples, the smaller ones, in order."""
    places: list[int] = []
    varying = [p for p in sizes if pairs[p][0] != pairs[p][1]]
    for p in sorted(varying, key=lambda p: (pairs[p], p)):
        if len(places) > MOST_SYMBOLS:
            break
        if not any(_multiple(pairs[p], m) for m in _products([pairs[q] for q in places])):
            places.append(p)
    return sorted(places)


def _multiple(pair: Pair, of: Pair) -> bool:
    return all(of) and pair[0] % of[0] == 0 and pair[0] // of[0] * of[1] == pair[1]


def _products(pairs: Sequence[Pair]) -> list[Pair]:
    """Of up to MOST_FACTORS of them."""
    return [
        (prod(a for a, _ in chosen), prod(b for _, b in chosen))
        for count in range(1, MOST_FACTORS + 1)
        for chosen in combinations_with_replacement(pairs, count)
    ]


def _fitting(pair: Pair, known: Mapping[Pair, Symbolic]) -> Any:
    """A multiple of a product of symbols; a sum of two; a multiple of one plus a number; one plus a
    number, divided."""
    symbols = [(p, s) for p, s in known.items() if is_symbol(s)]
    for count in range(1, MOST_FACTORS + 1):
        for chosen in combinations_with_replacement(symbols, count):
            of = prod(p[0] for p, _ in chosen), prod(p[1] for p, _ in chosen)
            if _multiple(pair, of):
                product: Any = prod([s for _, s in chosen])
                return product * (pair[0] // of[0])
    for (one, s), (other, t) in combinations_with_replacement(symbols, 2):
        if s is not t and (one[0] + other[0], one[1] + other[1]) == pair:
            return s + t
    for of, s in symbols:
        slope, rest = divmod(pair[1] - pair[0], of[1] - of[0])
        if not rest and slope:
            return slope * s + (pair[0] - slope * of[0])
    return next((q for of, s in symbols for q in _quotients(pair, of, s)), None)


def _quotients(pair: Pair, of: Pair, s: Symbolic) -> Iterator[int]:
    """(s + shift) // by, as after strides."""
    tried = [
        (shift, by)
        for by in range(2, MOST_DIVISOR + 1)
        for shift in range(pair[0] * by - of[0], pair[0] * by - of[0] + by)
    ]
    for shift, by in sorted(tried, key=lambda t: (abs(t[0]), t[1])):
        if (of[1] + shift) // by == pair[1]:
            yield (s + shift) // by
