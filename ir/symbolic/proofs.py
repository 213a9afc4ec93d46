"""Proofs. In: how an integer shall compare with 0. Out: whether it does so for all values."""

from __future__ import annotations

import math

from .integer import Symbolic, of_atom, terms_of
from .polynomial import UNKNOWN, Bounds, bounds
from .quotient import Quotient


def proven(difference: Symbolic, relation: str) -> bool | None:
    """How a difference compares with 0 for all values; None if it depends on them."""
    found = _compared(difference.bounds, relation)
    return _compared(_bounds_of_quotients(difference), relation) if found is None else found


def _compared(found: Bounds, relation: str) -> bool | None:
    low, high = found
    if relation == ">" and (low > 0 or high <= 0):
        return low > 0
    return False if relation == "==" and (low > 0 or high < 0) else None


def _bounds_of_quotients(x: Symbolic) -> Bounds:
    """Bounds where quotients by numbers meet what they are quotients of: 0 to 1 of n - 2*(n // 2),
    since `by * (of // by)` is `of` less 0 to `by - 1`."""
    quotients = {m[0]: c for m, c in x.terms if len(m) == 1 and isinstance(m[0], Quotient)}
    known = {a: c for a, c in quotients.items() if not isinstance(a.by, Symbolic)}
    if not known:
        return UNKNOWN
    by = math.lcm(*(a.by for a in known))
    whole: int = by * (x - sum(c * of_atom(a) for a, c in known.items()))
    whole += sum(c * by // a.by * a.of for a, c in known.items())
    low, high = bounds(terms_of(whole))
    less = [c * by // a.by * (a.by - 1) for a, c in known.items()]
    return (low - sum(max(0, n) for n in less)) / by, (high - sum(min(0, n) for n in less)) / by
