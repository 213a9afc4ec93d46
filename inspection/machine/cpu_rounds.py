"""Rounds of measuring this CPU. In: its name. Out: a function that measures one round, a Machine.

In a round every loop has one turn of a millisecond or so: whoever uses the machine for a while
spoils one turn of each, not all turns of one. Before its turn a loop runs uncounted, to have its
bytes in the caches again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...codegen.llvm.target import Target
from ...runtime import processor, threads
from .limits import BITS, Nothing, Peak
from .roofline import Figure, Machine, Place
from .streams import Array, Stream, memory_of

MOMENT = 1e-3  # seconds that a turn takes at least
# Bytes that a thread moves before it waits for the others, again and again those of a near cache.
AT_ONCE = 1 << 24
# Seconds of runs after which a large cache holds the bytes that it is asked for again and again.
WARMING = 3e-3
LEAST, MOST = 64 << 20, 256 << 20  # bytes that are beyond all caches, and touched in a moment


@dataclass
class Timed:
    """Something to be timed: `seconds(n)` of n runs, each of so much `work`, after `warming`
    seconds of runs."""

    seconds: Callable[[int], float]
    work: float
    warming: float = 0.0
    count: int = 1

    def rate(self) -> float:
        """Work a second, in one turn, of as many runs as take a MOMENT."""
        warm = 0.0
        while warm < self.warming:
            warm += self.seconds(1)
        while (took := self.seconds(self.count)) < MOMENT:
            self.count = max(
                2 * self.count,
                min(round(1.2 * self.count * MOMENT / max(took, 1e-9)), 100 * self.count),
            )
        return self.work * self.count / took


@dataclass
class TimedPlace:
    """A cache or the memory, and the loops that read there, write, and do both: of several the
    fastest counts."""

    size: int
    private: bool
    loops: tuple[list[Timed], ...]

    def measured(self) -> Place:
        read, write, both = (Figure(max(loop.rate() for loop in loops)) for loops in self.loops)
        return Place(self.size, read, write, both, self.private)


@contextmanager
def rounds(name: str) -> Iterator[Callable[[], Machine]]:
    """A function that measures one round of the CPU of this name, and the memory that it needs, for
    a while."""
    target, running = processor.host(), threads.pool.ensure()
    memory = memory_of(beyond_caches(target))
    places = [
        TimedPlace(*place, _loops(target, running, memory, *place))
        for place in _places(target, running)
    ]
    peaks = {dtype: Peak(target, dtype) for dtype in BITS}
    timed = {dtype: Timed(peak.seconds, peak.flops) for dtype, peak in peaks.items()}
    starts = Timed(Nothing().seconds, Nothing.phases)

    def measured() -> Machine:
        rates = tuple(place.measured() for place in places)
        flops = {dtype: Figure(t.rate()) for dtype, t in timed.items()}
        return Machine(name, running, rates, flops, Figure(starts.rate()))

    yield measured


def beyond_caches(target: Target) -> int:
    """Bytes to measure memory with: several times the last cache, unless many cores elsewhere share
    that."""
    return min(max(4 * target.l3, LEAST), MOST)


def _places(target: Target, running: int) -> list[tuple[int, bool]]:
    """(bytes, whether each core has its own), from the nearest on; a part of the last cache, for
    others may use the rest."""
    near = [(target.l1 * running, True), (target.l2 * running, True)]
    far = [(size, False) for size in (target.l3 // 4, target.l3) if size > near[-1][0]]
    return [*near, *(far or [(target.l3, False)]), (0, False)]


def _loops(
    target: Target, running: int, memory: Array, size: int, private: bool
) -> tuple[list[Timed], ...]:
    """That work on half of a cache, or on all of the memory."""
    # Parts are rounded up to whole steps of every thread.
    nbytes = size // 2 or memory.nbytes * 15 // 16
    stream = partial(_stream, target, running, memory, 0.0 if private or not size else WARMING)
    past = [] if private else [stream(0, nbytes, non_temporal=True)]
    copies = [] if private else [stream(nbytes // 2, nbytes // 2, non_temporal=True)]
    plain = [] if not size else [stream(0, nbytes)]
    return [stream(nbytes, 0)], [*plain, *past], [stream(nbytes, nbytes, in_place=True), *copies]


def _stream(
    target: Target, running: int, memory: Array, warming: float, read: int, written: int, **how: Any
) -> Timed:
    repeated = max(1, AT_ONCE // max(read, written))
    stream = Stream(target, read, written, running, memory, repeated, **how)
    return Timed(stream.seconds, repeated * (read + written), warming)
