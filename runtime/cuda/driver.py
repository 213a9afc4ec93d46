"""The Driver protocol: all that Weft asks of a CUDA device. In: addresses, sizes, kernels. Out:
work on the device's one stream, in the order in which it was asked for.

PyCUDA implements it on a GPU (pycuda_driver.py), and an emulator in tests.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from ...codegen.cuda.toolchain.build import Built, Usage

__all__ = ["Built", "Driver", "Module", "OutOfMemory", "Usage", "bound", "bound_copy", "here"]


class OutOfMemory(Exception):
    """The device has no piece of so many bytes; `left`: how many it has in all, where it says
    so."""

    def __init__(self, nbytes: int, left: int | None = None) -> None:
        super().__init__(f"{nbytes} bytes of device memory are needed")
        self.nbytes, self.left = nbytes, left


class Module(Protocol):
    """Loaded machine code."""

    def function(self, name: str, shared: int) -> Any:
        """A handle of the kernel for Driver.launch, allowed `shared` bytes of dynamic shared
        memory."""

    def usage(self, name: str) -> Usage | None:
        """What the kernel takes, where that is known."""


class Driver(Protocol):
    """One device. Addresses are integers; all but download, elapsed and synchronize may return
    before the work is done.

    A driver may have more: `bound(function, grid, block, arguments, shared)`, one launch as a C
    function without arguments, which no signal handler interrupts, and `bound_copy(to, source,
    nbytes)`; `here`, a context manager that makes the device the current one of this thread: what
    `bound` and `capture` return is called inside; `pinned(nbytes)`, page-locked host memory;
    `stream`, the handle of its stream; `wait_for(stream)` and `let_wait(stream)`, which order its
    work and that of a stream of another library; `build_many(texts)`, several at a time;
    `keeps_images = False`, where images are of no use to other processes.
    """

    name: str
    arch: str  # "sm_80"
    multiprocessors: int
    shared_limit: int  # bytes of shared memory that a block can have
    total_memory: int  # bytes

    def build(self, text: str) -> Built:
        """CUDA C compiled for this device."""

    def load(self, image: bytes) -> Module:
        """The Module of an image."""

    def allocate(self, nbytes: int) -> int:
        """Device memory at a multiple of 256. Raises OutOfMemory."""

    def free(self, address: int) -> None:
        """Gives it back, when the device has done all it was asked for."""

    def upload(self, to: int, source: int, nbytes: int) -> None:
        """Host to device. The source may be changed at once, if it is not pinned."""

    def download(self, to: int, source: int, nbytes: int) -> None:
        """Device to host; returns when done."""

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Device to device."""

    def fill(self, to: int, byte: int, nbytes: int) -> None:
        """Sets device memory."""

    def launch(self, function: Any, grid: int, block: int, arguments: bytes, shared: int) -> None:
        """Runs a kernel; the arguments are packed, and read before this returns."""

    def synchronize(self) -> None:
        """Waits until everything asked for is done."""

    def record(self) -> Any:
        """An event on the stream."""

    def elapsed(self, start: Any, end: Any) -> float:
        """Milliseconds between two events; waits for the second."""

    def capture(self, run: Callable[[], None]) -> Callable[[], object] | None:
        """The work that `run` asks for, done when what is returned is called, which gives an error
        code or 0; None: it cannot."""


def bound(
    driver: Driver, function: Any, grid: int, block: int, arguments: memoryview, shared: int
) -> Callable[[], object]:
    """One launch, with what stands in `arguments` when it is called."""
    own = getattr(driver, "bound", None)
    if own is not None:
        return own(function, grid, block, arguments, shared)  # type: ignore[no-any-return]
    return partial(_launch, driver, function, grid, block, arguments, shared)


def _launch(
    driver: Driver, function: Any, grid: int, block: int, arguments: memoryview, shared: int
) -> None:
    driver.launch(function, grid, block, bytes(arguments), shared)


def bound_copy(driver: Driver, to: int, source: int, nbytes: int) -> Callable[[], object]:
    """One copy on the device."""
    own = getattr(driver, "bound_copy", None)
    return own(to, source, nbytes) if own is not None else partial(driver.copy, to, source, nbytes)


def here(driver: Driver) -> AbstractContextManager[Any]:
    """In its block the device is the current one of this thread."""
    return getattr(driver, "here", None) or nullcontext()
