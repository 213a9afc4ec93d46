"""Activations as composites of the closed op set. In: a Node. Out: a Node.

Each is safe from overflow, and has the right derivative everywhere, also where its pieces meet.
"""

from __future__ import annotations

from math import pi, sqrt

from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.graph.site import provenance, user_site
from ..operands.arguments import as_choice, as_double
from ..operands.autocast import runs_in_float32
from ..operands.in_float32 import in_float32
from .all import add, as_float, div, gt, isnan, lt, mul, neg, where
from .transcendental import erf, exp, log1p, tanh


def relu(x: Node) -> Node:
    """x where it is above 0 (or NaN), else 0; the derivative at 0 is 0."""
    with provenance(user_site()):  # one look for the user's line, not one per Node
        if not x.dtype.is_float:
            return where(gt(x, 0), x, 0)
        return where(node(Op.OR, (gt(x, 0.0), isnan(x))), x, 0.0)


def _minus_abs(x: Node) -> tuple[Node, Node]:
    """(x < 0, -|x|), the latter with slope -1 at 0, so that what is smooth there keeps its
    derivative."""
    is_below = lt(x, 0.0)
    return is_below, where(is_below, x, neg(x))


@in_float32
def sigmoid(x: Node) -> Node:
    """1 / (1 + exp(-x)), without overflow."""
    x = as_float(x)
    is_below, m = _minus_abs(x)
    z = exp(m)
    return div(where(is_below, z, 1.0), add(1.0, z))


@in_float32
def silu(x: Node) -> Node:
    """x * sigmoid(x)."""
    return mul(as_float(x), sigmoid(x))


@runs_in_float32
@in_float32
def softplus(x: Node) -> Node:
    """log(1 + exp(x)), without overflow."""
    x = as_float(x)
    is_below, m = _minus_abs(x)
    return add(where(is_below, 0.0, x), log1p(exp(m)))


@in_float32
def gelu(x: Node, approximate: str = "none") -> Node:
    """x times the normal distribution function of x; `approximate="tanh"` is the usual cheaper
    form."""
    x = as_float(x)
    if as_choice("gelu", "approximate", approximate, ("none", "tanh")) == "none":
        return mul(mul(x, 0.5), add(1.0, erf(mul(x, sqrt(0.5)))))
    inner = mul(add(x, mul(mul(mul(x, x), x), 0.044715)), sqrt(2.0 / pi))
    return mul(mul(x, 0.5), add(1.0, tanh(inner)))


def leaky_relu(x: Node, negative_slope: float = 0.01) -> Node:
    """x above 0, negative_slope * x below; the derivative at 0 is negative_slope."""
    x = as_float(x)
    slope = as_double("leaky_relu", "negative_slope", negative_slope)
    return where(gt(x, 0.0), x, mul(x, slope))
