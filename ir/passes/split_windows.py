"""Sums of products over windows in parts, where one would leave threads idle or need too large a
panel. In: a REDUCE. Out: the same value, of partial results; None where one step is better.

    before    dw[o, c, ky, kx] = sum(dy[n, o, y, x] * x[n, c, y + ky, x + kx], (n, y, x))
    after     dw = sum(parts, 0),  parts[p, o, c, ky, kx] = sum(the same for N / P images, (n, y,
              x))

A weight gradient adds up many places for each of the few of a kernel, and its parts read different
ones, so that each copies only what it needs. A convolution is the other way round: its results are
tasks enough, all of them read the same weights, and parts would only be stored and read again. How
often a sum is cut depends on its shape alone.

Where extents are not known, neither is the number of images of a part: a program finds it for each
size, and images behind the last are zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from ..graph.graph import Node, node, permute, reduce
from ..graph.index import Var, var
from ..graph.op import Op
from ..graph.views import resolve
from ..kernels.contraction import windows_over
from ..kernels.kernel import base_of
from ..symbolic.decisions import decided
from ..symbolic.integer import Symbolic
from ..symbolic.questions import has_several, is_below, is_same, text, value_of
from ..symbolic.scope import scope_of
from .split import LEAST_ROW, MANY_TERMS, Cuts, cut, viewed

LEAST_TERMS = 4096  # products a result, from which weight gradients are summed in parts
PARTS = 16  # wanted then: enough tasks, and at most 1/16 of the work in finishing
MOST_SIZE = 1 << 22  # elements that all parts may have, even if less is read
FEW_RESULTS = 1 << 13  # whose parts are stored and read in little time
# products of a part, whose panel of one vector of channels then fits the level-2 cache
MOST_TERMS = 8192
# results whose parts are two at least, as many as those of many parts may be, and places that are
# added up then, more than a small window has: so one program serves sizes at which many parts pay
# and others
MOST_AGAIN = 1 << 16
LEAST_ADDED = 6


def windows_in_parts(n: Node) -> Node | None:
    """Such a sum with its first axes cut, the parts in front of the results."""
    if n.op is not Op.REDUCE or n.arg[0] != "add" or n.src[0].op is not Op.MUL:
        return None
    (x,), (_, axes) = n.src, n.arg
    added, stands = windows_over(x.src, axes)
    if not added:
        return None
    first, *others = (x.shape[a] for a in axes)
    read = tuple([base_of(f).size for f in x.src])
    wanted = Wanted(first, prod(others), n.size, added, stands, _slides(n), read)
    if is_same(first, 1):
        many = wanted.many() if wanted.terms >= LEAST_TERMS else 1
        cuts = _cuts(others, many, wanted.terms) if many > 1 else {}
        return _in_parts(n, (1, 1), cuts) if cuts else None
    cuts = {}
    if others and (least := -(-wanted.inside // MOST_TERMS)) > 1:
        cuts = {1: (some, 1)} if (some := _divisor(others[0], least, least)) > 1 else {}
    parts = wanted.parts()
    return None if is_same(parts[0], 1) and not cuts else _in_parts(n, parts, cuts)


def _in_parts(n: Node, parts: tuple[int, int], others: Cuts) -> Node:
    """The sum in so many parts of so many indices of its first axis; zeros follow those that there
    are."""
    (x,), (kind, axes) = n.src, n.arg
    order, first = (*axes, *(a for a in range(x.ndim) if a not in axes)), x.shape[axes[0]]
    front = viewed(x, lambda s: permute(s, order))
    if not is_same(prod(parts), first):
        rest = (0, prod(parts) - first, 0)
        pad = tuple(rest if a == 0 else (0, 0, 0) for a in range(x.ndim))
        front = viewed(front, lambda s: node(Op.PAD, (s,), pad))
    cuts = {a: c for a, c in ({0: (parts[0], 1)} | others).items() if not is_same(c[0], 1)}
    return cut(reduce(kind, front, range(len(axes))), front, cuts)


@dataclass(frozen=True)
class Wanted:
    """Parts of a sum over `first` indices of `inside` products each, for `size` results. `added`
    of the products are places of a window, which stands at `stands` places, those of a step if it
    `slides`; `read`: elements of the factors."""

    first: int
    inside: int
    size: int
    added: int
    stands: int
    slides: bool
    read: tuple[int, ...]

    @property
    def terms(self) -> int:
        return self.first * self.inside

    @property
    def may_be_twice(self) -> bool:
        """May it have two parts where more do not pay?"""
        is_long = self.slides and not is_below(self.added, LEAST_ADDED)
        return is_long and FEW_RESULTS < self.size <= MOST_AGAIN

    @property
    def adds_more(self) -> bool:
        """Is it more a sum than a convolution?"""
        return self.added > self.stands

    def parts(self) -> tuple[int, int]:
        """How many parts of how many indices of the first axis. Where that is not known, no extent
        of a part is 1."""
        if self._by_index():
            return self.first, 1
        scope = scope_of((self.first, self.inside))
        if scope is None:
            return self._parts()
        may_be_twice = not isinstance(self.size, Symbolic) and self.may_be_twice
        if not may_be_twice and scope.settle(lambda: self._here()._parts()[0] == 1, self._told):
            return 1, self.first
        parts = scope.choose(lambda: max(2, self._here()._parts()[0]), inf, 2)
        return parts, scope.choose(lambda: max(2, self._here()._parts()[1]), inf, 2)

    def _told(self, is_whole: bool) -> str:
        return f"sums of {text(self.terms)} products over windows are {'not ' * is_whole}cut"

    def _here(self) -> Wanted:
        """For the sizes at hand."""
        numbers = self.first, self.inside, self.size, self.added, self.stands
        first, inside, size, added, stands = map(value_of, numbers)
        read = tuple(map(value_of, self.read))
        return Wanted(first, inside, size, added, stands, self.slides, read)

    def _parts(self) -> tuple[int, int]:
        twice = decided(
            lambda: self.adds_more and self.may_be_twice,
            (self.added, self.stands, self.size),
            f"{text(self.size)} sums over windows have two parts",
        )
        wanted = max(1 + twice, self.many() if self.terms >= MOST_TERMS else 1)
        least = max(1 + twice, -(-self.terms // MOST_TERMS))
        even = _divisor(self.first, wanted, least)
        parts = even if even >= max(least, min(self.first, wanted) / 2) else wanted
        images = max(2, -(-self.first // parts))
        return -(-self.first // images), min(images, self.first)

    def _by_index(self) -> bool:
        """Is there a part for each index of the first axis: are its products many and results few,
        or would two indices be too much for a part?"""
        return decided(
            lambda: (
                has_several(self.first)
                and (self.inside >= MANY_TERMS or (self.inside >= LEAST_ROW and self._are_cheap()))
                and self.adds_more
                and (self.size <= FEW_RESULTS or 2 * self.inside > MOST_TERMS)
                and self.size * self.first <= MOST_SIZE
            ),
            (self.first, self.inside, self.added, self.stands, self.size),
            f"sums of {text(self.inside)} products of each of {text(self.first)} are added up",
        )

    def _are_cheap(self) -> bool:
        """Are few parts stored, or many products added up for each?"""
        few = self.added == self.inside and self.size <= FEW_RESULTS
        return few or self.terms >= LEAST_TERMS

    def many(self) -> int:
        """Parts of a sum of so many products."""
        wanted = -(-self.terms // MOST_TERMS)
        if self.adds_more and self.size * PARTS <= MOST_SIZE:
            wanted = max(PARTS, wanted)
        return wanted if self.size * wanted <= max(MOST_SIZE, *self.read) else 1


def _slides(n: Node) -> bool:
    """Do windows overlap: does a factor move no farther along an axis of the results than along
    one that is added up?"""
    x, axes = n.src[0], n.arg[1]
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    places = [e for f in x.src for e in resolve(f, [var(v) for v in at])[1]]
    pairs = [
        (abs(e.coef(v)), abs(e.coef(at[a])))
        for e in places
        for a in axes
        for v in e.vars() - {at[a] for a in axes}
        if at[a] in e.vars()
    ]
    return any(not is_below(added, kept) for kept, added in pairs)


def _cuts(others: list[int], wanted: int, terms: int) -> Cuts:
    """The axes behind the first in about so many parts, if possible none of too many terms."""
    cuts, made = Cuts(), 1
    for a, d in enumerate(others, 1):
        if made * 2 < wanted or terms > made * MOST_TERMS:
            parts = _divisor(d, -(-wanted // made), -(-terms // (made * MOST_TERMS)))
            cuts |= {a: (parts, 1)} if parts > 1 else {}
            made *= parts
    return cuts


def _divisor(extent: int, wanted: int, least: int) -> int:
    """The divisor nearest to the wanted number, and at most twice that; one that is not too small
    comes first."""
    divisors = [d for d in range(1, min(extent, 2 * wanted) + 1) if extent % d == 0]
    return min(divisors, key=lambda d: (d < least, abs(d - wanted)))
