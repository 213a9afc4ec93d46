"""Clock of native code. Out: the functions of the timed driver, and the length of their ticks.

Ticks are those of the processor's counter, which runs at one rate in all cores (invariant TSC,
cntvct), or else of the system's clock. The rate is found once a process, beside
time.perf_counter_ns.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import processor
from .code import portable
from .commands import HEADER, header
from .native import TIMED_NAMES, timed_text
from .threads import pool

CALIBRATION = 0.01  # seconds beside the clock
CALIBRATING, EMPTY = 16, 64  # runs, and phases of each, to find what noting takes


@dataclass(frozen=True)
class Counter:
    """The native functions.

    `run(table, args, record)`, `runs(run, table, args, ticks, count)` and the same of timed runs,
    `timed_runs(table, args, record, ticks, count)`.

    `tick`: seconds of one; `own`: ticks that noting a phase takes.
    """

    run: Callable[[int, int, int], int]
    runs: Callable[[int, int, int, int, int], int]
    timed_runs: Callable[[int, int, int, int, int], int]
    tick: float
    own: float


@cache
def counter() -> Counter:
    """Compiled, or found on disk, and calibrated at the first use."""
    text = timed_text(sys.platform, platform.machine(), processor.flags())
    code = portable(text, TIMED_NAMES)
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    run = ctypes.CFUNCTYPE(word, pointer, pointer, pointer)(code["weft_run_timed"])
    runs = ctypes.CFUNCTYPE(word, pointer, pointer, pointer, pointer, word)(code["weft_runs"])
    timed_runs = ctypes.CFUNCTYPE(word, pointer, pointer, pointer, pointer, word)(
        code["weft_runs_timed"]
    )
    return Counter(
        run,
        runs,
        timed_runs,
        _seconds_of_a_tick(ctypes.CFUNCTYPE(word)(code["weft_ticks"])),
        _own_ticks(run, runs),
    )


def _seconds_of_a_tick(ticks: Callable[[], int]) -> float:
    """How fast the counter runs beside the clock."""
    ticks()
    start, first = time.perf_counter_ns(), ticks()
    while time.perf_counter_ns() - start < CALIBRATION * 1e9:
        pass
    end, last = time.perf_counter_ns(), ticks()
    return (end - start) / (last - first) / 1e9


def _own_ticks(
    run: Callable[[int, int, int], int], runs: Callable[[int, int, int, int, int], int]
) -> float:
    """What a phase without chunks takes more of the timed driver than of the plain one."""
    # phases of no function, chunks, flags and slots
    words = HEADER + 4 * EMPTY
    table = (ctypes.c_int64 * words)(*header(EMPTY, False, 1, words))
    status, ticks = (ctypes.c_int64 * 2)(), (ctypes.c_int64 * (EMPTY + 1))()
    args = (ctypes.c_int64 * 2)(0, ctypes.addressof(status))
    block = (ctypes.c_int64 * 6)(0, ctypes.addressof(ticks))
    program, given = ctypes.addressof(table), ctypes.addressof(args)
    plain, timed = [], []
    for _ in range(CALIBRATING):
        runs(address(pool.runtime().run), program, given, ctypes.addressof(ticks), EMPTY)
        plain.append((ticks[1] - ticks[0]) / EMPTY)
        run(program, given, ctypes.addressof(block))
        timed.append(sum(ticks[1:]))
    return max(0.0, min(timed) - min(plain)) / EMPTY


def address(function: Any) -> int:
    """Where the machine code of a ctypes function is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def seconds_of_runs(run: int, table: int, args: int, count: int) -> float:
    """Of `count` runs of a program in a row, without any other instrument.

    `run`: the address of the driver.
    """
    ticks, clock = (ctypes.c_int64 * 2)(), counter()
    clock.runs(run, table, args, ctypes.addressof(ticks), count)
    return (ticks[1] - ticks[0]) * clock.tick
