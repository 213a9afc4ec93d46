"""A guard: how an integer compares with 0. In: what was asked and not proven. Out: the same in one
form for all that ask for as much.

    8*n*m > 32*n        ->    m > 4
    5 <= m              ->    m > 4
    (m + 7) // 8 <= 1   ->    m <= 8
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import gcd, prod
from operator import and_

from .integer import RELATIONS, Symbolic
from .polynomial import Atom, Monomial, ordered, text_of
from .quotient import Quotient

TURNED = {">": "<=", "<=": ">"}  # relations of 1 - x where x has these


@dataclass(frozen=True)
class Guard:
    """How `what` compares with 0, for the values that a program serves."""

    what: Symbolic
    relation: str  # one of RELATIONS

    @property
    def holds(self) -> bool:
        """For the values that the symbols have."""
        return RELATIONS[self.relation](self.what.value)

    def __str__(self) -> str:
        positive = {m: c for m, c in self.what.terms if c > 0}
        negative = {m: -c for m, c in self.what.terms if c < 0}
        return f"{text_of(positive)} {self.relation} {text_of(negative)}"


def implies(one: Guard, other: Guard) -> bool:
    """Does the other always hold where one does, as n != 3 where n > 4?"""
    ahead = other.what - one.what
    if isinstance(ahead, Symbolic):
        return False
    if one.relation == ">":
        return other.relation in (">", "!=") and ahead >= 0
    if one.relation == "<=":
        return ahead <= 0 if other.relation == "<=" else other.relation == "!=" and ahead < 0
    return False


def guard_of(difference: Symbolic, relation: str) -> Guard | None:
    """The Guard without common factors, whose first term, but for a constant, is positive. None
    where all values agree: a multiple of 100 never is 401."""
    terms = dict(difference.terms)
    const = terms.pop((), 0)
    factor, common = gcd(*terms.values()), _common_atoms(terms)
    step = factor * prod(int(a.bounds[0]) for a in common.elements())  # at least, of the terms
    is_near = -step < const <= step  # to 0: then the sign of what is left decides
    if relation in ("==", "!="):
        if const % factor or 0 < abs(const) < step:
            return None
        is_near = not const
    left = {_without(m, common) if is_near else m: c // factor for m, c in terms.items()}
    what = Symbolic(left) - (-const // (step if is_near else factor))
    if not isinstance(what, Symbolic):
        return None
    if is_near and common:  # one of the terms may be a constant now
        return guard_of(what, relation)
    undivided = _undivided(what) if relation in TURNED else None
    if isinstance(undivided, Symbolic):
        return guard_of(undivided, relation)
    return _with_positive(what, relation)


def _undivided(what: Symbolic) -> int | None:
    """What is above 0 where a quotient by a number is, plus or less a constant: x // 8 is above 2
    from x = 24 on."""
    terms = dict(what.terms)
    const = terms.pop((), 0)
    ((atoms, factor), *others) = terms.items()
    q = atoms[0]
    if others or len(atoms) > 1 or not isinstance(q, Quotient) or isinstance(q.by, Symbolic):
        return None
    # factor is 1 or -1, as others were divided away
    return q.of - (1 - const) * q.by + 1 if factor > 0 else const * q.by - q.of


def _with_positive(what: Symbolic, relation: str) -> Guard:
    """The Guard whose first term is positive: x > 0 as 1 - x <= 0."""
    if next(c for m, c in what.terms if m) > 0:
        return Guard(what, relation)
    return Guard(-what, relation) if relation not in TURNED else Guard(1 - what, TURNED[relation])


def _common_atoms(terms: Iterable[Monomial]) -> Counter[Atom]:
    """The positive ones, as often as all terms have them."""
    common = reduce(and_, map(Counter, terms))
    return Counter({a: n for a, n in common.items() if a.bounds[0] > 0})


def _without(m: Monomial, common: Counter[Atom]) -> Monomial:
    return ordered([*(Counter(m) - common).elements()])
