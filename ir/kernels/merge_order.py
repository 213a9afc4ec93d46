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

    def between(self, a: T, b: T) -> set[T] | None:
        """What is reached from a or b and stands before the later of them; None if a path comes back to the pair."""
        last = max(self.place[a], self.place[b])
        seen: set[T] = set()
        stack = [x for x in (*self.consumers(a), *self.consumers(b)) if x not in (a, b)]
        while stack:
            x = stack.pop()
            if x in seen or self.place[x] > last:
                continue
            seen.add(x)
            for y in self.consumers(x):
                if y in (a, b):
                    return None
                stack.append(y)
        return seen

    def merge(self, kept: T, gone: T, between: set[T]) -> None:
        """Puts `kept` in the place of both, and what is between them after it. Called before the graph changes."""
        low, high = sorted((self.place[kept], self.place[gone]))
        region = [x for x in self.sequence[low : high + 1] if x is not None and x not in (kept, gone)]
        new = [*(x for x in region if x not in between), kept, *(x for x in region if x in between)]
        self.sequence[low : high + 1] = [*[None] * (high + 1 - low - len(new)), *new]
        for i in range(low, high + 1):
            x = self.sequence[i]
            if x is not None:
                self.place[x] = i
        del self.place[gone]
