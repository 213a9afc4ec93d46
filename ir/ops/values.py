"""Evaluators: what Nodes mean in NumPy. In: a Node and the values of its sources. Out: its value,
in its own dtype.

16-bit floats are computed in float32 (`in_float32`) and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..graph import bfloat16
from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.halves import computes_half

Array = np.ndarray[Any, Any]
Evaluator = Callable[..., Any]  # (node, *values of its sources) -> value


def in_float32(n: Node, evaluate: Evaluator, *operands: Array) -> Array:
    """The value before it is rounded to a 16-bit float: `evaluate` over operands that became
    float32."""
    wide = dt.float32 if n.dtype.is_half else n.dtype
    as_wide = SimpleNamespace(op=n.op, arg=n.arg, dtype=wide, shape=n.shape, ndim=n.ndim, src=())
    halves = [s.dtype.is_half for s in n.src]
    return np.asarray(
        evaluate(
            as_wide,
            *(x.astype(np.float32) if h else x for x, h in zip(operands, halves, strict=True)),
        )
    )


def with_halves(evaluate: Evaluator) -> Evaluator:
    """An evaluator that knows 16-bit floats, from one that does not."""

    def evaluator(n: Node, *operands: Array) -> Any:
        if not computes_half(n):
            return evaluate(n, *operands)
        return convert(in_float32(n, evaluate, *operands), n.dtype)

    return evaluator


def plain(function: Callable[..., Any]) -> Evaluator:
    """A NumPy function that takes the operands as they are."""
    return lambda _, *operands: function(*operands)


def rounded(function: Callable[..., Any]) -> Evaluator:
    """A function computed in float64 and rounded to the operands' dtype."""
    return lambda n, *operands: np.asarray(
        function(*(a.astype(np.float64) for a in operands))
    ).astype(n.dtype.numpy)


def convert(x: Array, to: DType) -> Array:
    """A cast: float to integer truncates and saturates, NaN becomes 0; integers wrap; anything not
    0 is True."""
    if x.dtype.kind == "V":  # NumPy knows little of bfloat16
        x = x.astype(np.float32)
    if to is dt.bfloat16:
        return bfloat16.rounded(x).astype(to.numpy)
    if not (x.dtype.kind == "f" and to.is_int):
        return x != 0 if to is dt.bool_ else x.astype(to.numpy)
    lowest, highest = np.iinfo(to.numpy).min, np.iinfo(to.numpy).max
    whole = np.trunc(x.astype(np.float64))
    below, above = whole <= float(lowest), whole >= float(highest)
    inside = np.where(below | above | np.isnan(whole), 0.0, whole).astype(to.numpy)
    return np.where(below, to.numpy.type(lowest), np.where(above, to.numpy.type(highest), inside))
