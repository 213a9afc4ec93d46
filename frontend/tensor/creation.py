"""New Tensors. In: data, shapes. Out: Tensors; only `tensor` and `from_numpy` touch memory, the
rest is lazy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import expand_to
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU, check_device, named_by_dlpack
from ..operands.arguments import as_bool, as_shape
from ..operands.broadcast import WEAK, as_dtype, as_node, default_float
from ..operands.likes import ArrayLike, DeviceLike, DTypeLike, ShapeLike
from . import dlpack
from .dlpack import from_dlpack
from .from_data import of_data, tracking
from .tensor import Tensor, wrap


def tensor(
    data: ArrayLike, dtype: DTypeLike = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """A Tensor with a copy of the data: numbers, nested lists, NumPy arrays, Tensors, anything with
    __array__.

    Python floats take the default dtype, Python ints int64; NumPy's bfloat16 is that of the package
    ml_dtypes. Data are put on the device, by default that of the option `device`; Tensors stay
    where they are. Raises DTypeError for element types that Weft lacks.
    """
    return of_data(data, dtype, device, requires_grad)  # type: ignore[no-any-return]


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor on the CPU that shares the array's memory: change the array only when nothing lazy
    reads it any more.

    Raises DTypeError for other element types, ShapeError for strides that are negative or not whole
    elements.
    """
    if not isinstance(array, np.ndarray):
        raise errors.DTypeError(
            f"from_numpy: expected a NumPy array, got {type(array).__name__}; wf.tensor copies"
        )
    dtype = dt.from_numpy(array.dtype)
    if dtype is None:
        raise errors.DTypeError(f"from_numpy: there is no dtype for elements of type {array.dtype}")
    if not array.dtype.isnative:
        raise errors.DTypeError(
            f"from_numpy: elements of type {array.dtype} have a foreign byte order; wf.tensor"
            " converts them"
        )
    if any(s < 0 or s % array.itemsize for s in array.strides) or not array.flags.aligned:
        raise errors.ShapeError(
            f"from_numpy: strides {array.strides} cannot be aliased; wf.tensor copies"
        )
    return wrap(storage.leaf(storage.from_array(array, dtype, copy=False)))


# ---------------------------------------------------------------- constants


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Every element is fill_value: a number or a 0-d Tensor. Its dtype unless given: bool, int64 or
    the default dtype for a Python number.

    Raises OverflowError for an integer that the dtype cannot hold.
    """
    place = check_device(device)
    extents = as_shape("full", (shape,))
    if isinstance(fill_value, (np.ndarray, np.generic)):
        fill_value = tensor(fill_value)
    if isinstance(fill_value, Tensor):
        out = fill_value if dtype is None else fill_value.astype(dtype)
        return tracking(out.broadcast_to(extents).to(place), requires_grad)  # type: ignore[no-any-return]
    if type(fill_value) not in WEAK:
        raise errors.DTypeError(
            f"full: the value must be a number or a 0-d Tensor, not {brief(fill_value)}"
        )
    target = as_dtype(fill_value.__class__ if dtype is None else dtype)
    n = expand_to(as_node("full", fill_value, target), extents)  # type: ignore[arg-type]
    return tracking(wrap(n).to(place), requires_grad)  # type: ignore[no-any-return]


def _filled(
    name: str,
    shape: Sequence[ShapeLike],
    value: int,
    dtype: DTypeLike,
    device: DeviceLike,
    requires_grad: bool = False,
) -> Tensor:
    target = default_float() if dtype is None else dtype
    return full(as_shape(name, shape), value, target, device=device, requires_grad=requires_grad)


def zeros(
    shape: ShapeLike = (),
    *more: int,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros, of the default dtype unless dtype says otherwise: zeros((2, 3)) or zeros(2, 3)."""
    return _filled("zeros", (shape, *more), 0, dtype, device, requires_grad)


def ones(
    shape: ShapeLike = (),
    *more: int,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones, of the default dtype unless dtype says otherwise: ones((2, 3)) or ones(2, 3)."""
    return _filled("ones", (shape, *more), 1, dtype, device, requires_grad)


def empty(
    shape: ShapeLike = (), *more: int, dtype: DTypeLike = None, device: DeviceLike = None
) -> Tensor:
    """A Tensor whose values do not matter: nothing is computed before it is read, and then they are
    zeros."""
    return _filled("empty", (shape, *more), 0, dtype, device)


def full_like(
    x: ArrayLike, /, fill_value: ArrayLike, dtype: DTypeLike = None, *, device: DeviceLike = None
) -> Tensor:
    """fill_value in x's shape, with its dtype and on its device unless given."""
    x = x if isinstance(x, Tensor) else tensor(x)
    device = x.device if device is None else device
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: ArrayLike, /, dtype: DTypeLike = None, *, device: DeviceLike = None) -> Tensor:
    """Zeros in x's shape, and its dtype unless given."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: ArrayLike, /, dtype: DTypeLike = None, *, device: DeviceLike = None) -> Tensor:
    """Ones in x's shape, and its dtype unless given."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: ArrayLike, /, dtype: DTypeLike = None, *, device: DeviceLike = None) -> Tensor:
    """A Tensor of x's shape, and its dtype unless given, whose values do not matter."""
    return full_like(x, 0, dtype=dtype, device=device)


def asarray(
    obj: object, /, *, dtype: DTypeLike = None, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A Tensor of a number, nested sequences of numbers or Tensors, a Tensor, an array, a buffer,
    or what has DLPack's or CUDA's array interface.

    Python numbers become bool, int64 or the default dtype unless dtype is given. copy: True for a
    value of its own; False to share obj's memory, ShapeError where that is not possible; None
    shares a Tensor only.
    """
    place = check_device(device)
    copy = None if copy is None else as_bool("asarray", "copy", copy)
    if isinstance(obj, Tensor):
        return _moved(_of_tensor(obj, dtype, copy), place, copy)
    if (on_gpu := _of_gpu(obj, copy is not False)) is not None:
        return _moved(_of_tensor(on_gpu, dtype, copy), place, copy)
    source = _foreign(obj)
    if copy is False:
        return _moved(_shared(source, dtype), place, copy)
    return tensor(source, dtype, place)


def _of_gpu(obj: object, copy: bool) -> Tensor | None:
    """What another library's array has in the memory of a GPU or the like, None for one that has
    nothing there."""
    if isinstance(obj, type):
        return None
    if hasattr(obj, "__dlpack_device__"):
        return (
            from_dlpack(obj, copy=copy)
            if named_by_dlpack(*obj.__dlpack_device__()) not in (None, CPU)
            else None
        )
    return dlpack.from_cuda(obj, copy) if hasattr(obj, "__cuda_array_interface__") else None


def _moved(x: Tensor, device: str | None, copy: bool | None) -> Tensor:
    if copy is False and device not in (None, x.device):
        raise errors.ShapeError(
            f"asarray: from {x.device} to {device} takes a copy, which copy=False forbids"
        )
    return x.to(device)


def _of_tensor(x: Tensor, dtype: DTypeLike, copy: bool | None) -> Tensor:
    if dtype is None or as_dtype(dtype) is x.dtype:
        return x.clone() if copy else x
    if copy is False:
        wanted = as_dtype(dtype).name
        raise errors.ShapeError(
            f"asarray: {x.dtype.name} becomes {wanted} only as a copy, which copy=False forbids"
        )
    return x.astype(dtype)


def _foreign(obj: object) -> Any:
    """Arrays of other libraries and buffers as NumPy arrays of the same memory."""
    if isinstance(obj, (bytes, bytearray)):
        return np.frombuffer(obj, np.uint8)
    if isinstance(obj, (np.ndarray, np.generic)) or hasattr(obj, "__array__"):
        return obj
    return np.from_dlpack(obj) if hasattr(obj, "__dlpack__") else obj


def _shared(source: Any, dtype: DTypeLike) -> Tensor:
    try:
        array = source if isinstance(source, np.ndarray) else np.asarray(memoryview(source))
    except TypeError:
        raise errors.ShapeError(
            f"asarray: {type(source).__name__} has no memory to share, which copy=False asks for"
        ) from None
    out = from_numpy(array)
    return _of_tensor(out, dtype, False)
