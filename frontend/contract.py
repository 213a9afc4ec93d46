"""Sums of products. In: Nodes. Out: REDUCE(ADD, MUL(EXPAND, EXPAND)) over the last axes, which codegen recognises.

Every function here names the axes of its operands by labels and leaves the rest to `sum_of_products`. Products of bools are
"and", their sums "or"; integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from .. import errors
from ..ir import dtype as dt
from ..ir import graph
from ..ir.graph import Node, Op, addressable, node, reshape
from .arguments import as_int, axes_in_order, normalise_axis, shown
from .broadcast import WEAK, Operand, as_node, broadcast_shape, common_dtype, spread
from .movement import reordered

Labels = Sequence[Hashable]
Factor = tuple[Node, Labels]


def sum_of_products(name: str, factors: Sequence[Factor], out: Labels, extents: Mapping[Any, int]) -> Node:
    """The product of one or two factors of one dtype, each with a label per axis, summed over the labels not in `out`."""
    summed = [*dict.fromkeys(label for _, labels in factors for label in labels if label not in out)]
    order = [*out, *summed]
    shape = addressable(name, tuple(extents[label] for label in order))
    placed = [_placed(x, [order.index(label) for label in labels], shape) for x, labels in factors]
    is_bool = placed[0].dtype is dt.bool_
    product = placed[0] if len(placed) == 1 else node(Op.AND if is_bool else Op.MUL, placed)
    return graph.reduce("max" if is_bool else "add", product, range(len(out), len(order)))


def _placed(x: Node, places: list[int], shape: tuple[int, ...]) -> Node:
    """x with axis i at places[i] of the shape, repeated along all others."""
    x = reordered(x, tuple(sorted(range(x.ndim), key=lambda i: places[i])))
    return x if x.shape == shape else spread(x, sorted(places), shape)


def alike(name: str, *operands: Operand) -> list[Node]:
    """The operands in the dtype in which they meet. Raises DTypeError for what is neither a Tensor nor a number."""
    for x in operands:
        if not isinstance(x, Node) and type(x) not in WEAK:
            raise errors.DTypeError(f"{name}: expected tensors, arrays or numbers, not {shown(x)}")
    dtype = common_dtype(name, operands)
    return [as_node(name, x, dtype) for x in operands]


def _require_axes(name: str, *operands: Node) -> None:
    if not all(x.ndim for x in operands):
        shapes = " and ".join(str(x.shape) for x in operands)
        raise errors.ShapeError(f"{name}: both operands need at least one axis, got shapes {shapes}")


def matmul(a: Operand, b: Operand, /) -> Node:
    """a @ b as NumPy has it: vectors, matrices, and stacks of matrices whose leading axes broadcast. Raises ShapeError."""
    a, b = alike("matmul", a, b)
    _require_axes("matmul", a, b)
    rows = b.shape[-2] if b.ndim > 1 else b.shape[-1]
    if a.shape[-1] != rows:
        raise errors.ShapeError(f"matmul: shapes {a.shape} and {b.shape} do not fit: {a.shape[-1]} columns, {rows} rows")
    batch = broadcast_shape("matmul", [a.shape[:-2], b.shape[:-2]])
    lead = range(-len(batch), 0)
    extents: dict[Any, int] = dict(zip(lead, batch, strict=True)) | {"k": rows}
    left = [*lead[len(batch) - max(a.ndim - 2, 0) :], *(["m"] if a.ndim > 1 else []), "k"]
    right = [*lead[len(batch) - max(b.ndim - 2, 0) :], "k", *(["n"] if b.ndim > 1 else [])]
    extents |= {"m": a.shape[-2]} if a.ndim > 1 else {}
    extents |= {"n": b.shape[-1]} if b.ndim > 1 else {}
    out = [*lead, *(label for label in "mn" if label in extents)]
    return sum_of_products("matmul", [(a, left), (b, right)], out, extents)


def tensordot(a: Operand, b: Operand, /, axes: Any = 2) -> Node:
    """The sum over pairs of axes: the last `axes` of a with the first of b, or those listed as (axes of a, axes of b).

    Shape: the other axes of a, then those of b. Raises ShapeError where two paired extents differ.
    """
    a, b = alike("tensordot", a, b)
    return _contracted("tensordot", a, b, axes)


def _contracted(name: str, a: Node, b: Node, axes: Any) -> Node:
    mine, others = _paired(name, a, b, axes)
    for i, j in zip(mine, others, strict=True):
        if a.shape[i] != b.shape[j]:
            raise errors.ShapeError(f"{name}: axis {i} of shape {a.shape} and axis {j} of shape {b.shape} have different extents")
    left: list[Hashable] = [("a", i) for i in range(a.ndim)]
    right: list[Hashable] = [left[mine[others.index(j)]] if j in others else ("b", j) for j in range(b.ndim)]
    extents = dict(zip([*left, *right], [*a.shape, *b.shape], strict=True))
    out = [x for i, x in enumerate(left) if i not in mine] + [x for j, x in enumerate(right) if j not in others]
    return sum_of_products(name, [(a, left), (b, right)], out, extents)


def _paired(name: str, a: Node, b: Node, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not isinstance(axes, (tuple, list)):
        count = as_int(name, "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise errors.ShapeError(f"{name}: shapes {a.shape} and {b.shape} have not {count} axes to pair")
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(axes) != 2:
        raise errors.ShapeError(f"{name}: axes are an int or two sequences, not {shown(axes)}")
    mine, others = (axes_in_order(name, given, x.ndim) for given, x in zip(axes, (a, b), strict=True))
    if len(mine) != len(others):
        raise errors.ShapeError(f"{name}: {shown(axes[0])} and {shown(axes[1])} do not pair the axes one by one")
    return mine, others


def vecdot(a: Operand, b: Operand, /, axis: int = -1) -> Node:
    """The sum of products along one axis of both; the other axes broadcast. Raises ShapeError."""
    a, b = alike("vecdot", a, b)
    _require_axes("vecdot", a, b)
    a, b = (_axis_last("vecdot", x, axis) for x in (a, b))
    if a.shape[-1] != b.shape[-1]:
        raise errors.ShapeError(f"vecdot: {a.shape[-1]} elements along axis {axis} of one operand, {b.shape[-1]} of the other")
    batch = broadcast_shape("vecdot", [a.shape[:-1], b.shape[:-1]])
    labels = range(len(batch) + 1)
    factors = [(x, labels[len(labels) - x.ndim :]) for x in (a, b)]
    return sum_of_products("vecdot", factors, labels[:-1], dict(zip(labels, (*batch, a.shape[-1]), strict=True)))


def _axis_last(name: str, x: Node, axis: int) -> Node:
    place = normalise_axis(name, axis, x.ndim)
    return reordered(x, (*(i for i in range(x.ndim) if i != place), place))


def outer(a: Operand, b: Operand, /) -> Node:
    """Every product of an element of a with one of b, both flattened: shape (a.size, b.size)."""
    a, b = alike("outer", a, b)
    return _contracted("outer", reshape(a, (a.size,)), reshape(b, (b.size,)), 0)


def inner(a: Operand, b: Operand, /) -> Node:
    """The sum of products over the last axes of both; of a number, its multiples."""
    a, b = alike("inner", a, b)
    return _contracted("inner", a, b, ((-1,), (-1,)) if a.ndim and b.ndim else 0)


def dot(a: Operand, b: Operand, /) -> Node:
    """As NumPy has it: the sum over the last axis of a and the last but one of b (its only one, if it is a vector)."""
    a, b = alike("dot", a, b)
    return _contracted("dot", a, b, ((-1,), (-min(2, b.ndim),)) if a.ndim and b.ndim else 0)
