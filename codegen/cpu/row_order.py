"""Sums without lanes, in the order that lanes would give. In: a loop that sums. Out: loops over
partial sums, an expression.

    before    for i < 6: sum += x[i]
    after     for i < 6: part[i] += x[i];  for i < 4: part[i] += part[i + 4];  ...;  sum += part[0]

Term i of a row is added to partial sum i mod `apart`, the upper half of the partial sums to the
lower half (`apart`): so a sum has the same bits in a tiny kernel, in one whose lanes are other
rows, and in one whose lanes are its terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...ir.graph.graph import Node, node
from ...ir.graph.index import Index, Var, row_major, var
from ...ir.graph.op import Op
from ...ir.loops.loop import REG, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ...ir.loops.walk import Substitution
from ..kernels import loop_axes
from ..kernels.cascade import TERMS, cascade, has_blocks
from ..kernels.evaluate import load
from ..kernels.kernel_axes import identity, row_statements
from ..kernels.stages import Reduction, RowLoop
from ..llvm.target import Target

Partials = list[Node | None]


def ordered(loop: RowLoop, apart: int) -> list[Stmt]:
    """The loop in serial loops; its sums over rows by way of partial sums."""
    sums = _sums(loop)
    if not sums:
        return cascade(loop.axes, row_statements(loop))
    *others, lane = loop.axes
    count = min(apart, 1 << (lane.extent - 1).bit_length())
    parts = {
        r.acc: Buf(f"{r.acc.name}_parts", r.acc.dtype, count, r.acc.space, r.acc.site) for r in sums
    }

    def step(at: Index, part: Var) -> list[Stmt]:
        moved = Substitution({lane: at}, parts).body(row_statements(loop))
        return [
            replace(s, index=var(part)) if isinstance(s, Reduce) and s.buf in parts.values() else s
            for s in moved
        ]

    def fold(into: Buf, part: Buf) -> Stmt:
        p = Var("p", count)
        return For(p, count, SERIAL, [Reduce(into, var(p), "add", load(part, var(p)))])

    times, rest = divmod(lane.extent, count)
    q, p, last = Var(f"{lane.name}q", times), Var(lane.name, count), Var(lane.name, rest)
    body: list[Stmt] = [loop_axes.nest([q, p], *step(var(q) * count + var(p), p))] if times else []
    if rest:
        body.append(loop_axes.nest([last], *step(var(last) + times * count, last)))
    out: list[Stmt] = [Alloc(parts[r.acc], identity(r.kind, r.acc.dtype)) for r in sums]
    out += cascade(others, body, fold)
    return out + [s for r in sums for s in _folded(r, parts[r.acc])]


def unrolled(loop: RowLoop, apart: int) -> list[Stmt]:
    """All steps of the loop one after the other, for one lane; then each of its sums of floats as
    an expression."""
    sums = [r for r in loop.reductions if loop.axes and r.has_order]
    index = row_major([var(v) for v in loop.axes], [v.extent for v in loop.axes])
    held = {
        r.acc: Buf(
            f"{r.acc.name}_terms", r.acc.dtype, prod(v.extent for v in loop.axes), REG, r.acc.site
        )
        for r in sums
    }
    steps: list[Stmt] = [
        Store(held[s.buf], index, s.value) if isinstance(s, Reduce) and s.buf in held else s
        for s in row_statements(loop)
    ]
    totals: list[Stmt] = [
        Reduce(r.acc, Index(), r.kind, _total(r, held[r.acc], loop.axes, apart)) for r in sums
    ]
    return [
        *(Alloc(b) for b in held.values()),
        loop_axes.nest(loop.axes, *steps, kind=UNROLL),
        *totals,
    ]


def in_blocks(n: Node, target: Target) -> bool:
    """Is it a sum of floats of which lanes might add up blocks? Then it has no order here."""
    terms = n.src[0].size // max(1, n.size) if n.op is Op.REDUCE and n.dtype.is_float else 0
    return has_blocks(terms, loop_axes.apart(terms, target.lanes(32)))


def _sums(loop: RowLoop) -> list[Reduction]:
    return [r for r in loop.reductions if loop.axes and r.in_rows and r.has_order]


def _folded(r: Reduction, parts: Buf) -> list[Stmt]:
    """The upper half of the partial sums onto the lower half, until one is left."""
    out: list[Stmt] = []
    half = parts.size // 2
    while half:
        p = Var("p", half)
        out.append(
            For(p, half, SERIAL, [Reduce(parts, var(p), r.kind, load(parts, var(p) + half))])
        )
        half //= 2
    return [*out, Reduce(r.acc, Index(), r.kind, load(parts, Index()))]


def _total(r: Reduction, terms: Buf, axes: Sequence[Var], apart: int) -> Node:
    """The sum of terms in memory, in the order of `cascade`; along rows each step of the other axes
    has partial sums."""
    extents = [v.extent for v in axes]
    lanes = extents.pop() if r.in_rows else 1
    count = min(apart, 1 << (lanes - 1).bit_length())
    none: Partials = [None] * count

    def added(a: Partials, b: Partials) -> Partials:
        return [_joined(r, x, y) for x, y in zip(a, b, strict=True)]

    def row(total: Partials, at: int) -> Partials:
        for i in range(0, lanes, count):
            loads = [
                load(terms, Index(const=at * lanes + j)) for j in range(i, min(i + count, lanes))
            ]
            total = added(total, [*loads, *none[len(loads) :]])
        return total

    def along(extents: Sequence[int], total: Partials, at: int, inside: bool) -> Partials:
        if not extents:
            return row(total, at)
        n, *inner = extents

        def steps(total: Partials, first: int, end: int) -> Partials:
            for i in range(first, end):
                total = along(inner, total, at * n + i, inside or n > 1)
            return total

        if n <= TERMS:
            return added(total, steps(none, 0, n)) if inside and n > 1 else steps(total, 0, n)
        whole = none if inside else total
        for first in range(0, n, TERMS):
            whole = added(whole, steps(none, first, min(first + TERMS, n)))
        return added(total, whole) if inside else whole

    sums = along(extents, none, 0, False)
    while len(sums) > 1:
        half = len(sums) // 2
        sums = added(sums[:half], sums[half:])
    assert sums[0] is not None
    return sums[0]


def _joined(r: Reduction, a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return b if a is None else a
    return node(Op.ADD if r.kind == "add" else Op.MUL, (a, b))
