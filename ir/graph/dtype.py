"""Element types: one frozen record each, with its NumPy and LLVM spelling."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cache
from math import copysign, frexp, inf, isfinite, ldexp
from typing import Any

import numpy as np

from ... import errors
from ..symbolic.integer import NotSymbolic, Symbolic


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type, one object each. `kind` is one of b (bool), i (signed), u (unsigned), f
    (float), c (complex: a real and an imaginary float, one after the other)."""

    name: str
    kind: str
    bits: int
    digits: int = 0  # of a float: bits of its significand, the hidden one too
    # set once: every operation asks
    is_float: bool = field(init=False)
    is_complex: bool = field(init=False)
    is_inexact: bool = field(init=False)  # a float or complex: what can be differentiated

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_float", self.kind == "f")
        object.__setattr__(self, "is_complex", self.kind == "c")
        object.__setattr__(self, "is_inexact", self.kind in "fc")

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; that of bfloat16 is in the package ml_dtypes. Raises MissingPackageError
        without it."""
        return _numpy(self.name)

    @property
    def char(self) -> str:
        """NumPy's letter for it, by which SciPy chooses what to compute in."""
        return self.numpy.char

    @property
    def dtype(self) -> np.dtype[Any]:
        """`numpy` under the name that np.dtype() and NumPy's dtype= look for."""
        return self.numpy

    __numpy_dtype__ = dtype  # from NumPy 2.4 on

    @property
    def carrier(self) -> np.dtype[Any]:
        """A NumPy dtype of this width that every installation has: uint16 for bfloat16, else
        `numpy`."""
        return np.dtype(np.uint16) if self is bfloat16 else self.numpy

    @property
    def part(self) -> DType:
        """The float dtype of the parts of a complex one; of others, the dtype itself."""
        return _PARTS.get(self.name, self)

    @property
    def as_complex(self) -> DType:
        """The complex dtype whose parts are of this float dtype: of 16 bits, as of 32."""
        return self if self.is_complex else complex128 if self.bits == 64 else complex64

    @property
    def is_half(self) -> bool:
        """A 16-bit float: stored and moved as such, computed in float32."""
        return self.kind == "f" and self.bits == 16

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    def __eq__(self, other: object) -> bool:
        # never NotImplemented: NumPy's reflected comparison raises for what it cannot interpret
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"weft.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)


@cache
def _numpy(name: str) -> np.dtype[Any]:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise errors.MissingPackageError(
            "NumPy has no bfloat16 of its own: install it with `pip install ml_dtypes`, or convert"
            " with .float() first"
        ) from None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


bool_ = DType("bool", "b", 1)
int8 = DType("int8", "i", 8)
int16 = DType("int16", "i", 16)
int32 = DType("int32", "i", 32)
int64 = DType("int64", "i", 64)
uint8 = DType("uint8", "u", 8)
uint16 = DType("uint16", "u", 16)
uint32 = DType("uint32", "u", 32)
uint64 = DType("uint64", "u", 64)
float16 = DType("float16", "f", 16, 11)
bfloat16 = DType("bfloat16", "f", 16, 8)
float32 = DType("float32", "f", 32, 24)
float64 = DType("float64", "f", 64, 53)
complex64 = DType("complex64", "c", 64, 24)
complex128 = DType("complex128", "c", 128, 53)
_PARTS = {"complex64": float32, "complex128": float64}

ALL = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
)
BY_NAME = {d.name: d for d in ALL}
# of the smallest subnormal number
_LEAST_EXPONENT = {
    float16: -24,
    bfloat16: -133,
    float32: -149,
    float64: -1074,
}
# everything is below 2 to this power
_MOST_EXPONENT = {
    float16: 16,
    bfloat16: 128,
    float32: 128,
    float64: 1024,
}


def by_name(name: str) -> DType:
    """The DType of this name, for pickle."""
    return BY_NAME[name]


def from_numpy(dtype: Any) -> DType | None:
    """The DType of a NumPy dtype, or None where Weft has no such type."""
    return _of_numpy(np.dtype(dtype))


@cache
def _of_numpy(dtype: np.dtype[Any]) -> DType | None:
    return BY_NAME.get(dtype.name)


_single = struct.Struct("<f")
_EXACT = 1 << 53


def rounded(value: float, dtype: DType) -> float:
    """The nearest value of a float dtype, halves to even, in one step also from an integer of any
    size."""
    if isinstance(value, Symbolic):
        raise NotSymbolic(f"{value} as {dtype.name}")
    if dtype is float32 and -_EXACT < value < _EXACT:  # a float64 holds such an integer
        return _single.unpack(_single.pack(value))[0]  # type: ignore[no-any-return]
    if isinstance(value, int):
        value = float(value) if dtype is float64 else _with_sticky_bit(value)
    if value == 0 or not isfinite(value):
        return float(value)
    spacing = max(frexp(value)[1] - dtype.digits, _LEAST_EXPONENT[dtype])
    whole = round(ldexp(value, -spacing))
    if whole.bit_length() + spacing > _MOST_EXPONENT[dtype]:
        return copysign(inf, value)
    return copysign(ldexp(whole, spacing), value)


def _with_sticky_bit(value: int) -> float:
    """An integer as a float64 that rounds to fewer digits as the integer does: what is cut off
    leaves a last bit set."""
    size = abs(value)
    cut = max(0, size.bit_length() - 53)
    kept = size >> cut | bool(size & ((1 << cut) - 1))
    magnitude = inf if size.bit_length() > 1024 else ldexp(kept, cut)
    return magnitude if value >= 0 else -magnitude


def half_bits(value: float, dtype: DType) -> int:
    """The bits of a value of a 16-bit float dtype."""
    if dtype is float16:
        return int.from_bytes(struct.pack("<e", value), "little")
    return int.from_bytes(struct.pack("<f", value), "little") >> 16


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype (or bool)."""
    if dtype.kind == "i":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def largest(dtype: DType) -> float:
    """The greatest finite value of a float dtype."""
    return ldexp((1 << dtype.digits) - 1, _MOST_EXPONENT[dtype] - dtype.digits)


def lowest(dtype: DType) -> float | int | bool:
    """The identity of MAX: -inf, the least integer, or False."""
    if dtype.is_float:
        return -inf
    return False if dtype.kind == "b" else limits(dtype)[0]
