"""Strides of a value: of its memory, or those its views imply. In: a Node. Out: its strides in
elements.

What is computed will be in row-major order; views of it, or of memory, are looked at in the order
of their base.
"""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from .storage import VIEWED, lookup, reshape_strides

MOVING = VIEWED | {Op.EXPAND}


def strides_of(n: Node) -> Shape:
    """Those of the memory, if there is any, else those that the views above it make of it."""
    views: list[Node] = []
    base = n
    while (stored := lookup(base)) is None and (below := _below(base)) is not None:
        views += [base] if base.op in MOVING else []
        base = below
    if stored is None and base.op is Op.CONST:
        return row_major_strides(n.shape)  # a fill
    strides = row_major_strides(base.shape) if stored is None else stored.strides
    for view in reversed(views):
        strides = _moved(view, strides)
    return strides


def _below(n: Node) -> Node | None:
    """What a view shows, and what a Leaf without memory waits for."""
    if n.op is Op.INPUT:
        return n.arg.definition  # type: ignore[no-any-return]
    return n.src[0] if n.op in MOVING else None


def _moved(view: Node, strides: Shape) -> Shape:
    match view.op:
        case Op.SLICE:
            return tuple(step * s for (_, _, step), s in zip(view.arg, strides, strict=True))
        case Op.PERMUTE:
            return tuple(strides[axis] for axis in view.arg)
        case Op.EXPAND:
            new, old = {axis for axis, _ in view.arg}, iter(strides)
            return tuple(0 if axis in new else next(old) for axis in range(view.ndim))
        case Op.RESHAPE:
            reshaped = reshape_strides(view.src[0].shape, strides, view.shape)
            return row_major_strides(view.shape) if reshaped is None else reshaped  # None: a copy
    return strides
