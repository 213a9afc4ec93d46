"""Tensors in flat memory, and back. In: Tensors or arrays, or elements in a row. Out: the other.

What is copied out of Tensors and what they get is memory of its own, so that nothing which was
computed from them changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

from ... import errors
from ...frontend.lazy import realize, state
from ...frontend.operands.broadcast import as_dtype
from ...frontend.tensor.tensor import Tensor, of_storage
from ...ir.graph.dtype import DType
from ...ir.graph.index import row_major_strides
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from .reduce import Array, writable

Layout = tuple[DType, tuple[int, ...]]


def layout(x: Tensor | Array) -> Layout:
    """The dtype and the shape. Raises DTypeError, DeviceError."""
    if isinstance(x, Tensor) and x.device != "cpu":
        raise errors.DeviceError(
            f"parallel: messages come from the CPU's memory, but this Tensor is on {x.device}: pass"
            " x.cpu()"
        )
    return as_dtype(x.dtype), tuple(x.shape)


def buckets(layouts: Sequence[Layout], cap: int) -> Iterator[list[int]]:
    """The places of neighbours of one dtype, of at most `cap` bytes together; what is larger stands
    alone."""
    bucket: list[int] = []
    filled = 0
    for i, (dtype, shape) in enumerate(layouts):
        size = dtype.itemsize * prod(shape)
        if bucket and (dtype is not layouts[bucket[0]][0] or filled + size > cap):
            yield bucket
            bucket, filled = [], 0
        bucket.append(i)
        filled += size
    if bucket:
        yield bucket


def packed(values: Sequence[Tensor | Array | None], layouts: Sequence[Layout]) -> Storage:
    """Copies of values of one dtype in a row; zeros for None. Tensors are computed if need be."""
    dtype, starts = layouts[0][0], _starts(layouts)
    out = storage.allocate(dtype, (starts[-1],))
    room = writable(out)
    for x, start, (_, shape) in zip(values, starts, layouts, strict=False):
        place = room[start : start + prod(shape)].reshape(shape)
        if isinstance(x, Tensor):
            realize.read(x, partial(_copy, place))
        else:
            place[...] = 0 if x is None else storage.converted(x, dtype)
    return out


def _copy(place: Array, stored: Storage) -> None:
    place[...] = stored.peek_raw()


def parts(whole: Storage, layouts: Sequence[Layout]) -> list[Tensor]:
    """Tensors that share the memory of the whole, which nothing writes from now on."""
    out = []
    for start, (_, shape) in zip(_starts(layouts), layouts, strict=False):
        view = whole.view(shape, row_major_strides(shape), start)
        view.mark_shared()
        out.append(of_storage(view))
    return out


def _starts(layouts: Sequence[Layout]) -> list[int]:
    return [*accumulate((prod(shape) for _, shape in layouts), initial=0)]


def replace(x: Any, value: Storage) -> None:
    """A Tensor or an array gets the elements of flat memory that nothing else holds."""
    if not isinstance(x, Tensor):
        raw = value.peek_raw().reshape(x.shape)
        x[...] = raw.view(x.dtype) if value.dtype.is_half else raw
        return
    stored = Storage(value.buffer, value.dtype, x.shape)
    if x.requires_grad and not x.is_leaf:
        state.move(x, storage.leaf(stored), False)
    else:
        state.replace(x, stored)
