"""Values joined along an axis. In: values, each with its place. Out: one Node.

    join([(0, a), (2, b), (4, c)], 0, 6)    where(i < 4, where(i < 2, pad(a), pad(b)), pad(c))

It is a tree, so that the gradient of a part goes through few choices.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import dtype as dt
from ..graph.graph import Node, expand, full, node
from ..graph.op import Op
from .nodes import lt, where

MOST_JOINED = 32  # parts that one kernel joins

Placed = tuple[int, Node]  # where a value begins, and the value


def join(parts: Sequence[Placed], axis: int, total: int) -> Node:
    """Parts in order, none begins before the last one ends, along an axis of extent `total`; zeros
    between them.

    Many are joined in groups: a kernel looks at each of its parts for every element, and equal
    groups share one.
    """
    while len(parts) > MOST_JOINED:
        groups = [parts[i : i + MOST_JOINED] for i in range(0, len(parts), MOST_JOINED)]
        parts = [_stored(group, axis) if len(group) > 1 else group[0] for group in groups]
    return _chosen(parts, axis, total)


def _stored(parts: Sequence[Placed], axis: int) -> Placed:
    """The parts as one that stands in memory in row-major order."""
    begin, (start, last) = parts[0][0], parts[-1]
    moved = [(at - begin, x) for at, x in parts]
    return begin, node(Op.KEEP, (_chosen(moved, axis, start + last.shape[axis] - begin),))


def _chosen(parts: Sequence[Placed], axis: int, total: int) -> Node:
    """Each part padded to its place; a comparison with the position chooses among them."""
    placed = [(start, _padded(x, axis, start, total)) for start, x in parts]
    shape = placed[0][1].shape
    others = tuple((a, d) for a, d in enumerate(shape) if a != axis)
    position = expand(node(Op.IOTA, (), total), others)
    while len(placed) > 1:
        pairs = zip(placed[::2], placed[1::2], strict=False)
        chosen = [
            (start, where(lt(position, full(middle, dt.int64, shape)), x, y))
            for (start, x), (middle, y) in pairs
        ]
        placed = chosen + placed[len(placed) - len(placed) % 2 :]
    return placed[0][1]


def _padded(x: Node, axis: int, start: int, total: int) -> Node:
    margins = (start, total - start - x.shape[axis], 0)
    return node(Op.PAD, (x,), tuple(margins if a == axis else (0, 0, 0) for a in range(x.ndim)))
