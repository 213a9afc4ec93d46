"""Rounds of measuring a GPU. In: its Driver. Out: a function that measures one round, a Machine."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...compiler.backends.cuda import LAST_CACHE
from ...runtime.cuda.driver import Driver, here
from .cpu_rounds import Timed
from .roofline import Figure, Machine, Place

THREADS = 256  # of a block
BLOCKS = 8  # for each multiprocessor
CHAINS = 8  # sums of a thread, each of which waits for itself alone
STEPS = 128  # FMAs of each chain in a launch; few, as an emulator takes them one by one

TEXT = """#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_nothing(float* out) {}

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_read(
    const float* from, long long vectors, float* out
) {
    float sum = 0.0f;
    const long long all = %(threads)dll * gridDim.x;
    for (long long i = blockIdx.x * %(threads)dll + threadIdx.x; i < vectors; i += all) {
        const weft_vec<float, 4> v = weft_load<4>(from + 4 * i);
        sum += (v[0] + v[1]) + (v[2] + v[3]);
    }
    if (sum == 1.0f) out[0] = sum;  // never of zeros, but no compiler knows
}

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_write(float* to, long long vectors) {
    const weft_vec<float, 4> zeros = {};
    const long long all = %(threads)dll * gridDim.x;
    for (long long i = blockIdx.x * %(threads)dll + threadIdx.x; i < vectors; i += all) {
        weft_store(to + 4 * i, zeros);
    }
}

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_copy(
    const float* from, float* to, long long vectors
) {
    const long long all = %(threads)dll * gridDim.x;
    for (long long i = blockIdx.x * %(threads)dll + threadIdx.x; i < vectors; i += all) {
        weft_store(to + 4 * i, weft_load<4>(from + 4 * i));
    }
}
"""
FMA = """
extern "C" __global__ void __launch_bounds__(%(threads)d) weft_fma_%(type)s(%(type)s* out) {
    %(type)s sums[%(chains)d];
    for (int k = 0; k < %(chains)d; k++) sums[k] = out[threadIdx.x];
    const %(type)s x = sums[0];
    for (int i = 0; i < %(steps)d; i++) {
#pragma unroll
        for (int k = 0; k < %(chains)d; k++) sums[k] = weft_fma(x, x, sums[k]);
    }
    for (int k = 1; k < %(chains)d; k++) sums[0] += sums[k];
    out[threadIdx.x] = sums[0];
}
"""


def text() -> str:
    """CUDA C of all of them."""
    sizes = {"threads": THREADS, "chains": CHAINS, "steps": STEPS}
    return TEXT % sizes + "".join(FMA % (sizes | {"type": kind}) for kind in ("float", "double"))


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
