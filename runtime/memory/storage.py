"""Storages of values. In: memory, Nodes. Out: Leaves that own a value, Storages (a Buffer seen with
strides), 0-d inputs.

A Graph's INPUT carries a Leaf as its serial number: the Leaf holds the memory, or the Node that
defines the value until it is computed. Values of other Nodes live only as long as a Tensor holds
their Storage; `cached` finds them. What was copied to another device lives as long as its COPY.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from math import prod
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph import bfloat16, graph
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ..buffer import Buffer, DeviceBuffer, memory, size_class
from . import devices, weak_table
from .devices import CPU

_serials = count()


class Storage:
    """Elements of a Buffer: element [i, j, ..] is at offset + i*strides[0] + j*strides[1] .. (in
    elements)."""

    __slots__ = (
        *(
            "__weakref__",
            "address",
            "base",
            "buffer",
            "carried",
            "dtype",
            "layout",
            "node",
            "offset",
            "shape",
            "shared",
        ),
        *("strides", "token"),
    )

    def __init__(
        self,
        buffer: Buffer,
        dtype: DType,
        shape: Shape,
        strides: Shape | None = None,
        offset: int = 0,
    ) -> None:
        self.buffer, self.dtype, self.shape, self.offset = buffer, dtype, shape, offset
        self.strides = row_major_strides(shape) if strides is None else strides
        self.layout = (dtype, shape, self.strides, buffer.device)
        self.address = buffer.address + offset * dtype.itemsize if offset else buffer.address
        self.base: Storage | None = None  # whose memory this is, for a view
        self.shared = (
            False  # a Tensor holds another view of the same memory: never written in place
        )
        self.node: Node | None = None  # the computed Node whose value this is
        self.carried = (
            0  # programs that are expected to read this in the turn of a loop that comes next
        )
        self.token: object = (
            None  # what steps remember this memory by, until anything above changes
        )

    @property
    def device(self) -> str:
        """Where the memory is."""
        return self.buffer.device

    @property
    def is_contiguous(self) -> bool:
        return is_row_major(self.shape, self.strides)

    @property
    def is_absent(self) -> bool:
        """Does this only say how a value will lie in memory."""
        return self.buffer.address == 0

    def view(self, shape: Shape, strides: Shape, offset: int) -> Storage:
        """The same memory seen otherwise."""
        other = Storage(self.buffer, self.dtype, shape, strides, offset)
        other.base = self.base or self
        return other

    def mark_shared(self) -> None:
        """A Tensor keeps this view: neither it nor its base may be written in place."""
        self.shared = True
        self.has_changed()
        if self.base is not None:
            self.base.shared = True

    def has_changed(self) -> None:
        """What steps remember of this memory, or of that of its base, does not hold any more."""
        self.token = None
        if self.base is not None:
            self.base.token = None

    def numpy(self) -> np.ndarray[Any, Any]:
        """A read-only array of this memory. Raises MissingPackageError for a dtype that NumPy
        lacks, DeviceError for a GPU's."""
        if self.device != CPU:
            where = f"the value is on {self.device}, and NumPy reads the memory of the CPU"
            raise errors.DeviceError(f"numpy: {where}: write x.cpu().numpy()")
        self.has_changed()
        return self.buffer.as_numpy(self.dtype.numpy, self.shape, self.strides, self.offset)

    def peek(self) -> np.ndarray[Any, Any]:
        """The values for a moment, bfloat16 as float32: the caller lets go of the array, for the
        memory may be written later."""
        return bfloat16.values(self.peek_raw()) if self.dtype is dt.bfloat16 else self.peek_raw()

    def peek_raw(self) -> np.ndarray[Any, Any]:
        """The same in `dtype.carrier`, which for bfloat16 means its bits. From a GPU it is a
        copy."""
        seen = on_host(self)
        return seen.buffer.as_numpy(
            self.dtype.carrier, self.shape, self.strides, seen.offset, export=False
        )


class Leaf:
    """The identity of a value from outside a Graph: its memory, or its definition while it is not
    computed."""

    __slots__ = (
        "awaits",
        "definition",
        "dependents",
        "device_free",
        "is_initial",
        "owner",
        "previous",
        "serial",
        "storage",
    )

    def __init__(
        self, storage: Storage | None, definition: Node | None = None, device_free: bool = False
    ) -> None:
        self.serial = next(_serials)
        self.storage = storage
        self.definition = definition
        self.owner: weakref.ref[Any] | None = None  # the Tensor that collects gradients here
        self.previous: tuple[weakref.ref[Node], Storage] | None = (
            None  # the version that an assign replaces
        )
        self.is_initial = False  # the definition is a first value, not the next version of one
        self.awaits: Any = None  # a Tensor of the first version, where that is not computed either
        self.dependents: list[
            weakref.ref[Any]
        ] = []  # computed Tensors whose history reaches this Leaf
        # numbers that Python gave an operation: they go along with its other operands
        self.device_free = device_free

    @property
    def device(self) -> str | None:
        """Where the value is, or will be. 0-d values of the CPU go along with others as numbers do,
        so they are on none."""
        known = self.storage or self.definition
        if self.device_free or known is None:
            return None
        device = known.device or devices.default()
        return None if device == CPU and not known.shape else device

    @property
    def sources(self) -> tuple[Node, ...]:
        """What the value is computed of."""
        return () if self.definition is None else (self.definition,)

    def __repr__(self) -> str:
        return str(self.serial)


cached: weak_table.Table[
    Storage
] = {}  # by id of a computed Node, which its Storage keeps alive, or the reverse
# of each COPY that was needed
copies: weakref.WeakKeyDictionary[Node, Storage] = weakref.WeakKeyDictionary()


def leaf(storage: Storage) -> Node:
    """A new INPUT with a value."""
    return graph.leaf(Leaf(storage), storage.dtype, storage.shape)


def operand(storage: Storage) -> Node:
    """A new INPUT with numbers that Python gave an operation: it is wherever the other operands
    are."""
    return graph.leaf(Leaf(storage, device_free=True), storage.dtype, storage.shape)


def defined_leaf(definition: Node, device_free: bool = False) -> Node:
    """A new INPUT whose value is that of another Node: equal in value, distinct in identity."""
    return graph.leaf(Leaf(None, definition, device_free), definition.dtype, definition.shape)


def lookup(n: Node) -> Storage | None:
    """The memory of a Node that has been computed, or None."""
    if n.op is Op.INPUT:
        return n.arg.storage  # type: ignore[no-any-return]
    reference = cached.get(id(n))
    if reference is None:
        return copies.get(n) if n.op is Op.COPY else None
    return reference()


def remember(n: Node, storage: Storage) -> None:
    """The Node's value is in `storage`, as long as that is held."""
    storage.node, storage.token = n, None
    weak_table.remember(cached, id(n), storage)


class _Owned:
    """The memory of a Node that lives as long as that does."""

    __slots__ = ("_ref", "_storage")

    def __init__(self, n: Node, storage: Storage) -> None:
        self._storage = storage
        self._ref = weakref.ref(n, partial(cached.pop, id(n)))

    def __call__(self) -> Storage:
        return self._storage


def own(n: Node, storage: Storage) -> None:
    """The Node's value is in `storage`, as long as the Node lives; so nothing else is ever written
    there."""
    storage.mark_shared()
    storage.node = None
    cached[id(n)] = _Owned(n, storage)


def forget(storage: Storage) -> None:
    """The Storage is no longer the value of a computed Node, which it kept alive."""
    if storage.node is not None:
        cached.pop(id(storage.node), None)
        storage.node = None


def is_row_major(shape: Shape, strides: Shape) -> bool:
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return prod(shape) == 0
        step *= extent
    return True


def allocate(dtype: DType, shape: Shape, device: str = CPU) -> Storage:
    """New memory, contents undefined. Raises MemoryError."""
    try:
        return Storage(
            devices.device(device).allocate(max(prod(shape) * dtype.itemsize, 1)), dtype, shape
        )
    except errors.MemoryError as error:
        raise errors.MemoryError(
            f"a value of shape {shape} and dtype {dtype.name}: {error}"
        ) from None


def allocator(dtype: DType, shape: Shape, device: str = CPU) -> Callable[[], Storage]:
    """allocate(..), for many times: on the CPU without the calls of two constructors, which would
    take half of the time."""
    if device != CPU:
        return partial(allocate, dtype, shape, device)
    nbytes, strides, take = (
        max(prod(shape) * dtype.itemsize, 1),
        row_major_strides(shape),
        memory.take_class,
    )
    size, layout, new = size_class(nbytes), (dtype, shape, strides, CPU), object.__new__
    give = memory.giver(size)

    def make() -> Storage:
        try:
            block = take(size)
        except errors.MemoryError:
            return allocate(dtype, shape)  # which says of what
        b: Buffer = new(Buffer)
        b.address, b.nbytes, b._memory, b.__del__ = block[1], nbytes, block, partial(give, block)
        b.foreign = b.exported = False
        s: Storage = new(Storage)
        s.buffer, s.address, s.offset, s.layout = b, block[1], 0, layout
        s.dtype, s.shape, s.strides = dtype, shape, strides
        s.base = s.node = s.token = None
        s.shared, s.carried = False, 0
        return s

    return make


def absent(dtype: DType, shape: Shape, strides: Shape | None = None, device: str = CPU) -> Storage:
    """The layout of a value whose memory is not known yet."""
    return Storage(DeviceBuffer(0, 0, None, device, foreign=True), dtype, shape, strides)


# ---------------------------------------------------------------- from device to device


def moved(stored: Storage, device: str) -> Storage:
    """A copy of the elements, in row-major order, in the memory of a device. Raises MemoryError."""
    dense = (
        stored if stored.is_contiguous else from_raw(stored.peek_raw(), stored.dtype, stored.shape)
    )
    if dense is not stored and device == CPU:
        return dense
    new = allocate(stored.dtype, stored.shape, device)
    devices.copy(
        device, new.address, dense.device, dense.address, prod(dense.shape) * dense.dtype.itemsize
    )
    return new


def on_host(stored: Storage) -> Storage:
    """The same elements in the CPU's memory, in the same order: the Storage itself, or a copy of
    all that it spans."""
    if stored.device == CPU:
        return stored
    last = sum((d - 1) * s for d, s in zip(stored.shape, stored.strides, strict=True))
    nbytes = (last + 1) * stored.dtype.itemsize if prod(stored.shape) else 0
    host = Storage(Buffer.allocate(max(nbytes, 1)), stored.dtype, stored.shape, stored.strides)
    devices.copy(CPU, host.address, stored.device, stored.address, nbytes)
    return host


def from_array(array: np.ndarray[Any, Any], dtype: DType, copy: bool) -> Storage:
    """The array's elements, copied or aliased (its strides must be whole elements, none
    negative)."""
    if copy:
        return from_raw(converted(array, dtype), dtype, array.shape)
    strides = tuple(s // dtype.itemsize for s in array.strides)
    return Storage(Buffer.from_numpy(array), dtype, array.shape, strides)


def converted(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The array's values in row-major order, in the dtype's NumPy form: bits where NumPy may lack
    the dtype."""
    if dtype is not dt.bfloat16:
        return np.ascontiguousarray(array, dtype.numpy)
    return np.ascontiguousarray(
        array.view(np.uint16) if dt.from_numpy(array.dtype) is dtype else bfloat16.bits(array)
    )


def from_raw(array: np.ndarray[Any, Any], dtype: DType, shape: Shape) -> Storage:
    """A copy of what `Storage.peek_raw` or `converted` gave."""
    storage = allocate(dtype, shape)
    dense = np.ascontiguousarray(array, dtype.carrier)
    ctypes.memmove(storage.address, dense.ctypes.data, dense.nbytes)
    return storage


FORMATS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I",
            "uint64": "Q", "float32": "f", "float64": "d"}  # fmt: skip


def scalar_leaf(value: float | int | bool, dtype: DType) -> Node:
    """A 0-d INPUT: a value that may change from step to step without a new program."""
    return leaf(scalars([value], [dtype])[0])


def scalars(values: Sequence[float], dtypes: Sequence[DType]) -> list[Storage]:
    """0-d Storages of these values in one Buffer, eight bytes apart."""
    if not values:
        return []
    buffer = Buffer.allocate(8 * len(values))
    data = b"".join(packed(v, d).ljust(8, b"\0") for v, d in zip(values, dtypes, strict=True))
    ctypes.memmove(buffer.address, data, len(data))
    return [Storage(buffer, d, (), (), i * 8 // d.itemsize) for i, d in enumerate(dtypes)]


def packed(value: float, dtype: DType) -> bytes:
    if dtype.is_half:
        return struct.pack("H", dt.half_bits(dt.rounded(value, dtype), dtype))
    return struct.pack(FORMATS[dtype.name], value)


# ---------------------------------------------------------------- views of memory


VIEWED = frozenset({Op.SLICE, Op.PERMUTE, Op.RESHAPE, Op.DETACH})


def viewed(n: Node, storage: Storage) -> Storage | None:
    """The memory of a SLICE, PERMUTE, RESHAPE or DETACH of a value in memory; None where strides
    cannot say it."""
    shape, strides, offset = storage.shape, storage.strides, storage.offset
    match n.op:
        case Op.DETACH:
            return storage.view(shape, strides, offset)
        case Op.SLICE:
            offset += sum(
                start * s for (start, _, _), s in zip(n.arg, strides, strict=True) if n.size
            )
            return storage.view(
                n.shape,
                tuple(step * s for (_, _, step), s in zip(n.arg, strides, strict=True)),
                offset,
            )
        case Op.PERMUTE:
            return storage.view(n.shape, tuple(strides[axis] for axis in n.arg), offset)
        case Op.RESHAPE:
            new = reshape_strides(shape, strides, n.shape)
            return None if new is None else storage.view(n.shape, new, offset)
    return None


def reshape_strides(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """Strides under which memory of (shape, strides) has the new shape, or None where a copy is
    needed."""
    if prod(shape) == 0:
        return row_major_strides(new)
    groups = _merged(shape, strides)
    out: list[int] = []
    extent, step = groups.pop() if groups else (1, 1)
    for d in reversed(new):
        if d != 1 and extent == 1 and groups:
            extent, step = groups.pop()
        if extent % d:
            return None
        out.append(step)
        step *= d
        extent //= d
    return tuple(reversed(out))


def _merged(shape: Shape, strides: Shape) -> list[tuple[int, int]]:
    """(extent, stride) of the axes, neighbours merged where memory allows, axes of extent 1 left
    out."""
    groups: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if groups and groups[-1][1] == extent * stride:
            groups[-1] = (groups[-1][0] * extent, stride)
        else:
            groups.append((extent, stride))
    return groups


def seen_through(n: Node) -> Storage | None:
    """The memory of a value, also through views; None where there is none, or where strides cannot
    say it."""
    chain = []
    while (stored := lookup(n)) is None:
        if n.op not in VIEWED:
            return None
        chain.append(n)
        n = n.src[0]
    for view in reversed(chain):
        if stored is not None:
            stored = viewed(view, stored)
    return stored
