"""Integers that a program does not know: polynomials of symbols. In: arithmetic on extents. Out:
the same as Python's integers would give, for every value of the symbols.

A program that serves many sizes is compiled once, over shapes that hold such integers. The compiler
computes with them as with others. What it asks of them is answered in one of three ways:

- proven: the answer is the same for all values, as for `n < 4 * n`;
- recorded: it holds for the values at hand, and becomes a guard of the program;
- refused: a plain integer is needed, as for `range(n)`. NotSymbolic is raised, and the program is
  compiled for the values at hand alone.

While a program is laid out for given values (`Scope.at`), all this is plain arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

MARK = "⟨"  # with which the text of a symbolic integer begins
LEAST = 2  # value of a symbol: an axis of 1 repeats its element, one of 0 has none

Bounds = tuple[float, float]
UNKNOWN: Bounds = (-math.inf, math.inf)


class NotSymbolic(ValueError):
    """Something needs a plain integer where there is a symbolic one."""


class NotSymbolicHere(NotSymbolic):
    """The same for the values at hand: greater ones would do."""


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
        return f"{_text(positive)} {self.relation} {_text(negative)}"


@dataclass(frozen=True, eq=False)
class Condition:
    """A decision that is no comparison: `test` makes it again for the values that the symbols
    have."""

    text: str
    test: Callable[[], bool]

    @property
    def holds(self) -> bool:
        """For the values that the symbols have."""
        return self.test()

    def __str__(self) -> str:
        return self.text


RELATIONS: Mapping[str, Callable[[int], bool]] = {
    ">": lambda value: value > 0,
    "<=": lambda value: value <= 0,
    "==": lambda value: value == 0,
    "!=": lambda value: value != 0,
}
OPPOSITE = {">": "<=", "==": "!="}


@dataclass(eq=False)
class Scope:
    """The symbols of one program.

    `values`: those at hand, for which answers are given. `guards`: what was asked and not proven.
    `is_laid_out`: nothing is recorded or refused.
    """

    values: dict[Symbol, int] = field(default_factory=dict)
    guards: dict[Guard | Condition, None] = field(default_factory=dict)
    is_laid_out: bool = False
    quotients: dict[tuple[int, int], Quotient] = field(default_factory=dict)
    chosen: list[Chosen] = field(default_factory=list)

    def symbol(self, name: str, value: int) -> Symbolic:
        """A new one."""
        made = Symbol(name, self)
        self.values[made] = value
        return _of({(made,): 1})

    def choose(self, choice: Callable[[], int], most: int) -> Symbolic:
        """A size that suits the values of the symbols, from 1 to `most`. It must not change
        bits."""
        self.chosen.append(Chosen(choice, most, self))
        return of_atom(self.chosen[-1])

    @contextmanager
    def at(self, values: Sequence[int]) -> Iterator[None]:
        """The symbols have these values, in their order."""
        before = self.values, self.is_laid_out
        self.values, self.is_laid_out = dict(zip(self.values, values, strict=True)), True
        try:
            yield
        finally:
            self.values, self.is_laid_out = before

    def at_hand(self) -> AbstractContextManager[None]:
        """The same with the values at hand."""
        return self.at(list(self.values.values()))

    def holds(self, values: Sequence[int]) -> bool:
        """Does the program serve these values."""
        if min(values) < LEAST:
            return False
        with self.at(values):
            return all(guard.holds for guard in self.guards)

    def answer(self, difference: Symbolic, relation: str) -> bool:
        """How the difference of two integers compares with 0."""
        test = RELATIONS[relation]
        here = test(difference.value)
        if self.is_laid_out:
            return here
        if (certain := _proven(difference, relation)) is not None:
            return certain
        self.guards[Guard(difference, relation if here else OPPOSITE[relation])] = None
        return here


def _proven(difference: Symbolic, relation: str) -> bool | None:
    """How a difference compares with 0 for all values; None if it depends on them."""
    low, high = difference.bounds
    if relation == ">" and (low > 0 or high <= 0):
        return low > 0
    return False if relation == "==" and (low > 0 or high < 0) else None


class Atom:
    """What a monomial is a product of."""

    __slots__ = ("number", "scope")
    scope: Scope
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


class Symbol(Atom):
    """An extent that is not known."""

    __slots__ = ("name",)

    def __init__(self, name: str, scope: Scope) -> None:
        self.name, self.scope, self.number = name, scope, len(scope.values)

    @property
    def value(self) -> int:
        """The one at hand."""
        return self.scope.values[self]

    @property
    def bounds(self) -> Bounds:
        """No upper one."""
        return LEAST, math.inf

    def __repr__(self) -> str:
        return self.name


class Quotient(Atom):
    """`of // by`, rounded down, where that is no polynomial."""

    __slots__ = ("by", "of")

    def __init__(self, of: int, by: int, scope: Scope) -> None:
        self.of, self.by, self.scope = of, by, scope
        self.number = 1_000_000 + len(scope.quotients)

    @property
    def value(self) -> int:
        """For the values at hand."""
        return value_of(self.of) // value_of(self.by)

    @property
    def bounds(self) -> Bounds:
        """From those of the dividend."""
        low, high = _bounds(_terms(self.of))
        if isinstance(self.by, Symbolic):
            if self.by.bounds[0] < 1:
                return UNKNOWN
            return (0, high) if low >= 0 else (low, -1 if high < 0 else max(high, 0))
        return _floor(low, self.by), _floor(high, self.by)

    def __repr__(self) -> str:
        of, by = (_text(dict(_terms(x))) for x in (self.of, self.by))
        return f"({_bracketed(of)} // {_bracketed(by)})"


class Chosen(Atom):
    """A size that a schedule finds for the values of the symbols."""

    __slots__ = ("_known", "choice", "most")

    def __init__(self, choice: Callable[[], int], most: int, scope: Scope) -> None:
        self.choice, self.most, self.scope = choice, most, scope
        self.number = 2_000_000 + len(scope.chosen)
        self._known: tuple[tuple[int, ...], int] | None = None

    @property
    def value(self) -> int:
        """For the values at hand."""
        values = tuple(self.scope.values.values())
        if self._known is None or self._known[0] != values:
            with self.scope.at_hand():
                self._known = values, int(self.choice())
        assert 1 <= self._known[1] <= self.most
        return self._known[1]

    @property
    def bounds(self) -> Bounds:
        """Those of the choice."""
        return 1, self.most

    def __repr__(self) -> str:
        return f"size{self.scope.chosen.index(self)}"


def _floor(x: float, by: int) -> float:
    return x if math.isinf(x) else x // by


Monomial = tuple[Atom, ...]
_new = object.__new__

if TYPE_CHECKING:
    Base = int  # so that whatever takes an extent takes a symbolic one
else:
    Base = object


class Symbolic(Base):
    """A polynomial of at least one symbol. An integer for all that computes with integers; it has
    no text that a program could take for a number."""

    terms: tuple[tuple[Monomial, int], ...]
    scope: Scope
    _hash: int
    _bounds: Bounds | None

    __slots__ = ("_bounds", "_hash", "scope", "terms")

    def __new__(cls, terms: Mapping[Monomial, int]) -> Any:
        """The polynomial with these coefficients; an int where nothing symbolic is left."""
        kept = sorted(
            ((m, c) for m, c in terms.items() if c), key=lambda t: [a.number for a in t[0]]
        )
        if not kept or (len(kept) == 1 and not kept[0][0]):
            return kept[0][1] if kept else 0
        made = _new(cls)
        made.terms = tuple(kept)
        made.scope = kept[-1][0][0].scope
        made._hash, made._bounds = hash(made.terms), None
        return made

    # ------------------------------------------------------------ what it is

    @property
    def value(self) -> int:
        """For the values at hand."""
        return sum(c * math.prod(a.value for a in m) for m, c in self.terms)

    @property
    def bounds(self) -> Bounds:
        """What it is at least and at most."""
        if self._bounds is None:
            self._bounds = _bounds(self.terms)
        return self._bounds

    def __repr__(self) -> str:
        text = _text(dict(self.terms))
        if self.scope is not ARGUMENTS:
            return f"{MARK}{text}⟩"
        return text if len(self.terms) == 1 else f"({text})"

    def __hash__(self) -> int:
        return self._hash

    def _plain(self) -> int:
        if not self.scope.is_laid_out:
            raise NotSymbolic(f"a plain integer is needed for {self}")
        return self.value

    __index__ = __int__ = _plain

    def _whole(self) -> Symbolic:
        return self

    __floor__ = __ceil__ = __trunc__ = _whole

    def bit_length(self) -> int:
        """Of the value, which must be known."""
        return self._plain().bit_length()

    # an estimate: nothing exact is made of floats
    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __float__(self) -> float:
        return float(self.value)

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
        if not isinstance(other, int | Symbolic):
            return float(self) + other if isinstance(other, float) else NotImplemented
        total = dict(self.terms)
        for m, c in _terms(other):
            total[m] = total.get(m, 0) + c
        return Symbolic(total)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Symbolic({m: -c for m, c in self.terms})

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | Symbolic):
            return float(self) * other if isinstance(other, float) else NotImplemented
        total: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in _terms(other):
                both = tuple(sorted((*m, *n), key=lambda a: a.number))
                total[both] = total.get(both, 0) + c * d
        return Symbolic(total)

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


# ---------------------------------------------------------------- in the code of kernels


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
    """Code is the same for all sizes: what is not proven is refused."""

    def answer(self, difference: Symbolic, relation: str) -> bool:
        """As for any symbols, without guards."""
        if (certain := _proven(difference, relation)) is not None:
            return certain
        raise NotSymbolic(f"code that is the same for all sizes cannot depend on {difference}")


ARGUMENTS = _Arguments()


@cache
def argument(name: str, least: int | None, number: int) -> Argument:
    """The one with this name, bound and place among those of its kernel: equal code has equal
    ones."""
    return Argument(name, least, number)


def polynomial(x: int, atoms: Callable[[Atom], Atom]) -> int:
    """The same integer of other atoms."""
    if not isinstance(x, Symbolic):
        return x
    return _of({tuple(sorted(map(atoms, m), key=lambda a: a.number)): c for m, c in x.terms})


def of_atom(a: Atom) -> Symbolic:
    """The integer that an atom is."""
    return _of({(a,): 1})


# ---------------------------------------------------------------- questions without a record


def value_of(x: int) -> int:
    """The integer at hand: for estimates, whose answers change neither what is computed nor its
    bits."""
    return x.value if isinstance(x, Symbolic) else x


def estimated(numbers: Iterable[int], least: int) -> AbstractContextManager[None]:
    """Whatever is asked meanwhile is an estimate, too: symbols in these numbers have the values at
    hand, but no fewer than `least`."""
    scope = scope_of(numbers)
    if scope is None:
        return nullcontext()
    return scope.at([max(value, least) for value in scope.values.values()])


def scope_of(numbers: Iterable[int]) -> Scope | None:
    """That of the symbols in them, if there are any."""
    return next((x.scope for x in numbers if isinstance(x, Symbolic)), None)


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


def is_symbol(x: int) -> bool:
    """Is it one symbol and nothing else?"""
    return isinstance(x, Symbolic) and isinstance(_atom(x), Symbol)


def text(x: int) -> str:
    """An integer for readers: `3`, `n`, `2*n + 1`."""
    return _text(dict(x.terms)) if isinstance(x, Symbolic) else str(x)


# ---------------------------------------------------------------- polynomials


def _of(terms: Mapping[Monomial, int]) -> Symbolic:
    """The polynomial with these coefficients, or a number."""
    made: Symbolic = Symbolic(terms)
    return made


def _terms(x: int) -> tuple[tuple[Monomial, int], ...]:
    return x.terms if isinstance(x, Symbolic) else (((), x),)


def _floor_divided(x: int, by: int) -> int:
    """x // by: what divides exactly as a polynomial, a Quotient of the rest."""
    if not isinstance(by, Symbolic) and by <= 0:
        return -x // -by if by else 1 // by
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in _terms(x):
        divided = _divided(m, c, by)
        if divided is None:
            rest[m] = c
        else:
            whole[divided[0]] = whole.get(divided[0], 0) + divided[1]
    made: int = _of(whole) + _quotient(_of(rest), by)
    return made


def _divided(m: Monomial, c: int, by: int) -> tuple[Monomial, int] | None:
    """A term divided by an integer, if that is exact."""
    if not isinstance(by, Symbolic):
        return None if c % by else (m, c // by)
    if len(by.terms) > 1:
        return None
    ((factors, d),) = by.terms
    left = list(m)
    for a in factors:
        if a not in left:
            return None
        left.remove(a)
    return None if c % d else (tuple(left), c // d)


def _quotient(x: int, by: int) -> int:
    if not isinstance(x, Symbolic) and not isinstance(by, Symbolic):
        return x // by
    if is_below(-1, x) and is_below(x, by):
        return 0
    if is_below(x, 0) and is_below(-by - 1, x):
        return -1
    if isinstance(x, Symbolic) and not isinstance(by, Symbolic):
        if isinstance(a := _atom(x), Quotient) and not isinstance(a.by, Symbolic):
            return a.of // (a.by * by)
        low, high = x.bounds
        if low // by == high // by:
            return int(low // by)
    symbolic = x if isinstance(x, Symbolic) else by
    assert isinstance(symbolic, Symbolic)
    scope = symbolic.scope
    return _of({(scope.quotients.setdefault((x, by), Quotient(x, by, scope)),): 1})


def _atom(x: Symbolic) -> Atom | None:
    """What it is, if it is one and nothing else."""
    ((atoms, c), *others) = x.terms
    return atoms[0] if len(atoms) == 1 and c == 1 and not others else None


def _bounds(terms: Sequence[tuple[Monomial, int]]) -> Bounds:
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


def _bracketed(text: str) -> str:
    return text if text.strip("()").isalnum() else f"({text})"


def _text(terms: Mapping[Monomial, int]) -> str:
    parts = [
        "*".join([*([str(c)] if c != 1 or not m else []), *map(repr, m)]) for m, c in terms.items()
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"
