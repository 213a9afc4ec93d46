"""A topological order that is kept while items merge. In: items in order, their consumers. Out: would a merge make a cycle?

A path that leaves two items and comes back visits items between them in the order, so only those are
searched (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Order(Generic[T]):
    """`place[x] < place[y]` for every consumer y of x. `consumers` is asked about the graph as it is at the time of each call."""

    def __init__(self, sequence: Sequence[T], consumers: Callable[[T], Iterable[T]]) -> None:
        self.sequence: list[T | None] = list(sequence)
        self.place = {x: i for i, x in enumerate(sequence)}
        self.consumers = consumers

    def cyclic(self, a: T, b: T) -> bool:
        """Does a path leave the pair through another item and come back?"""
        return any(y in (a, b) for x in self._between(a, b) for y in self.consumers(x))

    def _between(self, a: T, b: T) -> set[T]:
        """What comes after a or b, yet before the later of them in the order."""
        last = max(self.place[a], self.place[b])
        seen: set[T] = set()
        stack = [*self.consumers(a), *self.consumers(b)]
        while stack:
            x = stack.pop()
            if x not in seen and x not in (a, b) and self.place[x] < last:
                seen.add(x)
                stack.extend(self.consumers(x))
        return seen

    def merge(self, kept: T, gone: T) -> None:
        """Puts `kept` in the place of both, what comes after them behind it. Called before the graph changes."""
        low, high = sorted((self.place[kept], self.place[gone]))
        later = self._between(kept, gone)
        region = [x for x in self.sequence[low : high + 1] if x is not None and x not in (kept, gone)]
        new = [*(x for x in region if x not in later), kept, *(x for x in region if x in later)]
        self.sequence[low : high + 1] = [*[None] * (high + 1 - low - len(new)), *new]
        for i in range(low, high + 1):
            x = self.sequence[i]
            if x is not None:
                self.place[x] = i
        del self.place[gone]
