"""The search for merges: the legal one that saves the most bytes comes next. In: the state of
fusion. Out: Groups in order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from ..graph.graph import Node
from ..graph.op import ELEMENTWISE
from ..graph.order import Order
from ..symbolic.questions import value_of
from .align import Outer, extended
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
    for g, h in candidates:
        a, b = (g, h) if f.edges(g, h) else (h, g)
        form = legal(f, a, b)
        between = order.between(a, b) if not isinstance(form, Reason) else None
        if isinstance(form, Reason) or between is None:
            continue
        kept, gone = (b, a) if len(a.units) < len(b.units) else (a, b)
        order.merge(kept, gone, between)
        f.merge(kept, gone, form)
        candidates.add(kept, kept.neighbours)
    return f.ordered()


class Candidates:
    """Pairs of neighbours whose merging saves bytes, the best first; more may come while they are
    walked."""

    def __init__(self, f: Fusion) -> None:
        self.f = f
        self.heap: list[tuple[int, bool, int, int, Group, Group]] = []
        for g in sorted(set(f.group.values())):
            self.add(g, (h for h in g.neighbours if g < h))

    def add(self, g: Group, others: Iterable[Group]) -> None:
        for h in others:
            saved = self.saved(g, h)
            if saved > 0:
                # of equals: what it writes is stored at once
                last = g.form.anchor is not None or h.form.anchor is not None
                low, high = sorted((g.serial, h.serial))
                heapq.heappush(self.heap, (-saved, last, low, high, g, h))

    def __iter__(self) -> Iterator[tuple[Group, Group]]:
        while self.heap:
            *_, low, high, g, h = heapq.heappop(self.heap)
            if {g.serial, h.serial} == {low, high}:  # neither has merged since
                yield g, h

    def saved(self, a: Group, b: Group) -> int:
        """Bytes of stores and loads that merging avoids, for the sizes at hand."""
        f, members = self.f, (a, b)
        total = sum(n.nbytes for n in f.bases(a) & f.bases(b))
        for p in {p for first, second in ((a, b), (b, a)) for p, _, _ in f.edges(first, second)}:
            stays = f.is_output(p) or any(f.group[c] not in members for c, _ in f.users[p.node])
            total += p.node.nbytes if stays else 2 * p.node.nbytes
        return value_of(total)


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
