"""The elementwise functions under one name, by theme; and values as they are.

In: Nodes and Python numbers. Out: a Node. Every function is a composite of the closed op set.
"""

from __future__ import annotations

from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.broadcast import Scalar, number, to_dtype
from .arithmetic import (
    add,
    as_float,
    div,
    float_op,
    integers_for_bool,
    mul,
    neg,
    positive,
    reciprocal,
    rsqrt,
    sqrt_,
    square,
    sub,
)
from .bits import bit_and, bit_or, bit_xor, invert, shift_left, shift_right, signbit
from .closeness import isclose
from .comparison import (
    clip,
    eq,
    fmax,
    fmin,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    nan_to_num,
    ne,
    reversed_order,
    where,
)
from .division import divmod_, floordiv, fmod, mod
from .rounding import ceil, floor, round_, trunc
from .signs import absolute, conj, copysign, imag, nextafter, real, sign

__all__ = [
    "absolute", "add", "as_float", "bit_and", "bit_or", "bit_xor", "cast", "ceil", "clip", "conj",
    "constant", "copysign", "detach", "div", "divmod_", "eq", "float_op", "floor", "floordiv",
    "fmax", "fmin", "fmod", "ge", "gt", "imag", "integers_for_bool", "invert", "isclose",
    "isfinite", "isinf", "isnan", "le", "logical_and", "logical_not", "logical_or", "logical_xor",
    "lt", "maximum", "minimum", "mod", "mul", "nan_to_num", "ne", "neg", "nextafter", "positive",
    "real", "reciprocal", "reversed_order", "round_", "rsqrt", "shift_left", "shift_right", "sign",
    "signbit", "sqrt_", "square", "sub", "trunc", "where",
]


def detach(x: Node) -> Node:
    """The same value, without a gradient."""
    return node(Op.DETACH, (x,))


def cast(x: Node, dtype: DType) -> Node:
    """x in another dtype: a float to an integer truncates and saturates (NaN gives 0), integers wrap, bool is x != 0."""
    return to_dtype(x, dtype)


def constant(value: Scalar, dtype: DType) -> Node:
    """A 0-d constant. Raises OverflowError where it does not fit."""
    return number("full", value, dtype)
