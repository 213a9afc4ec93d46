"""Indices that count from the end. In: index Nodes as the user wrote them. Out: int64 Nodes in 0 ..
extent-1, and the way back.

What is out of range stays so: of int64 because only negative ones move, of uint64 because what
exceeds int64 becomes negative by the cast and is not moved.
"""

from __future__ import annotations

from . import dtype as dt
from .graph import Node, cast, full, node
from .op import Op


def wrapped(indices: Node, extent: int) -> Node:
    """As int64, negative ones of a signed dtype counted from the end."""
    index = cast(indices, dt.int64)
    if indices.dtype.kind == "u":
        return index
    below = node(Op.ADD, (index, full(extent, dt.int64, index.shape)))
    return node(Op.WHERE, (node(Op.LT, (index, full(0, dt.int64, index.shape))), below, index))


def as_written(index: int, shift: int) -> int:
    """The index that the user wrote, where the one that was checked is out of range; `shift` from
    shift_of."""
    return index + shift if index < 0 else index


def shift_of(indices: Node, extent: int) -> int:
    """What separates a negative value of these checked indices from the one that was written."""
    while indices.op is Op.EXPAND:
        indices = indices.src[0]
    if indices.op is Op.CAST and indices.src[0].dtype is dt.uint64:
        return 1 << 64
    if indices.op is not Op.WHERE:
        return 0
    condition, below, plain = indices.src
    moved = (
        condition.op is Op.LT
        and condition.src[0] is plain
        and below.op is Op.ADD
        and below.src[0] is plain
    )
    return -extent if moved else 0
