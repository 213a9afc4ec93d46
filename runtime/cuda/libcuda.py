"""Functions of CUDA's driver library that PyCUDA lacks: graphs, the streams of other libraries.
Each returns a CUresult.

Handles of streams are those of DLPack and of the CUDA array interface too: 1 is the stream that
most programs use without naming it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ...errors import DeviceError

HANDLE = ctypes.c_void_p
SIGNATURES = {
    "cuStreamBeginCapture_v2": (HANDLE, ctypes.c_int),
    "cuStreamEndCapture": (HANDLE, HANDLE),
    "cuStreamWaitEvent": (HANDLE, HANDLE, ctypes.c_uint),
    "cuGraphInstantiateWithFlags": (HANDLE, HANDLE, ctypes.c_ulonglong),
    "cuGraphLaunch": (HANDLE, HANDLE),
    "cuGraphDestroy": (HANDLE,),
    "cuGraphExecDestroy": (HANDLE,),
    "cuEventCreate": (HANDLE, ctypes.c_uint),
    "cuEventRecord": (HANDLE, HANDLE),
    "cuEventDestroy_v2": (HANDLE,),
}


@cache
def library() -> Any:
    """The NVIDIA driver's library, with the types of these functions."""
    cuda = ctypes.CDLL("libcuda.so.1")
    for name, types in SIGNATURES.items():
        function = getattr(cuda, name)
        function.argtypes, function.restype = types, ctypes.c_int
    return cuda


# ---------------------------------------------------------------- the order of work between streams


LEGACY = 1  # it and Weft's stream wait for each other by themselves
NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING


def wait(stream: int, other: int) -> None:
    """Lets `stream` wait for what `other` has been given; the context is current. Raises
    DeviceError."""
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
