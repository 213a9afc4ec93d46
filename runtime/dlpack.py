"""The DLPack exchange format (dlpack.h of dmlc/dlpack, major version 1, and the older unversioned
layout).

In: memory with shape and strides. Out: capsules that keep it alive; and the same the other way
round. What a consumer calls when it lets go is machine code, because it may call from any thread,
and when Python is about to end.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from .code import portable
from .native import filled

CPU = (1, 0)  # (kDLCPU, the only one)
# device types whose memory the CPU reads: its own, and what is pinned for CUDA
HOST_MEMORY = (
    1,
    3,
)
READ_ONLY, IS_COPIED = 1, 2
VERSION = (1, 0)
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6  # type codes
NAMES = (b"dltensor", b"dltensor_versioned")


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


LAYOUTS: tuple[type[Any], ...] = (_Managed, _Versioned)


def _text() -> str:
    layouts = (
        filled("dlpack_layout", k=k, context=layout.context.offset)
        for k, layout in enumerate(LAYOUTS)
    )
    return filled("dlpack") + "".join(layouts)


@dataclass(frozen=True)
class _Functions:
    """Those of dlpack.ll, for the two layouts: the address of the deleter, what makes a capsule,
    what marks one as consumed."""

    delete: list[int]
    capsule: list[Callable[[int], Any]]
    use: list[Callable[[object], int]]


@functools.cache
def _functions() -> _Functions:
    names = [
        f"weft_dlpack_{what}_{k}"
        for what in ("delete", "capsule", "use")
        for k in range(len(LAYOUTS))
    ]
    code = portable(_text(), names)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
    use = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)
    addresses = [code[n] for n in names]
    return _Functions(
        addresses[:2], [make(a) for a in addresses[2:4]], [use(a) for a in addresses[4:]]
    )


# ---------------------------------------------------------------- out


@dataclass
class Array:
    """Memory of a device (type, number): strides in elements, `flags` as in the header. `owner` is
    kept alive."""

    address: int
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    flags: int
    owner: object
    device: tuple[int, int] = CPU


def export(array: Array, versioned: bool) -> Any:
    """A capsule of the array."""
    functions = _functions()
    extents = ctypes.c_int64 * len(array.shape)
    managed = LAYOUTS[versioned]()
    holder = (array, managed)  # the context: what the capsule keeps alive
    t = managed.tensor
    t.data, (t.device_type, t.device_id), t.ndim = array.address, array.device, len(array.shape)
    t.code, t.bits, t.lanes = array.code, array.bits, 1
    t.shape, t.strides = extents(*array.shape), extents(*array.strides)
    if versioned:
        (managed.major, managed.minor), managed.flags = VERSION, array.flags
    managed.context, managed.deleter = id(holder), functions.delete[versioned]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(holder))
    return functions.capsule[versioned](ctypes.addressof(managed))


# ---------------------------------------------------------------- in


class _Consumed:
    """Owns what came in a capsule: calls the producer's deleter when nothing refers to it any
    more."""

    def __init__(self, managed: Any) -> None:
        self._address = ctypes.addressof(managed)
        self._delete = (
            ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(managed.deleter) if managed.deleter else None
        )

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


def consume(capsule: object) -> Array:
    """The array in a capsule, whose owner it becomes. Raises ValueError for anything but an unused
    DLPack capsule."""
    pointer, versioned = _pointer(capsule)
    managed = LAYOUTS[versioned].from_address(pointer)
    if versioned and managed.major != VERSION[0]:
        raise ValueError(
            f"its DLPack version is {managed.major}.{managed.minor}, of which only {VERSION[0]}.x"
            " is known"
        )
    t = managed.tensor
    if t.lanes != 1:
        raise ValueError(f"its elements have {t.lanes} lanes")
    shape = tuple(t.shape[: t.ndim])
    strides = (
        tuple(t.strides[: t.ndim])
        if t.strides
        else tuple(prod(shape[i + 1 :]) for i in range(t.ndim))
    )
    address = (t.data or 0) + t.byte_offset
    code, bits, flags = t.code, t.bits, managed.flags if versioned else 0
    _functions().use[versioned](capsule)
    device = CPU if t.device_type in HOST_MEMORY else (t.device_type, t.device_id)
    return Array(address, code, bits, shape, strides, flags, _Consumed(managed), device)


def _pointer(capsule: object) -> tuple[int, bool]:
    """(the address in a capsule, is it versioned)."""
    api = ctypes.pythonapi
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_IsValid", api)
    )
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    for versioned, name in enumerate(NAMES):
        if valid(capsule, name):
            return get(capsule, name), bool(versioned)
    raise ValueError(f"{capsule!r} is not a DLPack capsule, or one that was consumed before")
