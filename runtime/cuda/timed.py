"""Times of each launch of a program. In: the calls that launch. Out: the same calls between events,
and their times.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..timed import Timings
from .driver import Driver

Calls = list[Callable[[], object]]


class CudaTimings(Timings):
    """Those of a GPU's program. A launch counts from the end of the one before, the first from the
    start."""

    skips_empty = True


class Events:
    """The events of one running call: a list for each of the groups of launches between which the
    host waits."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._groups: list[list[Any]] = []
        self._numbers: list[list[int]] = []  # of the launch before each event but the first
        self._group = -1

    def around(self, calls: Calls, first: int) -> Calls:
        """A group: the launches, whose numbers begin with `first`, with an event before the first
        and after each."""
        return [self._timed(call, first + number, first) for number, call in enumerate(calls)]

    def _timed(self, launch: Callable[[], object], number: int, first: int) -> Callable[[], object]:
        def timed() -> object:
            if self._group != first:
                self._group = first
                self._groups.append([self._driver.record()])
                self._numbers.append([])
            refused = launch()
            self._groups[-1].append(self._driver.record())
            self._numbers[-1].append(number)
            return refused

        return timed

    def start(self) -> None:
        """Forgets what a run has left that failed."""
        self._groups.clear()
        self._numbers.clear()
        self._group = -1

    def durations(self, launches: int) -> tuple[float, ...]:
        """Seconds of each launch, all its runs together; waits for the last."""
        seconds = [0.0] * launches
        for numbers, group in zip(self._numbers, self._groups, strict=True):
            for number, (a, b) in zip(numbers, pairwise(group), strict=True):
                seconds[number] += self._driver.elapsed(a, b) / 1000
        return tuple(seconds)
