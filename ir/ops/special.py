"""Records of the error function, the logarithm of Gamma, and what belongs to them."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt
from typing import Any

from ..graph.graph import Node, node
from ..graph.op import Op
from .nodes import exp, like, mul, neg
from .record import function, unary
from .special_functions import erf, erfinv, lgamma, polygamma
from .values import Array, rounded


def _polygamma(n: Node, x: Array) -> Any:
    return rounded(partial(polygamma, n.arg))(n, x)


def _call(order: int, x: str) -> str:
    return f"polygamma({order}, {x})" if order else f"digamma({x})"


RECORDS = (
    function(Op.ERF, erf,
        lambda n, g: mul(g, mul(like(2 / sqrt(pi), g), exp(neg(mul(n.src[0], n.src[0]))))),
        slope="2 / sqrt(pi) * exp(-a**2)", gives="{g} * 2 / sqrt(pi) * exp(-{a}**2)", cost=22,
        keeps_finite=True),
    function(Op.ERFINV, erfinv, lambda n, g: mul(g, mul(like(sqrt(pi) / 2, g), exp(mul(n, n)))),
        slope="sqrt(pi) / 2 * exp(erfinv(a)**2)", gives="{g} * sqrt(pi) / 2 * exp({y}**2)",
        cost=65, singular=True, domain="inside"),
    function(Op.LGAMMA, lgamma, lambda n, g: mul(g, node(Op.POLYGAMMA, n.src, 0)),
        slope="digamma(a)", gives="{g} * digamma({a})", cost=120, singular=True, domain="above"),
    unary(Op.POLYGAMMA, _polygamma, lambda n, g: mul(g, node(Op.POLYGAMMA, n.src, n.arg + 1)),
        text=lambda n: _call(n.arg, "{a}"), slope=lambda n: _call(n.arg + 1, "a"),
        gives=lambda n: "{g} * " + _call(n.arg + 1, "{a}"),
        cost=100, expanded=True, singular=True, domain="positive"),
)  # fmt: skip
