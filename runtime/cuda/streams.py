"""The order of work between streams. In: handles of two. Out: one of them waits for what the other has been given by now.

Handles are those of DLPack and of the CUDA array interface too: 1 is the stream that most programs use without naming it.
"""

from __future__ import annotations

import ctypes

from ...errors import DeviceError
from .libcuda import library

LEGACY = 1  # it and Weft's stream wait for each other by themselves
NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING


def wait(stream: int, other: int) -> None:
    """Lets `stream` wait for what `other` has been given; the context is current. Raises DeviceError."""
    if LEGACY in (stream, other):
        return
    event, cuda = ctypes.c_void_p(), library()
    _check(cuda.cuEventCreate(ctypes.byref(event), NO_TIMING))
    try:
        _check(cuda.cuEventRecord(event, other))
        _check(cuda.cuStreamWaitEvent(stream, event, 0))
    finally:
        cuda.cuEventDestroy_v2(event)  # when its work is done


def _check(result: int) -> None:
    if result:
        raise DeviceError(f"streams cannot wait for each other: CUDA error {result}")
