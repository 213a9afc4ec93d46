"""The Driver of a GPU, by PyCUDA. In: pycuda.driver and the number of a device. Out: what
runtime/cuda/driver.py says.

What PyCUDA makes belongs to a context, and is only made and given back while that is current.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from ... import options
from ...codegen.cuda.target import OWN_SHARED
from ...codegen.cuda.toolchain import build
from . import libcuda
from .current import Current
from .driver import Built, OutOfMemory, Usage
from .graphs import Graphs
from .staging import Pages, Pinned, Staging

UNASKED = (
    48 << 10
) - OWN_SHARED  # bytes of dynamic shared memory that a kernel may have without being allowed more
FORKED = (
    "CUDA cannot be used in a process that was forked from one that uses it: start it with the"
    " method 'spawn'"
)


class PycudaModule:
    """A cubin that is loaded."""

    def __init__(self, driver: PycudaDriver, image: bytes) -> None:
        self._driver, self._cuda = driver, driver.cuda
        self._module = driver.cuda.module_from_buffer(image)

    def function(self, name: str, shared: int) -> Any:
        with self._driver.here:
            function = self._module.get_function(name)
            if shared > UNASKED:
                function.set_attribute(
                    self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared
                )
        return function

    def usage(self, name: str) -> Usage | None:
        with self._driver.here:
            function = self._module.get_function(name)
            return Usage(
                function.num_regs, function.shared_size_bytes, 0, 0, function.local_size_bytes
            )


class PycudaDriver:
    """A GPU. Its stream waits for the one that other libraries use unless they choose otherwise,
    and that one for it."""

    def __init__(self, cuda: Any, number: int) -> None:
        self.cuda, device = cuda, cuda.Device(number)
        attribute = cuda.device_attribute
        self.name, self.total_memory = device.name(), device.total_memory()
        self.arch = architecture(*device.compute_capability())
        self.multiprocessors = device.get_attribute(attribute.MULTIPROCESSOR_COUNT)
        self.shared_limit = (
            device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - OWN_SHARED
        )
        self.here = Current(cuda, number)
        with self.here:
            self._stream = cuda.Stream()
        self.stream = int(self._stream.handle)
        self._staging = Staging(cuda, self._stream)
        self._pages = Pages(cuda, self.here, self._stream)
        self._graphs = Graphs(cuda, self.here, self.stream)
        self._thread = threading.local()  # .stream: where a thread that captures launches
        self._memory: dict[int, Any] = {}  # by address
        self._events: list[Any] = []  # free ones
        self._modules: list[PycudaModule] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(self._abandon, FORKED))

    @property
    def _target(self) -> Any:
        return getattr(self._thread, "stream", self._stream)

    # ------------------------------------------------------------ kernels

    def build(self, text: str) -> Built:
        return build.compile_text(text, self.arch)

    def build_many(self, texts: Sequence[str]) -> list[Built]:
        """One for each text; compilers run beside each other, and without Python's lock."""
        with ThreadPoolExecutor(options.current().num_threads) as threads:
            return list(threads.map(self.build, texts))

    def load(self, image: bytes) -> PycudaModule:
        with self.here:
            self._modules.append(PycudaModule(self, image))
        return self._modules[-1]

    def bound(
        self, function: Any, grid: int, block: int, arguments: memoryview, shared: int
    ) -> Callable[[], object]:
        return partial(
            function._launch_kernel, (grid, 1, 1), (block, 1, 1), arguments, shared, self._stream
        )

    def bound_copy(self, to: int, source: int, nbytes: int) -> Callable[[], object]:
        return partial(self.cuda.memcpy_dtod_async, to, source, nbytes, self._stream)

    def launch(self, function: Any, grid: int, block: int, arguments: bytes, shared: int) -> None:
        with self.here:
            function._launch_kernel((grid, 1, 1), (block, 1, 1), arguments, shared, self._target)

    # ------------------------------------------------------------ memory

    def allocate(self, nbytes: int) -> int:
        with self.here:
            try:
                memory = self.cuda.mem_alloc(nbytes)
            except self.cuda.MemoryError:
                raise OutOfMemory(nbytes, self.cuda.mem_get_info()[0]) from None
        address = int(memory)
        self._memory[address] = memory
        return address

    def free(self, address: int) -> None:
        if self.here.gone is None:
            with self.here:
                self._stream.synchronize()
                self._memory.pop(address).free()

    def pinned(self, nbytes: int) -> Pinned:
        """Page-locked memory; before it is changed after an upload, wait for the upload."""
        return self._pages.take(nbytes)

    def upload(self, to: int, source: int, nbytes: int) -> None:
        with self.here:
            if not self._pages.upload(to, source, nbytes):
                self._staging.upload(to, source, nbytes)

    def download(self, to: int, source: int, nbytes: int) -> None:
        with self.here:
            self._staging.download(to, source, nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        with self.here:
            self.cuda.memcpy_dtod_async(to, source, nbytes, self._target)

    def fill(self, to: int, byte: int, nbytes: int) -> None:
        with self.here:
            self.cuda.memset_d8_async(to, byte, nbytes, self._target)

    # ------------------------------------------------------------ time

    def synchronize(self) -> None:
        with self.here:
            self._stream.synchronize()

    def wait_for(self, stream: int) -> None:
        """Work that is asked for from now on waits for all that another library's stream has by
        now."""
        with self.here:
            libcuda.wait(self.stream, stream)

    def let_wait(self, stream: int) -> None:
        """Another library's stream goes on when all that was asked for is done."""
        with self.here:
            libcuda.wait(stream, self.stream)

    def record(self) -> Event:
        with self.here:
            event = Event(self._events, self.cuda)
            event.cuda.record(self._stream)
        return event

    def elapsed(self, start: Event, end: Event) -> float:
        with self.here:
            end.cuda.synchronize()
            return float(start.cuda.time_till(end.cuda))

    def capture(self, run: Callable[[], None]) -> Callable[[], object] | None:
        with self.here:
            self._thread.stream = self._graphs.stream
            try:
                return self._graphs.capture(run)
            finally:
                del self._thread.stream

    def close(self) -> None:
        """Gives everything back that the device has."""
        if self.here.gone is not None:
            self._abandon(self.here.gone)
            return
        with self.here:
            self._stream.synchronize()
            for memory in self._memory.values():
                memory.free()
            self._memory.clear()
            self._pages.close()
            self._graphs.close()
            self._staging.close()
            self._modules.clear()
            self._events.clear()
            del self._staging, self._pages, self._graphs, self._stream
        self.here.close()

    def _abandon(self, why: str) -> None:
        """Lets this live for ever: to give back to a context that is broken, or in a forked
        process, would end the process."""
        self.here.gone = why
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


class Event:
    """An event of PyCUDA; a free one where there is one."""

    __slots__ = ("_free", "cuda")

    def __init__(self, free: list[Any], cuda: Any) -> None:
        self._free = free
        self.cuda = free.pop() if free else cuda.Event()

    def __del__(self) -> None:
        self._free.append(self.cuda)


def architecture(major: int, minor: int) -> str:
    """What to compile for; Hopper has instructions that only code for it alone may use."""
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")
