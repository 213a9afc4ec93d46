"""Records of exponentials, logarithms, roots and powers."""

from __future__ import annotations

from math import e, log
from typing import Any

import numpy as np

from ..graph.graph import Node, node, zeros_like
from ..graph.op import Op
from ..graph.rewrite import constant_of
from .nodes import add, div, eq, exp, like, lt, mul, negated, pow, scaled, sub, where
from .record import Derivative, function, infix, unary
from .values import Array, plain, rounded

_EXPONENTIALS = {None: np.exp, 2: np.exp2}
_LOGARITHMS = {None: np.log, 2: np.log2, 10: np.log10}


def _exponential(n: Node, x: Array) -> Any:
    return rounded(_EXPONENTIALS[n.arg])(n, x)


def _logarithm(n: Node, x: Array) -> Any:
    return rounded(_LOGARITHMS[n.arg])(n, x)


def _name(n: Node) -> str:
    """exp, exp2, log, log2, log10."""
    return n.op.value if n.arg is None else f"{n.op.value}{n.arg}"


def _base(n: Node) -> str:
    """The factor of a base other than e."""
    return "" if n.arg is None else f" * log({n.arg})"


def _in_parentheses(text: str, n: Node) -> str:
    return text if n.arg is None else f"({text})"


def _power(a: Array, b: Array) -> Array:
    """As NumPy's `**`, which squares by a product."""
    return np.where(b == 2, a * a, np.power(a, b))


def _by_base(n: Node, g: Node) -> Node:
    """b * a^(b-1), which is 0 for b = 0 also where a^(b-1) is not finite."""
    a, b = n.src
    match constant_of(b):
        case 0.0:
            return zeros_like(g)
        case 1.0:
            return g
        case 2.0:
            return mul(g, add(a, a))
        case 0.5:
            return div(mul(g, like(0.5, g)), n)
    slope = mul(b, pow(a, sub(b, like(1, b))))
    if constant_of(b) is None:
        slope = where(eq(b, zeros_like(b)), zeros_like(b), slope)
    return mul(g, slope)


def _by_exponent(n: Node, g: Node) -> Node:
    """a^b * log(a), which is 0 for a = 0 and b >= 0."""
    a, b = n.src
    flat = node(Op.AND, (eq(a, zeros_like(a)), negated(lt(b, zeros_like(b)))))
    return mul(g, mul(n, node(Op.LOG, (where(flat, like(1, a), a),))))


RECORDS = (
    unary(Op.EXP, _exponential,
        lambda n, g: mul(g, scaled(n, log(n.arg or e))), text=lambda n: _name(n) + "({a})",
        slope=lambda n: f"{_name(n)}(a){_base(n)}", gives=lambda n: "{g} * {y}" + _base(n), cost=12,
        expanded=True),
    function(Op.EXPM1, np.expm1, lambda n, g: mul(g, exp(n.src[0])),
        slope="exp(a)", gives="{g} * exp({a})", cost=14),
    unary(Op.LOG, _logarithm,
        lambda n, g: div(g, scaled(n.src[0], log(n.arg or e))), text=lambda n: _name(n) + "({a})",
        slope=lambda n: "1 / " + _in_parentheses("a" + _base(n), n),
        gives=lambda n: "{g} / " + _in_parentheses("{a}" + _base(n), n),
        cost=14, expanded=True, passes_on=1, singular=True, domain="positive"),
    function(Op.LOG1P, np.log1p, lambda n, g: div(g, add(like(1, g), n.src[0])),
        slope="1 / (1 + a)", gives="{g} / (1 + {a})", cost=20, passes_on=1, singular=True,
        domain="positive"),
    unary(Op.SQRT, plain(np.sqrt), lambda n, g: div(mul(g, like(0.5, g)), n),
        slope="1 / (2 * sqrt(a))", gives="{g} / (2 * {y})", cost=4, passes_on=1, singular=True,
        domain="positive"),
    infix(Op.POW, "**", 9, rounded(_power),
        Derivative(_by_base, "d a**b/da = b * a**(b - 1)", "{g} * {b} * {a}**({b} - 1)"),
        Derivative(_by_exponent, "d a**b/db = a**b * log(a)", "{g} * {y} * log({a})"),
        cost=60, expanded=True, singular=True, singular_at=lambda b: b < 1),
)  # fmt: skip
