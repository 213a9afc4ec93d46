"""The limits of a device. In: measured rates, the demand of a kernel. Out: its least time.

The roofline model of Williams, Waterman, Patterson, CACM 52(4), 2009, with a roof for each cache. A
place is described by three rates, since caches and buses carry reads and writes side by side: a
kernel that does both moves more than one that only reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ...wording import binary

Bound = Literal["memory", "compute", "launch"]
NEAR = 0.95  # of the best round: one that is as good confirms it
SURE = 2  # rounds that confirm each other: a busy machine spoils rounds, and not two of them alike
FASTER = 1.02  # times the limit: measured that much faster, it is no noise


@dataclass(frozen=True)
class Figure:
    """A rate, as its best round showed it: `near` of so many `rounds` came near it, none if a
    workload was faster than all."""

    rate: float
    near: int = 1
    rounds: int = 1

    @property
    def is_sure(self) -> bool:
        return self.near >= SURE

    def merged(self, other: Figure) -> Figure:
        """By the rounds of both."""
        best = max(self.rate, other.rate)
        near = sum(f.near for f in (self, other) if f.rate >= NEAR * best)
        return Figure(best, near, self.rounds + other.rounds)

    def at_least(self, rate: float) -> Figure:
        """Raised to this rate, if it is less."""
        return self if self.rate >= rate else Figure(rate, 0, self.rounds)


@dataclass(frozen=True)
class Place:
    """A cache, or the memory. Attributes: `size`, bytes that it holds for all threads together, of
    memory 0; `read`, `write` and `both`, bytes/s that all threads read, write, or do both of alike;
    `private`, whether each core has its own part."""

    size: int
    read: Figure
    write: Figure
    both: Figure
    private: bool = False

    @property
    def figures(self) -> tuple[Figure, Figure, Figure]:
        return self.read, self.write, self.both

    @property
    def bandwidth(self) -> float:
        """The best of them."""
        return max(f.rate for f in self.figures)

    def seconds(self, read: float, written: float) -> float:
        """That moving so many bytes takes at least."""
        both = min(read, written)
        return (
            2 * both / self.both.rate
            + (read - both) / self.read.rate
            + (written - both) / self.write.rate
        )

    def merged(self, other: Place) -> Place:
        read, write, both = (a.merged(b) for a, b in zip(self.figures, other.figures, strict=True))
        return replace(self, read=read, write=write, both=both)

    def at_least(self, rates: Iterable[float]) -> Place:
        """Raised to these rates of reading, writing and both."""
        read, write, both = (f.at_least(rate) for f, rate in zip(self.figures, rates, strict=True))
        return replace(self, read=read, write=write, both=both)


@dataclass(frozen=True)
class Demand:
    """What a kernel has to do at least.

    Attributes: bytes that it reads and writes; operations, and the dtype whose speed they have;
    `workers`, how many threads or blocks share it at most.
    """

    read: int
    written: int
    flops: int
    dtype: str = "float32"
    workers: int = 1 << 30

    @property
    def bytes(self) -> int:
        return self.read + self.written


@dataclass(frozen=True)
class Machine:
    """The limits of a device.

    Attributes: `name`; `threads` that share a kernel, of a GPU its multiprocessors; `places`,
    caches from the nearest on, and the memory; `flops`, operations/s by dtype name, a
    multiplication and an addition being two; `starts`, kernels/s that do nothing (of a CPU, kernels
    that no threads share).
    """

    name: str
    threads: int
    places: tuple[Place, ...]
    flops: dict[str, Figure]
    starts: Figure

    @property
    def memory(self) -> Place:
        return self.places[-1]

    @property
    def cache(self) -> Place:
        """The last one."""
        return self.places[-2]

    @property
    def launch(self) -> float:
        """Seconds that a kernel costs at least."""
        return 1 / self.starts.rate

    @property
    def unsure(self) -> list[str]:
        """The limits that no second round has confirmed."""
        limits: dict[str, Iterable[Figure]] = {name: (f,) for name, f in self.flops.items()}
        limits = dict(zip(self.names, (p.figures for p in self.places), strict=True)) | limits
        return [name for name, figures in limits.items() if not all(f.is_sure for f in figures)]

    @property
    def names(self) -> list[str]:
        """Of the places."""
        return [*(f"cache of {binary(p.size)}" for p in self.places[:-1]), "memory"]

    # ------------------------------------------------------------ predictions

    def fits(self, nbytes: int) -> bool:
        """Does the last cache hold so many."""
        return nbytes <= self.cache.size

    def times(self, d: Demand, resident: bool) -> dict[Bound, float]:
        """Seconds that a kernel takes at least, by what limits it; the largest counts.

        Its bytes are in memory or, if `resident`, in the nearest cache that holds them all. What
        each core has for its own, which are the nearest caches and arithmetic, is there for as many
        cores as the kernel has workers.
        """
        share, place = self._share(d), self._place(d) if resident else self.memory
        moving = place.seconds(d.read, d.written) * (share if place.private else 1)
        return {
            "memory": moving,
            "compute": d.flops * share / self.flops[d.dtype].rate,
            "launch": self.launch,
        }

    def seconds(self, d: Demand, resident: bool) -> tuple[float, Bound]:
        """The largest of the times, and what it is of."""
        times = self.times(d, resident)
        bound = max(times, key=lambda b: times[b])
        return times[bound], bound

    def _share(self, d: Demand) -> int:
        """Of how many cores a kernel has one."""
        return max(1, self.threads // max(1, d.workers))

    def _place(self, d: Demand) -> Place:
        """The nearest that holds the bytes."""
        share = self._share(d)
        return next(
            (p for p in self.places[:-1] if d.bytes * (share if p.private else 1) <= p.size),
            self.memory,
        )

    # ------------------------------------------------------------ better figures

    def merged(self, other: Machine) -> Machine:
        """By the rounds of both, which are of one device."""
        places = tuple(a.merged(b) for a, b in zip(self.places, other.places, strict=True))
        flops = {name: f.merged(other.flops[name]) for name, f in self.flops.items()}
        return replace(self, places=places, flops=flops, starts=self.starts.merged(other.starts))

    def moved_in(self, d: Demand, seconds: float) -> Machine:
        """With the bandwidths that a kernel shows which has moved its bytes in so many seconds;
        this one, if it shows nothing.

        They may have been in the nearest cache that holds them or, of more than the last one holds,
        as many as that holds.
        """
        place, share = self._place(d), self._share(d)
        least = place.seconds(d.read, d.written) * (share if place.private else 1)
        if place is self.memory and d.bytes:
            least *= 1 - self.cache.size / d.bytes
        if least <= FASTER * seconds:
            return self
        rates = [f.rate * least / seconds for f in place.figures]
        end = self.places.index(place) + 1  # nearer ones are not slower
        return replace(
            self, places=(*(p.at_least(rates) for p in self.places[:end]), *self.places[end:])
        )

    def computed_in(self, d: Demand, seconds: float) -> Machine:
        """The same of operations, which were done in floats of its dtype."""
        peak = self.flops[d.dtype]
        if d.flops * self._share(d) / peak.rate <= FASTER * seconds:
            return self
        return replace(
            self, flops=self.flops | {d.dtype: peak.at_least(d.flops * self._share(d) / seconds)}
        )

    # ------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """The limits, with the rounds that confirm them."""
        places = [asdict(p) for p in self.places]
        return {
            "name": self.name,
            "threads": self.threads,
            "bandwidth": self.memory.bandwidth,
            "cache_bandwidth": self.cache.bandwidth,
            "cache_bytes": self.cache.size,
            "flops": {name: f.rate for name, f in self.flops.items()},
            "launch": self.launch,
            "unsure": self.unsure,
            "places": places,
            "rounds": {
                "flops": {name: asdict(f) for name, f in self.flops.items()},
                "starts": asdict(self.starts),
            },
        }

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Machine:
        """The inverse of to_dict."""
        ways = ("read", "write", "both")
        places = tuple(Place(**(p | {way: Figure(**p[way]) for way in ways})) for p in d["places"])
        flops = {name: Figure(**f) for name, f in d["rounds"]["flops"].items()}
        return cls(d["name"], d["threads"], places, flops, Figure(**d["rounds"]["starts"]))
