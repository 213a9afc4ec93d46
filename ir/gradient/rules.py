"""Derivatives of the ops that are not elementwise, by their first source; those of the others stand
in their records.

In: a Node and its cotangent. Out: the cotangent of its first source.
"""

from __future__ import annotations

from math import prod

from ..graph import dtype as dt
from ..graph.graph import Node, cast, expand, full, node, permute, reduce, reshape, zeros_like
from ..graph.op import Op
from ..ops.nodes import div, eq, like, lt, mul, where
from ..ops.record import Rule, same


def _flip(x: Node, axis: int) -> Node:
    return node(Op.FLIP, (x,), (axis,))


def _unreduce(n: Node, y: Node) -> Node:
    """y, of the shape of the REDUCE n, repeated over the axes that n reduces."""
    return expand(y, tuple((axis, n.src[0].shape[axis]) for axis in n.arg[1]))


def _reduce_rule(n: Node, g: Node) -> Node:
    kind, axes = n.arg
    x = n.src[0]
    match kind:
        case "add":
            return _unreduce(n, g)
        case "mul":
            return mul(_unreduce(n, g), _product_of_others(x, axes))
    largest = eq(x, _unreduce(n, n))
    ties = reduce("add", cast(largest, g.dtype), axes)
    return where(largest, _unreduce(n, div(g, ties)), zeros_like(x))


def _product_of_others(x: Node, axes: tuple[int, ...]) -> Node:
    """At each element the product of all other elements along `axes`: no division, so zeros are
    right."""
    order = tuple(a for a in range(x.ndim) if a not in axes) + axes
    moved = permute(x, order)
    kept = moved.shape[: x.ndim - len(axes)]
    flat = reshape(moved, (*kept, x.size // max(1, prod(kept))))
    last = flat.ndim - 1
    others = mul(_product_before(flat), _flip(_product_before(_flip(flat, last)), last))
    return permute(reshape(others, moved.shape), tuple(order.index(a) for a in range(x.ndim)))


def _product_before(x: Node) -> Node:
    """Along the last axis, the product of the elements before each one, by doubling."""
    out, step = shifted(x, 1), 1
    while step < x.shape[-1]:
        out, step = mul(out, shifted(out, step)), 2 * step
    return out


def shifted(x: Node, by: int) -> Node:
    """x moved by places towards the end of the last axis; ones come in."""
    *rest, extent = x.shape
    by = min(by, extent)
    whole = [(0, d, 1) for d in rest]
    kept = node(Op.SLICE, (x,), (*whole, (0, extent - by, 1)))
    moved = node(Op.PAD, (kept,), (*((0, 0, 0) for _ in rest), (by, 0, 0)))
    position = expand(node(Op.IOTA, arg=extent), tuple(enumerate(rest)))
    return where(lt(position, full(by, dt.int64, x.shape)), like(1, x), moved)


def running_product(x: Node, axis: int) -> Node:
    """The product of each element along an axis and those before it, by doubling."""
    order = (*(a for a in range(x.ndim) if a != axis), axis)
    out, step = permute(x, order), 1
    while step < x.shape[axis]:
        out, step = mul(out, shifted(out, step)), 2 * step
    return permute(out, tuple(order.index(a) for a in range(x.ndim)))


def _slice_rule(n: Node, g: Node) -> Node:
    of_windows, cut = n.src[0].op is Op.SKEW, False
    whole, margins = n.src[0].shape, []
    for d, length, (start, _, step) in zip(whole, g.shape, n.arg, strict=True):
        used = (length - 1) * step + 1 if length else 0
        behind = d - start - used
        if of_windows and 0 <= behind < step != 1:  # the same nodes whatever is left over
            behind, cut = step - 1, True
        margins.append((start, behind, step - 1))
    padded = node(Op.PAD, (g,), tuple(margins))
    return node(Op.SLICE, (padded,), tuple((0, d, 1) for d in whole)) if cut else padded


def _pad_rule(n: Node, g: Node) -> Node:
    cuts = []
    for d, (lo, _, interior) in zip(n.src[0].shape, n.arg, strict=True):
        cuts.append((lo, lo + (d - 1) * (interior + 1) + 1 if d else lo, interior + 1))
    return node(Op.SLICE, (g,), tuple(cuts))


def _permute_rule(n: Node, g: Node) -> Node:
    return permute(g, tuple(n.arg.index(axis) for axis in range(g.ndim)))


OF_FIRST: dict[Op, Rule] = {
    Op.REDUCE: _reduce_rule,
    Op.SCAN: lambda n, g: _flip(node(Op.SCAN, (_flip(g, n.arg),), n.arg), n.arg),
    Op.RESHAPE: lambda n, g: reshape(g, n.src[0].shape),
    Op.PERMUTE: _permute_rule,
    Op.FLIP: lambda n, g: node(Op.FLIP, (g,), n.arg),
    Op.SLICE: _slice_rule,
    Op.PAD: _pad_rule,
    Op.EXPAND: lambda n, g: reduce("add", g, (axis for axis, _ in n.arg)),
    Op.SKEW: lambda n, g: node(Op.UNSKEW, (g,), n.arg),
    Op.UNSKEW: lambda n, g: node(Op.SKEW, (g,), n.arg),
    Op.GATHER: lambda n, g: node(Op.SCATTER, (g, *n.src[1:]), (n.arg, n.src[0].shape)),
    Op.SCATTER: lambda n, g: node(Op.GATHER, (g, *n.src[1:]), n.arg[0]),
    Op.PUT: lambda n, g: node(Op.PUT, (g, zeros_like(n.src[1]), *n.src[2:]), n.arg),
    Op.KEEP: same,
    Op.COPY: same,  # the walk takes the cotangent back
}
