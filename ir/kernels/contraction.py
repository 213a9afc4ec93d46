"""Recognition of contractions: sums of products whose factors each miss an output axis, or of which
one is read through windows. In: Units and their users. Out: the contractions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from math import prod

from ..graph.graph import Node, node
from ..graph.index import Var, var
from ..graph.op import VIEWS, Op
from ..graph.views import resolve, steady_axes
from ..symbolic.decisions import decided
from ..symbolic.questions import has_several, text
from .align import factor_vars
from .kernel import Unit, domain
from .places import Read
from .units import Units

Users = Mapping[Node, Sequence[tuple[Unit, Read]]]
MIN_CONTRACTION = 1024  # multiply-adds worth a register tile
MIN_MATRIX = 64  # elements of a factor or of the product of two matrices that are worth one


def users_of(units: Units) -> dict[Node, list[tuple[Unit, Read]]]:
    """The readers of each value."""
    users: dict[Node, list[tuple[Unit, Read]]] = {}
    for u in units.order:
        for r in u.reads:
            users.setdefault(r.base, []).append((u, r))
    return users


def products_of(units: Units, users: Users) -> dict[Unit, Unit]:
    """The contraction of every product that belongs to one: a sum of products in which each factor
    has output axes of real extent that the other misses, M only in A, N only in B."""
    sums = ((u, p, _extents(u, p)) for u, p in _sums_of_products(units, users))
    return {
        p: u
        for u, p, (shared, m, n, k) in sums
        if m >= 2 <= n and _are_worth_a_tile(shared, m, n, k)
    }


def products_over_windows(units: Units, users: Users, others: Container[Unit]) -> dict[Unit, Unit]:
    """The sum of every product, but for `others`, of which one factor has output axes of its own
    and is read through windows, as in depthwise convolutions. A constant is no factor: a division
    by 64 becomes a product, by a size that is not known does not."""
    return {
        p: u
        for u, p in _sums_of_products(units, users)
        if p not in others
        and not any(map(_is_number, p.node.src))
        and any(own >= 2 for own in _extents(u, p)[1:3])
        and any(windows_over(p.node.src, u.node.arg[1]))
        and _is_large(u)
    }


def _sums_of_products(units: Units, users: Users) -> Iterator[tuple[Unit, Unit]]:
    """Each with its product, which nothing else reads."""
    for u in units.order:
        n = u.node
        is_sum = n.op is Op.REDUCE and n.arg[0] == "add"
        p = units.of.get(n.src[0]) if is_sum else None
        if p and p.node.op is Op.MUL and p.node not in units.stored and len(users[p.node]) == 1:
            yield u, p


def _is_large(u: Unit) -> bool:
    """Is a sum worth a register tile?"""
    return prod(domain(u.node)) >= MIN_CONTRACTION


def _extents(u: Unit, product: Unit) -> tuple[int, int, int, int]:
    """Of a sum of products: results that neither factor or both have, those of each alone, and
    terms."""
    a, b = factor_vars(u, product) or (set[Var](), set[Var]())
    kept = {*u.kept_vars()}
    shared, m, n = (
        prod(v.extent for v in side) for side in (kept - (a ^ b), kept & a - b, kept & b - a)
    )
    return shared, m, n, prod(product.node.shape[axis] for axis in u.node.arg[1])


def _are_worth_a_tile(shared: int, m: int, n: int, k: int) -> bool:
    """Are these products? Where one of two matrices is large, the number of rows of the other does
    not matter, so that batches of few rows need no program of their own."""

    def answer() -> bool:
        sides = (k * n, m * n, m * k) if shared == 1 else ()
        return any(s >= MIN_MATRIX for s in sides) or shared * m * n * k >= MIN_CONTRACTION

    how = f"{text(shared)} products of {text(m)} x {text(k)} x {text(n)} are worth a tile"
    return decided(answer, (shared, m, n, k), how)


def windows_over(factors: Sequence[Node], axes: Sequence[int]) -> tuple[int, int]:
    """How many places of a window the sum of a product over axes adds up, and at how many it stands
    for different results; 0 where no factor is read through windows."""
    at = [Var(f"a{i}", d) for i, d in enumerate(factors[0].shape)]
    reduced = {at[a] for a in axes}
    places = [e for f in factors for e in resolve(f, [var(v) for v in at])[1]]
    moving = [{v for v in e.vars() if has_several(v.extent)} for e in places]
    windows = [vs for vs in moving if vs & reduced and vs - reduced]
    both = set[Var]().union(*windows)
    added, stands = (prod(v.extent for v in side) for side in (both & reduced, both - reduced))
    return (added, stands) if windows else (0, 0)


def contracts(product: Node, axes: Sequence[int], views: Sequence[Node] = ()) -> bool:
    """Before there are units: is the sum over axes of a product, seen through views, a
    contraction?"""
    if product.op is not Op.MUL or not product.dtype.is_float:
        return False
    factors = [seen(f, views) for f in product.src]
    shape = factors[0].shape
    kept = {a for a, d in enumerate(shape) if has_several(d) and a not in axes}
    a, b = (kept & steady_axes(f) for f in factors)
    own = [bool(a - b), bool(b - a)]
    if all(own):
        sides = (kept - (a ^ b), a - b, b - a, axes)
        return _are_worth_a_tile(*(prod(shape[i] for i in side) for side in sides))
    if any(map(_is_number, factors)):
        return False
    return any(own) and any(windows_over(factors, axes)) and prod(shape) >= MIN_CONTRACTION


def _is_number(n: Node) -> bool:
    """Is it one constant everywhere, through views?"""
    while n.op in VIEWS and n.op is not Op.PAD:
        n = n.src[0]
    return n.op is Op.CONST


def seen(n: Node, views: Sequence[Node]) -> Node:
    """A Node through views, the innermost first."""
    for view in views:
        n = node(view.op, (n,), view.arg)
    return n
