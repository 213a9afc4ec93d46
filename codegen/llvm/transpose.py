"""Transposed stores. In: an UNROLL loop around one LANES loop around one Store. Out: whole vectors,
exchanged in registers.

    for j in 0..W unrolled: for k in lanes 0..W: panel[k * n + j] = x[j * m + k]

W vectors are loaded along k, transposed by log2(W) exchanges each, and stored along j. What is
gained: neither a gather nor a scatter, which take one element at a time.
"""

from __future__ import annotations

from ...ir.graph.index import Div, Index, Mod, Var
from ...ir.loops.loop import LANES, For, Store
from .lanes import Lanes
from .values import Val, integer
from .writer import Writer


def square(s: For, w: int) -> tuple[For, Store] | None:
    """The LANES loop and the Store of a loop that stores a square of w x w elements transposed, or
    the corner of one."""
    if (
        len(s.body) != 1
        or not isinstance(s.extent, int)
        or not 1 < s.extent <= w
        or s.total is not None
    ):
        return None
    inner = s.body[0]
    if (
        not isinstance(inner, For)
        or inner.kind != LANES
        or inner.total is not None
        or len(inner.body) != 1
    ):
        return None
    if not isinstance(inner.extent, int) or not 1 < inner.extent <= w:
        return None
    store = inner.body[0]
    if not isinstance(store, Store) or store.mask or not _across(store.index, s.var, inner.var, w):
        return None
    return inner, store


def _across(index: Index, row: Var, lane: Var, w: int) -> bool:
    """Consecutive along the unrolled variable, apart along the lanes."""
    if (
        any(isinstance(t, Div | Mod) and t.index.vars() & {row, lane} for t, _ in index.terms)
        or index.values()
    ):
        return False
    stride = Lanes(lane, w, integer(0), [], 0, set()).stride(index)
    return index.coef(row) == 1 and stride is not None and abs(stride) > 1


def transposed(w: Writer, rows: list[Val]) -> list[Val]:
    """Vector i of the result holds lane i of every row; as many rows as lanes, a power of two."""
    size = len(rows)
    apart = size // 2
    while apart:
        low = [lane if not lane & apart else size + (lane ^ apart) for lane in range(size)]
        high = [lane | apart if not lane & apart else size + lane for lane in range(size)]
        rows = [
            w.shuffle(rows[i], low, rows[i | apart])
            if not i & apart
            else w.shuffle(rows[i ^ apart], high, rows[i])
            for i in range(size)
        ]
        rows = [fenced(w, row) for row in rows]
        apart //= 2
    return rows


def fenced(w: Writer, v: Val) -> Val:
    """The same value, hidden from LLVM: trying to combine all exchanges takes it longer than all
    else."""
    return w.call("arithmetic.fence", v) if v.type in ("float", "double") else v
