"""Functions of CUDA's driver library that PyCUDA lacks: graphs, the streams of other libraries.
Each returns a CUresult.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

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
    found = ctypes.CDLL("libcuda.so.1")
    for name, types in SIGNATURES.items():
        function = getattr(found, name)
        function.argtypes, function.restype = types, ctypes.c_int
    return found
