"""What a GPU can do at most. In: its Driver. Out: a Machine, measured by kernels between two events."""

from __future__ import annotations

import struct

from ...frontend.cuda import LAST_CACHE
from ...runtime.cuda.driver import Driver, here
from .machine import Machine, best

THREADS = 256  # of a block
BLOCKS = 8  # for each multiprocessor
CHAINS = 8  # sums of a thread, each of which waits for itself alone
STEPS = 128  # FMAs of each chain in a launch; few, as an emulator takes them one by one

TEXT = """#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_nothing(float* out) {}

extern "C" __global__ void __launch_bounds__(%(threads)d) weft_read(const float* from, long long vectors, float* out) {
    float sum = 0.0f;
    for (long long i = blockIdx.x * %(threads)dll + threadIdx.x; i < vectors; i += %(threads)dll * gridDim.x) {
        const weft_vec<float, 4> v = weft_load<4>(from + 4 * i);
        sum += (v[0] + v[1]) + (v[2] + v[3]);
    }
    if (sum == 1.0f) out[0] = sum;  // never of zeros, but no compiler knows
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
    """The kernels on a device, and the memory that they read."""

    def __init__(self, driver: Driver, nbytes: int, turns: int) -> None:
        self.driver, self._grid, self._turns = driver, BLOCKS * driver.multiprocessors, turns
        self._module = driver.load(driver.build(text()).image)
        self._out = driver.allocate(8 * THREADS)
        self._memory = driver.allocate(nbytes)
        driver.fill(self._out, 0, 8 * THREADS)
        driver.fill(self._memory, 0, nbytes)

    def close(self) -> None:
        self.driver.synchronize()
        self.driver.free(self._out)
        self.driver.free(self._memory)

    def nothing(self) -> float:
        """Seconds of an empty kernel among others."""
        return self._best("weft_nothing", 1, self._out)

    def read(self, nbytes: int) -> float:
        """Bytes/s of reading so many again and again."""
        return nbytes / self._best("weft_read", self._grid, self._memory, nbytes // 16, self._out)

    def flops(self, kind: str) -> float:
        """Operations/s of FMAs."""
        count = 2 * CHAINS * STEPS * THREADS * self._grid
        return count / self._best(f"weft_fma_{kind}", self._grid, self._out)

    def _best(self, name: str, grid: int, *values: int) -> float:
        """Seconds of a launch with these arguments."""
        function, driver = self._module.function(name, 0), self.driver
        arguments = struct.pack(f"{len(values)}q", *values)

        def seconds(count: int) -> float:
            start = driver.record()
            for _ in range(count):
                driver.launch(function, grid, THREADS, arguments, 0)
            return driver.elapsed(start, driver.record()) / 1000

        return best(seconds, turns=self._turns)[0]


def measure(driver: Driver, turns: int) -> Machine:
    """The limits of a device; tensor cores are left out."""
    with here(driver):
        memory = min(driver.total_memory // 16, 1 << 30) // 16 * 16
        kernels = Kernels(driver, memory, turns)
        try:
            flops = {"float32": kernels.flops("float"), "float64": kernels.flops("double")}
            resident = min(LAST_CACHE // 2, memory)
            rates = kernels.read(memory), kernels.read(resident)
            return Machine(driver.name, driver.multiprocessors, *rates, LAST_CACHE, flops, kernels.nothing())
        finally:
            kernels.close()
