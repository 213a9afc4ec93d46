"""Least cut of a Graph. In: values that are costly to make, values that are needed, the weight of
each. Out: the values of least weight from which all that is needed can be made.

By maximal flow (Ford and Fulkerson 1956), along shortest paths (Dinic 1970); of equal cuts it is
the one nearest to what is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
Place = tuple[Hashable, bool]  # a value as it comes in, and as it goes out
ENDLESS = 1 << 62


def least_cut(
    costly: Iterable[T],
    needed: Iterable[T],
    sources: Callable[[T], Iterable[T]],
    weight: Callable[[T], int],
) -> set[T]:
    """The cut between `costly` values and `needed` ones, which may be costly themselves; `sources`
    of a value are those that it is made of, as far as they matter."""
    return _Flow(list(costly), list(needed), sources, weight).cut()


class _Flow(Generic[T]):
    def __init__(
        self,
        costly: list[T],
        needed: list[T],
        sources: Callable[[T], Iterable[T]],
        weight: Callable[[T], int],
    ) -> None:
        self._room: dict[Place, dict[Place, int]] = {}
        self._start: Place = ("start", True)
        self._end: Place = ("end", False)
        self._nodes: list[T] = []
        starts = set(costly)
        stack, seen = list(needed), set(needed)
        for n in needed:
            self._add((n, True), self._end, ENDLESS)
        while stack:
            n = stack.pop()
            self._nodes.append(n)
            self._add((n, False), (n, True), weight(n))
            if n in starts:
                self._add(self._start, (n, False), ENDLESS)
                continue
            for s in sources(n):
                self._add((s, True), (n, False), ENDLESS)
                if s not in seen:
                    seen.add(s)
                    stack.append(s)
        while self._advance():
            pass

    def _add(self, a: Place, b: Place, room: int) -> None:
        self._room.setdefault(a, {})[b] = room
        self._room.setdefault(b, {}).setdefault(a, 0)

    def _advance(self) -> bool:
        """Sends more along shortest paths; False where there is none."""
        level = {self._start: 0}
        queue = [self._start]
        for a in queue:
            for b, room in self._room.get(a, {}).items():
                if room and b not in level:
                    level[b] = level[a] + 1
                    queue.append(b)
        if self._end not in level:
            return False
        left = {a: list(self._room[a]) for a in level}
        path = [self._start]
        while path:
            a = path[-1]
            if a == self._end:
                self._send(path)
                path = [self._start]
            elif not left[a]:
                path.pop()
                if path:
                    left[path[-1]].pop()
            else:
                b = left[a][-1]
                if self._room[a][b] and level.get(b) == level[a] + 1:
                    path.append(b)
                else:
                    left[a].pop()
        return True

    def _send(self, path: list[Place]) -> None:
        steps = list(pairwise(path))
        amount = min(self._room[a][b] for a, b in steps)
        for a, b in steps:
            self._room[a][b] -= amount
            self._room[b][a] += amount

    def cut(self) -> set[T]:
        """What separates the places from which the end can still be reached."""
        behind, stack = {self._end}, [self._end]
        while stack:
            b = stack.pop()
            for a in self._room.get(b, {}):
                if a not in behind and self._room[a].get(b, 0):
                    behind.add(a)
                    stack.append(a)
        return {n for n in self._nodes if (n, False) not in behind and (n, True) in behind}
