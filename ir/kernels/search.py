"""The search for merges: the legal one that saves the most bytes comes next. In: the state of
fusion. Out: Groups in order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ..graph.graph import Node
from ..graph.op import ELEMENTWISE
from ..graph.order import Order
from ..symbolic.questions import is_unknown, value_of
from .align import Form, Outer, extended
from .column_sums import has_column_sums, turned
from .groups import Fusion, Group
from .kernel import Unit
from .reason import Reason
from .rules import MAX_BUFFERS, legal


def merged(f: Fusion) -> list[Group]:
    """The groups that are left when no pair may merge and save bytes, in an order in which they can
    run."""
    absorb_maps(f)
    f.connect()
    order, candidates = Order(f.ordered(), f.needs), Candidates(f)
    for pair in candidates:
        g, h = pair.g, pair.h
        a, b = (g, h) if f.edges(g, h) else (h, g)
        form = legal(f, a, b)
        between = order.between(a, b) if not isinstance(form, Reason) else None
        if isinstance(form, Reason) or between is None:
            continue
        kept, gone = (b, a) if len(a.units) < len(b.units) else (a, b)
        candidates.settle(pair)
        order.merge(kept, gone, between)
        f.merge(kept, gone, form)
        candidates.add(kept, kept.neighbours)
        candidates.settle_beside(pair, kept)
    return f.ordered()


Place = tuple[bool, int]


class Candidate(NamedTuple):
    """A pair of groups: in a heap the one that saves the most comes first, of equals one without a
    contraction. `low` and `high` are the serials of the groups when the pair was made."""

    cost: int  # bytes saved at the sizes at hand, negative
    last: bool
    places: tuple[Place, Place]
    low: int
    high: int
    g: Group
    h: Group
    saved: int

    @property
    def is_current(self) -> bool:
        """Has neither merged since?"""
        return {self.g.serial, self.h.serial} == {self.low, self.high}

    @property
    def may_join_sums(self) -> bool:
        """May it bring column sums into a kernel of rows, where they have an order of their own?"""
        groups = (self.g, self.h)
        return all(g.form.anchor is None for g in groups) and any(map(has_column_sums, groups))

    def precedes(self, other: Candidate) -> bool:
        """Does it come first at all sizes? Asks."""
        ties = (self.last, self.places) < (other.last, other.places)
        return self.saved >= other.saved if ties else self.saved > other.saved


def _place(g: Group, early: bool) -> Place:
    """Its rank among equals, lowest first: single units before others, then early units or late
    ones. It does not depend on what merged elsewhere."""
    first = g.units[0].position
    return len(g.units) > 1, first if early else -first


class Candidates:
    """Pairs of neighbours whose merging saves bytes, the best first; more may come while they are
    walked."""

    def __init__(self, f: Fusion) -> None:
        self.f = f
        self.heap: list[Candidate] = []
        self.has_symbols = False  # do sizes decide what some pairs save
        for g in sorted(set(f.group.values())):
            self.add(g, (h for h in g.neighbours if g < h))

    def add(self, g: Group, others: Iterable[Group]) -> None:
        for h in others:
            saved = self.saved(g, h)
            at_hand = value_of(saved)
            if at_hand > 0:
                # what a contraction writes is stored at once, so what follows one comes before what
                # feeds another
                last = g.form.anchor is not None or h.form.anchor is not None
                first, second = sorted(_place(x, early=last) for x in (g, h))
                low, high = sorted((g.serial, h.serial))
                self.has_symbols |= is_unknown(saved)
                pair = Candidate(-at_hand, last, (first, second), low, high, g, h, saved)
                heapq.heappush(self.heap, pair)

    def __iter__(self) -> Iterator[Candidate]:
        while self.heap:
            pair = heapq.heappop(self.heap)
            if pair.is_current:
                yield pair

    def settle(self, pair: Candidate) -> None:
        """Asks whether a pair that merges comes first at all sizes among those of its groups, where
        column sums are concerned: what they merge with first may decide their order."""
        if not self.has_symbols:
            return
        ends = cache(self._ends_joining)
        for other in self.heap:
            if (
                (other.g in (pair.g, pair.h) or other.h in (pair.g, pair.h))
                and other.is_current
                and (pair.may_join_sums or other.may_join_sums)
                and ends(pair)
                and ends(other)
            ):
                pair.precedes(other)

    def settle_beside(self, pair: Candidate, kept: Group) -> None:
        """Asks the same of pairs of its neighbours, of which one may now join it as column sums."""
        if not self.has_symbols:
            return
        joining = {g for g in kept.neighbours if self._may_be_columns(kept, g)}
        for other in self.heap:
            apart = kept not in (other.g, other.h) and other.is_current
            if apart and not joining.isdisjoint((other.g, other.h)) and self._ends_joining(other):
                pair.precedes(other)

    def _ends_joining(self, pair: Candidate) -> bool:
        """May they merge, and not as column sums with maps of them, which might join as before?"""
        form = self._form(pair.g, pair.h)
        return not isinstance(form, Reason) and turned(form) is None

    def _may_be_columns(self, rows: Group, sums: Group) -> bool:
        """May one group join another as sums over its rows?"""
        if (
            not has_column_sums(sums)
            or has_column_sums(rows)
            or value_of(self.saved(rows, sums)) <= 0
        ):
            return False
        form = self._form(rows, sums)
        return not isinstance(form, Reason) and bool(form.columns)

    def _form(self, g: Group, h: Group) -> Form | Reason:
        """Of both as one kernel, whichever comes first."""
        return legal(self.f, *((g, h) if self.f.edges(g, h) else (h, g)))

    def saved(self, a: Group, b: Group) -> int:
        """Bytes of stores and loads that merging avoids."""
        f, members = self.f, (a, b)
        total = sum(n.nbytes for n in f.bases(a) & f.bases(b))
        for p in {p for first, second in ((a, b), (b, a)) for p, _, _ in f.edges(first, second)}:
            stays = f.is_output(p) or any(f.group[c] not in members for c, _ in f.users[p.node])
            total += p.node.nbytes if stays else 2 * p.node.nbytes
        return total


def absorb_maps(f: Fusion) -> None:
    """Merges each map into the group of its only consumers: cannot make a cycle, so no search is
    needed."""
    bases = {g: _fixed_reads(f, g) for g in set(f.group.values())}
    for u in reversed(f.units.order):
        own = f.group[u]
        if (
            f.is_output(u)
            or u.node.op not in ELEMENTWISE
            or own.form.anchor is not None
            or len(own.units) > 1
        ):
            continue
        targets = {f.group[c] for c, _ in f.users.get(u.node, [])}
        if len(targets) == 1 and own not in targets:
            (target,) = targets
            outer = _outer_within(f, u, target)
            together = bases[target] | bases[own]
            if outer is not None and len(together) <= max(MAX_BUFFERS, len(bases[target])):
                bases[target] = together
                target.units.append(u)
                target.form.outer[u] = outer
                f.group[u] = target
    for g in set(f.group.values()):
        g.units.sort(key=lambda u: u.position)


def _fixed_reads(f: Fusion, g: Group) -> set[Node]:
    """What g reads from memory whatever is absorbed: not the maps that may still become part of
    it."""
    return {
        n
        for n in f.bases(g)
        if n not in f.units.of or n.op not in ELEMENTWISE or f.is_output(f.units.of[n])
    }


def _outer_within(f: Fusion, u: Unit, target: Group) -> Outer | None:
    """The outer variables of a map that every consumer in the target group reads at the identity,
    if it is a plain map."""
    if target.form.anchor is not None or target.is_alone:
        return None
    return extended(u, f.users[u.node], target.form)
