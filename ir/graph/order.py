"""A topological order that is kept. In: items in order, what each needs. Out: the order after a
change, or that it makes a cycle.

Items may merge, or come to need more. What a change can put out of order stands between two places,
so only that is searched (Pearce and Kelly, "A dynamic topological sort algorithm for directed
acyclic graphs", 2006).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from .graph import reach

T = TypeVar("T")


class Order(Generic[T]):
    """`place[x] < place[y]` for all x that y needs. `needs` is asked about the items as they are at
    the time of each call."""

    def __init__(self, sequence: Sequence[T], needs: Callable[[T], Iterable[T]]) -> None:
        self._sequence: list[T | None] = list(sequence)
        self.place = {x: i for i, x in enumerate(sequence)}
        self.needs = needs

    @property
    def items(self) -> list[T]:
        return [x for x in self._sequence if x is not None]

    def between(self, a: T, b: T) -> set[T] | None:
        """What a or b needs and stands after the earlier of them; None if that needs one of
        them."""
        later: set[T] = set()
        needed = {*self.needs(a), *self.needs(b)} - {a, b}
        for x in self._needed(needed, min(self.place[a], self.place[b])):
            if x in (a, b):
                return None
            later.add(x)
        return later

    def merge(self, kept: T, gone: T, between: set[T]) -> None:
        """Puts `kept` in the place of both, and what is between before it. Called before the items
        change."""
        low, high = sorted((self.place[kept], self.place.pop(gone)))
        self._sequence[low], self._sequence[high] = None, kept
        self._rearrange(low, high, {kept, *between})

    def let_wait(self, x: T, others: Iterable[T]) -> bool:
        """Puts x after others, which it is to need. False, and nothing changed, if one of them
        needs it."""
        low = self.place[x]
        earlier = set(self._needed(others, low))
        if x in earlier:
            return False
        if earlier:
            self._rearrange(low, max(self.place[y] for y in earlier), earlier)
        return True

    def _needed(self, items: Iterable[T], first: int) -> Iterator[T]:
        """Those of the items that stand from this place on, and what they need there."""

        def late(some: Iterable[T]) -> list[T]:
            return [x for x in some if self.place[x] >= first]

        return reach(late(items), lambda x: late(self.needs(x)))

    def _rearrange(self, low: int, high: int, earlier: Container[T | None]) -> None:
        """Puts these before the others of a region, and leaves both kinds in their order."""
        region = sorted(self._sequence[low : high + 1], key=lambda x: x not in earlier)
        self._sequence[low : high + 1] = region
        self.place.update((x, i) for i, x in enumerate(region, low) if x is not None)


def earliest_first(needs: Mapping[T, Iterable[T]], position: Callable[[T], int]) -> list[T]:
    """The items in an order that respects what each needs, otherwise by their positions, which
    differ."""
    waiting = {x: set(needed) for x, needed in needs.items()}
    after: dict[T, list[T]] = {x: [] for x in waiting}
    for x, needed in waiting.items():
        for y in needed:
            after[y].append(x)
    item = {position(x): x for x in waiting}
    ready = [p for p, x in item.items() if not waiting[x]]
    heapq.heapify(ready)
    out = []
    while ready:
        out.append(item[heapq.heappop(ready)])
        for x in after[out[-1]]:
            waiting[x].discard(out[-1])
            if not waiting[x]:
                heapq.heappush(ready, position(x))
    assert len(out) == len(waiting), "kernels depend on each other in a cycle"
    return out
