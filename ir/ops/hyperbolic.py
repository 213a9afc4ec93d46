"""Records of the hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from ..graph.graph import node
from ..graph.op import Op
from .nodes import add, div, like, mul, one_minus_square, sqrt, sub
from .record import function

RECORDS = (
    function(Op.SINH, np.sinh, lambda n, g: mul(g, node(Op.COSH, n.src)),
        slope="cosh(a)", gives="{g} * cosh({a})", cost=40),
    function(Op.COSH, np.cosh, lambda n, g: mul(g, node(Op.SINH, n.src)),
        slope="sinh(a)", gives="{g} * sinh({a})", cost=35),
    function(Op.TANH, np.tanh, lambda n, g: mul(g, sub(like(1, g), mul(n, n))),
        slope="1 - tanh(a)**2", gives="{g} * (1 - {y}**2)", cost=18, keeps_finite=True),
    function(Op.ASINH, np.arcsinh, lambda n, g: div(g, node(Op.HYPOT, (n.src[0], like(1, g)))),
        slope="1 / sqrt(a**2 + 1)", gives="{g} / sqrt({a}**2 + 1)", cost=60, keeps_finite=True),
    function(Op.ACOSH, np.arccosh,
        lambda n, g: div(g, mul(*(sqrt(add(n.src[0], like(one, g))) for one in (-1, 1)))),
        slope="1 / sqrt(a**2 - 1)", gives="{g} / sqrt({a}**2 - 1)", cost=60, singular=True,
        domain="above"),
    function(Op.ATANH, np.arctanh, lambda n, g: div(g, one_minus_square(n.src[0])),
        slope="1 / (1 - a**2)", gives="{g} / (1 - {a}**2)", cost=45, singular=True,
        domain="inside"),
)  # fmt: skip
