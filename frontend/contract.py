"""Matrix products. In: two Nodes. Out: REDUCE(ADD, MUL(EXPAND, EXPAND)) over the last axis, which codegen recognises."""

from __future__ import annotations

from .. import errors
from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, Op, node
from .broadcast import as_node, broadcast_shape, promote, spread
from .movement import reordered


def matmul(a: Node, b: Node) -> Node:
    """a @ b as NumPy has it: vectors, matrices, and stacks of matrices whose leading axes broadcast. Raises ShapeError."""
    if not a.ndim or not b.ndim:
        raise errors.ShapeError(f"matmul: both operands need at least one axis, got shapes {a.shape} and {b.shape}")
    if b.ndim > 1:
        b = reordered(b, (*range(b.ndim - 2), b.ndim - 1, b.ndim - 2))  # [..., n, k]
    if a.shape[-1] != b.shape[-1]:
        shown = (*b.shape[:-2], *b.shape[-2:][::-1])
        raise errors.ShapeError(f"matmul: shapes {a.shape} and {shown} do not fit: {a.shape[-1]} columns, {b.shape[-1]} rows")
    dtype = promote(a.dtype, b.dtype)
    a, b = as_node("matmul", a, dtype), as_node("matmul", b, dtype)
    return _product(a, b)


def _product(a: Node, b: Node) -> Node:
    batch = broadcast_shape("matmul", [a.shape[:-2], b.shape[:-2]])
    rows, columns = a.shape[-2:-1], b.shape[-2:-1]
    shape = (*batch, *rows, *columns, a.shape[-1])  # [..., m, n, k]
    first = len(batch)
    last = len(shape) - 1
    a_places = [*range(first - max(a.ndim - 2, 0), first), *([first] if rows else []), last]
    b_places = [*range(first - max(b.ndim - 2, 0), first), *([first + len(rows)] if columns else []), last]
    a, b = _spread(a, a_places, shape), _spread(b, b_places, shape)
    if a.dtype is dt.bool_:
        return graph.reduce("max", node(Op.AND, (a, b)), (last,))
    return graph.reduce("add", node(Op.MUL, (a, b)), (last,))


def _spread(x: Node, places: list[int], shape: tuple[int, ...]) -> Node:
    return x if x.shape == shape else spread(x, places, shape)
