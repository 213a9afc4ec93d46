"""Reductions: how values combine. In: an operation (add, max, mul), a dtype, values. Out: their
combination, lanes too."""

from __future__ import annotations

from ...ir.graph.dtype import DType
from ...ir.loops.loop import neutral
from .target import Target
from .values import Val, const_text, elem_type, integer
from .writer import Writer


def maximum(w: Writer, dtype: DType, a: Val, b: Val) -> Val:
    """NumPy's: a if a >= b or a is NaN, else b. Written so that x86's max instruction fits, with
    b's NaN put back."""
    a, b = w.same_lanes(a, b)
    if dtype.kind == "b":
        return w.binary("or", a, b)
    if not dtype.is_float:
        return w.call("smax" if dtype.kind == "i" else "umax", a, b)
    larger = w.select(w.compare("ogt", b, a), b, a)
    return w.select(w.compare("uno", b, b), b, larger)


def fused(w: Writer, target: Target, a: Val, b: Val, c: Val) -> Val:
    """a*b + c, rounded once where the target can."""
    a, b, c = w.same_lanes(a, b, c)
    if target.has_fma:
        return w.call("fma", a, b, c)
    return w.binary("fadd", w.binary("fmul", a, b), c)


def identity(op: str, dtype: DType) -> Val:
    """What changes nothing."""
    return Val(const_text(neutral(op, dtype), dtype), elem_type(dtype))


def combined(w: Writer, op: str, dtype: DType, a: Val, b: Val) -> Val:
    """a op b; of bools: or, or, and."""
    if op == "max":
        return maximum(w, dtype, a, b)
    names = {"b": ("or", "and"), "f": ("fadd", "fmul")}.get(dtype.kind, ("add", "mul"))
    return w.binary(names[op == "mul"], a, b)


def across_lanes(w: Writer, op: str, dtype: DType, v: Val) -> Val:
    """All lanes combined in a fixed order: upper half onto lower half."""
    while v.w > 1:
        half = v.w // 2
        low, high = (_lanes(w, v, start, half) for start in (0, half))
        v = combined(w, op, dtype, low, high)
    return v


def totals(w: Writer, op: str, dtype: DType, vectors: list[Val]) -> list[Val]:
    """across_lanes of each vector, in the same order of operations, many at once.

    Two vectors are folded into one that holds half as many lanes of each, until a vector holds one
    lane of each of W.
    """
    width = vectors[0].w
    if len(vectors) == 1 or width == 1:
        return [across_lanes(w, op, dtype, v) for v in vectors]
    out: list[Val] = []
    for start in range(0, len(vectors), width):
        part = vectors[start : start + width]
        folded, size = part, width
        while size > 1:
            size //= 2
            pairs = [
                (folded[i], folded[min(i + 1, len(folded) - 1)]) for i in range(0, len(folded), 2)
            ]
            folded = [_folded(w, op, dtype, a, b, size) for a, b in pairs]
        out += [w.extract(folded[0], integer(lane)) for lane in range(len(part))]
    return out


def _folded(w: Writer, op: str, dtype: DType, a: Val, b: Val, size: int) -> Val:
    """Lanes `size` apart of a, then of b, combined; each holds parts of 2 * size lanes."""
    low = [at for at in range(2 * a.w) if not at & size]
    return combined(w, op, dtype, w.shuffle(a, low, b), w.shuffle(a, [at + size for at in low], b))


def _lanes(w: Writer, v: Val, start: int, count: int) -> Val:
    return (
        w.shuffle(v, list(range(start, start + count)))
        if count > 1
        else w.extract(v, integer(start))
    )
