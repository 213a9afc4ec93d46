"""A CUDA device that is none: host memory, kernels that are Python functions, and a log of all that
it was asked for."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from weft.codegen.cuda.toolchain.build import Built, Usage
from weft.runtime.cuda.driver import OutOfMemory

Kernel = Callable[..., None]  # of its arguments, each a word


class RecordedModule:
    def __init__(self, kernels: dict[str, Kernel]) -> None:
        self.kernels = kernels

    def function(self, name: str, shared: int) -> Any:
        return name, self.kernels[name]

    def usage(self, name: str) -> Usage | None:
        return None


class RecordingDriver:
    """`log`: (what, *with what). `replays`: whether it captures; a captured piece is logged as
    "replay"."""

    name, arch, multiprocessors, shared_limit = "a record", "sm_80", 4, 99 << 10

    keeps_images = False

    def __init__(
        self, total: int = 1 << 30, replays: bool = False, kernels: dict[str, Kernel] | None = None
    ) -> None:
        self.total_memory, self.replays, self.kernels = total, replays, kernels or {}
        self.log: list[tuple[Any, ...]] = []
        self.memory: dict[int, Any] = {}
        self._capturing: list[Callable[[], None]] | None = None

    @property
    def in_use(self) -> int:
        return sum(a.nbytes - 256 for a in self.memory.values())

    def said(self, what: str) -> list[tuple[Any, ...]]:
        """The entries of that kind."""
        return [entry for entry in self.log if entry[0] == what]

    def build(self, text: str) -> Built:
        return Built(text.encode(), {})

    def load(self, image: bytes) -> RecordedModule:
        return RecordedModule(self.kernels)

    def allocate(self, nbytes: int) -> int:
        if self.in_use + nbytes > self.total_memory:
            raise OutOfMemory(nbytes, self.total_memory - self.in_use)
        owner = np.full(nbytes + 256, 0xCD, np.uint8)
        address = int(owner.ctypes.data)
        address += -address % 256
        self.memory[address] = owner
        self.log.append(("allocate", nbytes))
        return address

    def free(self, address: int) -> None:
        self.log.append(("free", self.memory.pop(address).nbytes - 256))

    def upload(self, to: int, source: int, nbytes: int) -> None:
        assert self._capturing is None
        self.log.append(("upload", nbytes))
        ctypes.memmove(to, source, nbytes)

    def download(self, to: int, source: int, nbytes: int) -> None:
        assert self._capturing is None
        self.log.append(("download", nbytes))
        ctypes.memmove(to, source, nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        self._do(("copy", nbytes), lambda: ctypes.memmove(to, source, nbytes))

    def fill(self, to: int, byte: int, nbytes: int) -> None:
        self._do(("fill", nbytes), lambda: ctypes.memset(to, byte, nbytes))

    def launch(self, function: Any, grid: int, block: int, arguments: bytes, shared: int) -> None:
        name, kernel = function
        words = struct.unpack(f"{len(arguments) // 8}q", arguments)
        self._do(("launch", name, grid, block, shared), lambda: kernel(*words))

    def synchronize(self) -> None:
        self.log.append(("synchronize",))

    def record(self) -> Any:
        return len(self.log)

    def elapsed(self, start: Any, end: Any) -> float:
        return float(end - start)

    def capture(self, run: Callable[[], None]) -> Callable[[], None] | None:
        if not self.replays:
            return None
        self.log.append(("capture",))
        self._capturing = pieces = []
        try:
            run()
        finally:
            self._capturing = None

        def replay() -> None:
            self.log.append(("replay",))
            for piece in pieces:
                piece()

        return replay

    def _do(self, entry: tuple[Any, ...], work: Callable[[], Any]) -> None:
        if self._capturing is not None:
            self._capturing.append(work)
        else:
            self.log.append(entry)
            work()
