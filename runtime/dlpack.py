"""The DLPack exchange format (dlpack.h of dmlc/dlpack, major version 1, and the older unversioned layout).

In: memory with shape and strides. Out: capsules that keep it alive; and the same the other way round. What a consumer calls
when it lets go is machine code, because it may call from any thread, and when Python is about to end.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from .code import portable

CPU = (1, 0)  # (kDLCPU, the only one)
HOST_MEMORY = (1, 3)  # device types whose memory the CPU reads: its own, and what is pinned for CUDA
READ_ONLY, IS_COPIED = 1, 2
VERSION = (1, 0)
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6  # type codes
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

# Each deleter drops the reference that the context holds; after the end of Python it leaves everything as it is. A capsule
# that nobody consumed calls its deleter when it dies; an exception that is on its way then stays as it is.
CODE = """
declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @Py_DecRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare i32 @PyCapsule_SetName(ptr, ptr)

@name.0 = internal constant [9 x i8] c"dltensor\\00"
@name.1 = internal constant [19 x i8] c"dltensor_versioned\\00"
@used.0 = internal constant [14 x i8] c"used_dltensor\\00"
@used.1 = internal constant [24 x i8] c"used_dltensor_versioned\\00"

define internal void @release(ptr %context) {
  %up = call i32 @Py_IsInitialized()
  %alive = icmp ne i32 %up, 0
  br i1 %alive, label %drop, label %out
drop:
  %lock = call i32 @PyGILState_Ensure()
  call void @Py_DecRef(ptr %context)
  call void @PyGILState_Release(i32 %lock)
  br label %out
out:
  ret void
}

define internal void @destroy(ptr %capsule, ptr %name, i64 %context.offset) {
  %valid = call i32 @PyCapsule_IsValid(ptr %capsule, ptr %name)
  %unused = icmp ne i32 %valid, 0
  br i1 %unused, label %drop, label %out
drop:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  %managed = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr %name)
  %context.p = getelementptr i8, ptr %managed, i64 %context.offset
  %context = load ptr, ptr %context.p
  call void @Py_DecRef(ptr %context)
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %b = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %t, ptr %v, ptr %b)
  br label %out
out:
  ret void
}
""" + "".join(
    f"""
define void @weft_dlpack_delete_{k}(ptr %managed) {{
  %context.p = getelementptr i8, ptr %managed, i64 {layout.context.offset}
  %context = load ptr, ptr %context.p
  call void @release(ptr %context)
  ret void
}}

define internal void @destroy_{k}(ptr %capsule) {{
  call void @destroy(ptr %capsule, ptr @name.{k}, i64 {layout.context.offset})
  ret void
}}

define ptr @weft_dlpack_capsule_{k}(ptr %managed) {{
  %capsule = call ptr @PyCapsule_New(ptr %managed, ptr @name.{k}, ptr @destroy_{k})
  ret ptr %capsule
}}

define i32 @weft_dlpack_use_{k}(ptr %capsule) {{
  %failed = call i32 @PyCapsule_SetName(ptr %capsule, ptr @used.{k})
  ret i32 %failed
}}
"""
    for k, layout in enumerate(LAYOUTS)
)


@dataclass(frozen=True)
class _Functions:
    """Those of CODE, for the two layouts: the address of the deleter, what makes a capsule, what marks one as consumed."""

    delete: list[int]
    capsule: list[Callable[[int], Any]]
    use: list[Callable[[Any], int]]


@functools.cache
def _functions() -> _Functions:
    names = [f"weft_dlpack_{what}_{k}" for what in ("delete", "capsule", "use") for k in range(len(LAYOUTS))]
    code = portable(CODE, names)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
    use = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)
    addresses = [code[n] for n in names]
    return _Functions(addresses[:2], [make(a) for a in addresses[2:4]], [use(a) for a in addresses[4:]])


# ---------------------------------------------------------------- out


@dataclass
class Array:
    """Memory of a device (type, number): strides in elements, `flags` as in the header. `owner` is kept alive."""

    address: int
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    flags: int
    owner: Any
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
    """Owns what came in a capsule: calls the producer's deleter when nothing refers to it any more."""

    def __init__(self, managed: Any) -> None:
        self._address = ctypes.addressof(managed)
        self._delete = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(managed.deleter) if managed.deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


def consume(capsule: Any) -> Array:
    """The array in a capsule, whose owner it becomes. Raises ValueError for what is no unused DLPack capsule."""
    pointer, versioned = _pointer(capsule)
    managed = LAYOUTS[versioned].from_address(pointer)
    if versioned and managed.major != VERSION[0]:
        raise ValueError(f"its DLPack version is {managed.major}.{managed.minor}, of which only {VERSION[0]}.x is known")
    t = managed.tensor
    if t.lanes != 1:
        raise ValueError(f"its elements have {t.lanes} lanes")
    shape = tuple(t.shape[: t.ndim])
    strides = tuple(t.strides[: t.ndim]) if t.strides else tuple(prod(shape[i + 1 :]) for i in range(t.ndim))
    address = (t.data or 0) + t.byte_offset
    code, bits, flags = t.code, t.bits, managed.flags if versioned else 0
    _functions().use[versioned](capsule)
    device = CPU if t.device_type in HOST_MEMORY else (t.device_type, t.device_id)
    return Array(address, code, bits, shape, strides, flags, _Consumed(managed), device)


def _pointer(capsule: Any) -> tuple[int, bool]:
    """(the address in a capsule, is it versioned)."""
    api = ctypes.pythonapi
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", api))
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    for versioned, name in enumerate(NAMES):
        if valid(capsule, name):
            return get(capsule, name), bool(versioned)
    raise ValueError(f"{capsule!r} is not a DLPack capsule, or one that was consumed before")
