"""Choices by position, made once a line, a range of lanes or a step. In: stores of a LANES or
UNROLL loop. Out: statements without such choices.

    before   for g < 3: for l lanes:
                 out[8*g + l] = where(g < 1, a[8*g + l] if g < 1, b[8*g + l - 8] if 0 <= g - 1 < 2)
    after    for g < 3: if g < 1: for l lanes: out[8*g + l] = a[8*g + l]
                        if 1 <= g < 3: for l lanes: out[8*g + l] = b[8*g + l - 8]

    before   for l < 90 lanes:
                 out[90*g + l] = where(l < 30, a[30*g + l] if l < 30, b[60*g + l - 30])
    after    for l < 30 lanes: out[90*g + l] = a[30*g + l]
             for l < 60 lanes: out[90*g + l + 30] = b[60*g + l]

    before   for c < 2 unrolled: out[2*l + c] = where(c < 1, a[l] if c < 1, b[l])
    after    out[2*l] = a[l]
             out[2*l + 1] = b[l]

Joins have them: a line of a join is a line of one of its parts, or consists of lines of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ...ir.graph.graph import Node, const, rebuild, scalar_node
from ...ir.graph.index import Index, Range, Var, var
from ...ir.graph.op import Op
from ...ir.loops.loop import UNROLL, If, Stmt, Store
from ...ir.loops.walk import Substitution, in_order, operands, postorder
from .loop_axes import nested, work

MOST_WORK = 256  # operations of all loops together, as a bound on the code


LaneLoop = Callable[[Var, list[Stmt]], Stmt]


def by_position(lane: Var, stores: Sequence[Store], loop: LaneLoop) -> list[Stmt]:
    """The stores in loops over lanes, which `loop` makes: one for each range of positions, and of
    lanes, with the same choices."""
    nodes = postorder([s.value for s in stores])
    position = next(
        (at[0] for n in nodes if (at := _compared(n)) is not None and lane not in at[0].vars()),
        None,
    )
    cuts = _cuts(nodes, position) if position is not None else []
    if position is None or (bodies := _bodies(stores, position, cuts)) is None:
        return _by_lane(lane, stores, loop)
    return _tree(position, cuts, [_by_lane(lane, body, loop) for body in bodies])


def by_step(steps: Sequence[Var], stores: Sequence[Store]) -> list[Stmt]:
    """The stores in unrolled loops; once for each step of those by whose steps they choose, one
    behind the other in memory."""
    loops, buffers = [], list(dict.fromkeys(s.buf for s in stores))
    for step in steps:
        if len(_cuts(postorder([s.value for s in stores]), var(step))) > 2:
            stores = [s for store in stores for s in _each_step(step, store)]
        else:
            loops.append(step)
    in_order = sorted(stores, key=lambda s: (buffers.index(s.buf), s.index.const))
    return nested(loops, [*in_order], UNROLL, UNROLL)


def _each_step(step: Var, store: Store) -> Iterator[Store]:
    for k in range(step.extent):
        (known,) = _known([store], Range(var(step), k, k + 1))
        by = Substitution({step: Index(const=k)})
        yield replace(known, index=by.index(known.index), value=by.node(known.value))


def _by_lane(lane: Var, stores: Sequence[Store], loop: LaneLoop) -> list[Stmt]:
    """The stores in one loop for each range of lanes with the same choices."""
    cuts = _cuts(postorder([s.value for s in stores]), var(lane))
    bodies = _bodies(stores, var(lane), cuts)
    if bodies is None or len(bodies) == 1:
        return [loop(lane, [*stores])]
    loops = []
    for (lo, hi), body in zip(pairwise(cuts), bodies, strict=True):
        part = Var(lane.name, hi - lo)
        loops.append(loop(part, Substitution({lane: var(part) + lo}).body([*body])))
    return loops


def _bodies(
    stores: Sequence[Store], position: Index, cuts: Sequence[int]
) -> list[list[Store]] | None:
    """The stores in each range of a position, unless that is too much code."""
    bodies = [_known(stores, Range(position, lo, hi)) for lo, hi in pairwise(cuts)]
    if sum(work(postorder([s.value for s in body])) for body in bodies) > MOST_WORK:
        return None
    return bodies


def _compared(n: Node) -> tuple[Index, int, bool] | None:
    """(a position from 0 on, a bound, what n is below the bound), where n compares a position with
    a constant."""
    a, b = n.src if n.op is Op.LT else (n, n)
    if a.op is Op.VAR and b.op is Op.CONST and not a.arg.values():
        return a.arg - a.arg.const, b.arg - a.arg.const, True
    if a.op is Op.CONST and b.op is Op.VAR and not b.arg.values():
        return b.arg - b.arg.const, a.arg - b.arg.const + 1, False
    return None


def _cuts(nodes: Sequence[Node], position: Index) -> list[int]:
    """The ends of the ranges in which every comparison of the position has one outcome."""
    first, last = position.bounds
    found = {first, last + 1}
    for n in nodes:
        compared = _compared(n)
        if compared is not None and compared[0] == position:
            found.add(compared[1])
        for r in n.arg[2] if n.op is Op.LOAD else ():
            if r.index.terms == position.terms:
                found |= {r.lo - r.index.const, r.hi - r.index.const}
    return sorted(c for c in found if first <= c <= last + 1)


def _known(stores: Sequence[Store], where: Range) -> list[Store]:
    """The stores in one of these ranges."""
    done: dict[Node, Node] = {}

    def needed(n: Node) -> tuple[Node, ...]:
        if n.op is not Op.WHERE or n.arg:
            return operands(n)
        condition = done.get(n.src[0])
        if condition is None:
            return n.src[:1]
        return n.src if condition.op is not Op.CONST else n.src[1:2] if condition.arg else n.src[2:]

    for s in stores:
        for n in in_order(s.value, done.__contains__, needed):
            done[n] = _simplified(n, done, where)
    return [replace(s, value=done[s.value]) for s in stores]


def _simplified(n: Node, done: Mapping[Node, Node], where: Range) -> Node:
    if n.op is Op.LOAD:
        return _load(n, where)
    compared = _compared(n)
    if compared is not None and compared[0] == where.index:
        return const((where.hi <= compared[1]) == compared[2], n.dtype)
    if n.op is Op.WHERE and (condition := done[n.src[0]]).op is Op.CONST:
        return done[n.src[1 if condition.arg else 2]]
    if n.op is Op.AND and n.dtype.kind == "b":
        for a, b in (n.src, n.src[::-1]):
            if done[a].op is Op.CONST:
                return done[b] if done[a].arg else done[a]
    return rebuild(n, tuple(done[s] for s in n.src))


def _load(n: Node, where: Range) -> Node:
    """Without the conditions that hold in the range; 0 where one does not."""
    buf, index, mask = n.arg
    kept = []
    for r in mask:
        lo, hi = r.lo - r.index.const, r.hi - r.index.const
        if r.index.terms != where.index.terms:
            kept.append(r)
        elif hi <= where.lo or lo >= where.hi:
            return const(0, n.dtype)
    return (
        n
        if len(kept) == len(mask)
        else scalar_node(Op.LOAD, (), (buf, index, tuple(kept)), n.dtype)
    )


def _tree(position: Index, cuts: Sequence[int], loops: Sequence[list[Stmt]]) -> list[Stmt]:
    """Loops i where cuts[i] <= position < cuts[i + 1]."""
    if len(loops) == 1:
        return loops[0]
    middle = len(loops) // 2
    parts = ((cuts[: middle + 1], loops[:middle]), (cuts[middle:], loops[middle:]))
    return [
        If((Range(position, ends[0], ends[-1]),), _tree(position, ends, part))
        for ends, part in parts
    ]
