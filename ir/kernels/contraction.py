"""Recognition of contractions: sums of products whose factors each miss an output axis. In: Units
and their users. Out: the contractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..graph.graph import Node, node
from ..graph.op import Op
from ..graph.views import steady_axes
from .align import factor_vars
from .kernel import Unit, domain
from .places import Read
from .units import Units

Users = Mapping[Node, Sequence[tuple[Unit, Read]]]
MIN_CONTRACTION = 4096  # multiply-adds worth a register tile


def users_of(units: Units) -> dict[Node, list[tuple[Unit, Read]]]:
    """The readers of each value."""
    users: dict[Node, list[tuple[Unit, Read]]] = {}
    for u in units.order:
        for r in u.reads:
            users.setdefault(r.base, []).append((u, r))
    return users


def is_contraction(u: Unit, units: Units, users: Users) -> bool:
    """A sum of products in which each factor has output axes of real extent that the other misses:
    M only in A, N only in B."""
    if (
        u.node.op is not Op.REDUCE
        or u.node.arg[0] != "add"
        or prod(domain(u.node)) < MIN_CONTRACTION
    ):
        return False
    product = units.of.get(u.node.src[0])
    if (
        product is None
        or product.node.op is not Op.MUL
        or len(users[product.node]) != 1
        or product.node in units.stored
    ):
        return False
    sides = factor_vars(u, product)
    if sides is None:
        return False
    a, b = sides
    alone = [
        [v for v in u.kept_vars() if v in mine and v not in other]
        for mine, other in ((a, b), (b, a))
    ]
    return all(prod(v.extent for v in own) >= 2 for own in alone)


def contracts(product: Node, axes: Sequence[int], views: Sequence[Node] = ()) -> bool:
    """Before there are units: is the sum over axes of a product, seen through views, a
    contraction?"""
    if product.op is not Op.MUL or not product.dtype.is_float:
        return False
    factors = [seen(f, views) for f in product.src]
    shape = factors[0].shape
    if prod(shape) < MIN_CONTRACTION:
        return False
    kept = {a for a, d in enumerate(shape) if d > 1 and a not in axes}
    a, b = (kept & steady_axes(f) for f in factors)
    return bool(a - b) and bool(b - a)


def seen(n: Node, views: Sequence[Node]) -> Node:
    """A Node through views, the innermost first."""
    for view in views:
        n = node(view.op, (n,), view.arg)
    return n


def products_of(units: Units, users: Users) -> dict[Unit, Unit]:
    """The contraction of every product that belongs to one."""
    return {units.of[u.node.src[0]]: u for u in units.order if is_contraction(u, units, users)}
