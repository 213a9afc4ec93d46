"""The threads of NumPy's LAPACK. In: nothing. Out: a block in which it keeps to the thread that
calls it.

Matrices of a batch are computed side by side by Weft's threads. If LAPACK shared each of them out
among threads of its own, these would wait for each other. OpenBLAS has one number of threads for
all callers, so other threads of the process that use NumPy at that moment have one thread, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from .. import locks

# of NumPy's wheels, of builds with 64-bit integers, of others
NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)

Functions = tuple[Callable[[], int], Callable[[int], None]]


@cache
def functions() -> Functions | None:
    """OpenBLAS's own: how many threads it has, and so many from now on; None for another LAPACK."""
    library = ctypes.CDLL(np.linalg._umath_linalg.__file__)  # type: ignore[attr-defined]
    for name in NAMES:
        if hasattr(library, name.format("set")):
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


class OneThread:
    """A block in which LAPACK keeps to the calling thread. Any number of threads may be inside at
    once."""

    def __init__(self) -> None:
        self._lock = locks.new("blas threads")
        self._inside = 0
        self._before = 1  # how many threads it had when the first came in

    def __enter__(self) -> None:
        if (found := functions()) is None:
            return
        count, put = found
        with self._lock:
            if not self._inside:
                self._before = count()
                put(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        if (found := functions()) is None:
            return
        with self._lock:
            self._inside -= 1
            if not self._inside:
                found[1](self._before)


one_thread = OneThread()
