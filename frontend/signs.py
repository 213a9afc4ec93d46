"""Magnitude and sign. In: a Node. Out: a Node of its dtype."""

from __future__ import annotations

from ..ir.graph import Node
from .arithmetic import neg, no_bool
from .broadcast import full_like
from .comparison import eq, gt, lt, where


def absolute(x: Node) -> Node:
    """|x|; its derivative at 0 is 0."""
    if x.dtype.kind in "bu":
        return x
    if x.dtype.kind == "i":
        return where(lt(x, 0), neg(x), x)
    return where(lt(x, 0.0), neg(x), where(eq(x, 0.0), 0.0, x))


def sign(x: Node) -> Node:
    """-1, 0 or 1; NaN stays NaN."""
    no_bool("sign", x)
    otherwise = where(eq(x, 0), 0, x) if x.dtype.is_float else full_like(x, 0)
    above = where(gt(x, 0), 1, otherwise)
    return above if x.dtype.kind == "u" else where(lt(x, 0), -1, above)
