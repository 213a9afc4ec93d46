"""Times of the phases of a program. In: programs made inside `with timing():`. Out: Timings.

Such a program runs through a driver of its own (`llvm/driver.ll`); all others run through the one
they always do. On a GPU, events around each launch give the times (`cuda/timed.py`).
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from .. import locks
from .image import Image, chunk_count
from .native import LINE, PARALLEL, RECORD
from .threads import pool
from .ticks import address, counter

if TYPE_CHECKING:
    from ..ir.program.program import Program

KEPT = 2048  # runs whose times are remembered
MOST_CHUNKS = 1 << 16  # of a run that are noted

_open: list[None] = []  # one for each block of `timing`


@contextmanager
def timing() -> Iterator[None]:
    """Programs that any thread makes inside note their times while they live.

    They are `executable.timings`.
    """
    _open.append(None)
    try:
        yield
    finally:
        _open.pop()


def wanted() -> bool:
    """Is a program that is made now to be timed."""
    return bool(_open)


class Chunk(NamedTuple):
    """A chunk of a phase: which thread ran it, and when, in seconds from the start of the run."""

    phase: int
    chunk: int
    thread: int
    begin: float
    end: float


class Timings:
    """The times of a program, phase by phase in the order they run; on a GPU launch by launch.

    Attributes: `runs`, how many there were; `calls`, seconds of the last ones that Python called
    one by one, by its own clock. Runs that a check has ended do not count.
    """

    skips_empty = False  # do phases without chunks count

    def __init__(self, phases: int) -> None:
        self.phases = phases
        self.runs = 0
        self.calls: deque[float] = deque(maxlen=KEPT)
        self._kept: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self._first: tuple[float, ...] = ()

    def add(self, durations: tuple[float, ...]) -> None:
        """Notes a run."""
        self.runs += 1
        self._first = self._first or durations
        self._kept.append(durations)

    def restart(self) -> None:
        """Forgets all runs but the first."""
        self._kept.clear()
        self.calls.clear()

    def in_seconds(self, durations: Sequence[float]) -> list[float]:
        """What was noted of a run, without what noting it takes."""
        return [*durations]

    @property
    def first(self) -> list[float]:
        """Seconds of each phase in the first run."""
        return self.in_seconds(self._first)

    @property
    def history(self) -> list[list[float]]:
        """Seconds of each phase in each of the last runs."""
        return [*map(self.in_seconds, [*self._kept])]

    @property
    def seconds(self) -> list[float]:
        """Seconds of each phase: the median of the last runs."""
        return [median(column) for column in zip(*self.history, strict=True)]

    @property
    def last(self) -> list[float]:
        """Seconds of each phase in the last run."""
        return self.in_seconds(self._kept[-1]) if self._kept else []

    @property
    def total(self) -> float:
        """Seconds of a run: the median of the last runs."""
        return median(map(sum, self.history)) if self._kept else 0.0

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of the last run that several threads shared, thread by thread in order.

        A GPU reports none.
        """
        return []

    def by_call(self, program: Program, seconds: Sequence[float] | None = None) -> list[float]:
        """Seconds of each kernel call, in order: of `seconds` by phase, or else the median."""
        left = iter(self.seconds if seconds is None else seconds)
        counts = [
            sum(chunk_count(c, p) > 0 or not self.skips_empty for p in c.loops.phases)
            + (c.routined is not None)
            for c in program.calls
        ]
        return [sum(next(left, 0.0) for _ in range(count)) for count in counts]


# ---------------------------------------------------------------- the CPU


class HostTimings(Timings):
    """Those of a CPU's program: `run(table, args)` is a run that is noted."""

    def __init__(self, image: Image) -> None:
        super().__init__(image.table[0])
        chunks = sum(chunks for chunks, flags in _phases(image) if flags & PARALLEL)
        # loops repeat them
        self._room = MOST_CHUNKS if chunks and image.cursors else min(MOST_CHUNKS, chunks)
        self._records: list[_Record] = []  # of runs that are over
        self._last: _Record | None = None
        self._adding = locks.new("timing")

    def run(self, table: int, args: int) -> int:
        """What weft_run does. Returns 1 if a check has failed."""
        record = self._record()
        record.clear()
        run = counter().run
        start = perf_counter()
        failed = run(table, args, record.address)
        took = perf_counter() - start
        self._keep(record, [] if failed else [record.durations()])
        self.calls.extend([] if failed else [took])
        return failed

    def run_often(self, table: int, args: int, count: int, skip: int = 0) -> None:
        """So many runs without anything between them.

        All but the first `skip` are noted, unless a check fails.
        """
        record, size = self._record(), self.phases + 1
        ticks = (ctypes.c_int64 * (size * count))()
        failed = counter().timed_runs(table, args, record.address, ctypes.addressof(ticks), count)
        runs = (ticks[i * size : (i + 1) * size] for i in range(skip, count))
        self._keep(record, [] if failed else [tuple(run[1:]) for run in runs])

    def _record(self) -> _Record:
        threads = pool.running
        while self._records:
            with suppress(IndexError):  # another thread was faster
                record = self._records.pop()
                if record.fits(threads):
                    return record
        return _Record(self.phases, self._room, threads)

    def _keep(self, record: _Record, runs: list[tuple[float, ...]]) -> None:
        """Adds the runs; the record holds the chunks of the last one."""
        with self._adding:
            for durations in runs:
                self.add(durations)
            if runs:
                record, self._last = self._last or record, record
            if record is not self._last:
                self._records.append(record)

    def in_seconds(self, durations: Sequence[float]) -> list[float]:
        clock = counter()
        return [max(0.0, ticks - clock.own) * clock.tick for ticks in durations]

    @property
    def chunks(self) -> list[Chunk]:
        with self._adding:
            return self._last.chunks() if self._last else []


def _phases(image: Image) -> Iterator[tuple[int, int]]:
    """(chunks, flags) of each phase."""
    places = (*image.code, *(place for place, _ in image.routines))
    return ((image.table[place + 1], image.table[place + 2]) for place in places)


class _Record:
    """What one run notes: memory as driver.ll describes it, from the start of a cache line on."""

    def __init__(self, phases: int, room: int, threads: int) -> None:
        self._phases, self._threads = phases, threads
        self._areas = LINE + _lines(phases + 1)  # after the block and the ticks
        self._size = LINE + _lines(RECORD * room)
        words = (ctypes.c_int64 * (self._areas + self._size * threads + LINE))()
        start = -ctypes.addressof(words) // 8 % LINE
        self.address = ctypes.addressof(words) + 8 * start
        self._words = memoryview(words).cast("B").cast("q")[start:]
        places = [self.address + 8 * LINE, self.address + 8 * self._areas]
        for k, word in enumerate(
            [address(pool.runtime().parallel_for), *places, threads, self._size, room]
        ):
            self._words[k] = word

    def fits(self, threads: int) -> bool:
        """Does each thread have an area, and several areas several threads."""
        return self._threads == threads

    def clear(self) -> None:
        """Before a run."""
        for thread in range(self._threads):
            self._words[self._areas + thread * self._size] = 0

    def durations(self) -> tuple[float, ...]:
        """Ticks of each phase."""
        return tuple(self._ticks()[1:])

    def _ticks(self) -> list[int]:
        return self._words[LINE : LINE + self._phases + 1].tolist()

    def chunks(self) -> list[Chunk]:
        """In seconds from the start."""
        start, tick = self._ticks()[0], counter().tick
        return [
            Chunk(phase, chunk, thread, (begin - start) * tick, (end - start) * tick)
            for thread in range(self._threads)
            for phase, chunk, begin, end in self._noted(self._areas + thread * self._size)
        ]

    def _noted(self, area: int) -> Iterator[tuple[int, ...]]:
        first = area + LINE
        words = self._words[first : first + RECORD * self._words[area]].tolist()
        return zip(*(words[i::RECORD] for i in range(RECORD)), strict=True)


def _lines(words: int) -> int:
    """Words of whole cache lines."""
    return words + -words % LINE
