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

from ...ir.symbolic.integer import Symbolic, polynomial, terms_of
from ...ir.symbolic.polynomial import Atom
from ...ir.symbolic.questions import value_of
from ...ir.symbolic.quotient import Quotient
from ...ir.symbolic.scope import LEAST, Scope, Symbol, is_symbol, symbols_of
from .extents import Apart

NAMES = "nmklpqrst"
MOST_SYMBOLS = len(NAMES)
MOST_FACTORS = 3
MOST_DIVISOR = 8

Pair = tuple[int, int]
Column = tuple[int, ...]  # an extent in several structures


@dataclass(frozen=True)
class Formulas:
    """`extents`: of each place a number or a polynomial of the symbols of the scope; `places`: of
    the symbols in order, one where it stands alone, or a multiple of it and a number."""

    scope: Scope
    extents: tuple[int, ...]
    places: tuple[int, ...]

    def values_of(self, extents: Sequence[int]) -> tuple[int, ...] | None:
        """The values of the symbols that give these extents, if there are any."""
        values = tuple([_solved(self.extents[place], extents[place]) for place in self.places])
        with self.scope.at(values):
            same = [value_of(f) == e for f, e in zip(self.extents, extents, strict=True)]
        return values if all(same) else None

    def narrowed(self, extents: Sequence[int]) -> Formulas | None:
        """The same for structures that have extents of 0 or 1 where these have: the symbols that
        those follow from are numbers. None if these extents do not fit, no symbol is left, or one
        would be 0 or 1."""
        values = self.values_of(extents)
        if values is None:
            return None
        given = dict(zip(self.scope.values, values, strict=True))
        pairs = zip(self.extents, extents, strict=True)
        fixed = {s for formula, e in pairs if e < LEAST for s in symbols_of(formula)}
        if any(v < LEAST for s, v in given.items() if s not in fixed):
            return None
        scope = Scope()
        now = {s: v if s in fixed else scope.symbol(s.name, v) for s, v in given.items()}
        places = [p for p, s in zip(self.places, given, strict=True) if s not in fixed]
        return self._of(now, scope, places) if fixed and places else None

    def of_residue(self, symbol: Symbol, by: int, shift: int) -> Formulas | None:
        """The same for sizes at which a symbol is `by` times another one, less `shift`; None where
        that is no symbol at the sizes at hand."""
        scope, now = Scope(), dict[Symbol, int]()
        for s, value in self.scope.values.items():
            at = (value + shift) // by if s is symbol else value
            if at < LEAST:
                return None
            now[s] = scope.symbol(s.name, at) * (by if s is symbol else 1)
            now[s] -= shift if s is symbol else 0
        return self._of(now, scope, self.places)

    def _of(self, now: Mapping[Symbol, int], scope: Scope, places: Sequence[int]) -> Formulas:
        """The same of other integers."""

        def value(atom: Atom) -> int:
            if isinstance(atom, Quotient):
                return polynomial(atom.of, value) // polynomial(atom.by, value)
            assert isinstance(atom, Symbol)
            return now[atom]

        found = tuple([polynomial(formula, value) for formula in self.extents])
        return Formulas(scope, found, tuple(places))


def formulas(
    first: Apart,
    second: Apart,
    symbols: Mapping[Pair, str] | None = None,
    others: Sequence[Apart] = (),
) -> Formulas | None:
    """Formulas for structures with the same rest; the second is at hand. `symbols`: names by the
    extents in the first two. None if too much differs, or an axis has no or one element in one of
    these."""
    of_all = (first.extents, second.extents, *(o.extents for o in others))
    columns = list(zip(*of_all, strict=True))
    scope, places, symbols = Scope(), list[int](), symbols or {}
    names = (name for name in NAMES if name not in symbols.values())
    known: dict[Column, Symbolic] = {}
    independent = _independent(columns, second.sizes)
    for place in [*independent, *sorted(range(len(columns)), key=columns.__getitem__)]:
        column = columns[place]
        if _is_constant(column) or column in known:
            continue
        fitting = None if place in independent else _fitting(column, known)
        if fitting is None:
            if len(places) == MOST_SYMBOLS or min(column[:2]) < LEAST:
                return None
            fitting = scope.symbol(symbols.get(column[:2]) or next(names), column[1])
            places.append(place)
        known[column] = fitting
    found = [column[1] if _is_constant(column) else known[column] for column in columns]
    return Formulas(scope, tuple(found), tuple(places)) if places else None


def _solved(formula: int, extent: int) -> int:
    """The symbol in a multiple of it and a number that is to be an extent, rounded down."""
    terms = {m: c for m, c in terms_of(formula)}
    const = terms.pop((), 0)
    (slope,) = terms.values()
    return (extent - const) // slope


def _is_constant(column: Column) -> bool:
    return len(set(column)) == 1


def _independent(columns: Sequence[Column], sizes: Sequence[int]) -> list[int]:
    """Where the sizes stand of which all others are multiples, the smaller ones, in order."""
    places: list[int] = []
    varying = [p for p in sizes if not _is_constant(columns[p])]
    for p in sorted(varying, key=lambda p: (columns[p], p)):
        if len(places) > MOST_SYMBOLS:
            break
        if not any(_is_multiple(columns[p], m) for m in _products([columns[q] for q in places])):
            places.append(p)
    return sorted(places)


def _is_multiple(column: Column, of: Column) -> bool:
    times = column[0] // of[0] if of[0] else 0
    return bool(times) and all(a == times * b for a, b in zip(column, of, strict=True))


def _products(columns: Sequence[Column]) -> list[Column]:
    """Of up to MOST_FACTORS of them."""
    return [
        tuple(map(prod, zip(*chosen, strict=True)))
        for count in range(1, MOST_FACTORS + 1)
        for chosen in combinations_with_replacement(columns, count)
    ]


def _fitting(column: Column, known: Mapping[Column, Symbolic]) -> Any:
    """A multiple of a product of symbols; a sum of two; else the simplest of: a multiple of one
    plus a number; one plus a number, divided."""
    symbols = [(c, s) for c, s in known.items() if is_symbol(s)]
    for count in range(1, MOST_FACTORS + 1):
        for chosen in combinations_with_replacement(symbols, count):
            of = tuple(map(prod, zip(*(c for c, _ in chosen), strict=True)))
            if _is_multiple(column, of):
                product: Any = prod([s for _, s in chosen])
                return product * (column[0] // of[0])
    for (one, s), (other, t) in combinations_with_replacement(symbols, 2):
        if s is not t and tuple(map(sum, zip(one, other, strict=True))) == column:
            return s + t
    shapes = [
        shape for of, s in symbols for shape in (*_lines(column, of, s), *_quotients(column, of, s))
    ]
    return min(shapes, key=lambda shape: shape[0], default=(0, None))[1]


Ranked = tuple[int, int]  # the simpler, the lower the first number


def _lines(column: Column, of: Column, s: Symbolic) -> Iterator[Ranked]:
    """slope * s + shift."""
    differing = next((i for i, a in enumerate(of) if a != of[0]), None)
    if differing is None:
        return
    slope, rest = divmod(column[differing] - column[0], of[differing] - of[0])
    shift = column[0] - slope * of[0]
    if slope and not rest and all(slope * a + shift == b for a, b in zip(of, column, strict=True)):
        yield 4 * abs(slope) - 4 + shift.bit_length(), slope * s + shift


def _quotients(column: Column, of: Column, s: Symbolic) -> Iterator[Ranked]:
    """(s + shift) // by, as after strides."""
    for by in range(2, MOST_DIVISOR + 1):
        first = column[0] * by - of[0]
        for shift in range(first, first + by):
            if all((a + shift) // by == b for a, b in zip(of, column, strict=True)):
                yield by + shift.bit_length(), (s + shift) // by
