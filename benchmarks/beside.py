"""Calls of several systems, timed side by side. In: what makes the call of each system. Out: a row
of a table for each.

Results are compared before anything is timed. The systems take turns of a few calls, of which the
fastest counts, as threads of the one before may still spin; a figure is the median of the turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

Call = Callable[[], Any]  # computes once more; returns what is compared
TURN = 3  # calls


def measured(
    systems: Mapping[str, Callable[[], Call]], rounds: int, tolerance: float, turn: int = TURN
) -> dict[str, tuple[float, float]]:
    """(milliseconds of the first call with what precedes it, of a later one) of each system that is
    installed, weft's first."""
    first, calls, seen = {}, {}, {}
    for name, make in systems.items():
        if name == "weft" or find_spec(name):
            start = time.perf_counter()
            calls[name] = make()
            seen[name] = calls[name]()
            first[name] = time.perf_counter() - start
            _compare(name, seen[name], seen["weft"], tolerance)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(min(_seconds(call) for _ in range(turn)))
    return {name: (1e3 * first[name], 1e3 * statistics.median(t)) for name, t in times.items()}


def _compare(name: str, found: Any, want: Any, tolerance: float) -> None:
    pairs = zip(found, want, strict=True) if isinstance(found, list) else [(found, want)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=tolerance, err_msg=name)


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def print_head() -> None:
    print(f"{'':32}{'system':8}{'first, ms':>10}{'later, ms':>10}  {'weft beside it':>14}")


def print_rows(name: str, found: Mapping[str, tuple[float, float]]) -> None:
    for system, (first, later) in found.items():
        beside = "" if system == "weft" else f"{found['weft'][1] / later:.2f}"
        print(f"{name:32}{system:8}{first:10.0f}{later:10.3f}  {beside:>14}", flush=True)
