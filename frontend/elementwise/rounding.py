"""Rounding to whole numbers. In: a Node. Out: a Node of its dtype. Integers stay as they are."""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.arguments import as_int
from ..operands.broadcast import full_like
from .arithmetic import add, div, mul, neg, sub
from .comparison import eq, gt, isfinite, lt, ne, where


def floor(x: Node) -> Node:
    """The greatest whole number not above x; integers stay."""
    return node(Op.FLOOR, (x,)) if x.dtype.is_float else x


def ceil(x: Node) -> Node:
    """The least whole number not below x; integers stay."""
    return neg(floor(neg(x))) if x.dtype.is_float else x


def trunc(x: Node) -> Node:
    """The whole part of x, towards 0; integers stay."""
    return where(lt(x, 0.0), ceil(x), floor(x)) if x.dtype.is_float else x


def round_(x: Node, /, decimals: int = 0) -> Node:
    """The nearest number with so many decimals (tens, hundreds, .. if negative), halves to even; as NumPy, by scaling."""
    most = 400  # beyond it no number of any dtype changes
    decimals = max(-most, min(as_int("round", "decimals", decimals), most))
    if not x.dtype.is_float:
        return _whole_tens(x, -decimals) if decimals < 0 and x.dtype.is_int else x
    if not decimals:
        return _nearest(x)
    scale = 10 ** abs(decimals)
    if scale > dt.largest(x.dtype):  # x has fewer decimals than that, or none of its digits is left
        return x if decimals > 0 else where(isfinite(x), mul(x, 0.0), x)
    if decimals < 0:
        return mul(_nearest(div(x, float(scale))), float(scale))
    scaled = mul(x, float(scale))
    return where(isfinite(scaled), div(_nearest(scaled), float(scale)), x)


def _nearest(x: Node) -> Node:
    """The nearest whole number, halves to even."""
    down = floor(x)
    rest = sub(x, down)
    is_odd = ne(mul(floor(mul(down, 0.5)), 2.0), down)
    up = node(Op.OR, (gt(rest, 0.5), node(Op.AND, (eq(rest, 0.5), is_odd))))
    nearest = where(up, add(down, 1.0), down)
    return where(eq(nearest, 0.0), mul(x, 0.0), nearest)  # x * 0 keeps the sign of a zero


def _whole_tens(x: Node, zeros: int) -> Node:
    """The nearest multiple of 10**zeros, halves to even; 0 if the dtype cannot even hold that power of ten."""
    unit = 10**zeros
    if unit > dt.limits(x.dtype)[1]:
        return full_like(x, 0)
    down, rest = node(Op.IDIV, (x, full_like(x, unit))), node(Op.MOD, (x, full_like(x, unit)))
    is_odd = ne(node(Op.AND, (down, full_like(x, 1))), 0)
    up = node(Op.OR, (gt(rest, unit // 2), node(Op.AND, (eq(rest, unit // 2), is_odd))))
    return mul(where(up, add(down, 1), down), unit)
