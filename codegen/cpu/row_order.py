"""Sums without lanes, in the order that lanes would give. In: a loop that sums. Out: loops over
partial sums, an expression.

    before    for i < 6: sum += x[i]
    after     for i < 6: part[i] += x[i];  for i < 4: part[i] += part[i + 4];  ...;  sum += part[0]

Term i of a row is added to partial sum i mod `apart`, the upper half of the partial sums to the
lower half (`apart`): so a sum whose terms are neighbours (ir/kernels/sum_order.py) has the same
bits in a tiny kernel, in one whose lanes are other rows, and in one whose lanes are its terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from ...ir.graph.graph import Node, node
from ...ir.graph.index import Index, Var, row_major, var
from ...ir.graph.op import Op
from ...ir.loops.loop import REG, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ...ir.loops.walk import Substitution
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import has_several
from ..kernels import loop_axes
from ..kernels.cascade import TERMS, cascade, cascade_lanes, has_blocks
from ..kernels.evaluate import load
from ..kernels.kernel_axes import identity, row_statements
from ..kernels.loop_axes import grouped
from ..kernels.stages import Reduction, RowLoop
from ..llvm.target import Target

Partials = list[Node | None]


@dataclass(frozen=True)
class Accumulators:
    """Those that are filled at once: one, or one for each lane of a block of results."""

    size: int
    at: Index  # of a lane
    at_once: int  # terms that are added to an accumulator while it is in a register
    # a loop over the lanes, in a loop over partial sums
    loop: Callable[[list[Stmt], Var], Stmt] | None = None

    def each(self, body: list[Stmt], part: Var) -> list[Stmt]:
        """Statements for every accumulator."""
        return [self.loop(body, part)] if self.loop else body


ONE = Accumulators(1, Index(), 1)


def ordered(loop: RowLoop, apart: int, into: Accumulators = ONE) -> list[Stmt]:
    """The loop in serial loops; its sums that lanes would add up by way of partial sums."""
    sums = [r for r in loop.reductions if loop.axes and r.has_order and r.in_lanes]
    if not sums:
        return cascade(loop.axes, row_statements(loop))
    *others, lane = loop.axes
    parts = _PartialSums(sums, _count(lane.extent, apart), into)
    body = Substitution({}, parts.held).body(row_statements(loop, into.at))
    inside = any(has_several(v.extent) for v in others)
    return [
        *(Alloc(parts.held[r.acc], identity(r.kind, r.acc.dtype)) for r in sums),
        *cascade(
            others, cascade_lanes(lane, apart, parts.terms, body, inside, parts.fold), parts.fold
        ),
        *(s for r in sums for s in parts.total(r)),
    ]


def _count(terms: int, apart: int) -> int:
    """Partial sums of so many terms: a power of two."""
    return apart if isinstance(terms, Symbolic) else min(apart, 1 << (terms - 1).bit_length())


class _PartialSums:
    """Those of some sums: `count` blocks of accumulators each."""

    def __init__(self, sums: list[Reduction], count: int, into: Accumulators) -> None:
        self.count, self.into = count, into
        self.held = {
            r.acc: replace(r.acc, name=f"{r.acc.name}_parts", size=count * into.size) for r in sums
        }

    def terms(self, v: Var, body: list[Stmt]) -> list[Stmt]:
        """The body for all terms along v, each added to its partial sum."""
        times, rest = divmod(v.extent, self.count)
        part, last = Var(v.name, self.count), Var(v.name, rest)
        groups = [
            (axes, part, at) for axes, at in grouped(Var(f"{v.name}q", times), self.into.at_once)
        ]
        if isinstance(rest, Symbolic) or rest:
            groups.append(([], last, [Index(const=times)]))
        out: list[Stmt] = []
        for axes, p, times_at in groups:
            steps = [Substitution({v: at * self.count + var(p)}).body(body) for at in times_at]
            added = [self._into_part(s, p) for step in steps for s in step]
            out.append(loop_axes.nest([*axes, p], *self.into.each(added, p)))
        return out

    def fold(self, into: Buf, part: Buf, kind: str) -> Stmt:
        """Adds partial sums to others."""
        p = Var("p", self.count)
        return self._for_each(p, Reduce(into, self._at(p), kind, load(part, self._at(p))))

    def total(self, r: Reduction) -> list[Stmt]:
        """The upper half of the partial sums onto the lower half, until one is left."""
        held, half, out = self.held[r.acc], self.count // 2, list[Stmt]()
        while half:
            p = Var("p", half)
            upper = load(held, self._at(p) + half * self.into.size)
            out.append(self._for_each(p, Reduce(held, self._at(p), r.kind, upper)))
            half //= 2
        first = load(held, self.into.at)
        return [*out, *self.into.each([Reduce(r.acc, self.into.at, r.kind, first)], Var("p", 1))]

    def _at(self, part: Var) -> Index:
        return var(part) * self.into.size + self.into.at

    def _into_part(self, s: Stmt, part: Var) -> Stmt:
        if isinstance(s, Reduce) and s.buf in self.held.values():
            return replace(s, index=self._at(part))
        return s

    def _for_each(self, part: Var, s: Stmt) -> Stmt:
        return For(part, part.extent, SERIAL, self.into.each([s], part))


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


def _total(r: Reduction, terms: Buf, axes: Sequence[Var], apart: int) -> Node:
    """The sum of terms in memory, in the order of `cascade`; along rows each step of the other axes
    has partial sums."""
    extents = [v.extent for v in axes]
    lanes = extents.pop() if r.in_lanes else 1
    count = _count(lanes, apart)
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
