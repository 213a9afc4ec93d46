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

    def around(self, calls: Calls) -> Calls:
        """A group: the launches with an event before the first and after each."""
        return [self._timed(call, number == 0) for number, call in enumerate(calls)]

    def _timed(self, launch: Callable[[], object], is_first: bool) -> Callable[[], object]:
        def timed() -> object:
            if is_first:
                self._groups.append([self._driver.record()])
            refused = launch()
            self._groups[-1].append(self._driver.record())
            return refused

        return timed

    def start(self) -> None:
        """Forgets what a run has left that failed."""
        self._groups.clear()

    def durations(self) -> tuple[float, ...]:
        """Seconds of each launch; waits for the last."""
        return tuple(
            self._driver.elapsed(a, b) / 1000 for group in self._groups for a, b in pairwise(group)
        )
