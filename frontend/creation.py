"""New Tensors. In: data, shapes, ranges. Out: Tensors; only `tensor` and `from_numpy` touch memory, the rest is lazy."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from .. import errors
from ..ir import dtype as dt
from ..ir.dtype import DType
from ..ir.graph import Node, Op, full, node
from . import elementwise as ew
from . import movement, state, storage
from .broadcast import as_dtype, default_float, default_int, spread, to_dtype
from .tensor import Tensor, check_device, general, wrap


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A Tensor with a copy of the data: numbers, nested lists, NumPy arrays, Tensors, anything with __array__.

    Python floats become float32, Python ints int64. Raises DTypeError for element types that Weft has not.
    """
    check_device(device)
    if isinstance(data, Tensor):
        return _tracking(data.detach() if dtype is None else data.detach().astype(dtype), requires_grad)
    if _holds_tensors(data):
        return _tracking(_stacked(data, dtype), requires_grad)
    array = _as_array(data)
    target = _target_dtype(array, data, dtype)
    t = wrap(storage.leaf(storage.from_array(array, target, copy=True)))
    if requires_grad:
        _require_float(target)
        state.own(t)
        t._requires_grad = True
    return t


def _as_array(data: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(data)
    except ValueError as error:
        raise errors.ShapeError(f"tensor: the nested lists are not of equal lengths ({error})") from None


def _target_dtype(array: np.ndarray[Any, Any], data: Any, dtype: Any) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    found = dt.from_numpy(array.dtype)
    if found is None:
        raise errors.DTypeError(f"tensor: there is no dtype for elements of type {array.dtype}; pass dtype=")
    return default_float if found is dt.float64 and _is_plain_python(data) else found


def _is_plain_python(data: Any) -> bool:
    while isinstance(data, (list, tuple)):
        data = data[0] if data else 0.0
    return type(data) in (float, int, bool)


def _holds_tensors(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(isinstance(i, Tensor) or _holds_tensors(i) for i in data)


def _stacked(data: Any, dtype: Any) -> Tensor:
    parts = [i.detach() if isinstance(i, Tensor) else tensor(i) for i in data]
    out = wrap(movement.stack([p.node for p in parts]))
    return out if dtype is None else out.astype(dtype)


def _tracking(t: Tensor, requires_grad: bool) -> Tensor:
    return t.requires_grad_() if requires_grad else t


def _require_float(dtype: DType) -> None:
    if not dtype.is_float:
        raise errors.DTypeError(f"only floats have gradients, this is {dtype.name}")


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor that shares the array's memory: change the array only when nothing lazy reads it any more.

    Raises DTypeError for other element types, ShapeError for strides that are negative or not whole elements.
    """
    dtype = dt.from_numpy(array.dtype)
    if dtype is None or not array.dtype.isnative:
        raise errors.DTypeError(f"from_numpy: there is no dtype for elements of type {array.dtype}")
    if any(s < 0 or s % array.itemsize for s in array.strides) or not array.flags.aligned:
        raise errors.ShapeError(f"from_numpy: strides {array.strides} cannot be aliased; wf.tensor copies")
    t = wrap(storage.leaf(storage.from_array(array, dtype, copy=False)))
    return t


# ---------------------------------------------------------------- constants


def as_shape(name: str, shape: Any) -> tuple[int, ...]:
    """A shape given as ints or as one sequence. Raises ShapeError for a negative extent."""
    found = movement.flat_ints(name, shape)
    if any(d < 0 for d in found):
        raise errors.ShapeError(f"{name}: shape {found} has a negative extent")
    return found


def full_(shape: Any, fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Every element is fill_value; the dtype is that of a Tensor of it unless given."""
    extents = as_shape("full", shape if isinstance(shape, (tuple, list)) else (shape,))
    if isinstance(fill_value, Tensor):
        out = fill_value if dtype is None else fill_value.astype(dtype)
        return _tracking(out.broadcast_to(extents), requires_grad)
    target = as_dtype(type(fill_value) if dtype is None else dtype)
    return _tracking(wrap(_constant(fill_value, target, extents)), requires_grad)


def _constant(value: Any, dtype: DType, shape: tuple[int, ...]) -> Node:
    c = ew.constant(value, dtype)
    return node(Op.EXPAND, (c,), tuple(enumerate(shape))) if shape else c


def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, float32 unless dtype says otherwise: zeros(2, 3) or zeros((2, 3))."""
    return full_(as_shape("zeros", shape), 0, dtype or default_float, requires_grad)


def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones, float32 unless dtype says otherwise."""
    return full_(as_shape("ones", shape), 1, dtype or default_float, requires_grad)


def full_like(x: Tensor, fill_value: Any, dtype: Any = None) -> Tensor:
    """fill_value in x's shape, and its dtype unless given."""
    return full_(x.shape, fill_value, dtype or x.dtype)


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Zeros in x's shape, and its dtype unless given."""
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Ones in x's shape, and its dtype unless given."""
    return full_like(x, 1, dtype)


# ---------------------------------------------------------------- ranges


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """start, start + step, .. below stop; arange(n) is 0 .. n-1. int64 of Python ints, else float32."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise errors.ShapeError("arange: the step must not be 0")
    whole = all(isinstance(v, int) for v in (start, stop, step))
    target = as_dtype(dtype) if dtype is not None else default_int if whole else default_float
    count = max(0, ceil((stop - start) / step))
    position = node(Op.IOTA, (), count)
    if whole:
        out = ew.mul(position, step) if step != 1 else position
        return wrap(to_dtype(ew.add(out, start) if start else out, target))
    return wrap(to_dtype(ew.add(ew.mul(to_dtype(position, dt.float64), float(step)), float(start)), target))


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Tensor:
    """num evenly spaced numbers from start to stop (included unless endpoint is False); float32 unless given."""
    if num < 0:
        raise errors.ShapeError(f"linspace: {num} is not a number of elements")
    target = default_float if dtype is None else as_dtype(dtype)
    position = node(Op.IOTA, (), num)
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    out = ew.add(ew.mul(to_dtype(position, dt.float64), float(step)), float(start))
    if endpoint and num > 1:
        out = ew.where(ew.eq(position, num - 1), float(stop), out)
    return wrap(to_dtype(out, target))


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """n rows, m columns (n unless given), ones where column == row + k; float32 unless given."""
    shape = as_shape("eye", (n, n if m is None else m))
    rows = spread(node(Op.IOTA, (), shape[0]), [0], shape)
    columns = spread(node(Op.IOTA, (), shape[1]), [1], shape)
    return wrap(to_dtype(ew.eq(columns, ew.add(rows, k)), default_float if dtype is None else as_dtype(dtype)))


def _triangle(x: Node, k: int, is_lower: bool) -> Node:
    if x.ndim < 2:
        raise errors.ShapeError(f"{'tril' if is_lower else 'triu'}: expected at least two axes, got shape {x.shape}")
    rows = spread(node(Op.IOTA, (), x.shape[-2]), [x.ndim - 2], x.shape)
    columns = spread(node(Op.IOTA, (), x.shape[-1]), [x.ndim - 1], x.shape)
    distance = ew.sub(columns, rows)
    return ew.where(ew.le(distance, k) if is_lower else ew.ge(distance, k), x, full(0, x.dtype, x.shape))


def _tril(x: Node, k: int = 0) -> Node:
    """x on and below the k-th diagonal of its last two axes, 0 above."""
    return _triangle(x, k, True)


def _triu(x: Node, k: int = 0) -> Node:
    """x on and above the k-th diagonal of its last two axes, 0 below."""
    return _triangle(x, k, False)


tril, triu = general(_tril), general(_triu)
