"""Complex values as pairs along a last axis of real ones. In: Nodes. Out: the parts, or both
together."""

from __future__ import annotations

from ..graph.graph import Node, node, reshape
from ..graph.op import Op
from .join import join

PARTS = 2


def side_by_side(*values: Node) -> Node:
    """Values along a new last axis."""
    columns = [reshape(v, (*v.shape, 1)) for v in values]
    return join(list(enumerate(columns)), columns[0].ndim - 1, len(columns))


def parts_of(whole: Node) -> tuple[Node, Node]:
    """The real and the imaginary ones."""
    return _part(whole, 0), _part(whole, 1)


def _part(whole: Node, k: int) -> Node:
    *shape, _ = whole.shape
    cut = node(Op.SLICE, (whole,), (*((0, d, 1) for d in shape), (k, k + 1, 1)))
    return reshape(cut, tuple(shape))
