"""Thread pool of the process. In: the number of threads that the options ask for. Out: it runs.

The driver and the pool are native code: llvm/driver.ll, llvm/pool.ll.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .. import locks, options
from . import native
from .code import portable

# Raised by the code that runs, not sent from outside: a thread that blocks them could not report
# its own crash.
OWN_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP")


@dataclass(frozen=True)
class Runtime:
    """The functions of driver.ll and pool.ll; `call` is the address of the one of call.ll.

    They release Python's global lock while they run, as CFUNCTYPE does.
    """

    run: Callable[[int, int], int]
    parallel_for: Callable[[int, int, int], None]
    start: Callable[[int], int]
    forget: Callable[[], None]
    migrations: Callable[[], int]
    call: int


def _load() -> Runtime:
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    code = portable(native.native_text(sys.platform, platform.machine()), native.NAMES)
    return Runtime(
        run=ctypes.CFUNCTYPE(word, pointer, pointer)(code["weft_run"]),
        parallel_for=ctypes.CFUNCTYPE(None, pointer, pointer, word)(code["weft_parallel_for"]),
        start=ctypes.CFUNCTYPE(word, word)(code["weft_pool_start"]),
        forget=ctypes.CFUNCTYPE(None)(code["weft_pool_forget"]),
        migrations=ctypes.CFUNCTYPE(word)(code["weft_pool_migrations"]),
        call=code["weft_call"],
    )


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Threads started here inherit the mask.

    Signals go to Python's threads, whose sleeps they must interrupt.
    """
    own = {getattr(signal, name) for name in OWN_SIGNALS if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - own)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Pool:
    """The one pool of the process: nothing is loaded or started before the first `ensure`."""

    def __init__(self) -> None:
        self.running = 1
        self._asked = 1
        self._runtime: Runtime | None = None
        self._lock = locks.new("pool")

    def runtime(self) -> Runtime:
        """The native functions."""
        if self._runtime is None:
            with self._lock:
                if self._runtime is None:
                    self._runtime = _load()
        return self._runtime

    def ensure(self) -> int:
        """Brings the pool to the number of threads in the options.

        Returns how many run: fewer if the system refuses more.
        """
        wanted = options.current().num_threads
        if wanted != self._asked:
            self._restart(wanted)
        return self.running

    def _restart(self, wanted: int) -> None:
        runtime = self.runtime()
        with self._lock:
            if wanted == self._asked:
                return
            if native.has_pool(sys.platform, platform.machine()):
                with _signals_blocked():
                    self.running = runtime.start(wanted)
            else:
                warnings.warn(
                    f"Weft runs on one thread on {sys.platform} {platform.machine()}",
                    RuntimeWarning,
                    stacklevel=2,
                )
            self._asked = wanted

    def after_fork(self) -> None:
        """In a child, which has no workers: serial until it asks for another number of threads."""
        self.running = 1
        if self._runtime is not None:
            self._runtime.forget()


pool = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.after_fork)
