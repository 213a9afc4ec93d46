"""Questions without a record. In: integers, symbolic or not. Out: estimates, and what is true for
all values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .integer import Symbolic
from .polynomial import text_of


def value_of(x: int) -> int:
    """The integer at hand: for estimates, whose answers change neither what is computed nor its
    bits."""
    return x.scope.read(x) if isinstance(x, Symbolic) else x


def at_least(a: int, b: int) -> bool:
    """Is a >= b? Where that depends on symbols, found out when a program is laid out."""
    difference = a - b
    if not isinstance(difference, Symbolic):
        return difference >= 0
    answer: Any = _Later(difference)
    return answer  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Later:
    """True where a number is at least 0."""

    difference: Symbolic

    def __bool__(self) -> bool:
        return int(self.difference) >= 0


def has_several(extent: int) -> bool:
    """May an axis have several elements? One of an extent that is not known is treated as if."""
    return isinstance(extent, Symbolic) or extent > 1


def is_unknown(x: int) -> bool:
    """Is it symbolic, and no program being laid out?"""
    return isinstance(x, Symbolic) and not x.scope.is_laid_out


def is_below(a: int, b: int) -> bool:
    """Is a < b for all values? False where that is not known."""
    difference = b - a
    return difference.bounds[0] > 0 if isinstance(difference, Symbolic) else difference > 0


def is_same(a: int, b: int) -> bool:
    """Is a == b for all values? False where that is not known."""
    if not isinstance(a, Symbolic) and not isinstance(b, Symbolic):
        return a == b
    difference = a - b
    return not isinstance(difference, Symbolic) and difference == 0


def text(x: int) -> str:
    """An integer for readers: `3`, `n`, `2*n + 1`."""
    return text_of(dict(x.terms)) if isinstance(x, Symbolic) else str(x)
