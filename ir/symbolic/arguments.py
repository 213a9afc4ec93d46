"""Integers in the code of kernels. In: a name and a bound. Out: an atom of which nothing else is
known."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar

from .integer import NotSymbolic
from .polynomial import Atom, Bounds
from .proofs import proven
from .scope import Scope


class Argument(Atom):
    """An integer that a kernel takes, of which it knows only that it is at least so much."""

    __slots__ = ("least", "name")

    def __init__(self, name: str, least: int | None, number: int) -> None:
        self.name, self.least, self.number, self.scope = name, least, number, ARGUMENTS

    @property
    def value(self) -> int:
        """None."""
        raise NotSymbolic(f"nobody knows {self}")

    @property
    def bounds(self) -> Bounds:
        """From below, at most."""
        return -math.inf if self.least is None else self.least, math.inf

    def __repr__(self) -> str:
        return self.name


class _Arguments(Scope):
    """Code is the same for all sizes: what is not proven is refused. Its text shows no mark."""

    marked: ClassVar[bool] = False

    def answer(self, difference: Any, relation: str) -> bool:
        """As for any symbols, without guards."""
        if (certain := proven(difference, relation)) is not None:
            return certain
        raise NotSymbolic(f"code that is the same for all sizes cannot depend on {difference}")


ARGUMENTS = _Arguments()


@cache
def argument(name: str, least: int | None, number: int) -> Argument:
    """The one with this name, bound and place among those of its kernel: equal code has equal
    ones."""
    return Argument(name, least, number)
