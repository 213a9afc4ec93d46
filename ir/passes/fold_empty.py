"""Values of empty ones as constants. In: a Graph. Out: the same, in which nothing is computed from
no element.

before    sum(x[0, 4], 0)                after    zeros(4)
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import dtype as dt
from ..graph.graph import Node, full, toposort
from ..graph.op import Op
from ..graph.rewrite import mapped


def fold_empty(roots: Sequence[Node]) -> list[Node]:
    """A value computed from an empty one is the op's identity; an empty one needs no other
    value."""
    nodes = toposort(roots)
    if all(n.size for n in nodes):
        return list(roots)
    return mapped(roots, nodes, lambda _, n: _folded(n))


def _folded(n: Node) -> Node:
    if all(s.size for s in n.src):
        return n if n.size or not n.src else full(0, n.dtype, n.shape)
    if n.op is Op.REDUCE:
        kind = n.arg[0]
        return full(dt.lowest(n.dtype) if kind == "max" else int(kind == "mul"), n.dtype, n.shape)
    is_max = n.op is Op.SCATTER and n.arg[2:]
    return full(dt.lowest(n.dtype) if is_max else 0, n.dtype, n.shape)
