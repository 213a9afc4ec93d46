"""Composites of 16-bit floats. In: a function made of several graph ops. Out: one that computes in
float32 and rounds once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any, ParamSpec, TypeVar

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ..lazy.any_tensor import AnyTensor
from .broadcast import promote, to_dtype

P = ParamSpec("P")
R = TypeVar("R", bound=Node | AnyTensor)


def in_float32(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its 16-bit operands (Nodes, or Tensors) as float32; a float32 result takes
    the operands' dtype."""

    @wraps(function)
    def widened(*args: P.args, **kwargs: P.kwargs) -> R:
        floats = [d for x in (*args, *kwargs.values()) if (d := float_dtype(x)) is not None]
        if not any(d.is_half for d in floats):
            return function(*args, **kwargs)
        out = function(*map(_wide, args), **{name: _wide(x) for name, x in kwargs.items()})
        return converted(out, reduce(promote, floats)) if out.dtype is dt.float32 else out

    return widened


def float_dtype(x: object) -> DType | None:
    """The dtype of a Node or Tensor of floats."""
    dtype = getattr(x, "dtype", None)
    return dtype if isinstance(dtype, DType) and dtype.is_float else None


def _wide(x: Any) -> Any:
    dtype = float_dtype(x)
    return x if dtype is None or not dtype.is_half else converted(x, dt.float32)


def converted(x: Any, dtype: DType) -> Any:
    """The Node or Tensor in another dtype."""
    return to_dtype(x, dtype) if isinstance(x, Node) else x.astype(dtype)
