"""asarray. In: anything that holds numbers. Out: a Tensor, of the same memory where that is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...runtime.memory.devices import check_device
from ..operands.arguments import as_bool
from ..operands.broadcast import as_dtype
from . import dlpack
from .creation import from_numpy, tensor
from .dlpack import from_dlpack
from .tensor import Tensor


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor of a number, nested sequences of numbers or Tensors, a Tensor, an array, a buffer, or what has DLPack's or
    CUDA's array interface.

    Python numbers become bool, int64 or the default dtype unless dtype is given. copy: True for a value of its own; False to
    share obj's memory, ShapeError where that is not possible; None shares a Tensor only.
    """
    place = check_device(device)
    copy = None if copy is None else as_bool("asarray", "copy", copy)
    if isinstance(obj, Tensor):
        return _moved(_of_tensor(obj, dtype, copy), place, copy)
    if (found := _of_gpu(obj, copy is not False)) is not None:
        return _moved(_of_tensor(found, dtype, copy), place, copy)
    source = _foreign(obj)
    if copy is False:
        return _moved(_shared(source, dtype), place, copy)
    return tensor(source, dtype, place)


def _of_gpu(obj: Any, copy: bool) -> Tensor | None:
    """What another library's array has in the memory of a GPU, None for one that has nothing there."""
    if hasattr(obj, "__dlpack_device__"):
        return from_dlpack(obj, copy=copy) if int(obj.__dlpack_device__()[0]) == dlpack.CUDA else None
    return dlpack.from_cuda(obj, copy) if hasattr(obj, "__cuda_array_interface__") else None


def _moved(x: Tensor, device: str | None, copy: bool | None) -> Tensor:
    if copy is False and device not in (None, x.device):
        raise errors.ShapeError(f"asarray: from {x.device} to {device} takes a copy, which copy=False forbids")
    return x.to(device)


def _of_tensor(x: Tensor, dtype: Any, copy: bool | None) -> Tensor:
    if dtype is None or as_dtype(dtype) is x.dtype:
        return x.clone() if copy else x
    if copy is False:
        wanted = as_dtype(dtype).name
        raise errors.ShapeError(f"asarray: {x.dtype.name} becomes {wanted} only as a copy, which copy=False forbids")
    return x.astype(dtype)


def _foreign(obj: Any) -> Any:
    """Arrays of other libraries and buffers as NumPy arrays of the same memory."""
    if isinstance(obj, (bytes, bytearray)):
        return np.frombuffer(obj, np.uint8)
    if isinstance(obj, (np.ndarray, np.generic)) or hasattr(obj, "__array__"):
        return obj
    return np.from_dlpack(obj) if hasattr(obj, "__dlpack__") else obj


def _shared(source: Any, dtype: Any) -> Tensor:
    try:
        array = source if isinstance(source, np.ndarray) else np.asarray(memoryview(source))
    except TypeError:
        raise errors.ShapeError(f"asarray: {type(source).__name__} has no memory to share, which copy=False asks for") from None
    out = from_numpy(array)
    return _of_tensor(out, dtype, False)
