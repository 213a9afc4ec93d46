"""Records of the trigonometric functions, their inverses, and distance and angle in the plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.graph import Node, node
from ..graph.op import Op
from .nodes import add, div, like, mul, neg, one_minus_square, sqrt
from .record import Derivative, Record, function, unary
from .values import Array, rounded

_TURNS: tuple[Callable[[Array], Any], ...] = (
    np.sin,
    np.cos,
    lambda x: -np.sin(x),
    lambda x: -np.cos(x),
)
_WAVES = ("sin({})", "cos({})", "-sin({})", "-cos({})")


def _wave(turns: int, x: str) -> str:
    return _WAVES[turns % 4].format(x)


def _sine(n: Node, x: Array) -> Any:
    return rounded(_TURNS[n.arg])(n, x)


def _other_leg(x: Node) -> Node:
    """sqrt(1 - x^2)."""
    return sqrt(one_minus_square(x))


def _polar(n: Node, i: int) -> Node:
    """Source i over the squared distance from the origin, without overflow."""
    distance = node(Op.HYPOT, n.src)
    return div(div(n.src[i], distance), distance)


def _is_zero(x: float) -> bool:
    return x == 0


RECORDS = (
    unary(Op.SIN, _sine,
        lambda n, g: mul(g, node(Op.SIN, n.src, (n.arg + 1) % 4)),
        text=lambda n: _wave(n.arg, "{a}"),
        slope=lambda n: _wave(n.arg + 1, "a"), gives=lambda n: "{g} * " + _wave(n.arg + 1, "{a}"),
        cost=20, expanded=True, keeps_finite=True, passes_on=1),
    function(Op.TAN, np.tan, lambda n, g: mul(g, add(like(1, g), mul(n, n))),
        slope="1 + tan(a)**2", gives="{g} * (1 + {y}**2)", cost=40, passes_on=1, domain="unit"),
    function(Op.ASIN, np.arcsin, lambda n, g: div(g, _other_leg(n.src[0])),
        slope="1 / sqrt(1 - a**2)", gives="{g} / sqrt(1 - {a}**2)", cost=35, singular=True,
        domain="inside"),
    function(Op.ACOS, np.arccos, lambda n, g: neg(div(g, _other_leg(n.src[0]))),
        slope="-1 / sqrt(1 - a**2)", gives="-{g} / sqrt(1 - {a}**2)", cost=35, singular=True,
        domain="inside"),
    function(Op.ATAN, np.arctan, lambda n, g: div(g, add(like(1, g), mul(n.src[0], n.src[0]))),
        slope="1 / (1 + a**2)", gives="{g} / (1 + {a}**2)", cost=35, keeps_finite=True),
    Record(Op.ATAN2, rounded(np.arctan2), (
        Derivative(lambda n, g: mul(g, _polar(n, 1)),
                   "d atan2(a, b)/da = b / (a**2 + b**2)", "{g} * {b} / ({a}**2 + {b}**2)"),
        Derivative(lambda n, g: neg(mul(g, _polar(n, 0))),
                   "d atan2(a, b)/db = -a / (a**2 + b**2)", "-{g} * {a} / ({a}**2 + {b}**2)"),
    ), "atan2({a}, {b})", 2, cost=45, expanded=True, keeps_finite=True, singular=True,
        singular_at=_is_zero),
    Record(Op.HYPOT, rounded(np.hypot), (
        Derivative(lambda n, g: mul(g, div(n.src[0], n)), "d hypot(a, b)/da = a / hypot(a, b)",
            "{g} * {a} / {y}"),
        Derivative(lambda n, g: mul(g, div(n.src[1], n)), "d hypot(a, b)/db = b / hypot(a, b)",
            "{g} * {b} / {y}"),
    ), "hypot({a}, {b})", 2, cost=20, expanded=True, singular=True, singular_at=_is_zero),
)  # fmt: skip
