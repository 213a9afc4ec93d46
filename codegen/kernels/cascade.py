"""Blocked summation: an accumulator adds up a few terms, then hands over to the next. In: a loop
that sums, or multiplies. Out: nested loops.

    before    for i < 512: sum += x[i]
    after     for a < 8: { s1 = 0; for b < 8: { s0 = 0; for c < 8: s0 += x[64*a + 8*b + c]; s1 += s0
              }; sum += s1 }

The error of a sum grows with the additions that follow each other, here 24 instead of 512 (Higham,
SIAM Journal on Scientific Computing 14, 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...ir.graph.graph import scalar_node
from ...ir.graph.index import Index, Var, var
from ...ir.graph.op import Op
from ...ir.kernels.sum_order import has_order
from ...ir.loops.loop import GLOBAL, SERIAL, Alloc, Buf, For, Reduce, Stmt
from ...ir.loops.walk import Substitution, statements
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import has_several, is_same
from .kernel_axes import identity
from .loop_axes import grouped, nest

TERMS = (
    8  # that an accumulator adds up; as rows at once, memory serves several streams faster than one
)
LANE_TERMS = 32  # that each lane of a vector does
LEVELS = 5  # of groups of an axis of any length

Loop = Callable[[Var, list[Stmt]], list[Stmt]]  # a loop over a variable
# adds the elements of the second accumulator to those of the first, or multiplies these by them
Fold = Callable[[Buf, Buf, str], Stmt]


def fold_one(into: Buf, part: Buf, kind: str) -> Reduce:
    """A Fold of accumulators of one element."""
    return Reduce(into, Index(), kind, scalar_node(Op.LOAD, (), (part, Index(), ()), part.dtype))


def cascade(
    axes: Sequence[Var], body: list[Stmt], fold: Fold = fold_one, in_order: bool = False
) -> list[Stmt]:
    """The body inside serial loops over the axes, the first outermost; `in_order`: without
    blocks."""
    if in_order:
        return [nest(axes, *body)]
    for i in reversed(range(len(axes))):
        body = _along(axes[i], body, fold, any(has_several(v.extent) for v in axes[:i]))
    return body


def cascade_lanes(
    lane: Var, step: int, loop: Loop, body: list[Stmt], inside: bool, fold: Fold = fold_one
) -> list[Stmt]:
    """The body in a loop over the lanes, of which a step takes so many, or in loops over blocks.
    `inside`: of further loops."""
    if not _sums(body, lane) or not has_blocks(lane.extent, step):
        return loop(lane, body)
    return _blocks(lane, LANE_TERMS * step, loop, body, fold, inside)


def has_blocks(terms: int, step: int) -> bool:
    """Are so many terms along lanes added up in blocks?"""
    return terms > 2 * LANE_TERMS * step


def cascade_groups(
    axis: Var, terms: Callable[[list[Var], list[Index]], Stmt], fold: Fold, inside: bool
) -> list[Stmt]:
    """An axis whose terms are added up TERMS at once, in the order of cascade(). `terms`: adds
    those at some places along it."""
    out: list[Stmt] = []
    for axes, steps in grouped(axis, TERMS):
        body = [terms(axes, steps)]
        if len(steps) == 1 and axes:  # what is left over, a number of steps that is not known
            out += _in_part(_serial(axes[0], body), axes, fold)
        else:
            out += _levels(axes[0], body, fold) if axes else body
    return _in_part(out, [axis], fold) if inside and has_several(axis.extent) else out


def _along(axis: Var, body: list[Stmt], fold: Fold, inside: bool) -> list[Stmt]:
    """The body in a serial loop over an axis; of many terms, in loops over blocks."""
    if not _sums(body, axis):
        return _serial(axis, body)
    if not _is_long(axis.extent):
        loop = _serial(axis, body)
        return _in_part(loop, [axis], fold) if inside and has_several(axis.extent) else loop
    return _blocks(axis, TERMS, _serial, body, fold, inside)


def _is_long(extent: int, level: int = 0) -> bool:
    """Does an axis have blocks? One of any length has blocks of several levels: those of a level
    that it does not reach are none, and nothing is added to their sums."""
    return (level < LEVELS and isinstance(extent, Symbolic)) or extent > TERMS


def _blocks(
    axis: Var, size: int, loop: Loop, body: list[Stmt], fold: Fold, inside: bool
) -> list[Stmt]:
    """A loop over the blocks of an axis, with accumulators of their own, then over what is left."""
    count, rest = divmod(axis.extent, size)
    block, place, last = Var(f"{axis.name}b", count), Var(axis.name, size), Var(axis.name, rest)
    one = loop(place, Substitution({axis: var(block) * size + var(place)}).body(body))
    out = _levels(block, _in_part(one, [block, place], fold), fold)
    if isinstance(rest, Symbolic) or rest:
        out += _in_part(
            loop(last, Substitution({axis: var(last) + count * size}).body(body)), [last], fold
        )
    return _in_part(out, [axis, block, last], fold) if inside else out


def _levels(axis: Var, body: list[Stmt], fold: Fold) -> list[Stmt]:
    """A serial loop over the axis; where it is long, over groups of TERMS, over groups of these and
    so on, of which the last may be shorter."""
    if not _sums(body, axis):
        return _serial(axis, body)
    counts = [axis.extent]
    while _is_long(counts[-1], len(counts)):
        counts.append(-(-counts[-1] // TERMS))
    groups = [Var(f"{axis.name}{'b' * i}", TERMS) for i in range(len(counts) - 1)]
    groups.append(Var(f"{axis.name}{'b' * len(groups)}", counts[-1]))
    firsts = [Index()]  # of each level, from the outermost: where its group begins
    for group in reversed(groups[1:]):
        firsts.append((firsts[-1] + var(group)) * TERMS)
    out = Substitution({axis: firsts[-1] + var(groups[0])}).body(body)
    for group, count, first in zip(groups[:-1], counts, reversed(firsts), strict=False):
        whole = is_same(count % TERMS, 0)
        loop = For(group, TERMS, SERIAL, out, *(() if whole else (1, first, count)))
        out = _in_part([loop], groups, fold)
    return _serial(groups[-1], out)


def _serial(axis: Var, body: list[Stmt]) -> list[Stmt]:
    return [For(axis, axis.extent, SERIAL, body)]


def _sums(body: Iterable[Stmt], *axes: Var) -> dict[Buf, str]:
    """The private accumulators of float sums and products over the axes to which the statements
    add, if they do not allocate them; and whether that is `add` or `mul`."""
    inside = list(statements(list(body)))
    own = {s.buf for s in inside if isinstance(s, Alloc)}
    reduces = [
        s for s in inside if isinstance(s, Reduce) and s.buf.space != GLOBAL and s.buf not in own
    ]
    moving = {s.buf for s in reduces if not s.index.vars().isdisjoint(axes)}
    rounded = {s.buf: s.op for s in reduces if has_order(s.op, s.buf.dtype)}
    return {b: kind for b, kind in rounded.items() if b not in moving}


def _in_part(body: list[Stmt], axes: Sequence[Var], fold: Fold) -> list[Stmt]:
    """The same statements, their sums over the axes by way of accumulators of their own."""
    sums = _sums(body, *axes)
    parts = {b: Buf(f"{b.name}_part", b.dtype, b.size, b.space, b.site) for b in sums}
    return [
        *(Alloc(parts[b], identity(kind, b.dtype)) for b, kind in sums.items()),
        *Substitution({}, parts).body(body),
        *(fold(b, parts[b], kind) for b, kind in sums.items()),
    ]
