"""How long each phase of a program takes. In: programs that are made inside `with timing():`. Out: their Timings.

Such a program runs through a driver of its own (`timed_ir.py`); all others run through the one they always do. On a GPU, events
around each launch give the times (`cuda/timed.py`).
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from .driver_ir import PARALLEL
from .image import Image, chunk_count
from .threads import pool
from .ticks import counter
from .timed_ir import RECORD

if TYPE_CHECKING:
    from ..ir.program import Program

KEPT = 512  # runs whose times are remembered
MOST_CHUNKS = 1 << 16  # of a run that are noted

_open: list[None] = []  # one for each block of `timing`


@contextmanager
def timing() -> Iterator[None]:
    """Programs that are made inside, by any thread, note their times as long as they live: `executable.timings`."""
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

    Attributes: `runs`, how many there were; runs that a check has ended do not count.
    """

    skips_empty = False  # do phases without chunks count

    def __init__(self, phases: int) -> None:
        self.phases = phases
        self.runs = 0
        self._kept: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self._first: tuple[float, ...] = ()

    def add(self, durations: tuple[float, ...]) -> None:
        """Notes a run."""
        self.runs += 1
        self._first = self._first or durations
        self._kept.append(durations)

    def in_seconds(self, durations: Sequence[float]) -> list[float]:
        """What was noted of a run, without what noting it takes."""
        return [*durations]

    @property
    def first(self) -> list[float]:
        """Seconds of each phase in the first run."""
        return self.in_seconds(self._first)

    @property
    def seconds(self) -> list[float]:
        """Seconds of each phase: the median of the last runs."""
        return [median(column) for column in zip(*map(self.in_seconds, [*self._kept]), strict=True)]

    @property
    def last(self) -> list[float]:
        """Seconds of each phase in the last run."""
        return self.in_seconds(self._kept[-1]) if self._kept else []

    @property
    def total(self) -> float:
        """Seconds of a run: the median of the last runs."""
        return median(sum(self.in_seconds(run)) for run in [*self._kept]) if self._kept else 0.0

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of the last run that threads shared, in the order they ended; a GPU tells of none."""
        return []

    def by_call(self, program: Program, seconds: Sequence[float] | None = None) -> list[float]:
        """Seconds of each kernel call of a program, in order; of `seconds` by phase, or else the median."""
        left = iter(self.seconds if seconds is None else seconds)
        counts = [sum(chunk_count(c, p) > 0 or not self.skips_empty for p in c.loops.phases) for c in program.calls]
        return [sum(next(left, 0.0) for _ in range(count)) for count in counts]


# ---------------------------------------------------------------- the CPU


class HostTimings(Timings):
    """Those of a CPU's program: `run(table, args)` is a run that is noted."""

    def __init__(self, image: Image) -> None:
        super().__init__(image.table[0])
        self._room = min(MOST_CHUNKS, sum(chunks for chunks, flags in _phases(image) if flags & PARALLEL))
        self._records: list[_Record] = []  # of runs that are over
        self._last: _Record | None = None
        self._adding = threading.Lock()

    def run(self, table: int, args: int) -> int:
        """What weft_run does. Returns 1 if a check has failed."""
        try:
            record = self._records.pop()
        except IndexError:
            record = _Record(self.phases, self._room)
        failed = counter().run(table, args, record.address)
        with self._adding:
            if not failed:
                self.add(record.durations())
                record, self._last = self._last or record, record
            if record is not self._last:
                self._records.append(record)
        return failed

    def in_seconds(self, durations: Sequence[float]) -> list[float]:
        found = counter()
        return [max(0.0, ticks - found.own) * found.tick for ticks in durations]

    @property
    def chunks(self) -> list[Chunk]:
        with self._adding:
            return self._last.chunks() if self._last else []


def timings(image: Image) -> HostTimings | None:
    """Those of a program that is made now; None where none are wanted."""
    return HostTimings(image) if wanted() else None


def _phases(image: Image) -> Iterator[tuple[int, int]]:
    """(chunks, flags) of each phase."""
    return ((image.table[place + 1], image.table[place + 2]) for place in image.code)


class _Record:
    """What one run notes: the memory that timed_ir describes."""

    def __init__(self, phases: int, room: int) -> None:
        self._ticks = (ctypes.c_int64 * (phases + 1))()
        self._chunks = (ctypes.c_int64 * (RECORD * room))()
        parallel = ctypes.cast(pool.runtime().parallel_for, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
        self._block = (ctypes.c_int64 * 5)(parallel, ctypes.addressof(self._ticks), ctypes.addressof(self._chunks), room, 0)
        self._address = ctypes.addressof(self._block)

    @property
    def address(self) -> int:
        """For the next run."""
        self._block[4] = 0
        return self._address

    def durations(self) -> tuple[float, ...]:
        """Ticks of each phase."""
        ticks = self._ticks[:]
        return tuple(map(sub, ticks[1:], ticks))

    def chunks(self) -> list[Chunk]:
        """In seconds from the start."""
        start, tick = self._ticks[0], counter().tick
        words = self._chunks[: RECORD * min(self._block[4], self._block[3])]
        rows = zip(*(words[i :: RECORD] for i in range(RECORD)), strict=True)
        return [Chunk(p, c, t, (begin - start) * tick, (end - start) * tick) for p, c, t, begin, end in rows]
