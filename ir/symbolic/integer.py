"""A symbolic integer. In: a polynomial of symbols. Out: arithmetic and comparisons as of Python's
integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .polynomial import (
    Answers,
    Atom,
    Bounds,
    Monomial,
    Terms,
    bounds,
    divided,
    exact_quotient,
    ordered,
    text_of,
)

if TYPE_CHECKING:
    Base = int  # so that whatever takes an extent takes a symbolic one
else:
    Base = object

MARK = "⟨"  # with which the text of a symbolic integer begins

RELATIONS: Mapping[str, Callable[[int], bool]] = {
    ">": lambda value: value > 0,
    "<=": lambda value: value <= 0,
    "==": lambda value: value == 0,
    "!=": lambda value: value != 0,
}


class NotSymbolic(ValueError):
    """Something needs a plain integer where there is a symbolic one."""


class NotSymbolicHere(NotSymbolic):
    """The same for the values at hand: greater ones would do."""


_new = object.__new__


class NotSymbolicUnless(NotSymbolicHere):
    """The same where sizes would do of which the symbol is `by` times another one, less `shift`."""

    def __init__(self, symbol: Any, by: int, shift: int) -> None:
        super().__init__(f"{symbol} is {by} times another size at these sizes, less {shift}")
        self.symbol, self.by, self.shift = symbol, by, shift


class Symbolic(Base):
    """A polynomial of at least one symbol. An integer for all that computes with integers; it has
    no text that a program could take for a number."""

    terms: tuple[tuple[Monomial, int], ...]  # in order, that of no atoms first
    scope: Answers
    _hash: int | None
    _bounds: Bounds | None

    __slots__ = ("_bounds", "_hash", "scope", "terms")

    def __new__(cls, terms: Mapping[Monomial, int]) -> Any:
        """The polynomial with these coefficients; an int where nothing symbolic is left."""
        kept = [(m, c) for m, c in terms.items() if c]
        if len(kept) > 1:
            kept.sort(key=lambda t: [a.number for a in t[0]])
        return _of_ordered(tuple(kept))

    # ------------------------------------------------------------ what it is

    @property
    def value(self) -> int:
        """For the values at hand."""
        total = 0
        for atoms, factor in self.terms:
            product = factor
            for atom in atoms:
                product *= atom.value
            total += product
        return total

    @property
    def bounds(self) -> Bounds:
        """What it is at least and at most."""
        if self._bounds is None:
            self._bounds = bounds(self.terms)
        return self._bounds

    def __repr__(self) -> str:
        text = text_of(dict(self.terms))
        if self.scope.marked:
            return f"{MARK}{text}⟩"
        return text if len(self.terms) == 1 else f"({text})"

    def __hash__(self) -> int:
        if self._hash is None:  # of odd numbers: those of -1 and -2 are one
            self._hash = hash(tuple([(m, 2 * c + 1) for m, c in self.terms]))
        return self._hash

    def _plain(self) -> int:
        if not self.scope.is_laid_out:
            raise NotSymbolic(f"a plain integer is needed for {self}")
        return self.scope.read(self)

    __index__ = __int__ = _plain

    def _whole(self) -> Symbolic:
        return self

    __floor__ = __ceil__ = __trunc__ = _whole

    def bit_length(self) -> int:
        """Of the value, which must be known."""
        return self._plain().bit_length()

    # bits of the value, which must be known
    def __or__(self, other: Any) -> Any:
        return self._plain() | other

    def __and__(self, other: Any) -> Any:
        return self._plain() & other

    def __lshift__(self, other: Any) -> Any:
        return self._plain() << other

    def __rlshift__(self, other: Any) -> Any:
        return other << self._plain()

    def __rshift__(self, other: Any) -> Any:
        return self._plain() >> other

    # an estimate: nothing exact is made of floats
    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __float__(self) -> float:
        return float(self.scope.read(self))

    def __bool__(self) -> bool:
        return not self.scope.answer(self, "==")

    # ------------------------------------------------------------ comparisons

    def _compared(self, other: Any, relation: str, turned: bool, negated: bool) -> Any:
        if not isinstance(other, int | Symbolic):
            if isinstance(other, float):  # of an estimate
                pair = (other, float(self)) if turned else (float(self), other)
                answer = pair[0] == pair[1] if relation == "==" else pair[0] > pair[1]
                return answer is not negated
            return NotImplemented
        difference = other - self if turned else self - other
        if not isinstance(difference, Symbolic):
            return RELATIONS[relation](difference) is not negated
        return self.scope.answer(difference, relation) is not negated

    def __eq__(self, other: object) -> Any:
        return self is other or self._compared(other, "==", False, False)

    def __ne__(self, other: object) -> Any:
        return self is not other and self._compared(other, "==", False, True)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, ">", False, False)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, ">", True, False)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, ">", False, True)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, ">", True, True)

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Symbolic):
            total = dict(self.terms)
            for m, c in other.terms:
                total[m] = total.get(m, 0) + c
            return Symbolic(total)
        if not isinstance(other, int):
            return float(self) + other if isinstance(other, float) else NotImplemented
        if not other:
            return self
        const, rest = (0, self.terms) if self.terms[0][0] else (self.terms[0][1], self.terms[1:])
        return _of_ordered((((), const + other), *rest) if const + other else rest)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return _of_ordered(tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Symbolic):
            total: dict[Monomial, int] = {}
            for m, c in self.terms:
                for n, d in other.terms:
                    both = ordered((*m, *n))
                    total[both] = total.get(both, 0) + c * d
            return Symbolic(total)
        if not isinstance(other, int):
            return float(self) * other if isinstance(other, float) else NotImplemented
        if not other or other == 1:
            return self if other else 0
        return _of_ordered(tuple([(m, c * other) for m, c in self.terms]))

    __rmul__ = __mul__

    def __pow__(self, exponent: Any, mod: Any = None) -> Any:
        return math.prod([self] * exponent)

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __floordiv__(self, by: Any) -> Any:
        return _floor_divided(self, by) if isinstance(by, int | Symbolic) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _floor_divided(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, by: Any) -> Any:
        return self - self // by * by

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self

    def __divmod__(self, by: Any) -> Any:
        quotient = self // by
        return quotient, self - quotient * by

    def __rdivmod__(self, other: Any) -> Any:
        quotient = other // self
        return quotient, other - quotient * self

    def __truediv__(self, by: Any) -> float:
        return float(self) / float(by)

    def __rtruediv__(self, other: Any) -> float:
        return float(other) / float(self)


def _of_ordered(terms: tuple[tuple[Monomial, int], ...]) -> Any:
    """The polynomial of these terms, an int where nothing symbolic is left."""
    if not terms or not terms[-1][0]:
        return terms[0][1] if terms else 0
    made = _new(Symbolic)
    made.terms, made.scope = terms, terms[-1][0][0].scope
    made._hash = made._bounds = None
    return made


def of_atom(a: Atom) -> Symbolic:
    """The integer that an atom is."""
    return _of({(a,): 1})


def polynomial(x: int, value: Callable[[Atom], int]) -> int:
    """The same polynomial of other integers."""
    if not isinstance(x, Symbolic):
        return x
    total: int = sum(c * math.prod(map(value, m)) for m, c in x.terms)
    return total


def _of(terms: Mapping[Monomial, int]) -> Symbolic:
    """The polynomial with these coefficients, or a number."""
    made: Symbolic = Symbolic(terms)
    return made


def terms_of(x: int) -> Terms:
    """Those of the polynomial that an integer is."""
    return x.terms if isinstance(x, Symbolic) else (((), x),)


def _floor_divided(x: int, by: int) -> int:
    """x // by: what divides exactly as a polynomial, a Quotient of the rest."""
    if not isinstance(by, Symbolic):
        return _divided_by(x, by)
    if len(by.terms) > 1 and (found := exact_quotient(terms_of(x), by.terms)) is not None:
        return _of(found)
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in terms_of(x):
        exact = divided(m, c, terms_of(by))
        if exact is None:
            rest[m] = c
        else:
            whole[exact[0]] = whole.get(exact[0], 0) + exact[1]
    quotient: int = _of(whole) + _quotient(_of(rest), by)
    return quotient


def whole_part(x: int, by: int) -> int:
    """x // by, but for a quotient: term by term, so that what is left has factors from 0 to by - 1,
    and is not below 0 where symbols are not."""
    return _of({m: c // by for m, c in terms_of(x)}) if isinstance(x, Symbolic) else x // by


def _divided_by(x: int, by: int) -> int:
    """The same by a number. Equal quotients have one form: factors below the divisor, the first of
    which is positive, so that (3*n + 5)//2 is n + (n + 1)//2 + 2, and (-n)//2 is -((n + 1)//2)."""
    if by <= 0:
        return -x // -by if by else 1 // by
    whole = {m: c // by if not m or c > 0 else -(-c // by) for m, c in terms_of(x)}
    rest = {m: c - whole[m] * by for m, c in terms_of(x)}
    first = next((c for m, c in rest.items() if m and c), 1)
    left = _of(rest)
    part = -_divided_by(by - 1 - left, by) if first < 0 else _quotient(left, by)
    quotient: int = _of(whole) + part
    return quotient


def _quotient(x: int, by: int) -> int:
    if isinstance(x, Symbolic):
        return x.scope.quotient(x, by)
    return by.scope.quotient(x, by) if isinstance(by, Symbolic) else x // by


def atom_of(x: Symbolic) -> Atom | None:
    """What it is, if it is one and nothing else."""
    ((atoms, c), *others) = x.terms
    return atoms[0] if len(atoms) == 1 and c == 1 and not others else None
