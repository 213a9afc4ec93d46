"""A clock for native code. Out: the functions of `timed_ir.py`, and how long one of their ticks is.

Ticks are those of the processor's counter, which runs at one rate in all cores (invariant TSC, cntvct), or else of the system's
clock. The rate is found once a process, beside time.perf_counter_ns.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import median

from . import processor
from .code import portable
from .timed_ir import NAMES, timed_text

CALIBRATION = 0.01  # seconds


@dataclass(frozen=True)
class Counter:
    """The native functions: `run(table, args, record)`, `runs(run, table, args, ticks, count)`.

    `tick`: seconds of one; `own`: ticks that noting a phase takes.
    """

    run: Callable[[int, int, int], int]
    runs: Callable[[int, int, int, int, int], int]
    tick: float
    own: int


@cache
def counter() -> Counter:
    """Compiled, or found on disk, and calibrated at the first use."""
    text = timed_text(sys.platform, platform.machine(), processor.flags())
    code = portable(text, NAMES)
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    run = ctypes.CFUNCTYPE(word, pointer, pointer, pointer)(code["weft_run_timed"])
    runs = ctypes.CFUNCTYPE(word, pointer, pointer, pointer, pointer, word)(code["weft_runs"])
    return Counter(run, runs, _seconds_of_a_tick(ctypes.CFUNCTYPE(word)(code["weft_ticks"])), _own_ticks(run))


def _seconds_of_a_tick(ticks: Callable[[], int]) -> float:
    """How fast the counter runs beside the clock."""
    ticks()
    start, first = time.perf_counter_ns(), ticks()
    while time.perf_counter_ns() - start < CALIBRATION * 1e9:
        pass
    end, last = time.perf_counter_ns(), ticks()
    return (end - start) / (last - first) / 1e9


def _own_ticks(run: Callable[[int, int, int], int], phases: int = 64) -> int:
    """The ticks of a phase without chunks."""
    table = (ctypes.c_int64 * (3 + 4 * phases))(phases, 0, 1)  # all of no function, chunks, flags and slots
    status, ticks = (ctypes.c_int64 * 2)(), (ctypes.c_int64 * (phases + 1))()
    args = (ctypes.c_int64 * 2)(0, ctypes.addressof(status))
    block = (ctypes.c_int64 * 5)(0, ctypes.addressof(ticks))
    found = []
    for _ in range(16):
        run(*map(ctypes.addressof, (table, args, block)))
        found.append(median(end - begin for begin, end in pairwise(ticks[:])))
    return int(min(found))


def run_times(run: int, table: int, args: int, count: int) -> tuple[list[float], bool]:
    """Seconds of each of `count` runs of a program without any other instrument, and whether a check has failed."""
    ticks, found = (ctypes.c_int64 * (count + 1))(), counter()
    failed = found.runs(run, table, args, ctypes.addressof(ticks), count)
    return [max(0, end - begin - found.own) * found.tick for begin, end in pairwise(ticks[:])], bool(failed)
