"""New Tensors. In: data, shapes. Out: Tensors; only `tensor` and `from_numpy` touch memory, the rest is lazy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import shown
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, expand_to
from ...runtime.memory import storage
from ...runtime.memory.devices import check_device, default, only_cpu
from ..functions import movement
from ..lazy import state
from ..operands.arguments import as_bool, as_shape
from ..operands.broadcast import WEAK, as_dtype, as_node, default_float
from .tensor import Tensor, wrap


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A Tensor with a copy of the data: numbers, nested lists, NumPy arrays, Tensors, anything with __array__.

    Python floats take the default dtype, Python ints int64; NumPy's bfloat16 is that of the package ml_dtypes. Data are put on
    the device, by default that of the option `device`; Tensors stay where they are. Raises DTypeError for element types that Weft
    has not.
    """
    place = check_device(device)
    if isinstance(data, Tensor):
        return _tracking((data.detach() if dtype is None else data.detach().astype(dtype)).to(place), requires_grad)
    if holds_tensors(data):
        return _tracking(_stacked(data, dtype).to(place), requires_grad)
    array = as_array(data, dtype)
    target = _target_dtype(array, data, dtype)
    if target.is_int and array.dtype.kind in "fV":  # V: bfloat16
        return _of_data(array, dt.float64, place).astype(target)
    with np.errstate(over="ignore"):
        t = _of_data(array, target, place)
    if not only_cpu():
        return _tracking(t, requires_grad)
    if as_bool("tensor", "requires_grad", requires_grad):
        _require_float(target)
        state.own(t)
        t._requires_grad = True
    return t


def _of_data(array: np.ndarray[Any, Any], dtype: DType, device: str | None) -> Tensor:
    """A copy of the array, in the memory of the CPU until it is needed elsewhere."""
    t = wrap(storage.leaf(storage.from_array(array, dtype, copy=True)))
    return t if only_cpu() else t.to(device or default())


def as_array(data: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """The data as NumPy sees them, except Python ints: those become the integer dtype that is asked for, or uint64 beyond int64.

    Raises OverflowError for ints that do not fit, DTypeError, ShapeError for lists of different lengths.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    try:
        array = np.asarray(data)
        is_wide = _is_wide(array, data)
        integers = not hasattr(data, "dtype") and (array.dtype.kind in "iuO" or is_wide)
        if integers and wanted is not None and wanted.is_int:
            return np.asarray(data, wanted.numpy)  # refuses Python ints that do not fit
    except OverflowError as error:
        raise errors.OverflowError(f"tensor: {error}") from None
    except TypeError as error:
        raise errors.DTypeError(f"tensor: {error}") from None
    except ValueError:
        raise errors.ShapeError("tensor: the nested lists are not of equal lengths") from None
    return _of_wide(data, wanted) if is_wide else array


def _is_wide(array: np.ndarray[Any, Any], data: Any) -> bool:
    """Are these Python ints that NumPy finds no integer dtype for, since some lie beyond int64?"""
    plain = array.dtype.kind in "Of" and array.size > 0 and _is_plain_python(data)
    return plain and all(type(i) in (int, bool) for i in _leaves(data))


def _of_wide(data: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    for candidate in (np.uint64,) if wanted is None else (np.uint64, np.float64):
        with suppress(OverflowError):
            return np.asarray(data, candidate)
    holder = "one integer dtype can hold; pass dtype=" if wanted is None else "float can hold"
    raise errors.OverflowError(f"tensor: there are integers that no {holder}")


def _leaves(data: Any) -> Iterator[Any]:
    """The numbers in nested lists."""
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _target_dtype(array: np.ndarray[Any, Any], data: Any, dtype: Any) -> DType:
    found = dt.from_numpy(array.dtype)
    if found is None:
        raise errors.DTypeError(f"tensor: {_why_without_dtype(array, data)}")
    if dtype is not None:
        return as_dtype(dtype)
    return default_float() if found is dt.float64 and _is_plain_python(data) else found


def _why_without_dtype(array: np.ndarray[Any, Any], data: Any) -> str:
    for leaf in _leaves(data):
        if not isinstance(leaf, (int, float, complex, np.ndarray, np.generic)):
            return f"{'' if leaf is data else 'element '}{shown(leaf)} is no number"
    return f"there is no dtype for elements of type {array.dtype}"


def _is_plain_python(data: Any) -> bool:
    while isinstance(data, (list, tuple)):
        data = data[0] if data else 0.0
    return type(data) in WEAK


def holds_tensors(data: Any) -> bool:
    """Are there Tensors in these nested sequences."""
    return isinstance(data, (list, tuple)) and any(isinstance(i, Tensor) or holds_tensors(i) for i in data)


def _stacked(data: Any, dtype: Any) -> Tensor:
    parts = [i.detach() if isinstance(i, Tensor) else tensor(i) for i in data]
    out = wrap(movement.stack([p.node for p in parts]))
    return out if dtype is None else out.astype(dtype)


def _tracking(t: Tensor, requires_grad: bool) -> Tensor:
    return t.requires_grad_() if as_bool("a new Tensor", "requires_grad", requires_grad) else t


def _require_float(dtype: DType) -> None:
    if not dtype.is_float:
        raise errors.DTypeError(f"only floats have gradients, this is {dtype.name}")


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor on the CPU that shares the array's memory: change the array only when nothing lazy reads it any more.

    Raises DTypeError for other element types, ShapeError for strides that are negative or not whole elements.
    """
    if not isinstance(array, np.ndarray):
        raise errors.DTypeError(f"from_numpy: expected a NumPy array, got {type(array).__name__}; wf.tensor copies")
    dtype = dt.from_numpy(array.dtype)
    if dtype is None:
        raise errors.DTypeError(f"from_numpy: there is no dtype for elements of type {array.dtype}")
    if not array.dtype.isnative:
        raise errors.DTypeError(f"from_numpy: elements of type {array.dtype} have a foreign byte order; wf.tensor converts them")
    if any(s < 0 or s % array.itemsize for s in array.strides) or not array.flags.aligned:
        raise errors.ShapeError(f"from_numpy: strides {array.strides} cannot be aliased; wf.tensor copies")
    return wrap(storage.leaf(storage.from_array(array, dtype, copy=False)))


# ---------------------------------------------------------------- constants


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Every element is fill_value: a number or a 0-d Tensor. Its dtype unless given: bool, int64 or the default
    dtype for a Python number.

    Raises OverflowError for an integer that the dtype cannot hold.
    """
    place = check_device(device)
    extents = as_shape("full", (shape,))
    if isinstance(fill_value, (np.ndarray, np.generic)):
        fill_value = tensor(fill_value)
    if isinstance(fill_value, Tensor):
        out = fill_value if dtype is None else fill_value.astype(dtype)
        return _tracking(out.broadcast_to(extents).to(place), requires_grad)
    if type(fill_value) not in WEAK:
        raise errors.DTypeError(f"full: the value is a number or a 0-d Tensor, not {shown(fill_value)}")
    target = as_dtype(fill_value.__class__ if dtype is None else dtype)
    return _tracking(wrap(_constant(fill_value, target, extents)).to(place), requires_grad)


def _constant(value: Any, dtype: DType, shape: tuple[int, ...]) -> Node:
    return expand_to(as_node("full", value, dtype), shape)


def _filled(name: str, shape: tuple[Any, ...], value: int, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    target = default_float() if dtype is None else dtype
    return full(as_shape(name, shape), value, dtype=target, device=device, requires_grad=requires_grad)


def zeros(shape: Any = (), *more: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, of the default dtype unless dtype says otherwise: zeros((2, 3)) or zeros(2, 3)."""
    return _filled("zeros", (shape, *more), 0, dtype, device, requires_grad)


def ones(shape: Any = (), *more: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones, of the default dtype unless dtype says otherwise: ones((2, 3)) or ones(2, 3)."""
    return _filled("ones", (shape, *more), 1, dtype, device, requires_grad)


def empty(shape: Any = (), *more: int, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor whose values do not matter: nothing is computed before it is read, and then they are zeros."""
    return _filled("empty", (shape, *more), 0, dtype, device, False)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """fill_value in x's shape, with its dtype and on its device unless given."""
    x = x if isinstance(x, Tensor) else tensor(x)
    device = x.device if device is None else device
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Zeros in x's shape, and its dtype unless given."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones in x's shape, and its dtype unless given."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Tensor:
    """A Tensor of x's shape, and its dtype unless given, whose values do not matter."""
    return full_like(x, 0, dtype=dtype, device=device)
