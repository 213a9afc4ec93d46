"""Decisions that make several comparisons. In: a test or a choice, and the numbers that it is
about. Out: the same for all sizes that a program serves, or why it cannot serve them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .integer import NotSymbolicHere, NotSymbolicUnless, Symbolic, terms_of
from .questions import is_unknown, text, value_of
from .quotient import Quotient
from .scope import LEAST, Condition, scope_of, symbols_of

T = TypeVar("T")


def decided(test: Callable[[], bool], of: Iterable[int], text: str) -> bool:
    """A decision about numbers that makes several comparisons. Where these are not proven, one
    Condition takes the place of their guards, since sizes may meet others of them and give the same
    answer. `text` says what is true."""
    scope = scope_of(of)
    if scope is None or scope.is_laid_out:
        return test()
    before = dict(scope.guards)
    here = test()
    if len(scope.guards) > len(before):
        said = text if here else f"it is not true that {text}"
        scope.guards = {**before, Condition(said, lambda: test() is here, scope): None}
    return here


def require_as_known(
    found: T, known: Callable[[], T], of: Sequence[int], text: Callable[[T], str]
) -> None:
    """Requires of sizes that what was found for all of them is what would be found, by `known`, if
    they were numbers. `text` says what that is.

    Raises NotSymbolicHere where it is not at the sizes at hand, or NotSymbolicUnless where numbers
    are divided: it may be if these sizes are multiples of others.
    """
    scope = scope_of(of)
    if scope is None or scope.is_laid_out:
        return
    wanted = scope.settle(known, text)
    if wanted != found:
        raise divided_in(of) or NotSymbolicHere(text(wanted))


def require_several(extents: Iterable[int]) -> None:
    """Requires of sizes that axes of unknown extents have several elements: one of a single element
    has no part in the order of a sum. Raises NotSymbolicHere where one has fewer at hand."""
    for extent in filter(is_unknown, extents):
        if extent < LEAST:
            raise NotSymbolicHere(f"an axis of {text(extent)} elements has {value_of(extent)}")


def ask_residue(difference: int) -> None:
    """Asks whether a difference of what is divided is 0. Raises NotSymbolicUnless where it is at
    hand: sizes of the same residue have no quotients there."""
    if is_unknown(difference) and (found := divided_in([difference])) and difference == 0:
        raise found


def divided_in(numbers: Iterable[int]) -> NotSymbolicUnless | None:
    """What to raise for sizes of the residue at hand of the first symbol that is divided in these,
    if one is."""
    for x in numbers:
        for atom in (a for m, _ in terms_of(x) for a in m if isinstance(a, Quotient)):
            symbols = symbols_of(atom.of)
            if not isinstance(atom.by, Symbolic) and len(symbols) == 1:
                (symbol,) = symbols
                return NotSymbolicUnless(symbol, atom.by, -symbol.value % atom.by)
    return None
