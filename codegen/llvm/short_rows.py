"""Rows of a few elements, all of which are read or written, one row per lane. In: a LOAD of one
column, or all columns of a Store. Out: that column as a vector, or vectors of consecutive elements.

    x[3*lane + c] for c < 3     three vectors of consecutive elements, loaded once, from which each
                                column is picked

By halves while the row is even (elements 0, 2, .. or 1, 3, .. of two vectors), which columns share;
then from all that are left. What is stored goes the same way back.
"""

from __future__ import annotations

from collections.abc import Set

from ...ir.graph.index import Index, Var
from ...ir.loops.loop import GLOBAL, Buf, For, Stmt, Store
from ...ir.loops.walk import reads
from .access import (
    Access,
    Function,
    first_lanes,
    load_first,
    masks_are_cheap,
    store_first,
    to_memory,
)
from .lane_plan import is_apart, is_column, row_length, takes_rows
from .lanes import pointer
from .rows_apart import store_apart
from .values import Val
from .writer import Writer


def row_of(a: Access) -> Index | None:
    """The first element of the row that is read whole and holds the element, if the first lanes are
    live, and known."""
    if first_lanes(a.live, a.lanes) is None or not masks_are_cheap(a):
        return None
    stride = a.fn.scope.lanes.stride(a.index) if a.fn.scope.lanes else 0
    for first in a.fn.plan.rows.get(a.buf, ()):
        column = a.index - first
        if not column.terms and stride and 0 <= column.const < stride:
            return first
    return None


def load_column(a: Access, first: Index, count: int) -> Val:
    """Element a.index of every row of `count` elements, the first of which are at `first`; 0 in
    lanes that are not live."""
    w, n, column = a.fn.writer, a.lanes, (a.index - first).const
    left = count * (first_lanes(a.live, n) or 0)
    vectors = [_part(a, first + i * n, left - i * n) for i in range(count)]
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


def _part(a: Access, at: Index, left: int) -> Val:
    """A vector of consecutive elements, loaded once, of which so many are there; zeros behind
    them."""
    w = a.fn.writer
    if left <= 0:
        return a.zero(a.lanes)
    ptr = pointer(a.fn.scope, a.fn.base[a.buf], a.elem, at, a.group)
    key = ("part", ptr.text, a.elem, a.lanes)
    return w.known(key) or w.remember(key, load_first(a, ptr, left), [a.buf])


# ---------------------------------------------------------------- stores


def stores_of_rows(s: For, lane: Var, w: int) -> list[int]:
    """Which statements of a loop store the columns of rows, one behind the other, or apart and at
    least a vector of w elements long. What they store is not read in the loop."""
    if not takes_rows(s):
        return []
    read = reads(s.body)
    return [
        i
        for i, t in enumerate(s.body)
        if isinstance(t, Store)
        and t.buf.space == GLOBAL
        and t.buf not in read
        and not t.mask
        and (is_column(t.index, s, lane) or is_apart(t.index, s, lane, w))
    ]


def rows_in_pieces(body: list[Stmt], lane: Var) -> list[list[Stmt]]:
    """The statements of a LANES loop in order: those that store the columns of a row, one behind
    the other, in one list, any other alone. What they store is not read in the loop."""
    out: list[list[Stmt]] = []
    read = reads(body)
    for s in body:
        last = out[-1] if out else []
        if last and _continues(last, s, lane, read):
            last.append(s)
        else:
            out.append([s])
    return [run for some in out for run in _whole(some, lane)]


def _continues(row: list[Stmt], s: Stmt, lane: Var, read: Set[Buf]) -> bool:
    """Is it a Store of the column behind those of a row?"""
    first = row[0]
    return (
        isinstance(first, Store)
        and isinstance(s, Store)
        and s.buf is first.buf
        and s.buf.space == GLOBAL
        and s.buf not in read
        and not (s.mask or first.mask)
        and len(row) < row_length(first.index, lane)
        and s.index - first.index == Index(const=len(row))
    )


def _whole(row: list[Stmt], lane: Var) -> list[list[Stmt]]:
    """A row that is stored whole, else its statements apart."""
    s = row[0]
    is_row = isinstance(s, Store) and len(row) == row_length(s.index, lane)
    return [row] if is_row else [[t] for t in row]


def store_rows(fn: Function, s: Store, columns: list[Val], group: int) -> None:
    """The columns of a row for each live lane; the Store is that of the first column."""
    lanes, w = fn.scope.lanes, fn.writer
    assert lanes is not None
    a = Access(fn, s.buf, s.index, group, lanes.tails[group], 0)
    stride = lanes.stride(s.index) or 0
    if stride > len(columns):
        store_apart(a, columns, stride)
        return
    w.forget(s.buf)
    left = (first_lanes(a.live, lanes.w) or 0) * len(columns)
    vectors = _rows(w, [to_memory(a, w.splat(v, lanes.w)) for v in columns])
    for i, vector in enumerate(vectors[: -(-left // lanes.w)]):
        store_first(a, a.ptr(i * lanes.w), vector, left - i * lanes.w)


def _rows(w: Writer, columns: list[Val]) -> list[Val]:
    """As many vectors: the elements of all lanes, row by row."""
    count, n = len(columns), columns[0].w
    if count == 1:
        return columns
    if count % 2 == 0:
        evens, odds = _rows(w, columns[::2]), _rows(w, columns[1::2])
        pairs = [[first + lane // 2 + n * (lane % 2) for lane in range(n)] for first in (0, n // 2)]
        return [w.shuffle(x, p, y) for x, y in zip(evens, odds, strict=True) for p in pairs]
    return [_picked(w, columns, i * n) for i in range(count)]


def _picked(w: Writer, columns: list[Val], first: int) -> Val:
    """The elements from number `first` on, row by row."""
    count, n = len(columns), columns[0].w
    places = [divmod(first + lane, count) for lane in range(n)]
    out = w.shuffle(columns[0], [row for row, _ in places])
    for column, v in enumerate(columns[1:], 1):
        out = w.shuffle(
            out, [n + row if at == column else lane for lane, (row, at) in enumerate(places)], v
        )
    return out
