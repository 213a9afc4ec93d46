"""Records of arithmetic: signs, sums, products, quotients and remainders."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.graph import Node, node, zeros_like
from ..graph.op import Op
from .nodes import conj, div, mul, neg
from .record import Derivative, Record, infix, same, unary
from .values import Array, plain


def _floor_divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, b, np.floor_divide(a, np.where(b == 0, np.ones_like(b), b)))


def _remainder(n: Node, a: Array, b: Array) -> Any:
    if n.dtype.is_float:
        return np.remainder(a, b)
    return np.where(b == 0, b, np.remainder(a, np.where(b == 0, np.ones_like(b), b)))


RECORDS = (
    Record(Op.NEG, plain(np.negative), (Derivative(lambda n, g: neg(g), "d (-a)/da = -1", "-{g}"),),
        "-{a}",
        keeps_finite=True, passes_on=1, domain="any"),
    unary(Op.FLOOR, plain(np.floor), lambda n, g: zeros_like(g),
        slope="0", gives="0", keeps_finite=True, passes_on=1, domain="any"),
    infix(Op.ADD, "+", 6, plain(np.add),
        Derivative(same, "d(a + b)/da = 1", "{g}"), Derivative(same, "d(a + b)/db = 1", "{g}"),
        passes_on=2),
    infix(Op.SUB, "-", 6, plain(np.subtract),
        Derivative(same, "d(a - b)/da = 1", "{g}"),
        Derivative(lambda n, g: neg(g), "d(a - b)/db = -1", "-{g}"),
        passes_on=2),
    infix(Op.MUL, "*", 7, plain(np.multiply),
        Derivative(lambda n, g: mul(g, conj(n.src[1])), "d(a * b)/da = b", "{g} * {b}"),
        Derivative(lambda n, g: mul(g, conj(n.src[0])), "d(a * b)/db = a", "{g} * {a}"),
        passes_on=2),
    infix(Op.DIV, "/", 7, plain(np.divide),
        Derivative(lambda n, g: div(g, n.src[1]), "d(a / b)/da = 1 / b", "{g} / {b}"),
        Derivative(lambda n, g: neg(div(mul(g, n), n.src[1])), "d(a / b)/db = -a / b**2",
            "-{g} * {y} / {b}"),
        cost=4, passes_on=1, singular=True, singular_at=lambda b: b == 0),
    infix(Op.IDIV, "//", 7, plain(_floor_divide), cost=12),
    infix(Op.MOD, "%", 7, _remainder,
        Derivative(same, "d(a % b)/da = 1", "{g}"),
        Derivative(lambda n, g: neg(mul(g, node(Op.FLOOR, (div(*n.src),)))),
                   "d(a % b)/db = -floor(a / b)", "-{g} * floor({a} / {b})"),
        cost=14, passes_on=1, singular=True),
)  # fmt: skip
