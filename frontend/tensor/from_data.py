"""Tensors of data. In: numbers, nested lists, arrays, Tensors. Out: a Tensor with a copy; arrays as
NumPy sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...runtime.memory import storage
from ...runtime.memory.devices import check_device, default, only_cpu
from ..functions import movement
from ..lazy import state
from ..lazy.any_tensor import AnyTensor
from ..lazy.new_tensor import wrap
from ..operands.arguments import as_bool
from ..operands.broadcast import WEAK, as_dtype, default_complex, default_float
from ..operands.likes import DeviceLike, DTypeLike


def of_data(
    data: object, dtype: DTypeLike = None, device: DeviceLike = None, requires_grad: bool = False
) -> Any:
    """wf.tensor."""
    place = check_device(device)
    if isinstance(data, AnyTensor):
        return tracking(
            (data.detach() if dtype is None else data.detach().astype(dtype)).to(place),
            requires_grad,
        )
    if holds_tensors(data):
        return tracking(_stacked(data, dtype).to(place), requires_grad)
    array = as_array(data, dtype)
    target = _target_dtype(array, data, dtype)
    if array.dtype.kind == "c" and not target.is_complex:
        raise errors.DTypeError(
            f"tensor: {array.dtype} is complex, {target.name} is not: take the real part"
        )
    if target.is_int and array.dtype.kind in "fV":  # V: bfloat16
        return _of_data(array, dt.float64, place).astype(target)
    with np.errstate(over="ignore"):
        t = _of_data(array, target, place)
    if not only_cpu():
        return tracking(t, requires_grad)
    if as_bool("tensor", "requires_grad", requires_grad):
        if not target.is_inexact:
            raise errors.DTypeError(f"only floats have gradients, this is {target.name}")
        state.own(t)
        t._requires_grad = True
    return t


def _of_data(array: np.ndarray, dtype: DType, device: str | None) -> Any:
    """A copy of the array, in the memory of the CPU until it is needed elsewhere."""
    t = wrap(storage.leaf(storage.from_array(array, dtype, copy=True)))
    return t if only_cpu() else t.to(device or default())


def as_array(data: object, dtype: DTypeLike) -> np.ndarray:
    """The data as NumPy sees them, except Python ints: those become the integer dtype that is asked
    for, or uint64 beyond int64.

    Raises OverflowError for ints that do not fit, DTypeError, ShapeError for lists of different
    lengths.
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


def _is_wide(array: np.ndarray, data: object) -> bool:
    """Are these Python ints that NumPy finds no integer dtype for, since some lie beyond int64?"""
    plain = array.dtype.kind in "Of" and array.size > 0 and _is_plain_python(data)
    return plain and all(type(i) in (int, bool) for i in _leaves(data))


def _of_wide(data: object, wanted: DType | None) -> np.ndarray:
    for candidate in (np.uint64,) if wanted is None else (np.uint64, np.float64):
        with suppress(OverflowError):
            return np.asarray(data, candidate)
    holder = "one integer dtype can hold; pass dtype=" if wanted is None else "float can hold"
    raise errors.OverflowError(f"tensor: there are integers that no {holder}")


def _leaves(data: object) -> Iterator[object]:
    """The numbers in nested lists."""
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _target_dtype(array: np.ndarray, data: object, dtype: DTypeLike) -> DType:
    own = dt.from_numpy(array.dtype)
    if own is None:
        raise errors.DTypeError(f"tensor: {_why_without_dtype(array, data)}")
    if dtype is not None:
        return as_dtype(dtype)
    if own in (dt.float64, dt.complex128) and _is_plain_python(data):
        return default_float() if own is dt.float64 else default_complex()
    return own


def _why_without_dtype(array: np.ndarray, data: object) -> str:
    for leaf in _leaves(data):
        if not isinstance(leaf, (int, float, complex, np.ndarray, np.generic)):
            return f"{'' if leaf is data else 'element '}{brief(leaf)} is no number"
    return f"there is no dtype for elements of type {array.dtype}"


def _is_plain_python(data: object) -> bool:
    while isinstance(data, (list, tuple)):
        data = data[0] if data else 0.0
    return type(data) in WEAK


def holds_tensors(data: object) -> TypeGuard[Sequence[object]]:
    """Are there Tensors in these nested sequences."""
    return isinstance(data, (list, tuple)) and any(
        isinstance(i, AnyTensor) or holds_tensors(i) for i in data
    )


def _stacked(data: Sequence[object], dtype: DTypeLike) -> Any:
    parts = [i.detach() if isinstance(i, AnyTensor) else of_data(i) for i in data]
    out = wrap(movement.stack([p.node for p in parts]))
    return out if dtype is None else out.astype(dtype)


def tracking(t: Any, requires_grad: bool) -> Any:
    """The Tensor, as a leaf that collects gradients if that is asked for."""
    return t.requires_grad_() if as_bool("a new Tensor", "requires_grad", requires_grad) else t
