"""Records of comparisons and of what chooses: the greater of two, or by a condition."""

from __future__ import annotations

import numpy as np

from ..graph.graph import Node
from ..graph.op import Op
from .nodes import eq, like, lt, mul, negated, where
from .record import Derivative, Record, infix, same
from .values import Array, plain


def _maximum(a: Array, b: Array) -> Array:
    return np.where((a >= b) | (a != a), a, b)


def _share(n: Node, g: Node) -> Node:
    """Equal operands get half each; the mask keeps the cotangent from the lesser one."""
    return where(eq(*n.src), mul(g, like(0.5, g)), g)


RECORDS = (
    infix(Op.LT, "<", 1, plain(np.less)),
    infix(Op.EQ, "==", 1, plain(np.equal)),
    Record(Op.MAX, plain(_maximum), (
        Derivative(_share, "the greater gets it", "{g} where {a} >= {b}",
            lambda n: negated(lt(n.src[0], n.src[1]))),
        Derivative(_share, "the greater gets it", "{g} where {b} >= {a}",
            lambda n: negated(lt(n.src[1], n.src[0]))),
    ), "maximum({a}, {b})", 2, keeps_finite=True),
    Record(Op.WHERE, plain(np.where), (
        None,
        Derivative(same, "where the condition holds", "{g} where {a}", lambda n: n.src[0]),
        Derivative(same, "where it does not hold", "{g} where not {a}",
            lambda n: negated(n.src[0])),
    ), "where({a}, {b}, {c})", 3, keeps_finite=True),
)  # fmt: skip
