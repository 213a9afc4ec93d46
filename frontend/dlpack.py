"""Exchange of memory with other libraries by DLPack. In: Tensors, arrays of other libraries. Out: capsules, Tensors.

Nothing is copied unless it is asked for or there is no other way.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from .. import errors
from ..ir import dtype as dt
from ..ir.dtype import DType
from ..runtime.buffer import Buffer
from . import realize, storage
from .arguments import as_bool, as_int, as_sequence, shown
from .devices import check_device
from .storage import Storage
from .tensor import Tensor, wrap
from .values import Value

if TYPE_CHECKING:
    from ..runtime.dlpack import Array

CPU = (1, 0)


def to_capsule(t: Value, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule of the Tensor's memory, which is computed if need be and never written again as long as the capsule lives.

    Versioned and marked read-only for a consumer of version 1; the older layout, which cannot say so, for others.
    """
    from ..runtime import dlpack

    if stream is not None:
        raise errors.BufferError(f"__dlpack__: stream {shown(stream)}: the CPU has no streams")
    if dl_device is not None and _pair("dl_device", dl_device) != CPU:
        raise errors.BufferError(f"__dlpack__: the memory is on the CPU {CPU}, not on the device {shown(dl_device)}")
    versioned = max_version is not None and _pair("max_version", max_version) >= dlpack.VERSION
    stored = realize.read(t, _copied if copy else _exported)
    code, flags = type_code(stored.dtype), dlpack.IS_COPIED if copy else dlpack.READ_ONLY
    return dlpack.export(
        dlpack.Array(stored.address, code, 8 * stored.dtype.itemsize, stored.shape, stored.strides, flags, stored), versioned
    )


def _pair(what: str, given: Any) -> tuple[int, ...]:
    return tuple(as_int("__dlpack__", f"each of {what}", i) for i in as_sequence("__dlpack__", what, given))


def type_code(dtype: DType) -> int:
    """DLDataTypeCode of a dtype."""
    from ..runtime import dlpack

    if dtype.name == "bfloat16":
        return dlpack.BFLOAT
    return {"b": dlpack.BOOL, "i": dlpack.INT, "u": dlpack.UINT, "f": dlpack.FLOAT}[dtype.kind]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor of the memory of an array of another library (NumPy, torch, JAX, ...): anything with __dlpack__.

    The memory is shared: change it only when nothing lazy reads it any more. copy=True copies; copy=None copies what cannot be
    shared (strides that are negative, elements that are not aligned), copy=False raises BufferError then. Raises DTypeError
    for element types that Weft has not, BufferError for memory that is not the CPU's.
    """
    check_device(device)
    if not hasattr(x, "__dlpack__") or isinstance(x, type):
        raise errors.DTypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__; wf.tensor copies what NumPy can read")
    _require_host(x)
    array = _consumed(_capsule(x))
    dtype = _dtype(array)
    if as_bool("from_dlpack", "copy", copy) or _why_not_shared(array, dtype):
        if copy is False:
            raise errors.BufferError(f"from_dlpack: {_why_not_shared(array, dtype)}, which copy=False forbids to copy")
        return wrap(storage.leaf(_copied(_foreign(array, dtype))))
    return wrap(storage.leaf(_foreign(array, dtype)))


def _require_host(x: Any) -> None:
    from ..runtime.dlpack import HOST_MEMORY

    kind, number = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else CPU
    if int(kind) not in HOST_MEMORY:
        raise errors.BufferError(
            f"from_dlpack: the array is on a device of DLPack type {int(kind)}, number {number}; move it to the CPU first"
        )


def _capsule(x: Any) -> Any:
    """The newest kind of capsule that the producer makes; the oldest ones take no arguments."""
    from ..runtime.dlpack import VERSION

    try:
        return x.__dlpack__(max_version=VERSION)
    except TypeError:
        pass
    except BufferError as error:
        raise errors.BufferError(f"from_dlpack: {error}") from error
    return x.__dlpack__()


def _consumed(capsule: Any) -> Array:
    from ..runtime import dlpack

    try:
        return dlpack.consume(capsule)
    except ValueError as why:
        raise errors.BufferError(f"from_dlpack: the array cannot be read: {why}") from None


def _dtype(array: Array) -> DType:
    for dtype in dt.ALL:
        if (type_code(dtype), 8 * dtype.itemsize) == (array.code, array.bits):
            return dtype
    kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
    kind = kinds.get(array.code, f"type code {array.code}, bits ")
    raise errors.DTypeError(f"from_dlpack: there is no dtype for elements of {kind}{array.bits}")


def _why_not_shared(array: Array, dtype: DType) -> str:
    """Why kernels cannot read this memory as it is; empty if they can."""
    if any(s < 0 for s in array.strides):
        return f"strides {array.strides} are negative"
    return f"the memory is not aligned to {dtype.itemsize} bytes" if array.address % dtype.itemsize else ""


def _foreign(array: Array, dtype: DType) -> Storage:
    buffer = Buffer(array.address, prod(array.shape) * dtype.itemsize, array.owner, foreign=True)
    return Storage(buffer, dtype, array.shape, array.strides)


def _exported(stored: Storage) -> Storage:
    stored.buffer.exported = True
    stored.has_changed()
    return stored


def _copied(stored: Storage) -> Storage:
    """The same elements in row-major memory of its own; as bits, so that every dtype is copied alike."""
    new, bits = storage.allocate(stored.dtype, stored.shape), f"u{stored.dtype.itemsize}"
    source = stored.buffer.as_numpy(bits, stored.shape, stored.strides, stored.offset, export=False)
    new.buffer.as_numpy(bits, new.shape, new.strides, writeable=True, export=False)[...] = source
    return new
