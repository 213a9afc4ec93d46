"""Leaves that a derivative reaches. In: a Node. Out: the Leaves of Tensors that require a gradient
and to which a derivative can flow from it.
"""

from __future__ import annotations

from ...ir.graph.graph import Node, reach
from ...ir.graph.op import Op
from ...ir.ops.table import RECORDS
from .any_tensor import AnyTensor as Tensor

_CLOSED = {r.op for r in RECORDS.values() if not r.derivatives} | {Op.DETACH, Op.CONST, Op.IOTA}


def reached(root: Node) -> tuple[list[Node], set[Node]]:
    """(INPUTs with an owner in a fixed order, every Node passed); stops where no derivative
    passes."""
    owned: list[Node] = []
    seen = {root}
    stack = [root]
    while stack:
        n = stack.pop()
        if n.op is Op.INPUT:
            if n.arg.owner is not None:
                owned.append(n)
            continue
        for s in n.src:
            if s not in seen and s.dtype.is_inexact and s.op not in _CLOSED:
                seen.add(s)
                stack.append(s)
    return owned, seen


def depends(root: Node, on: Node) -> bool:
    """Is there any path from the root to the Node, if only through steps and comparisons; DETACH
    ends a path."""
    return any(n is on for n in reach([root], lambda n: () if n.op is Op.DETACH else n.src))


def stale_owner(leaf: Node) -> Tensor | None:
    """The Tensor that has moved on to a later version than this Leaf, or None."""
    owner: Tensor | None = leaf.arg.owner()
    return owner if owner is not None and owner.node is not leaf else None
