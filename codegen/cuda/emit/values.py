"""C++ spelling of dtypes and constants. In: a DType, a Python number. Out: text that a CUDA
compiler reads as exactly that."""

from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np

from ....ir.graph import dtype as dt
from ....ir.graph.dtype import DType

TYPES = {
    dt.bool_: "bool",
    dt.int8: "signed char",
    dt.int16: "short",
    dt.int32: "int",
    dt.int64: "long long",
    dt.uint8: "unsigned char",
    dt.uint16: "unsigned short",
    dt.uint32: "unsigned",
    dt.uint64: "unsigned long long",
    dt.float16: "weft_f16",
    dt.bfloat16: "weft_bf16",
    dt.float32: "float",
    dt.float64: "double",
}
# as weft.cuh calls them
OPERATIONS = {
    "add": "weft_sum",
    "mul": "weft_product",
    "max": "weft_largest",
}
_SUFFIX = {dt.int32: "", dt.int64: "ll", dt.uint32: "u", dt.uint64: "ull"}


def literal(value: float | int | bool, dtype: DType) -> str:
    """A constant of a dtype, exactly."""
    if dtype.is_half:
        return f"{TYPES[dtype]}{{{_bits(dt.half_bits(value, dtype))}}}"
    if dtype.is_float:
        return _float(float(value), dtype)
    if dtype.kind == "b":
        return "true" if value else "false"
    return _integer(int(value), dtype)


def zero(dtype: DType) -> str:
    return literal(0, dtype)


def _bits(bits: int) -> str:
    return f"0x{bits:x}"


def _float(value: float, dtype: DType) -> str:
    suffix = "f" if dtype is dt.float32 else ""
    if not np.isfinite(value):
        packed, size = ("<f", "u") if dtype is dt.float32 else ("<d", "ull")
        bits = _bits(int.from_bytes(struct.pack(packed, value), "little"))
        return f"weft_bitcast<{TYPES[dtype]}>({bits}{size})"
    value = dt.rounded(value, dtype)
    short = repr(value)
    if len(short) < 12 and Decimal(short) == Decimal(value):
        return f"{short}{suffix}"
    digits, exponent = value.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}{suffix}"


def _integer(value: int, dtype: DType) -> str:
    if dtype not in _SUFFIX:
        return f"static_cast<{TYPES[dtype]}>({value})"
    if dtype.kind == "i" and value == dt.limits(dtype)[0]:
        return f"({value + 1}{_SUFFIX[dtype]} - 1)"  # C++ has no negative literals
    return f"{value}{_SUFFIX[dtype]}"
