"""Divisors that guards tell. In: guards. Out: symbols as multiples, so that code can prove that a
vector begins at a whole one.

    n % 4 == 0    ->    n is 4*q, where q is n // 4
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from .guard import Guard, guard_of
from .integer import Symbolic, of_atom, polynomial, terms_of
from .polynomial import Atom
from .questions import is_same
from .quotient import Quotient
from .scope import Condition


def multiples(guards: Iterable[Guard | Condition]) -> dict[Atom, int]:
    """The symbols that guards make multiples, and of what."""
    out: dict[Atom, int] = {}
    for guard in guards:
        if isinstance(guard, Guard) and guard.relation == "==":
            for symbol, number in _divided(guard.what):
                out[symbol] = lcm(number, out.get(symbol, 1))
    return out


def _divided(what: Symbolic) -> Iterable[tuple[Atom, int]]:
    """The symbol that a remainder divides, `6*n - 4*(6*n // 4)`, and by what: 2."""
    for q in (q for atoms, _ in what.terms for q in atoms if isinstance(q, Quotient)):
        ((atoms, factor), *others) = terms_of(q.of)
        if others or len(atoms) != 1 or not isinstance(q.by, int):
            continue
        rest = q.of % q.by
        asked = guard_of(rest, "==") if isinstance(rest, Symbolic) else None
        if asked is not None and is_same(what, asked.what):
            yield atoms[0], q.by // gcd(factor, q.by)


def factored(x: int, known: Mapping[Atom, int]) -> int:
    """The same integer of quotients of those symbols."""

    def value(a: Atom) -> int:
        return known[a] * (of_atom(a) // known[a]) if a in known else of_atom(a)

    return polynomial(x, value) if known else x
