"""The standard's functions that make arrays. In: shapes, ranges, other arrays. Out: Tensors."""

from __future__ import annotations

from typing import Any

from ..frontend import ops
from ..frontend.tensor.tensor import Tensor
from .delegate import documented


@documented
def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.arange(start, stop, step, dtype=dtype, device=device)


@documented
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    return ops.asarray(obj, dtype=dtype, device=device, copy=copy)


@documented
def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.empty(shape, dtype=dtype, device=device)


@documented
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.empty_like(x, dtype=dtype, device=device)


@documented
def eye(n_rows: int, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.eye(n_rows, n_cols, k=k, dtype=dtype, device=device)


@documented
def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Tensor:
    return ops.from_dlpack(x, device=device, copy=copy)


@documented
def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.full(shape, fill_value, dtype=dtype, device=device)


@documented
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.full_like(x, fill_value, dtype=dtype, device=device)


@documented
def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Tensor:
    return ops.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)


@documented
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    return ops.meshgrid(*arrays, indexing=indexing)


@documented
def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.ones(shape, dtype=dtype, device=device)


@documented
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.ones_like(x, dtype=dtype, device=device)


@documented
def tril(x: Any, /, *, k: int = 0) -> Tensor:
    return ops.tril(x, k=k)


@documented
def triu(x: Any, /, *, k: int = 0) -> Tensor:
    return ops.triu(x, k=k)


@documented
def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.zeros(shape, dtype=dtype, device=device)


@documented
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return ops.zeros_like(x, dtype=dtype, device=device)


__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
