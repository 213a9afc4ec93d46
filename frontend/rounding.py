"""Whole numbers near a value. In: a Node. Out: a Node of its dtype. Integers stay as they are."""

from __future__ import annotations

from ..ir.graph import Node, Op, node
from .arithmetic import add, mul, neg, sub
from .comparison import eq, gt, lt, ne, where


def floor(x: Node) -> Node:
    """The greatest whole number not above x; integers stay."""
    return node(Op.FLOOR, (x,)) if x.dtype.is_float else x


def ceil(x: Node) -> Node:
    """The least whole number not below x; integers stay."""
    return neg(floor(neg(x))) if x.dtype.is_float else x


def trunc(x: Node) -> Node:
    """The whole part of x, towards 0; integers stay."""
    return where(lt(x, 0.0), ceil(x), floor(x)) if x.dtype.is_float else x


def round_(x: Node) -> Node:
    """The nearest whole number, halves to even; integers stay."""
    if not x.dtype.is_float:
        return x
    down = floor(x)
    rest = sub(x, down)
    is_odd = ne(mul(floor(mul(down, 0.5)), 2.0), down)
    up = node(Op.OR, (gt(rest, 0.5), node(Op.AND, (eq(rest, 0.5), is_odd))))
    nearest = where(up, add(down, 1.0), down)
    return where(eq(nearest, 0.0), mul(x, 0.0), nearest)  # x * 0 keeps the sign of a zero
