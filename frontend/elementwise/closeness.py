"""Nearly equal. In: Nodes and Python numbers. Out: a Node of bools."""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node
from ..operands.arguments import as_bool
from ..operands.broadcast import Operand, common_dtype, together
from ..operands.in_float32 import in_float32
from .arithmetic import add, mul, sub
from .comparison import eq, isfinite, isnan, le, logical_and, logical_or
from .signs import absolute


@in_float32
def isclose(a: Operand, b: Operand, /, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False) -> Node:
    """True where |a - b| <= atol + rtol * |b|, or a == b; NaNs are close with equal_nan. Integers count as float64."""
    dtype = common_dtype("isclose", (a, b))
    x, y = together("isclose", (a, b), dtype if dtype.is_float else dt.float64)
    near = le(absolute(sub(x, y)), add(mul(absolute(y), rtol), atol))
    close = logical_or(eq(x, y), logical_and(near, isfinite(y)))
    return logical_or(close, logical_and(isnan(x), isnan(y))) if as_bool("isclose", "equal_nan", equal_nan) else close
