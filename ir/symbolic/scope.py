"""The symbols of a program. In: their values at hand. Out: answers to questions that depend on
them, and the guards under which these hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from .guard import Guard, guard_of
from .integer import RELATIONS, NotSymbolicHere, Symbolic, atom_of, of_atom, terms_of
from .polynomial import Answers, Atom, Bounds
from .proofs import proven
from .questions import is_below, is_same
from .quotient import Quotient

MOST_KNOWN = 128  # ways of a Condition
LEAST = 2  # value of a symbol: an axis of 1 repeats its element, one of 0 has none
# numbers of atoms, behind those of symbols
FIRST_QUOTIENT, FIRST_CHOSEN = 1_000_000, 2_000_000
OPPOSITE = {">": "<=", "==": "!="}

T = TypeVar("T")
Asked = dict["Guard | Condition", None]


@dataclass(frozen=True, eq=False)
class Condition:
    """A decision that is no comparison: `test` makes it again for the values that the symbols
    have.

    `known`: its answers so far, each behind what was asked on the way. Where all that is so again,
    the way is the same.
    """

    text: str
    test: Callable[[], bool]
    scope: Scope
    known: list[tuple[Asked, bool]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """For the values that the symbols have."""
        for asked, answer in self.known:
            if all(guard.holds for guard in asked):
                return answer
        with self.scope.asking() as asked:
            answer = self.test()
        if len(self.known) < MOST_KNOWN:
            self.known.append((asked, answer))
        return answer

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class Scope(Answers):
    """The symbols of one program.

    `values`: those at hand, for which answers are given. `guards`: what was asked and not proven.
    `is_laid_out`: nothing becomes a guard or is refused. `asked`: what a Condition asks then, if it
    is found out. `of_kernel`: guards are those of one kernel, which may be compiled again.
    """

    values: dict[Symbol, int] = field(default_factory=dict)
    guards: Asked = field(default_factory=dict)
    is_laid_out: bool = False
    asked: Asked | None = None
    of_kernel: bool = False
    quotients: dict[tuple[int, int], Quotient] = field(default_factory=dict)
    chosen: list[Chosen] = field(default_factory=list)

    def symbol(self, name: str, value: int) -> Symbolic:
        """A new one."""
        made = Symbol(name, self)
        self.values[made] = value
        return of_atom(made)

    def choose(self, choice: Callable[[], int], most: float, least: int = 1) -> Symbolic:
        """A size that suits the values of the symbols, from `least` to `most`. It must not change
        bits, or be that of a program of these values alone."""
        self.chosen.append(Chosen(choice, least, most, self))
        return of_atom(self.chosen[-1])

    def quotient(self, x: int, by: int) -> int:
        """`x // by`, of which at least one is symbolic, and nothing divides exactly."""
        if is_same(x, 0) or (is_below(-1, x) and is_below(x, by)):
            return 0
        if is_below(x, 0) and is_below(-by - 1, x):
            return -1
        if isinstance(x, Symbolic) and not isinstance(by, Symbolic):
            if isinstance(a := atom_of(x), Quotient) and not isinstance(a.by, Symbolic):
                return a.of // (a.by * by)
            low, high = x.bounds
            if low // by == high // by:
                return int(low // by)
        made = Quotient(x, by, FIRST_QUOTIENT + len(self.quotients), self)
        return of_atom(self.quotients.setdefault((x, by), made))

    @contextmanager
    def at(self, values: Sequence[int]) -> Iterator[None]:
        """The symbols have these values, in their order. What is asked meanwhile is not found out,
        and may depend on all that they were."""
        if self.asked is not None:
            for symbol in self.values:
                self.read(of_atom(symbol))
        before = self.values, self.is_laid_out, self.asked
        self.values, self.is_laid_out = dict(zip(self.values, values, strict=True)), True
        self.asked = None
        try:
            yield
        finally:
            self.values, self.is_laid_out, self.asked = before

    @contextmanager
    def asking(self) -> Iterator[Asked]:
        """What is asked for the values that the symbols have, and not proven."""
        before, self.asked = self.asked, {}
        try:
            yield self.asked
        finally:
            self.asked = before

    def apart(self, make: Callable[[], T]) -> tuple[T, Asked]:
        """What is made for the values that the symbols have, and the guards under which that
        serves others. They are none of the program's."""
        before = self.guards, self.is_laid_out, self.asked, self.of_kernel
        self.guards, self.is_laid_out, self.asked = dict(before[0]), False, None
        self.of_kernel = True
        try:
            made = make()
            return made, {g: None for g in self.guards if g not in before[0]}
        finally:
            self.guards, self.is_laid_out, self.asked, self.of_kernel = before

    def settle(self, decision: Callable[[], T], text: Callable[[T], str]) -> T:
        """A decision for the values at hand, which the program keeps: it serves those for which an
        equal one would be made. `text` says what was decided."""
        with self.at_hand(), self.asking() as asked:
            wanted = decision()
        if asked:
            test = partial(_is_equal, decision, wanted)
            self.guards[Condition(text(wanted), test, self, [(asked, True)])] = None
        return wanted

    def at_hand(self) -> AbstractContextManager[None]:
        """The same with the values at hand."""
        return self.at(list(self.values.values()))

    def holds(self, values: Sequence[int]) -> bool:
        """Does the program serve these values."""
        if min(values) < LEAST:
            return False
        with self.at(values):
            return all(guard.holds for guard in self.guards)

    def answer(self, difference: Any, relation: str) -> bool:
        """How the difference of two integers compares with 0. Raises NotSymbolicHere where that
        would leave a program one size: formulas that are equal there alone are wrong ones."""
        here = RELATIONS[relation](difference.value)
        if self.is_laid_out and self.asked is None:
            return here
        if (certain := proven(difference, relation)) is not None:
            return certain
        if here and relation == "==" and self.asked is None and not self.of_kernel:
            _refuse_one(difference)
        relation = relation if here else OPPOSITE[relation]
        if self.asked is not None:
            self.asked[Guard(difference, relation)] = None
        elif (guard := guard_of(difference, relation)) is not None:
            self.guards[guard] = None
        return here

    def read(self, x: Symbolic) -> int:
        """The value of an integer."""
        value = x.value
        if self.asked is not None:
            self.asked[Guard(x - value, "==")] = None
        return value


def _refuse_one(difference: Symbolic) -> None:
    atoms = {a for m, _ in difference.terms for a in m}
    if len(atoms) == 1 and isinstance(next(iter(atoms)), Symbol):
        raise NotSymbolicHere(f"{difference} is 0 at this size alone")


class Symbol(Atom):
    """An extent that is not known."""

    __slots__ = ("name",)
    scope: Scope

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


class Chosen(Atom):
    """A size that a schedule finds for the values of the symbols."""

    __slots__ = ("_known", "choice", "least", "most")
    scope: Scope

    def __init__(self, choice: Callable[[], int], least: int, most: float, scope: Scope) -> None:
        self.choice, self.least, self.most, self.scope = choice, least, most, scope
        self.number = FIRST_CHOSEN + len(scope.chosen)
        self._known: tuple[tuple[int, ...], int] | None = None

    @property
    def value(self) -> int:
        """For the values at hand."""
        values = tuple(self.scope.values.values())
        if self._known is None or self._known[0] != values:
            with self.scope.asking(), self.scope.at_hand():  # whoever asks for it does not for more
                self._known = values, int(self.choice())
        assert self.least <= self._known[1] <= self.most
        return self._known[1]

    @property
    def bounds(self) -> Bounds:
        """Those of the choice."""
        return self.least, self.most

    def __repr__(self) -> str:
        return f"size{self.scope.chosen.index(self)}"


def _is_equal(decision: Callable[[], T], wanted: T) -> bool:
    return decision() == wanted


def is_symbol(x: int) -> bool:
    """Is it one symbol and nothing else?"""
    return isinstance(x, Symbolic) and isinstance(atom_of(x), Symbol)


def symbols_of(x: int) -> set[Symbol]:
    """What an integer follows from."""
    atoms = {a for m, _ in terms_of(x) for a in m}
    inside = [n for a in atoms if isinstance(a, Quotient) for n in (a.of, a.by)]
    return {a for a in atoms if isinstance(a, Symbol)}.union(*map(symbols_of, inside))


def estimated(numbers: Iterable[int], least: int) -> AbstractContextManager[None]:
    """Whatever is asked meanwhile is an estimate, too: symbols in these numbers have the values at
    hand, but no fewer than `least`, unless one of the numbers shrinks by that, as a difference."""
    symbolic = [x for x in numbers if isinstance(x, Symbolic)]
    scope = scope_of(symbolic)
    if scope is None:
        return nullcontext()
    raised = [max(value, least) for value in scope.values.values()]
    here = [x.value for x in symbolic]
    with scope.at(raised):
        grow = all(x.value >= value for x, value in zip(symbolic, here, strict=True))
    return scope.at(raised) if grow else scope.at_hand()


def scope_of(numbers: Iterable[int]) -> Scope | None:
    """That of the symbols in them, if there are any."""
    scopes = (x.scope for x in numbers if isinstance(x, Symbolic))
    return next((s for s in scopes if isinstance(s, Scope)), None)
