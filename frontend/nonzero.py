"""Where a mask holds. In: a bool Node. Out: the positions of its Trues; their number is a value, so this computes at once."""

from __future__ import annotations

from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, Op, cast, node, reshape
from . import realize
from .elementwise import where


def positions(mask: Node) -> Node:
    """int64 flat row-major positions of the Trues, shape (how many,): a view of memory. Realises the mask's pending values."""
    from .tensor import wrap  # which imports the modules that index by masks

    if not mask.size:
        return graph.full(0, dt.int64, (0,))
    flat = reshape(mask, (mask.size,))
    before = node(Op.SCAN, (cast(flat, dt.int64),), 0)
    count = wrap(graph.reduce("max", before, (0,)))
    place, source = where(flat, node(Op.SUB, (before, graph.full(1, dt.int64, flat.shape))), 0), node(Op.IOTA, (), mask.size)
    found = wrap(node(Op.SCATTER, (where(flat, source, 0), place), ((0,), flat.shape)))
    realize.realize(found, count)
    return node(Op.SLICE, (found.node,), ((0, int(count.item()), 1),))
