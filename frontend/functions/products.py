"""Sums of products. In: Nodes. Out: REDUCE(ADD, MUL(EXPAND, EXPAND)) over the last axes, which
codegen recognises.

Every function here names the axes of its operands by labels and leaves the rest to
`sum_of_products`. Products of bools are "and", their sums "or"; integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, reshape, shaped
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, addressable
from ...ir.graph.site import provenance, user_site
from ..elementwise.all import add, conj
from ..operands.arguments import as_int, axes_in_order, normalise_axis
from ..operands.autocast import runs_in_half
from ..operands.broadcast import WEAK, Operand, as_node, broadcast_shape, common_dtype, spread
from .movement import reordered

Labels = Sequence[Hashable]
Factor = tuple[Node, Labels]
Places = tuple[int, ...]


def sum_of_products(
    name: str, factors: Sequence[Factor], out: Labels, extents: Mapping[Hashable, int]
) -> Node:
    """The product of one or two factors of one dtype, each with a label per axis, summed over the
    labels not in `out`."""
    over = [*dict.fromkeys(label for _, labels in factors for label in labels if label not in out)]
    order = [*out, *over]
    shape = addressable(name, tuple(extents[label] for label in order))
    return summed(
        [(x, tuple(order.index(label) for label in labels)) for x, labels in factors],
        shape,
        len(out),
    )


def summed(factors: Sequence[tuple[Node, Places]], shape: Shape, kept: int) -> Node:
    """The product of the factors, whose axes stand at these places of the shape, summed over all
    but the first axes."""
    with provenance(user_site()):  # one look for the user's line, not one per Node
        placed = [_placed(x, places, shape) for x, places in factors]
        is_bool = placed[0].dtype is dt.bool_
        if len(placed) == 1:
            product = placed[0]
        else:
            product = shaped(
                Op.AND if is_bool else Op.MUL, (placed[0], placed[1]), None, placed[0].dtype, shape
            )
        if kept == len(shape):
            return product
        reduction = ("max" if is_bool else "add", tuple(range(kept, len(shape))))
        return shaped(Op.REDUCE, (product,), reduction, product.dtype, shape[:kept])


def _placed(x: Node, places: Places, shape: Shape) -> Node:
    """x with axis i at places[i] of the shape, repeated along all others."""
    ascending = tuple(sorted(places))
    if ascending != places:
        x = reordered(x, tuple(sorted(range(len(places)), key=places.__getitem__)))
    return x if x.shape == shape else spread(x, ascending, shape)


def alike(name: str, *operands: Operand) -> list[Node]:
    """The operands in the dtype in which they meet. Raises DTypeError for what is neither a Tensor
    nor a number."""
    for x in operands:
        if not isinstance(x, Node) and type(x) not in WEAK:
            raise errors.DTypeError(f"{name}: expected tensors, arrays or numbers, not {brief(x)}")
    dtype = common_dtype(name, operands)
    return [as_node(name, x, dtype) for x in operands]


@runs_in_half
def matmul(a: Operand, b: Operand, /) -> Node:
    """a @ b as NumPy has it: vectors, matrices, and stacks of matrices whose leading axes
    broadcast. Raises ShapeError."""
    if not (isinstance(a, Node) and isinstance(b, Node) and a.dtype is b.dtype):
        a, b = alike("matmul", a, b)
    left, right, shape, kept = _matmul_axes(a.shape, b.shape)
    return summed([(a, left), (b, right)], shape, kept)


@lru_cache(4096)
def _matmul_axes(a: Shape, b: Shape) -> tuple[Places, Places, Shape, int]:
    """Where the axes of a @ b stand: (places of those of a, of b, the extents, how many are axes of
    the result)."""
    if not a or not b:
        raise errors.ShapeError(
            f"matmul: both operands need at least one axis, got shapes {a} and {b}"
        )
    rows = b[-2] if len(b) > 1 else b[-1]
    if a[-1] != rows:
        raise errors.ShapeError(
            f"matmul: shapes {a} and {b} do not fit: {a[-1]} columns, {rows} rows"
        )
    batch = broadcast_shape("matmul", [a[:-2], b[:-2]])
    m, n = a[-2:-1], b[-1:] if len(b) > 1 else ()
    kept = len(batch) + len(m) + len(n)
    shape = addressable("matmul", (*batch, *m, *n, rows))
    lead = range(len(batch))
    left = (*lead[len(batch) - len(a[:-2]) :], *range(len(batch), len(batch) + len(m)), kept)
    right = (*lead[len(batch) - len(b[:-2]) :], kept, *range(kept - len(n), kept))
    return left, right, shape, kept


@runs_in_half
def tensordot(a: Operand, b: Operand, /, axes: int | Sequence[int | Sequence[int]] = 2) -> Node:
    """The sum over pairs of axes: the last `axes` of a with the first of b, or those listed as
    (axes of a, axes of b).

    Shape: the other axes of a, then those of b. Raises ShapeError where two paired extents differ.
    """
    a, b = alike("tensordot", a, b)
    return _contracted("tensordot", a, b, axes)


def _contracted(name: str, a: Node, b: Node, axes: object) -> Node:
    mine, others = _paired(name, a, b, axes)
    for i, j in zip(mine, others, strict=True):
        if a.shape[i] != b.shape[j]:
            raise errors.ShapeError(
                f"{name}: axis {i} of shape {a.shape} and axis {j} of shape {b.shape} have"
                " different extents"
            )
    left: list[Hashable] = [("a", i) for i in range(a.ndim)]
    right: list[Hashable] = [
        left[mine[others.index(j)]] if j in others else ("b", j) for j in range(b.ndim)
    ]
    extents = dict(zip([*left, *right], [*a.shape, *b.shape], strict=True))
    out = [x for i, x in enumerate(left) if i not in mine] + [
        x for j, x in enumerate(right) if j not in others
    ]
    return sum_of_products(name, [(a, left), (b, right)], out, extents)


def _paired(name: str, a: Node, b: Node, axes: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not isinstance(axes, (tuple, list)):
        count = as_int(name, "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise errors.ShapeError(
                f"{name}: shapes {a.shape} and {b.shape} do not have {count} axes to pair"
            )
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(axes) != 2:
        raise errors.ShapeError(f"{name}: axes must be an int or two sequences, not {brief(axes)}")
    mine, others = (
        axes_in_order(name, given, x.ndim) for given, x in zip(axes, (a, b), strict=True)
    )
    if len(mine) != len(others):
        raise errors.ShapeError(
            f"{name}: {brief(axes[0])} and {brief(axes[1])} do not pair the axes one by one"
        )
    return mine, others


def vecdot(a: Operand, b: Operand, /, axis: int = -1) -> Node:
    """The sum of conj(a) * b along one axis of both; the others broadcast. Raises ShapeError."""
    a, b = alike("vecdot", a, b)
    a = conj(a)
    if not (a.ndim and b.ndim):
        raise errors.ShapeError(
            f"vecdot: both operands need at least one axis, got shapes {a.shape} and {b.shape}"
        )
    a, b = (_axis_last("vecdot", x, axis) for x in (a, b))
    if a.shape[-1] != b.shape[-1]:
        raise errors.ShapeError(
            f"vecdot: {a.shape[-1]} elements along axis {axis} of one operand, {b.shape[-1]} of the"
            " other"
        )
    batch = broadcast_shape("vecdot", [a.shape[:-1], b.shape[:-1]])
    labels: Labels = range(len(batch) + 1)
    factors = [(x, labels[len(labels) - x.ndim :]) for x in (a, b)]
    return sum_of_products(
        "vecdot", factors, labels[:-1], dict(zip(labels, (*batch, a.shape[-1]), strict=True))
    )


def _axis_last(name: str, x: Node, axis: int) -> Node:
    place = normalise_axis(name, axis, x.ndim)
    return reordered(x, (*(i for i in range(x.ndim) if i != place), place))


def outer(a: Operand, b: Operand, /) -> Node:
    """Every product of an element of a with one of b, both flattened: shape (a.size, b.size)."""
    a, b = alike("outer", a, b)
    return _contracted("outer", reshape(a, (a.size,)), reshape(b, (b.size,)), 0)


@runs_in_half
def inner(a: Operand, b: Operand, /) -> Node:
    """The sum of products over the last axes of both; of a number, its multiples."""
    a, b = alike("inner", a, b)
    return _contracted("inner", a, b, ((-1,), (-1,)) if a.ndim and b.ndim else 0)


@runs_in_half
def dot(a: Operand, b: Operand, /) -> Node:
    """As NumPy has it: the sum over the last axis of a and the last but one of b (its only one, if
    it is a vector)."""
    a, b = alike("dot", a, b)
    return _contracted("dot", a, b, ((-1,), (-min(2, b.ndim),)) if a.ndim and b.ndim else 0)


@runs_in_half
def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x @ weight.T + bias: (..., in_features) -> (..., out_features), with weight of shape
    (out_features, in_features).

    >>> F.linear(wf.ones(2, 3), wf.ones(4, 3)).shape
    (2, 4)
    """
    if weight.ndim != 2:
        raise errors.ShapeError(
            f"linear: weight must have shape (out_features, in_features), not {weight.shape}"
        )
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise errors.ShapeError(
            f"linear: the last axis of x must be in_features={weight.shape[1]}, but x has shape"
            f" {x.shape}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise errors.ShapeError(
            f"linear: bias must have shape {weight.shape[:1]}, not {bias.shape}"
        )
    with provenance(user_site()):  # one look for the user's line, not one per Node
        if x.dtype is not weight.dtype:
            x, weight = alike("linear", x, weight)
        rows, columns, shape = _linear_axes(x.shape, weight.shape)
        out = summed([(x, rows), (weight, columns)], shape, x.ndim)
        return out if bias is None else add(out, bias)


@lru_cache(4096)
def _linear_axes(x: Shape, weight: Shape) -> tuple[Places, Places, Shape]:
    """Where the axes of x and of the weight stand in x's axes but the last | out_features |
    in_features, and those extents."""
    last = len(x) - 1
    return (*range(last), last + 1), (last, last + 1), addressable("linear", (*x[:-1], *weight))
