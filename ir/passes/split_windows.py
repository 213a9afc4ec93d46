"""Sums of products over windows in parts, where one would leave threads idle or need too large a
panel. In: a REDUCE. Out: the same value, of partial results; None where one step is better.

    before    dw[o, c, ky, kx] = sum(dy[n, o, y, x] * x[n, c, y + ky, x + kx], (n, y, x))
    after     dw = sum(parts, 0),  parts[p, o, c, ky, kx] = sum(the same for N / P images, (n, y,
              x))

A weight gradient adds up many places for each of the few of a kernel, and its parts read different
ones, so that each copies only what it needs. A convolution is the other way round: its results are
tasks enough, all of them read the same weights, and parts would only be stored and read again. How
often a sum is cut depends on its shape alone.
"""

from __future__ import annotations

from math import prod

from ..graph.graph import Node, permute, reduce
from ..graph.op import Op
from ..kernels.contraction import windows_over
from ..kernels.kernel import base_of
from ..symbolic.questions import has_several, text
from ..symbolic.scope import decided
from .split import LEAST_ROW, MANY_TERMS, Cuts, cut, viewed

LEAST_TERMS = 4096  # products a result, from which weight gradients are summed in parts
PARTS = 16  # wanted then: enough tasks, and at most 1/16 of the work in finishing
MOST_SIZE = 1 << 22  # elements that all parts may have, even if less is read
FEW_RESULTS = 1 << 13  # whose parts are stored and read in little time
MOST_BY_INDEX = 1 << 20  # elements of the parts of all indices of the first axis
# products of a part, whose panel of one vector of channels then fits the level-2 cache
MOST_TERMS = 8192


def windows_in_parts(n: Node) -> Node | None:
    """Such a sum with its first axes cut, the parts in front of the results."""
    if n.op is not Op.REDUCE or n.arg[0] != "add" or n.src[0].op is not Op.MUL:
        return None
    (x,), (kind, axes) = n.src, n.arg
    added, stands = windows_over(n.src[0].src, n.arg[1])
    if not added:
        return None
    extents, cuts = tuple([x.shape[a] for a in axes]), Cuts()
    if _has_parts_by_index(n, extents, added, stands):
        cuts = _by_index(extents)
    elif (terms := prod(extents)) >= (LEAST_TERMS if extents[0] == 1 else MOST_TERMS):
        wanted = _parts_wanted(n, terms, added > stands)
        cuts = _cuts(extents, wanted) if wanted > 1 else {}
    if not cuts:
        return None
    front = viewed(x, lambda s: permute(s, (*axes, *(a for a in range(x.ndim) if a not in axes))))
    return cut(reduce(kind, front, range(len(axes))), front, cuts)


def _has_parts_by_index(n: Node, extents: tuple[int, ...], added: int, stands: int) -> bool:
    """May there be a part for each index of the first axis: are its terms many, and results few?"""
    first, *others = extents
    terms = prod(others)

    def are_cheap() -> bool:
        """Are few parts stored, or many products added up for each?"""
        return (added == terms and n.size <= FEW_RESULTS) or first * terms >= LEAST_TERMS

    return decided(
        lambda: (
            has_several(first)
            and (terms >= MANY_TERMS or (terms >= LEAST_ROW and are_cheap()))
            and added > stands
            and n.size * first <= MOST_BY_INDEX
        ),
        (first, terms, added, stands, n.size),
        f"sums of {text(terms)} products of each of {text(first)} are added up",
    )


def _parts_wanted(n: Node, terms: int, adds_more: bool) -> int:
    """Parts of a sum of so many products."""
    wanted = -(-terms // MOST_TERMS)
    if adds_more and n.size * PARTS <= MOST_SIZE:
        wanted = max(PARTS, wanted)
    read = max(base_of(f).size for f in n.src[0].src)
    return wanted if n.size * wanted <= max(MOST_SIZE, read) else 1


def _by_index(extents: tuple[int, ...]) -> Cuts:
    """A part for each index of the first axis, whatever their number is, or several of too many
    terms."""
    first, *others = extents
    least = -(-prod(others) // MOST_TERMS)
    parts = _divisor(others[0], least, least) if least > 1 else 1
    return {0: (first, 1)} | ({1: (parts, 1)} if parts > 1 else {})


def _cuts(extents: tuple[int, ...], wanted: int) -> Cuts:
    """The first axes in about so many parts, if possible none of too many terms."""
    cuts: Cuts = {}
    made, terms = 1, prod(extents)
    for a, d in enumerate(extents):
        if made * 2 < wanted or terms > made * MOST_TERMS:
            parts = _divisor(d, -(-wanted // made), -(-terms // (made * MOST_TERMS)))
            cuts |= {a: (parts, 1)} if parts > 1 else {}
            made *= parts
    return cuts


def _divisor(extent: int, wanted: int, least: int) -> int:
    """The divisor nearest to the wanted number, and at most twice that; one that is not too small
    comes first."""
    divisors = [d for d in range(1, min(extent, 2 * wanted) + 1) if extent % d == 0]
    return min(divisors, key=lambda d: (d < least, abs(d - wanted)))
