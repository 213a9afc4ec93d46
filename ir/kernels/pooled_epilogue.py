"""Epilogues of a contraction: maps, and reductions over windows of its results. In: Units. Out: a
Reason or None.

    max over i, j of relu(conv[n, c, 2*y + i, 2*x + j])      outer n, c, y, x; a few lines hold
                                                             whole windows

The loops of such a kernel run over the contraction's axes without the places in a window; results
are kept while those of a few lines are reduced. So the contraction must be one that works line by
line: a convolution with dense lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod

from ..graph.graph import Node
from ..graph.index import Index, Var, mask_of
from ..graph.op import Op
from ..symbolic.questions import has_several, value_of
from .align import Form, Outer, factor_vars
from .box import box_of
from .kernel import Unit, zero_outside
from .reason import Reason, Rule

MOST_POOLED = 16  # results of a window: its reductions stand in a row
MOST_POOLED_LINES = (
    4  # lines of a window: with one vector each they fit into the registers of every target
)
MIN_POOLED_PLACES = 4  # windows along a line: fewer would leave most of a vector empty


def pooled_vars(anchor: Unit, outer: Sequence[Var]) -> list[Var]:
    """The kept variables of a contraction over which its kernel does not run: those within windows
    of a pool."""
    return [v for v in anchor.kept_vars() if v not in outer]


def refuse_epilogue(
    form: Form, anchor: Unit, product: Unit, escapes: Callable[[Unit], bool]
) -> Reason | None:
    """Why the units with outer axes cannot follow the contraction at once. `escapes`: is a value
    stored, or read by others?"""
    others = {u: u.inner_vars(form.outer[u] or ()) for u in form.running if u is not anchor}
    reducing = next((u for u in others if u.node.op is Op.REDUCE), None)
    window = pooled_vars(anchor, form.outer[anchor] or ())
    if reducing is not None and window:
        return _refuse_short(others, anchor, escapes) or _refuse_windows(anchor, product, window)
    if reducing is not None:
        return Reason(Rule.EPILOGUE, f"{reducing} reduces other values than a contraction's")
    uneven = [anchor] if window else [u for u, inner in others.items() if inner]
    return (
        Reason(Rule.MISALIGNED, f"{uneven[0]} does not run over the shared outer axes alone")
        if uneven
        else None
    )


def _refuse_short(
    others: Mapping[Unit, Outer], anchor: Unit, escapes: Callable[[Unit], bool]
) -> Reason | None:
    """Only what is reduced leaves the kernel: stores of every place of a window would be strided,
    or a pass of their own."""
    for u in (anchor, *(u for u, inner in others.items() if inner and u.node.op is not Op.REDUCE)):
        if escapes(u):
            return Reason(
                Rule.EPILOGUE, f"{u} is reduced behind the contraction, and needed elsewhere too"
            )
    long = next(
        (u for u, inner in others.items() if value_of(prod(v.extent for v in inner)) > MOST_POOLED),
        None,
    )
    return (
        Reason(Rule.EPILOGUE, f"{long} takes too many steps to stand in registers")
        if long
        else None
    )


def _refuse_windows(anchor: Unit, product: Unit, window: list[Var]) -> Reason | None:
    side = _lane_side(anchor, product)
    places = None if side is None else _places(anchor, product, side)
    if side is None or places is None or not _holds_windows(places, window):
        return Reason(Rule.EPILOGUE, f"lines of {anchor} do not hold whole windows of a pool")
    if not _reads_windows(anchor, product, product.node.src[side], places):
        return Reason(
            Rule.EPILOGUE,
            f"{anchor} does not read windows along its lines, so that none of its results are kept",
        )
    return None


def _lane_side(anchor: Unit, product: Unit) -> int | None:
    """Which factor alone has the last axis of the result."""
    sides, last = factor_vars(anchor, product), anchor.kept_vars()[-1]
    if sides is None or (last in sides[0]) == (last in sides[1]):
        return None
    return int(last in sides[1])


def _places(anchor: Unit, product: Unit, side: int) -> list[list[Var]] | None:
    """The axes of the result that this factor alone has, each with its variables; None if it shares
    a part of one."""
    sides = factor_vars(anchor, product) or (set(), set())
    mine, other = sides[side], sides[1 - side]
    axes = [[v for v in sub if has_several(v.extent)] for sub in anchor.kept()]
    alone = [[v in mine and v not in other for v in sub] for sub in axes]
    if any(any(own) != all(own) for own in alone if own):
        return None
    return [sub for sub, own in zip(axes, alone, strict=True) if own and all(own)]


def _holds_windows(places: list[list[Var]], window: list[Var]) -> bool:
    """Do the windows span the last two axes at most, as the fast part of each, and leave enough
    places and few lines?"""
    inside = [[v for v in sub if v in window] for sub in places[-2:]]
    fast = all(
        sub[len(sub) - len(own) :] == own for sub, own in zip(places[-2:], inside, strict=True)
    )
    lines = prod(v.extent for own in inside[:-1] for v in own)
    left = prod(v.extent for v in places[-1] if v not in window)
    return (
        fast
        and sum(map(len, inside)) == len(window)
        and lines <= MOST_POOLED_LINES
        and left >= MIN_POOLED_PLACES
    )


def _reads_windows(anchor: Unit, product: Unit, factor: Node, places: list[list[Var]]) -> bool:
    """Is the factor of the places a Box whose last axis moves with the last place, and some axis
    with a place and a term?"""
    last, at = places[-1][-1], anchor.coordinates()
    box = box_of(factor, at)
    if box is None or not all(r.index.is_affine for r in mask_of(zero_outside(product.node, at))):
        return False
    reduced, mine = set(anchor.inner_vars(anchor.kept_vars())), {v for sub in places for v in sub}
    windowed = any(e.vars() & reduced and e.vars() & mine for e in box.at)
    dense = box.at[-1].coef(last) == 1 and not any(last in e.vars() for e in box.at[:-1])
    return windowed and dense and all(_as_one(e, sub) for e in box.at for sub in places)


def _as_one(e: Index, axis: list[Var]) -> bool:
    """Does an index walk the parts of an axis as one?"""
    return all(e.coef(slow) == e.coef(fast) * fast.extent for slow, fast in pairwise(axis))
