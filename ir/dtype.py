"""Element types: one frozen record each, with its NumPy and LLVM spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type, one object each. `kind` is one of b (bool), i (signed), u (unsigned), f (float)."""

    name: str
    kind: str
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.name)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    def __repr__(self) -> str:
        return f"weft.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)


bool_ = DType("bool", "b", 1)
int8 = DType("int8", "i", 8)
int16 = DType("int16", "i", 16)
int32 = DType("int32", "i", 32)
int64 = DType("int64", "i", 64)
uint8 = DType("uint8", "u", 8)
uint16 = DType("uint16", "u", 16)
uint32 = DType("uint32", "u", 32)
uint64 = DType("uint64", "u", 64)
float32 = DType("float32", "f", 32)
float64 = DType("float64", "f", 64)

ALL = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)
BY_NAME = {d.name: d for d in ALL}
SCALAR = {d: d.numpy.type for d in ALL}  # the NumPy type of one element


def by_name(name: str) -> DType:
    """The DType of this name, for pickle."""
    return BY_NAME[name]


def from_numpy(dtype: Any) -> DType | None:
    """The DType of a NumPy dtype, or None where Weft has no such type."""
    return BY_NAME.get(np.dtype(dtype).name)


def lowest(dtype: DType) -> float | int | bool:
    """The identity of MAX: -inf, the least integer, or False."""
    if dtype.is_float:
        return float("-inf")
    if dtype.kind == "i":
        return int(-(1 << (dtype.bits - 1)))
    return False if dtype.kind == "b" else 0
