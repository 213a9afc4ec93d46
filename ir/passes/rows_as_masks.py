"""Graph -> Graph: a scatter of one element per row becomes a mask. In: roots whose indices were
found for checking. Out: roots.

    before    scatter(g, [0, 1, .. n-1], label)        after    where(iota == label, g, 0)

The gradient of picking each row's label has this form. What is gained: the mask fuses with the
row's other kernels. Runs after bounds_checks.py has seen the scatter, since a mask needs no bounds
check but a wrong label still is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, expand, node, permute, reshape, toposort, zeros_like
from ..graph.index import Var, mask_of, var
from ..graph.op import VIEWS, Op
from ..graph.rewrite import mapped
from ..graph.shapes import Shape
from ..graph.views import push


def rows_as_masks(roots: Sequence[Node], strict: bool = False) -> list[Node]:
    """Replaces every scatter whose other indices count the rows; `strict`: not of floats, where 0.0
    + -0.0 is 0.0."""

    def masked(_: Node, n: Node) -> Node:
        adds = n.op is Op.SCATTER and n.arg[2:] != ("max",) and not (strict and n.dtype.is_float)
        return _as_mask(n) if adds else n

    return mapped(roots, toposort(roots), masked)


def _as_mask(n: Node) -> Node:
    g, *indices = n.src
    axes, shape = n.arg
    rows = _rows(shape, axes, tuple(indices))
    if rows is None:
        return n
    free, dims = rows
    axis = axes[free]
    ndim = indices[0].ndim
    rest = [a for a in range(len(shape)) if a not in axes]
    index_dims = {a: d for a, d in zip(axes, dims, strict=True) if a != axis and d is not None}
    g_dims = index_dims | {a: ndim + i for i, a in enumerate(rest)}
    others = [a for a in range(len(shape)) if a != axis]
    g = _axes_in_order(g, [g_dims[a] for a in others if a in g_dims], [shape[a] for a in others])
    counted = [a for a in others if a in axes]
    index = _axes_in_order(
        indices[free],
        [index_dims[a] for a in counted if a in index_dims],
        [shape[a] for a in counted],
    )
    index = expand(index, tuple((a, shape[a]) for a in sorted([axis, *rest])))
    position = expand(node(Op.IOTA, arg=shape[axis]), tuple((a, shape[a]) for a in others))
    values = expand(g, ((axis, shape[axis]),))
    return node(Op.WHERE, (node(Op.EQ, (position, index)), values, zeros_like(values)))


def _axes_in_order(x: Node, first: list[int], shape: list[int]) -> Node:
    """The axes `first` of x in this order; its other axes, and those of `shape` it lacks, have
    extent 1."""
    order = (*first, *(a for a in range(x.ndim) if a not in first))
    return reshape(permute(x, order), tuple(shape))


def _rows(
    shape: Shape, axes: Shape, indices: tuple[Node, ...]
) -> tuple[int, list[int | None]] | None:
    """Does each row have one element? Then which index is free, and the axis that counts each other
    index.

    That is the case when the other indices count the rows: each is 0, 1, .. along its own axis of
    the index arrays, and they leave no axis uncounted. As in picking the score of each row's label.
    """
    dims: list[int | None] = []
    free = []
    for k, (index, axis) in enumerate(zip(indices, axes, strict=True)):
        dim = counted_axis(index)
        if dim is not None and (dim in dims or index.shape[dim] != shape[axis]):
            dim = None
        dims.append(dim)
        if dim is None and shape[axis] != 1:
            free.append(k)
    free = free or [k for k, dim in enumerate(dims) if dim is None][:1]
    uncounted = [d for i, d in enumerate(indices[0].shape) if i not in dims and d != 1]
    return (free[0], dims) if len(free) == 1 and not uncounted else None


def counted_axis(index: Node) -> int | None:
    """The axis along which the Node is 0, 1, 2 .. whatever the other axes are, if it is an IOTA
    seen through views."""
    variables = [Var(f"i{axis}", extent) for axis, extent in enumerate(index.shape)]
    at = [var(v) for v in variables]
    while index.op in VIEWS:
        at, mask = push(index, at)
        if mask_of(mask):
            return None
        index = index.src[0]
    counted = at[0].as_var if index.op is Op.IOTA else None
    return variables.index(counted) if counted is not None else None
