"""The order in which kernels run. In: steps, what each waits for, which values they read and write.
Out: the steps in order.

    given      a b c d    where c reads what a wrote, last of all
    eager      a c b d    what frees more memory than it takes runs as soon as it can

Gradients of weights are such steps: each is the last to read an activation. Left where fusion puts
them, all after the gradients of the activations, they would keep every activation and every
gradient alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from ..graph.graph import Node
from .arena import most_alive


class Ordered(Protocol):
    """What a kernel call reads and writes."""

    reads: list[Node]
    writes: list[Node]


S = TypeVar("S", bound=Ordered)
Waits = dict[S, set[S]]  # the steps that each step runs after


def topological(steps: Sequence[S], after: Waits[S]) -> list[S]:
    """An order that keeps the given one where it may."""
    number = {s: i for i, s in enumerate(steps)}
    done: dict[S, None] = {}
    for first in steps:
        stack = [first]
        while stack:
            s = stack[-1]
            missing = [t for t in after[s] if t not in done] if s not in done else []
            if missing:
                stack += sorted(missing, key=number.__getitem__, reverse=True)
            else:
                done.setdefault(stack.pop(), None)
    return list(done)


def least_peak(
    order: list[S], after: Waits[S], nbytes: Callable[[Node], int], enough: int
) -> list[S]:
    """The given order or the eager one, whichever needs less memory at its worst step. `nbytes`: of
    an intermediate, else 0.

    What needs no more than `enough` bytes keeps its order: in a cache less memory is no gain, and
    what a step has just written may lie in a cache of its own.
    """
    if peak(order, nbytes) <= enough:
        return order
    other = eager(order, after, nbytes)
    return other if peak(other, nbytes) < peak(order, nbytes) else order


def peak(order: Sequence[S], nbytes: Callable[[Node], int]) -> int:
    """The bytes alive at the worst step."""
    last = {n: t for t, s in enumerate(order) for n in s.reads}
    return most_alive(
        [(nbytes(n), t, last.get(n, t)) for t, s in enumerate(order) for n in s.writes], len(order)
    )[0]


def eager(order: Sequence[S], after: Waits[S], nbytes: Callable[[Node], int]) -> list[S]:
    """The given order, but what frees more than it takes runs as soon as it can."""
    return _Eager(order, after, nbytes).run()


class _Eager(Generic[S]):
    def __init__(
        self, order: Sequence[S], after: Mapping[S, set[S]], nbytes: Callable[[Node], int]
    ) -> None:
        self.order, self.nbytes = order, nbytes
        self.place = {s: i for i, s in enumerate(order)}
        self.waits = [len(after[s]) for s in order]
        self.followers: list[list[int]] = [[] for _ in order]
        self.readers: dict[Node, set[int]] = {}
        for i, s in enumerate(order):
            for earlier in after[s]:
                self.followers[self.place[earlier]].append(i)
            for n in s.reads:
                self.readers.setdefault(n, set()).add(i)
        # bytes taken less bytes that no other step reads any more
        self.growth = [sum(map(nbytes, s.writes)) for s in order]
        self.ready: list[int] = []
        self.freeing: list[int] = []  # of the ready ones
        for n in self.readers:
            self._note_single(n)

    def run(self) -> list[S]:
        done = [False] * len(self.order)
        out = []
        for i, waits in enumerate(self.waits):
            if not waits:
                self._add(i)
        while self.ready:
            i = heappop(self.freeing or self.ready)
            if not done[i]:
                done[i] = True
                out.append(self.order[i])
                self._finish(i)
        return out

    def _add(self, i: int) -> None:
        heappush(self.ready, i)
        if self.growth[i] < 0:
            heappush(self.freeing, i)

    def _finish(self, i: int) -> None:
        for n in self.order[i].reads:
            self.readers[n].discard(i)
            self._note_single(n)
        for j in self.followers[i]:
            self.waits[j] -= 1
            if not self.waits[j]:
                self._add(j)

    def _note_single(self, n: Node) -> None:
        """A value that only one step still reads is freed by that step."""
        if len(self.readers[n]) == 1:
            (i,) = self.readers[n]
            self.growth[i] -= self.nbytes(n)
            if self.growth[i] < 0 and not self.waits[i]:
                heappush(self.freeing, i)
