"""Questions about dtypes, as the Python Array API standard names them. In: dtypes, Tensors. Out:
dtypes, limits, bools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ... import errors, options
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import const
from ...runtime.memory.devices import check_device
from ..lazy import state
from ..operands.broadcast import WEAK, as_dtype, common_dtype, default_float, promote
from ..operands.likes import ArrayLike, DeviceLike, DTypeLike
from .tensor import Tensor

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
Kind: TypeAlias = "DType | str | tuple[Kind, ...]"


@dataclass(frozen=True)
class FloatLimits:
    """Limits of a float dtype, as Python floats: eps is the distance from 1 to the next number."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerLimits:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(
    x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike = None
) -> Tensor:
    """x in another dtype: floats to integers truncate and saturate, integers wrap, bool is x != 0.

    copy=False gives x itself where it has the dtype already; values never change, so no memory is
    copied in either case.
    """
    place = check_device(device)
    if not isinstance(x, Tensor):
        raise errors.DTypeError(
            f"astype: expected a Tensor, got {type(x).__name__}; wf.tensor(x, dtype) makes one"
        )
    out = x.to(place, as_dtype(dtype))
    return x.clone() if out is x and copy else out


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, /) -> bool:
    """True if promotion leads from one dtype (or the dtype of a Tensor) to the other:
    can_cast(int8, int16), not the reverse."""
    source, target = _dtype_of(from_), as_dtype(to)
    return promote(source, target) is target


def finfo(type: ArrayLike | DTypeLike, /) -> FloatLimits:
    """Limits of a float dtype or of the dtype of a Tensor (IEEE 754: from the widths of significand
    and exponent); of a complex dtype, those of its parts.

    Raises DTypeError for other dtypes.
    """
    dtype = _dtype_of(type).part
    if not dtype.is_float:
        raise errors.DTypeError(
            f"finfo: {dtype.name} is not a float; iinfo has the limits of integers"
        )
    top = 1 << (dtype.bits - dtype.digits - 1)  # 2**top is the first power of two that overflows
    largest = dt.largest(dtype)
    return FloatLimits(
        dtype.bits, 2.0 ** (1 - dtype.digits), largest, -largest, 2.0 ** (2 - top), dtype
    )


def iinfo(type: ArrayLike | DTypeLike, /) -> IntegerLimits:
    """Limits of an integer dtype or of the dtype of a Tensor. Raises DTypeError for other
    dtypes."""
    dtype = _dtype_of(type)
    if not dtype.is_int:
        raise errors.DTypeError(
            f"iinfo: {dtype.name} is not an integer; finfo has the limits of floats"
        )
    least, greatest = dt.limits(dtype)
    return IntegerLimits(dtype.bits, greatest, least, dtype)


def isdtype(dtype: DType, kind: Kind) -> bool:
    """True if the dtype is of a kind: a dtype, one of the names in KINDS, or a tuple of these
    (then: of any of them).

    Raises ArgumentError (a ValueError) for another name, DTypeError for anything else.
    """
    if not isinstance(dtype, DType):
        raise errors.DTypeError(f"isdtype: expected a dtype, got {brief(dtype)}")
    if isinstance(kind, tuple):
        return any([isdtype(dtype, k) for k in kind])
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str):
        raise errors.DTypeError(
            f"isdtype: a kind must be a dtype, a name or a tuple of them, not {brief(kind)}"
        )
    if kind not in KINDS:
        raise errors.ArgumentError(
            f"isdtype: there is no kind {brief(kind)}; there are {', '.join(KINDS)}"
        )
    return dtype.kind in KINDS[kind]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype in which these Tensors, dtypes and Python numbers meet; Python numbers are weak.
    Raises DTypeError for none."""
    if not arrays_and_dtypes:
        raise errors.DTypeError("result_type: expected at least one Tensor, dtype or number")
    return common_dtype(
        "result_type", [x if type(x) in WEAK else const(0, _dtype_of(x)) for x in arrays_and_dtypes]
    )


def _dtype_of(x: object) -> DType:
    """The dtype of a Tensor or an array, or what names a dtype."""
    own = None if isinstance(x, (DType, type)) else getattr(x, "dtype", None)
    return as_dtype(x if own is None else own)


def get_default_dtype() -> DType:
    """The dtype of Python floats, of float results of integers, and of what is made without a
    dtype: float32 unless set."""
    return default_float()


def set_default_dtype(dtype: DTypeLike) -> None:
    """Makes this float dtype the default from now on, in every thread:
    `wf.set_default_dtype(wf.float64)`.

    Tensors keep what they have, and a jitted function that was traced with another default is
    traced again. The environment variable is WEFT_DEFAULT_DTYPE. Raises DTypeError for anything but
    a float dtype.
    """
    target = as_dtype(dtype)
    if not target.is_float:
        raise errors.DTypeError(
            f"set_default_dtype: the default must be a float dtype, not {target.name}"
        )
    options.update(default_dtype=target.name)
    state.changes.count += 1  # so that jitted functions look at their signatures


def standard_dtypes() -> dict[str, DType]:
    """The dtypes that the standard knows too, by its names."""
    return {d.name: d for d in dt.ALL if not (d.is_float and d.bits < 32)}
