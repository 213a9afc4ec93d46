"""Rows of a few elements, all of which are read, one row per lane. In: a LOAD of one column. Out:
that column as a vector.

    x[3*lane + c] for c < 3     three vectors of consecutive elements, loaded once, from which each
                                column is picked

By halves while the row is even (elements 0, 2, .. or 1, 3, .. of two vectors), which columns share;
then from all that are left.
"""

from __future__ import annotations

from ...ir.graph.index import Index
from .access import Access
from .lanes import pointer
from .values import Val


def row_of(a: Access) -> Index | None:
    """The first element of the row that is read whole and holds the element, if every lane is
    live."""
    if a.live is not None:
        return None
    stride = a.fn.scope.lanes.stride(a.index) if a.fn.scope.lanes else 0
    for first in a.fn.plan.rows.get(a.buf, ()):
        column = a.index - first
        if not column.terms and stride and 0 <= column.const < stride:
            return first
    return None


def load_column(a: Access, first: Index, count: int) -> Val:
    """Element a.index of every row of `count` elements, the first of which are at `first`."""
    w, n, column = a.fn.writer, a.lanes, (a.index - first).const
    vectors = [_part(a, first + i * n) for i in range(count)]
    while count % 2 == 0:
        half = [2 * lane + column % 2 for lane in range(n)]
        vectors = [w.shuffle(x, half, y) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
        column, count = column // 2, count // 2
    out, places = vectors[0], [divmod(count * lane + column, n) for lane in range(n)]
    for i, v in enumerate(vectors[1:], 1):
        before = [at if i == 1 and part == 0 else lane for lane, (part, at) in enumerate(places)]
        out = w.shuffle(
            out,
            [n + at if part == i else before[lane] for lane, (part, at) in enumerate(places)],
            v,
        )
    return out


def _part(a: Access, at: Index) -> Val:
    """A vector of consecutive elements, loaded once."""
    w = a.fn.writer
    ptr = pointer(a.fn.scope, a.fn.base[a.buf], a.elem, at, a.group)
    key = ("part", ptr.text, a.elem, a.lanes)
    return w.known(key) or w.remember(key, w.load(ptr, a.elem, a.lanes, a.align, a.level), [a.buf])
