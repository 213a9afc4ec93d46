"""Rows of a lane that lie apart from those of others, at least a vector long, and read or written
whole. In: a LOAD of one column, or all columns of a Store. Out: that column as a vector, or vectors
that are stored.

    x[64*lane + c] for c < 8    a vector of each lane's elements, W of which are transposed at once

What is gained: neither gathers nor scatters, which take one element at a time. A last square of
fewer columns begins earlier: it has some of those before.
"""

from __future__ import annotations

from ...ir.graph.index import Index
from .access import Access, first_lanes, to_memory
from .lanes import pointer
from .transpose import transposed
from .values import Val


def row_apart(a: Access) -> tuple[Index, int] | None:
    """(first element, elements) of the row that is read whole and holds the element, where all
    lanes are live."""
    if a.live is not None:
        return None
    for first, count in a.fn.plan.apart.get(a.buf, ()):
        column = a.index - first
        if not column.terms and 0 <= column.const < count:
            return first, count
    return None


def load_apart(a: Access, first: Index, count: int, stride: int) -> Val:
    """Element a.index of every lane's row, out of a square that its neighbours share."""
    w, n, column = a.fn.writer, a.lanes, (a.index - first).const
    start = min(column // n * n, count - n)
    ptr = pointer(a.fn.scope, a.fn.base[a.buf], a.elem, first + start, a.group)
    keys = [("square", ptr.text, a.elem, n, stride, k) for k in range(n)]
    wanted = w.known(keys[column - start])
    if wanted is not None:
        return wanted
    rows = [
        w.load(_row(a, first + start, k, stride), a.elem, n, a.align, a.level) for k in range(n)
    ]
    columns = transposed(w, rows)
    for key, v in zip(keys, columns, strict=True):
        w.remember(key, v, [a.buf])
    return columns[column - start]


def _row(a: Access, first: Index, lane: int, stride: int) -> Val:
    """Where a lane's row is."""
    return pointer(a.fn.scope, a.fn.base[a.buf], a.elem, first + lane * stride, a.group)


def store_apart(a: Access, columns: list[Val], stride: int) -> None:
    """The columns of a row for each live lane; the Access is of the first column."""
    w, n, live = a.fn.writer, a.lanes, first_lanes(a.live, a.lanes) or 0
    w.forget(a.buf)
    values = [to_memory(a, w.splat(v, n)) for v in columns]
    for first in range(0, len(values), n):
        start = min(first, len(values) - n)
        for lane, row in enumerate(transposed(w, values[start : start + n])[:live]):
            w.store(row, _row(a, a.index + start, lane, stride), a.align)
