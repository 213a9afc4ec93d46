"""Transposed stores. In: an UNROLL loop around one LANES loop around Stores. Out: whole vectors,
exchanged in registers.

    for j in 0..W unrolled: for k in lanes 0..W: panel[k * n + j] = x[j * m + k]

W vectors are loaded along k, transposed by log2(W) exchanges each, and stored along j. What is
gained: neither a gather nor a scatter, which take one element at a time.
"""

from __future__ import annotations

from ...ir.graph.index import Div, Index, Mod, Var
from ...ir.loops.loop import LANES, REG, For, Store
from ...ir.loops.walk import reads
from .lanes import Lanes
from .values import Val, integer
from .writer import Writer


def square(s: For, w: int) -> tuple[For, list[Store]] | None:
    """The LANES loop and the Stores of a loop that stores squares of w x w elements transposed, or
    the corners of such; of as many lanes as its total leaves. All values are evaluated before the
    first is stored."""
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
        or s.var in inner.base.vars()
        or not isinstance(inner.extent, int)
        or not 1 < inner.extent <= w
    ):
        return None
    stores = [t for t in inner.body if isinstance(t, Store)]
    if len(stores) < len(inner.body) or any(
        t.buf.space == REG or t.mask or not _across(t.index, s.var, inner.var, w) for t in stores
    ):
        return None
    apart = len(stores) == 1 or not {t.buf for t in stores} & reads(inner.body)
    return (inner, stores) if apart else None


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
