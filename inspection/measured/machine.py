"""What a device can do at most. In: its name. Out: a Machine: bandwidths, peaks, and the time that they predict for a kernel.

Measured once for a machine, in less than half a second, and kept in the disk cache. A CPU is measured by native loops
(`limits.py`) in all threads. A GPU is measured by kernels of its own (`gpu_limits.py`) through its Driver, an emulated one, too,
of which the figures mean little; the size of its cache is the one that fusion takes for granted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from ... import options
from ...frontend.devices import CPU, check_device, unit
from ...runtime import cache, processor, threads

Bound = Literal["memory", "compute", "launch"]
FORMAT = "machine 1"
FILES = tuple(f"inspection/measured/{name}.py" for name in ("machine", "limits", "gpu_limits"))  # what figures depend on
TURNS = 6  # of each measurement; the best counts, for others may use the machine meanwhile
THOROUGH = 20  # turns where it is measured anew, and somebody waits for that
MOMENT = 2e-3  # seconds that a turn takes at least


@dataclass(frozen=True)
class Machine:
    """The limits of a device.

    Attributes: `name`; `threads` that share a kernel, of a GPU its multiprocessors; `bandwidth`, bytes/s that all of them read
    from memory; `cache_bytes` of the last cache and `cache_bandwidth`, the same from there; `flops`, operations/s by dtype name,
    a multiplication and an addition being two; `launch`, seconds that a kernel costs at least (of a CPU, one that no threads
    share); `inner`, (bytes, bytes/s) of the nearer caches of all threads together, the nearest first.
    """

    name: str
    threads: int
    bandwidth: float
    cache_bandwidth: float
    cache_bytes: int
    flops: dict[str, float]
    launch: float
    inner: tuple[tuple[int, float], ...] = ()

    def seconds(self, nbytes: int, flops: float, dtype: str, resident: bool = False) -> tuple[float, Bound]:
        """The least time of a kernel by the roofline model, and what bounds it.

        It moves so many bytes, from and to memory or, if `resident`, the nearest cache that holds them all, and computes so many
        operations of that dtype; of what is not float64, as fast as of float32. Source: Williams, Waterman, Patterson: Roofline,
        CACM 52(4), 2009.
        """
        bandwidth = self.bandwidth_of(nbytes) if resident else self.bandwidth
        peak = self.flops["float64" if dtype == "float64" else "float32"]
        times: list[tuple[float, Bound]] = [(nbytes / bandwidth, "memory"), (flops / peak, "compute"), (self.launch, "launch")]
        return max(times, key=lambda found: found[0])

    def bandwidth_of(self, nbytes: int) -> float:
        """Bytes/s from the nearest place that holds so many."""
        levels = [*self.inner, (self.cache_bytes, self.cache_bandwidth)]
        return next((rate for size, rate in levels if nbytes <= size), self.bandwidth)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def machine(device: str = CPU, again: bool = False) -> Machine:
    """The limits of a device: "cpu" with the threads of the options, or "cuda:0". Measured where they are not known.

    again=True measures anew, and keeps that. Raises DeviceError for a device that is not there.
    """
    key, measured = _key(device)
    found = None if again else _found(key)
    if found is None:
        found = _known[key] = measured(THOROUGH if again else TURNS)
        cache.default().put(key, json.dumps(found.to_dict()).encode(), "machine")
    return found


def known(device: str = CPU) -> Machine | None:
    """The same where it was measured before; nothing is measured. Raises DeviceError."""
    return _found(_key(device)[0])


_known: dict[str, Machine] = {}  # in this process


def _key(device: str) -> tuple[str, Callable[[int], Machine]]:
    """What the figures of a device are kept by, and what measures them."""
    name = check_device(device) or CPU
    of, measured = _host() if name == CPU else _gpu(name)
    return hashlib.sha256(repr((FORMAT, of, cache.source_fingerprint(*FILES))).encode()).hexdigest(), measured


def _found(key: str) -> Machine | None:
    if key not in _known and (stored := cache.default().get(key)) is not None:
        _known[key] = _read(stored)
    return _known.get(key)


def _read(data: bytes) -> Machine:
    found = json.loads(data)
    return Machine(**(found | {"inner": tuple((size, rate) for size, rate in found["inner"])}))


def best(*measured: Callable[[int], float], turns: int = TURNS) -> list[float]:
    """The least seconds of one round of each of these, which take seconds(n) for n rounds.

    They take turns: whoever else uses the machine for a while spoils one turn of each, not all turns of one.
    """
    counts = [_enough(seconds) for seconds in measured]
    found = [[seconds(n) / n for seconds, n in zip(measured, counts, strict=True)] for _ in range(turns)]
    return [min(column) for column in zip(*found, strict=True)]


def _enough(seconds: Callable[[int], float]) -> int:
    """How many rounds take MOMENT."""
    count = 1
    while (took := seconds(count)) < MOMENT:
        count = max(2 * count, min(round(1.2 * count * MOMENT / max(took, 1e-9)), 100 * count))
    return count


# ---------------------------------------------------------------- a CPU


def _host() -> tuple[Any, Callable[[int], Machine]]:
    """What the figures are of, and what measures them in so many turns."""
    target, count = processor.host(), options.current().num_threads
    name = processor.model() or target.cpu
    return (name, count, target), partial(_measured, name)


def _measured(name: str, turns: int) -> Machine:
    from . import limits

    target, running = processor.host(), threads.pool.ensure()

    memory = min(max(4 * target.l3, 64 << 20), 256 << 20)  # bytes: beyond all caches, and touched in a moment
    sizes = memory, target.l3 // 2, target.l1 * running // 2, target.l2 * running // 2
    streams = [limits.Stream(target, nbytes, 0, running) for nbytes in sizes]
    peaks = [limits.Peak(target, dtype) for dtype in limits.BITS]
    nothing = limits.Nothing()
    *reading, single, double, launching = best(
        *(stream.seconds for stream in streams), *(peak.seconds for peak in peaks), nothing.seconds, turns=turns
    )
    memory_rate, cache_rate, *inner_rates = (nbytes / took for nbytes, took in zip(sizes, reading, strict=True))
    flops = {"float32": peaks[0].flops / single, "float64": peaks[1].flops / double}
    inner = tuple((size * running, rate) for size, rate in zip((target.l1, target.l2), inner_rates, strict=True))
    return Machine(name, running, memory_rate, cache_rate, target.l3, flops, launching / nothing.phases, inner)


# ---------------------------------------------------------------- a GPU


def _gpu(name: str) -> tuple[Any, Callable[[int], Machine]]:
    driver = unit(name).driver

    def measured(turns: int) -> Machine:
        from .gpu_limits import measure

        return measure(driver, turns)

    return (driver.name, driver.arch, driver.multiprocessors, driver.total_memory), measured
