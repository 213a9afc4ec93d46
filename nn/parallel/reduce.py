"""Sums over processes. In: flat memory with as many elements in each process. Out: their sum or
mean, the same bits in all.

Each process gets one part of the elements of all, adds them in the order of the ranks, and gives
its sums to all. So an element is added up once, in an order that depends on nothing but the number
of processes, and 2 (n-1)/n of the memory is sent.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...ir.graph import bfloat16
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...runtime.memory.storage import Storage, allocate
from .world import World

Array = np.ndarray[Any, Any]


def writable(stored: Storage) -> Array:
    """Fresh memory, as an array for a moment."""
    return stored.buffer.as_numpy(
        stored.dtype.carrier, stored.shape, stored.strides, writeable=True, export=False
    )


def octets(stored: Storage) -> Array:
    """The same as bytes: what MPI has no dtype for travels, too."""
    return writable(stored).view(np.uint8)


def reduced(world: World, values: Storage, mean: bool) -> Storage:
    """Sum or mean over all processes, which call this with as many elements each; alone, the values
    themselves."""
    if world.comm is None:
        return values
    total, size = allocate(values.dtype, values.shape), values.dtype.itemsize
    # of each process's part, in bytes
    bounds = [size * (values.shape[0] * rank // world.size) for rank in range(world.size + 1)]
    counts = [end - start for start, end in pairwise(bounds)]
    own = counts[world.rank]
    parts = np.empty((world.size, own), np.uint8)
    every = [own] * world.size, [own * rank for rank in range(world.size)]
    world.comm.Alltoallv([octets(values), (counts, bounds[:-1])], [parts, every])
    result = summed(parts.view(values.dtype.carrier), values.dtype, mean)
    world.comm.Allgatherv(result.view(np.uint8), [octets(total), (counts, bounds[:-1])])
    return total


def summed(parts: Array, dtype: DType, mean: bool) -> Array:
    """The sum of the rows in their order; of 16-bit floats in float32, rounded once."""
    wide = dt.float32 if dtype.is_half else dtype
    with np.errstate(all="ignore"):
        total = _values(parts[0], dtype).astype(wide.carrier)
        for part in parts[1:]:
            total += _values(part, dtype)
        if mean:
            total /= len(parts)
        return (
            bfloat16.bits(total)
            if dtype is dt.bfloat16
            else total.astype(dtype.carrier, copy=False)
        )


def _values(part: Array, dtype: DType) -> Array:
    return bfloat16.values(part) if dtype is dt.bfloat16 else part
