"""The standard's statistics, searches, sorts and sets. In: arrays. Out: Tensors, computed where values decide the shape."""

from __future__ import annotations

from typing import Any

from ..frontend import ops
from ..frontend.tensor.tensor import Tensor
from .delegate import documented


@documented
def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.all(x, axis=axis, keepdims=keepdims)


@documented
def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.any(x, axis=axis, keepdims=keepdims)


@documented
def argmax(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.argmax(x, axis=axis, keepdims=keepdims)


@documented
def argmin(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.argmin(x, axis=axis, keepdims=keepdims)


@documented
def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.count_nonzero(x, axis=axis, keepdims=keepdims)


@documented
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    return ops.isin(x1, x2, invert=invert)


@documented
def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.max(x, axis=axis, keepdims=keepdims)


@documented
def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.mean(x, axis=axis, keepdims=keepdims)


@documented
def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    return ops.min(x, axis=axis, keepdims=keepdims)


@documented
def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return ops.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


@documented
def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return ops.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


@documented
def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    return ops.std(x, axis=axis, correction=correction, keepdims=keepdims)


@documented
def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    return ops.var(x, axis=axis, correction=correction, keepdims=keepdims)


@documented
def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    return ops.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


@documented
def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    return ops.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


@documented
def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    return ops.diff(x, axis=axis, n=n, prepend=prepend, append=append)


@documented
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    return ops.argsort(x, axis=axis, descending=descending, stable=stable)


@documented
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    return ops.sort(x, axis=axis, descending=descending, stable=stable)


@documented
def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    return ops.nonzero(x)


@documented
def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    return ops.searchsorted(x1, x2, side=side, sorter=sorter)


@documented
def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    return ops.where(condition, x1, x2)


@documented
def unique_all(x: Any, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return ops.unique_all(x)


@documented
def unique_counts(x: Any, /) -> tuple[Tensor, Tensor]:
    return ops.unique_counts(x)


@documented
def unique_inverse(x: Any, /) -> tuple[Tensor, Tensor]:
    return ops.unique_inverse(x)


@documented
def unique_values(x: Any, /) -> Tensor:
    return ops.unique_values(x)


__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "isin",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "searchsorted",
    "sort",
    "std",
    "sum",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
    "where",
]
