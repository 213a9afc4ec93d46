"""The standard's elementwise functions. In: arrays (and Python numbers). Out: lazy Tensors."""

from __future__ import annotations

from typing import Any

from ..frontend import ops
from ..frontend.tensor.tensor import Tensor
from .delegate import binary, documented, unary

abs, ceil, floor, round, sign, trunc = map(unary, ("abs", "ceil", "floor", "round", "sign", "trunc"))
acos, asin, atan, acosh, asinh, atanh = map(unary, ("acos", "asin", "atan", "acosh", "asinh", "atanh"))
cos, sin, tan, cosh, sinh, tanh = map(unary, ("cos", "sin", "tan", "cosh", "sinh", "tanh"))
exp, expm1, log, log1p, log2, log10 = map(unary, ("exp", "expm1", "log", "log1p", "log2", "log10"))
negative, positive, reciprocal, sqrt, square = map(unary, ("negative", "positive", "reciprocal", "sqrt", "square"))
isfinite, isinf, isnan, signbit = map(unary, ("isfinite", "isinf", "isnan", "signbit"))
bitwise_invert, logical_not = map(unary, ("bitwise_invert", "logical_not"))
conj, imag, real = map(unary, ("conj", "imag", "real"))

add, subtract, multiply, divide = map(binary, ("add", "subtract", "multiply", "divide"))
floor_divide, remainder, pow, atan2 = map(binary, ("floor_divide", "remainder", "pow", "atan2"))
copysign, hypot, logaddexp, nextafter = map(binary, ("copysign", "hypot", "logaddexp", "nextafter"))
maximum, minimum = map(binary, ("maximum", "minimum"))
equal, not_equal, less, less_equal = map(binary, ("equal", "not_equal", "less", "less_equal"))
greater, greater_equal = map(binary, ("greater", "greater_equal"))
bitwise_and, bitwise_or, bitwise_xor = map(binary, ("bitwise_and", "bitwise_or", "bitwise_xor"))
bitwise_left_shift, bitwise_right_shift = map(binary, ("bitwise_left_shift", "bitwise_right_shift"))
logical_and, logical_or, logical_xor = map(binary, ("logical_and", "logical_or", "logical_xor"))


@documented
def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    return ops.clip(x, min, max)


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]
