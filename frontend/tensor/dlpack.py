"""Exchange of memory with other libraries, by DLPack or by CUDA's array interface. In: Tensors,
arrays of other libraries. Out: capsules, descriptions, Tensors.

Nothing is copied unless it is asked for or there is no other way.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.index import row_major_strides
from ...runtime.memory import devices, storage
from ...runtime.memory.devices import CPU, check_device, dlpack_pair
from ...runtime.memory.storage import Storage
from ..lazy import realize
from ..lazy.any_tensor import AnyTensor
from ..lazy.new_tensor import wrap
from ..operands.arguments import as_bool, as_int, as_sequence
from ..operands.likes import DeviceLike

if TYPE_CHECKING:
    from ...runtime.dlpack import Array

Pair = tuple[int, int]


def to_capsule(
    t: AnyTensor,
    stream: int | None,
    max_version: Pair | None,
    dl_device: Pair | None,
    copy: bool | None,
) -> object:
    """A capsule of the Tensor's memory, which is computed if need be and never written again as
    long as the capsule lives.

    Versioned and marked read-only for a consumer of version 1; the older layout, which cannot say
    so, for others. What a GPU has to do for the value is done before the consumer's stream goes on,
    unless that is -1.
    """
    from ...runtime import dlpack

    copy = None if copy is None else as_bool("__dlpack__", "copy", copy)
    here = dlpack_pair(t.device)
    if stream is not None and here == dlpack.CPU:
        raise errors.BufferError(f"__dlpack__: stream {brief(stream)}: the CPU has no streams")
    wanted = here if dl_device is None else _pair("dl_device", dl_device)
    if wanted != here:
        if wanted != dlpack.CPU or copy is False:
            raise errors.BufferError(
                f"__dlpack__: the memory is on {t.device} {here}, not on the device"
                f" {brief(dl_device)}"
            )
        t, here = t.cpu(), wanted
    versioned = max_version is not None and _pair("max_version", max_version) >= dlpack.VERSION
    stored = realize.read(t, _copied if copy else _exported)
    if stream != -1:
        devices.device(stored.device).let_wait(stream)
    code, flags = type_code(stored.dtype), dlpack.IS_COPIED if copy else dlpack.READ_ONLY
    bits = 8 * stored.dtype.itemsize
    return dlpack.export(
        dlpack.Array(stored.address, code, bits, stored.shape, stored.strides, flags, stored, here),
        versioned,
    )


def cuda_interface(t: AnyTensor) -> dict[str, object]:
    """The CUDA array interface, version 3, of the memory of a GPU's value, which is computed.
    Raises AttributeError for others.

    Only __array_interface__ can mark memory as read-only, and this must not be written.
    """
    if not t.is_cuda or t.dtype.name == "bfloat16":
        raise errors.AttributeError(
            f"a Tensor of {t.dtype.name} on {t.device} has no __cuda_array_interface__"
        )
    stored = realize.read(t, _exported)
    devices.device(stored.device).synchronize()
    strides = tuple(s * stored.dtype.itemsize for s in stored.strides)
    data = (stored.address, False)
    typestr = stored.dtype.numpy.str
    return {
        "version": 3,
        "shape": stored.shape,
        "typestr": typestr,
        "data": data,
        "strides": strides,
        "stream": None,
    }


def _pair(what: str, given: object) -> tuple[int, ...]:
    return tuple(
        as_int("__dlpack__", f"each of {what}", i) for i in as_sequence("__dlpack__", what, given)
    )


def type_code(dtype: DType) -> int:
    """DLDataTypeCode of a dtype."""
    from ...runtime import dlpack

    if dtype.name == "bfloat16":
        return dlpack.BFLOAT
    return {
        "b": dlpack.BOOL,
        "i": dlpack.INT,
        "u": dlpack.UINT,
        "f": dlpack.FLOAT,
        "c": dlpack.COMPLEX,
    }[dtype.kind]


def from_dlpack(x: object, /, *, device: DeviceLike = None, copy: bool | None = None) -> Any:
    """A Tensor of the memory of an array of another library (NumPy, torch, JAX, CuPy, ...):
    anything with __dlpack__.

    The memory, the CPU's or a GPU's, is shared: change it only when nothing lazy reads it any more.
    copy=True copies; copy=None copies what cannot be shared (strides that are negative, elements
    that are not aligned), copy=False raises BufferError then. Raises DTypeError for element types
    that Weft lacks, BufferError for memory of other devices.
    """
    place = check_device(device)
    if not hasattr(x, "__dlpack__") or isinstance(x, type):
        raise errors.DTypeError(
            f"from_dlpack: {type(x).__name__} has no __dlpack__; wf.tensor copies what NumPy can"
            " read"
        )
    here = _device_of(x)
    array = _consumed(_capsule(x, here))
    if array.device != dlpack_pair(here):
        raise errors.BufferError(
            f"from_dlpack: the array is on a device of DLPack type {array.device[0]}, not on"
            " its own"
        )
    dtype = _dtype(array)
    if as_bool("from_dlpack", "copy", copy) or _why_not_shared(array, dtype):
        if copy is False:
            raise errors.BufferError(
                f"from_dlpack: {_why_not_shared(array, dtype)}, which copy=False forbids to copy"
            )
        return wrap(storage.leaf(_copied(_foreign(array, dtype)))).to(place)
    return wrap(storage.leaf(_foreign(array, dtype))).to(place)


def from_cuda(x: Any, copy: bool) -> Any:
    """A Tensor of the memory that an object with __cuda_array_interface__ describes, on the first
    GPU unless it names one."""
    from ...runtime.cuda.devices import gpu
    from ...runtime.dlpack import Array

    memory = x.__cuda_array_interface__
    dtype = dt.from_numpy(np.dtype(memory["typestr"]))
    if dtype is None or memory.get("mask") is not None:
        masked = "masked " * (dtype is not None)
        raise errors.DTypeError(
            f"asarray: there is no dtype for {masked}elements of {memory['typestr']}"
        )
    number = int(getattr(getattr(x, "device", 0), "id", 0))
    device = devices.get(f"cuda:{number}")
    if memory.get("stream") is not None and hasattr(driver := gpu(number).driver, "wait_for"):
        driver.wait_for(memory["stream"])
    shape, strides = tuple(memory["shape"]), memory.get("strides")
    strides = (
        row_major_strides(shape) if strides is None else tuple(s // dtype.itemsize for s in strides)
    )
    array = Array(
        memory["data"][0],
        type_code(dtype),
        8 * dtype.itemsize,
        shape,
        strides,
        0,
        x,
        dlpack_pair(device),
    )
    stored = _foreign(array, dtype)
    return wrap(storage.leaf(_copied(stored) if copy or _why_not_shared(array, dtype) else stored))


def _device_of(x: object) -> str:
    """Where an array of another library is. Raises BufferError, DeviceError."""
    from ...runtime.dlpack import HOST_MEMORY

    kind, number = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else (HOST_MEMORY[0], 0)
    if int(kind) in HOST_MEMORY:
        return CPU
    if (name := devices.named_by_dlpack(int(kind), int(number))) is not None:
        return devices.get(name)
    raise errors.BufferError(
        f"from_dlpack: the array is on a device of DLPack type {int(kind)}, number {number}; move"
        " it to the CPU first"
    )


def _capsule(x: Any, device: str) -> Any:
    """The newest kind of capsule that the producer makes; the oldest ones take no arguments. Of a
    GPU's memory it is asked to be ready for what runs on Weft's stream."""
    from ...runtime.dlpack import VERSION

    own = devices.device(device).stream
    stream = {} if own is None else {"stream": own}
    for arguments in ({"max_version": VERSION, **stream}, stream):
        try:
            return x.__dlpack__(**arguments)
        except TypeError:
            if not arguments:
                raise
        except BufferError as error:
            raise errors.BufferError(f"from_dlpack: {error}") from error
    return x.__dlpack__()


def _consumed(capsule: object) -> Array:
    from ...runtime import dlpack

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
    return (
        f"the memory is not aligned to {dtype.itemsize} bytes"
        if array.address % dtype.itemsize
        else ""
    )


def _foreign(array: Array, dtype: DType) -> Storage:
    device = devices.device(devices.named_by_dlpack(*array.device) or CPU)
    buffer = device.foreign(array.address, prod(array.shape) * dtype.itemsize, array.owner)
    return Storage(buffer, dtype, array.shape, array.strides)


def _exported(stored: Storage) -> Storage:
    stored.buffer.exported = True
    stored.has_changed()
    return stored


def _copied(stored: Storage) -> Storage:
    """The same elements in row-major memory of its own."""
    if stored.device != CPU:
        if min(stored.strides, default=0) < 0:
            raise errors.BufferError(
                f"from_dlpack: strides {stored.strides} are negative; copy the array first"
            )
        return storage.moved(stored, stored.device)
    new, kind = storage.allocate(stored.dtype, stored.shape), stored.dtype.carrier
    source = stored.buffer.as_numpy(kind, stored.shape, stored.strides, stored.offset, export=False)
    new.buffer.as_numpy(kind, new.shape, new.strides, writeable=True, export=False)[...] = source
    return new
