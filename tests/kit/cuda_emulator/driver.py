"""The emulated device behind the interface of runtime/cuda/driver.py. In: CUDA C, launches. Out:
memory as a GPU leaves it.

A fault of a kernel (an address out of bounds, a barrier that not all threads reach, ...) raises
EmulatorError, which names the kernel, the block and the thread; the device stays usable.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.runtime.cuda.driver import Built, OutOfMemory, Usage

from cuda_emulator import build, races

MOST_ARGUMENTS = 4096  # bytes; the drivers of CUDA 12.1 and later take more
FORWARD, REVERSE, RANDOM = 0, 1, 2
NOTHING = Usage(
    registers=0, shared=0, spill_stores=0, spill_loads=0, local=0
)  # a C++ compiler reports no more

_MACHINE = threading.RLock()  # a process has one, whatever the number of drivers


class EmulatorError(RuntimeError):
    """A kernel did what it must not."""


@dataclass(frozen=True)
class Function:
    """One kernel: its entry, the number of its arguments, and the dynamic shared memory it may
    have."""

    name: str
    entry: Any
    arity: int
    shared: int


class Module:
    """The kernels of one text."""

    def __init__(self, driver: EmulatorDriver, text: str) -> None:
        self.driver, self.names = driver, build.symbols(text)
        path, self.number = driver.library(text)
        self.library = ctypes.CDLL(str(path))

    def function(self, name: str, shared: int) -> Function:
        """Raises KeyError for a name that the text has not, ValueError for more shared memory than
        the device has."""
        if name not in self.names:
            raise KeyError(name)
        if shared > self.driver.shared_limit:
            raise ValueError(
                f"{name} needs {shared} bytes of shared memory; a block has"
                f" {self.driver.shared_limit}"
            )
        entry = build.entry(name, self.number)
        arity = ctypes.c_int.in_dll(self.library, f"{entry}_arity").value
        return Function(name, self.library[f"{entry}_run"], arity, shared)

    def usage(self, name: str) -> Usage | None:
        return None


class EmulatorDriver:
    """A device with settings to be changed at will: the order of threads, when copies arrive, how
    much memory there is."""

    name = "emulator"
    keeps_images = False  # on disk they would be taken for those of a GPU
    instrumented = build.RACES if races.active() else ()

    def __init__(
        self,
        arch: str = "sm_90a",
        multiprocessors: int = 4,
        shared_limit: int = 232192,
        total_memory: int = 1 << 30,
        order: int = FORWARD,
        seed: int = 0,
        late_copies: bool = True,
    ) -> None:
        self.arch, self.multiprocessors, self.shared_limit, self.total_memory = (
            arch,
            multiprocessors,
            shared_limit,
            total_memory,
        )
        self.order, self.seed, self.late_copies = order, seed, late_copies
        self.launches = 0
        self.sizes: dict[int, int] = {}  # of live allocations, by address
        self._machine = build.machine(races.active())
        self._reports = races.Reports() if races.active() else None
        self._libraries: dict[str, tuple[Path, int]] = {}
        self._recording: list[Callable[[], None]] | None = None

    # ------------------------------------------------------------ code

    def build(self, text: str) -> Built:
        return self.build_many([text])[0]

    def build_many(self, texts: Sequence[str]) -> list[Built]:
        """Compiles in one go the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._libraries]
        if new:
            path = build.library(new, self.instrumented)
            self._libraries.update({text: (path, number) for number, text in enumerate(new)})
        return [
            Built(text.encode(), {name: NOTHING for name in build.symbols(text)}) for text in texts
        ]

    def library(self, text: str) -> tuple[Path, int]:
        """Where a text's code is, and its number there."""
        self.build_many([text])
        return self._libraries[text]

    def load(self, image: bytes) -> Module:
        return Module(self, image.decode())

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> int:
        """Poisoned bytes at a multiple of 256, protected pages around them. Raises OutOfMemory
        beyond total_memory."""
        with _MACHINE:
            held = sum(self.sizes.values())
            address = (
                self._machine.emulator_allocate(ctypes.c_size_t(nbytes))
                if held + nbytes <= self.total_memory
                else 0
            )
            if not address:
                raise OutOfMemory(nbytes, self.total_memory - held)
            self.sizes[address] = nbytes
            return address

    def free(self, address: int) -> None:
        with _MACHINE:
            if self.sizes.pop(address, None) is None:
                raise EmulatorError(f"{address:#x} is no allocation")
            if not self._machine.emulator_free(ctypes.c_uint64(address)):
                raise EmulatorError(f"something wrote behind the allocation at {address:#x}")

    def upload(self, to: int, source: int, nbytes: int) -> None:
        self._check_device(to, nbytes)
        self._check_host(source)
        self._run(lambda: ctypes.memmove(to, source, nbytes))

    def download(self, to: int, source: int, nbytes: int) -> None:
        self._check_host(to)
        self._check_device(source, nbytes)
        self._run(lambda: ctypes.memmove(to, source, nbytes))

    def copy(self, to: int, source: int, nbytes: int) -> None:
        self._check_device(to, nbytes)
        self._check_device(source, nbytes)
        self._run(lambda: ctypes.memmove(to, source, nbytes))

    def fill(self, to: int, byte: int, nbytes: int) -> None:
        self._check_device(to, nbytes)
        self._run(lambda: ctypes.memset(to, byte, nbytes))

    def _check_device(self, address: int, nbytes: int) -> None:
        if nbytes and not self._machine.emulator_holds(
            ctypes.c_uint64(address), ctypes.c_size_t(nbytes)
        ):
            raise EmulatorError(f"{nbytes} bytes at {address:#x} are not device memory")

    def _check_host(self, address: int) -> None:
        if self._machine.emulator_holds(ctypes.c_uint64(address), ctypes.c_size_t(0)):
            raise EmulatorError(f"{address:#x} is device memory, where host memory is due")

    # ------------------------------------------------------------ execution

    def launch(
        self, function: Function, grid: int, block: int, arguments: bytes, shared: int
    ) -> None:
        """Raises ValueError for what a GPU refuses, EmulatorError for what a kernel does wrong."""
        if len(arguments) != 8 * function.arity:
            raise ValueError(
                f"{function.name} takes {function.arity} arguments of 8 bytes, not {len(arguments)}"
                " bytes"
            )
        if not (1 <= grid < 1 << 31 and 1 <= block <= 1024):
            raise ValueError(f"{function.name}: a grid of {grid} blocks of {block} threads")
        if len(arguments) > MOST_ARGUMENTS:
            raise ValueError(
                f"{function.name}: {len(arguments)} bytes of arguments, limited to {MOST_ARGUMENTS}"
            )
        if shared > function.shared:
            raise ValueError(
                f"{function.name}: {shared} bytes of shared memory, limited to {function.shared}"
            )
        self._run(lambda: self._launch(function, grid, block, arguments, shared))

    def _launch(
        self, function: Function, grid: int, block: int, arguments: bytes, shared: int
    ) -> None:
        with _MACHINE:
            self.launches += 1
            failed = self._machine.emulator_launch(
                function.entry, arguments, function.arity, grid, block, ctypes.c_size_t(shared),
                self.order, ctypes.c_uint64(self.seed), self.late_copies,
            )  # fmt: skip
        if failed:
            raise EmulatorError(f"{function.name}: {failed.decode()}")
        report = self._reports.new() if self._reports else ""
        if report:
            raise EmulatorError(f"{function.name}: {report}")

    def _run(self, action: Callable[[], Any]) -> None:
        """Does it now, or at each replay of the capture that is going on."""
        if self._recording is None:
            action()
        else:
            self._recording.append(action)

    def synchronize(self) -> None:
        pass

    def record(self) -> float:
        return time.perf_counter()

    def elapsed(self, start: float, end: float) -> float:
        return (end - start) * 1000

    def capture(self, run: Callable[[], None]) -> Callable[[], int]:
        """What run() launches, to be done at each call of the result, which gives 0; not now."""
        actions: list[Callable[[], None]] = []
        with _MACHINE:
            self._recording = actions
            try:
                run()
            finally:
                self._recording = None

        def replay() -> int:
            for action in actions:
                action()
            return 0

        return replay
