"""The elements that a factor of a contraction reads, as a box of a value. In: a Node at an index.
Out: a Box.

    x[n, c, y + ky - 1, x + kx - 1] if 0 <= y + ky - 1 < H ...      affine places, bounds
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.graph import Node
from ..graph.index import Index, Mask, Range, mask_of
from ..graph.op import Op
from ..graph.views import bases_of, resolve
from .kernel import is_widening


@dataclass(frozen=True)
class Box:
    """A factor as casts of base[at] where every axis is within its bounds, else 0."""

    base: Node
    casts: tuple[Node, ...]  # outermost first
    at: tuple[Index, ...]
    bounds: tuple[tuple[int, int], ...]


def box_of(factor: Node, index: list[Index]) -> Box | None:
    """The Box that factor[index] is; None where its places or its mask are not affine."""
    boxes = (_box_by(base, factor, index) for base in bases_of(factor))
    return next((box for box in boxes if box is not None), None)


def _box_by(view: Node | None, factor: Node, index: list[Index]) -> Box | None:
    """The Box by the axes of a view on the way, or of what holds the value."""
    base, at, ranges = resolve(factor, index, view)
    casts = []
    while is_widening(base):
        casts.append(base)
        base, at, more = resolve(base.src[0], at)
        ranges += more
    bounds = _bounds(base, at, mask_of(ranges))
    if bounds is None or base.op is Op.GATHER or not all(e.is_affine for e in at):
        return None
    return Box(base, tuple(casts), tuple(at), tuple(bounds))


def _bounds(base: Node, at: list[Index], mask: Mask) -> list[tuple[int, int]] | None:
    """The places along each axis where the mask holds; None if it is not such a box."""
    bounds = [(0, d) for d in base.shape]
    for r in mask:
        bounded = next(((a, b) for a, e in enumerate(at) if (b := _bound(e, r)) is not None), None)
        if bounded is None:
            return None
        axis, (lo, hi) = bounded
        bounds[axis] = max(bounds[axis][0], lo), min(bounds[axis][1], hi)
    return bounds


def _bound(e: Index, r: Range) -> tuple[int, int] | None:
    """What the condition says of a place: least and end; None unless the place is a multiple of its
    index and a constant."""
    if not r.index.terms:  # it never holds
        return None
    first = r.index.terms[0]
    scale = e.coef(first[0]) // first[1]
    rest = e - r.index * scale
    if not scale or rest.terms:
        return None
    ends = sorted((scale * r.lo + rest.const, scale * (r.hi - 1) + rest.const))
    return ends[0], ends[1] + 1
