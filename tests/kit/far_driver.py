"""A CUDA device for tests of what stands above it: the CPU's memory at addresses that are far away,
so that nobody reads them by mistake. It has no kernels: with WEFT_INTERPRET=1 programs run on
copies."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from weft import options
from weft.frontend.lazy import program_table
from weft.ir.graph import graph
from weft.runtime.cuda import devices
from weft.runtime.cuda.driver import OutOfMemory

FAR = 1 << 56  # beyond what a process can address


class FarDriver:
    """`count`: how often each method was called, and the bytes that were copied."""

    name, arch, multiprocessors, shared_limit = "far away", "sm_80", 4, 99 << 10

    def __init__(self, total_memory: int = 1 << 26) -> None:
        self.total_memory = total_memory
        self.count: Counter[str] = Counter()
        self.memory: dict[int, Any] = {}

    @property
    def in_use(self) -> int:
        return sum(owner.nbytes - 256 for owner in self.memory.values())

    def allocate(self, nbytes: int) -> int:
        if self.in_use + nbytes > self.total_memory:
            raise OutOfMemory(nbytes, self.total_memory - self.in_use)
        owner = np.full(nbytes + 256, 0xCD, np.uint8)
        address = int(owner.ctypes.data)
        address += FAR + -address % 256
        self.memory[address] = owner
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def upload(self, to: int, source: int, nbytes: int) -> None:
        self._copy("upload", self._near(to, nbytes), source, nbytes)

    def download(self, to: int, source: int, nbytes: int) -> None:
        self._copy("download", to, self._near(source, nbytes), nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        self._copy("copy", self._near(to, nbytes), self._near(source, nbytes), nbytes)

    def synchronize(self) -> None:
        self.count["synchronize"] += 1

    def record(self) -> int:
        self.count["record"] += 1
        return self.count["record"]

    def elapsed(self, start: int, end: int) -> float:
        return float(end - start)

    def _copy(self, what: str, to: int, source: int, nbytes: int) -> None:
        self.count[what] += 1
        self.count["bytes"] += nbytes
        ctypes.memmove(to, source, nbytes)

    def _near(self, address: int, nbytes: int) -> int:
        """The address in this process. Raises where it is not all in one piece of this device's
        memory."""
        inside = [
            a
            for a, owner in self.memory.items()
            if a <= address and address + nbytes <= a + owner.nbytes - 256
        ]
        assert inside, f"{nbytes} bytes at {address:#x} are no memory of this device"
        return address - FAR

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in ("build", "load", "fill", "launch", "capture"):
            raise NotImplementedError(name)
        raise AttributeError(name)


@contextmanager
def installed(*drivers: Any) -> Iterator[None]:
    """These are cuda:0, cuda:1, .. in place of what was before, with programs of their own."""
    before = [devices._gpus.get(number) for number in range(len(drivers))]
    used = {*graph.used}
    for number, driver in enumerate(drivers):
        devices.install(driver, number)
    try:
        with mock.patch.object(program_table, "_programs", program_table.Programs()):
            yield
    finally:
        for number, unit in enumerate(before):
            devices.uninstall(number)
            if unit is not None:
                devices._gpus[number] = unit
        graph.used.clear()
        graph.used.update(used)


@contextmanager
def far_devices(count: int = 1, **settings: Any) -> Iterator[list[FarDriver]]:
    """Devices cuda:0 to cuda:count-1, on which programs are interpreted."""
    drivers = [FarDriver(**settings) for _ in range(count)]
    with installed(*drivers), options.override(interpret=True):
        yield drivers
