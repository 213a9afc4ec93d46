"""Disjoint sets of numbers. In: a count, pairs that belong together. Out: the sets, each named by
its least member."""

from __future__ import annotations


class DisjointSets:
    """Sets of numbers below a count; those that were not added are in none."""

    def __init__(self, count: int) -> None:
        self._above: list[int | None] = [None] * count

    def __contains__(self, i: int) -> bool:
        return self._above[i] is not None

    def add(self, i: int) -> None:
        self._above[i] = i

    def of(self, i: int) -> int | None:
        """The name of the set, None for what is in none."""
        above = self._above
        while (k := above[i]) is not None and k != i:
            above[i] = above[k]
            i = k
        return above[i]

    def join(self, i: int, k: int) -> None:
        """Both sets become one."""
        a, b = self.of(i), self.of(k)
        assert a is not None and b is not None
        self._above[max(a, b)] = min(a, b)

    def members(self) -> list[list[int]]:
        """The sets, in order."""
        members: dict[int, list[int]] = {}
        for i in range(len(self._above)):
            name = self.of(i)
            if name is not None:
                members.setdefault(name, []).append(i)
        return list(members.values())
