"""Rounds of measuring a GPU. In: its Driver. Out: a function that measures one round, a Machine."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...compiler.backends.cuda import LAST_CACHE
from ...runtime.cuda.driver import Driver, here
from ...runtime.native import filled
from .cpu_rounds import Timed
from .limits import FOLDER
from .roofline import Figure, Machine, Place

THREADS = 256  # of a block
BLOCKS = 8  # for each multiprocessor
CHAINS = 8  # sums of a thread, each of which waits for itself alone
STEPS = 128  # FMAs of each chain in a launch; few, as an emulator takes them one by one


def text() -> str:
    """CUDA C of all of them."""
    sizes = {"threads": THREADS, "chains": CHAINS, "steps": STEPS}
    fma = [filled("fma.cu", FOLDER, type=kind, **sizes) for kind in ("float", "double")]
    return filled("rounds.cu", FOLDER, threads=THREADS) + "".join(fma)


class Kernels:
    """The kernels on a device, and the memory that they work on."""

    def __init__(self, driver: Driver, nbytes: int) -> None:
        self.driver, self._grid = driver, BLOCKS * driver.multiprocessors
        self._module = driver.load(driver.build(text()).image)
        self._timed: dict[tuple[str, tuple[int, ...]], Timed] = {}
        self._out = driver.allocate(8 * THREADS)
        self._memory = driver.allocate(nbytes)
        driver.fill(self._out, 0, 8 * THREADS)
        driver.fill(self._memory, 0, nbytes)

    def close(self) -> None:
        self.driver.synchronize()
        self.driver.free(self._out)
        self.driver.free(self._memory)

    def _rate(self, name: str, grid: int, work: float, *values: int) -> Figure:
        """Of launches with these arguments, each of which does so much work."""
        key = name, values
        if key not in self._timed:
            self._timed[key] = Timed(self._seconds(name, grid, values), work)
        return Figure(self._timed[key].rate())

    def _seconds(self, name: str, grid: int, values: tuple[int, ...]) -> Callable[[int], float]:
        function, driver = self._module.function(name, 0), self.driver
        arguments = struct.pack(f"{len(values)}q", *values)

        def seconds(count: int) -> float:
            start = driver.record()
            for _ in range(count):
                driver.launch(function, grid, THREADS, arguments, 0)
            return driver.elapsed(start, driver.record()) / 1000

        return seconds

    def starts(self) -> Figure:
        """Empty kernels a second."""
        return self._rate("weft_nothing", 1, 1, self._out)

    def place(self, size: int, nbytes: int) -> Place:
        """A cache of that size, or the memory, by so many bytes there."""
        half, memory = nbytes // 2, self._memory
        read = self._rate("weft_read", self._grid, nbytes, memory, nbytes // 16, self._out)
        write = self._rate("weft_write", self._grid, nbytes, memory, nbytes // 16)
        both = self._rate("weft_copy", self._grid, nbytes, memory, memory + half, half // 16)
        return Place(size, read, write, both)

    def flops(self, kind: str) -> Figure:
        """Operations/s of FMAs."""
        count = 2 * CHAINS * STEPS * THREADS * self._grid
        return self._rate(f"weft_fma_{kind}", self._grid, count, self._out)


@contextmanager
def rounds(driver: Driver) -> Iterator[Callable[[], Machine]]:
    """A function that measures one round of a device; tensor cores are left out."""
    memory = min(driver.total_memory // 16, 1 << 30) // 32 * 32
    resident = min(LAST_CACHE // 2, memory)
    with here(driver):
        kernels = Kernels(driver, memory)
    try:
        yield lambda: _round(kernels, resident, memory)
    finally:
        with here(driver):
            kernels.close()


def _round(kernels: Kernels, resident: int, memory: int) -> Machine:
    with here(kernels.driver):
        places = kernels.place(LAST_CACHE, resident), kernels.place(0, memory)
        flops = {"float32": kernels.flops("float"), "float64": kernels.flops("double")}
        return Machine(
            kernels.driver.name, kernels.driver.multiprocessors, places, flops, kernels.starts()
        )
