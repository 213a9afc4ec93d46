"""Lanes and accumulators, planned before emission. In: a phase, a Target. Out: lanes and groups of
LANES loops, use of private buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var
from ...ir.graph.op import Op
from ...ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    UNROLL,
    Alloc,
    Buf,
    For,
    If,
    Param,
    Reduce,
    Stmt,
    Store,
)
from ...ir.loops.walk import operands, part_of, postorder, roots, statements, usual_operands
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import is_same
from .lanes import Lanes
from .target import Target
from .values import integer

MOST_COLUMNS = 16  # elements of a row, one row per lane, that are sorted in registers
STRAIGHT = 4  # vectors: shorter LANES loops become straight-line code


@dataclass
class Use:
    """How a private buffer is used: as an array sliced in vectors, or one of REG as partial sums
    {width: groups}."""

    slice: int = 0
    op: str = ""
    partials: dict[int, int] = field(default_factory=dict)
    extents: set[object] = field(default_factory=set)  # of the LANES loops that access it
    aligned: bool = True  # every access is a whole slice

    @property
    def padded(self) -> bool:
        """Whether lanes past the end of a LANES loop are never looked at, so that tails need no
        masks."""
        return self.aligned and len(self.extents) == 1


@dataclass
class Plan:
    widths: dict[Var, int] = field(default_factory=dict)
    groups: dict[Var, int] = field(default_factory=dict)  # at most so many vectors at once
    uses: dict[Buf, Use] = field(default_factory=dict)
    # first elements of rows of a lane that are read whole
    rows: dict[Buf, list[Index]] = field(default_factory=dict)
    # and of those that lie apart, with their lengths
    apart: dict[Buf, list[tuple[Index, int]]] = field(default_factory=dict)

    def slice_width(self, buf: Buf, target: Target) -> int:
        """The vectors by which a private array is filled."""
        if buf.space != REG:
            return target.lanes(8 * buf.dtype.itemsize)
        return max(1, self.uses[buf].slice) if buf in self.uses else 1


def lane_width(loop: For, target: Target) -> int:
    """Lanes of a vector in a LANES loop: the vector's bits over those of its widest float, or else
    integer.

    What is rarely evaluated does not count: there, a value may take several registers.
    """
    dtypes = [
        b.dtype
        for s in statements(loop.body)
        if isinstance(s, Store | Reduce | Alloc)
        for b in (s.buf,)
    ]
    dtypes += [
        n.dtype
        for n in postorder(_value_roots(loop.body), usual_operands)
        if n.op not in (Op.VAR, Op.CONST)
    ]
    return target.lanes_of(dtypes)


def _value_roots(body: list[Stmt]) -> list[Node]:
    """What is computed, index arithmetic left out."""
    return [s.value for s in statements(body) if isinstance(s, Store | Reduce)]


def straight_groups(loop: For, w: int) -> int | None:
    """The number of vectors if the loop is short enough for straight-line code."""
    if not isinstance(loop.extent, int):
        return None
    count = -(-loop.extent // w)
    return count if count <= max(STRAIGHT, loop.unroll) else None


def partial_groups(loop: For, w: int) -> int:
    """The vectors of partial sums, where the loop says how many there are, else 0."""
    return max(1, loop.apart // w) if loop.apart else 0


def stays_loop(loop: For, target: Target) -> bool:
    """Is it a loop in the code, too?"""
    return loop.kind != LANES or straight_groups(loop, lane_width(loop, target)) is None


def plan_phase(phase: For, target: Target) -> Plan:
    plan = Plan()
    loops = [s for s in statements(phase.body) if isinstance(s, For) and s.kind == LANES]
    for s in loops:  # loops that share a variable share the narrowest width
        plan.widths[s.var] = min(lane_width(s, target), plan.widths.get(s.var, 1 << 20))
    for s in loops:
        plan.groups[s.var] = max(
            straight_groups(s, plan.widths[s.var]) or s.unroll, plan.groups.get(s.var, 1)
        )
        for buf, first in _rows_in_pieces(s):
            plan.rows.setdefault(buf, []).append(first)
        for row, buf, index in _rows_read(s):
            first = index - Index({row.var: 1})
            if is_column(index, row, s.var):
                plan.rows.setdefault(buf, []).append(first)
            elif is_apart(index, row, s.var, plan.widths[s.var]):
                assert isinstance(row.extent, int)
                plan.apart.setdefault(buf, []).append((first, row.extent))
    if any(isinstance(s, Alloc) for s in statements(phase.body)):
        _visit(plan, phase.body, None, set())
    return plan


def _rows_read(loop: For) -> list[tuple[For, Buf, Index]]:
    """What a LANES loop reads of arguments in unrolled loops: (such a loop, buffer, index)."""
    return [
        (s, buf, index)
        for s in statements(loop.body)
        if isinstance(s, For) and takes_rows(s)
        for buf, index in _plain_loads(s.body)
    ]


def _rows_in_pieces(loop: For) -> list[tuple[Buf, Index]]:
    """Rows, one a lane, each element of which a LANES loop reads by a load of its own in every
    turn: (buffer, first element)."""
    columns: dict[tuple[Buf, Index], set[int]] = {}
    for buf, index in dict.fromkeys(_certain_loads(loop)):
        if isinstance(index.const, Symbolic):
            continue
        columns.setdefault((buf, index - index.const), set()).add(index.const)
    return [
        (buf, start + first)
        for (buf, start), places in columns.items()
        for first in _whole_rows(places, start, loop.var)
    ]


def _certain_loads(loop: For) -> list[tuple[Buf, Index]]:
    """What a LANES loop loads of arguments in every turn, and where."""
    return _plain_loads([s for s in loop.body if isinstance(s, Store | Reduce)], usual_operands)


def _whole_rows(places: set[int], start: Index, lane: Var) -> list[int]:
    """Where rows begin all of whose elements are among these places behind the start."""
    count, firsts = row_length(start, lane), list[int]()
    for first in sorted(places) if count else ():
        free = not firsts or first >= firsts[-1] + count
        if free and places.issuperset(range(first, first + count)):
            firsts.append(first)
    return firsts


def row_length(index: Index, lane: Var) -> int:
    """How many elements the row of a lane has, if its element at the index is one of a row behind
    which the next lane's begins; else 0."""
    count = index.coef(lane)
    if isinstance(count, Symbolic):
        return 0
    alone = lane not in (index - Index({lane: count})).vars() and not index.values()
    return count if alone and 1 < count <= MOST_COLUMNS else 0


def takes_rows(s: For) -> bool:
    """May an unrolled loop step through the elements of a row that a lane has?"""
    return (
        s.kind == UNROLL
        and s.total is None
        and isinstance(s.extent, int)
        and 1 < s.extent <= MOST_COLUMNS
    )


def is_column(index: Index, s: For, lane: Var) -> bool:
    """Is it an element of rows that lie one behind the other, a lane each, a turn of the loop for
    each element? It depends on no value."""
    assert isinstance(s.extent, int)
    rest = index - Index({s.var: 1, lane: s.extent})
    return rest.vars().isdisjoint((s.var, lane)) and not index.values()


def is_apart(index: Index, s: For, lane: Var, w: int) -> bool:
    """The same for rows of at least w elements with something between them."""
    assert isinstance(s.extent, int)
    rest = index - Index({s.var: 1, lane: index.coef(lane)})
    alone = rest.vars().isdisjoint((s.var, lane)) and not index.values()
    between = index.coef(lane)
    return alone and not isinstance(between, Symbolic) and between > s.extent >= w


def _plain_loads(
    body: list[Stmt], needed: Callable[[Node], tuple[Node, ...]] = operands
) -> list[tuple[Buf, Index]]:
    """What is loaded from arguments without a mask, and where."""
    nodes = postorder([r for s in statements(body) for r in roots(s)], needed)
    loads = [n.arg for n in nodes if n.op is Op.LOAD]
    return [(buf, index) for buf, index, mask in loads if buf.space == GLOBAL and not mask]


def _visit(plan: Plan, body: list[Stmt], lanes: For | None, inside: set[Buf]) -> None:
    """`inside`: buffers allocated inside the LANES loop `lanes`."""
    for s in body:
        match s:
            case For() if s.kind == LANES:
                _visit(plan, s.body, s, set())
            case For() | If():
                _visit(plan, s.body, lanes, inside)
            case Alloc():
                inside.add(s.buf)
            case Reduce() if (
                lanes
                and s.buf.space == REG
                and s.buf not in inside
                and not _moves(plan, s.index, lanes.var)
            ):
                _note_partial_sums(plan, s, lanes)
            case Reduce() if not lanes and (part := part_of(s)) in plan.uses:
                _note_part(plan, s, plan.uses[part])
        for buf, index in _accesses(s):
            if buf.space != GLOBAL:
                _note_access(plan, buf, index, lanes)


def _accesses(s: Stmt) -> list[tuple[Buf, Index]]:
    loads = [(n.arg[0], n.arg[1]) for n in postorder(roots(s)) if n.op is Op.LOAD]
    return [*loads, (s.buf, s.index)] if isinstance(s, Store | Reduce) else loads


def _note_partial_sums(plan: Plan, s: Reduce, lanes: For) -> None:
    use, w = plan.uses.setdefault(s.buf, Use()), plan.widths[lanes.var]
    use.op = s.op
    use.partials[w] = max(
        use.partials.get(w, 1), partial_groups(lanes, w) or plan.groups[lanes.var]
    )


def _note_part(plan: Plan, s: Reduce, part: Use) -> None:
    use = plan.uses.setdefault(s.buf, Use())
    use.op = s.op
    for w, groups in part.partials.items():
        use.partials[w] = max(use.partials.get(w, 1), groups)


def _note_access(plan: Plan, buf: Buf, index: Index, lanes: For | None) -> None:
    use = plan.uses.setdefault(buf, Use())
    if lanes is None or not _moves(plan, index, lanes.var):
        use.aligned = False
        return
    w = plan.widths[lanes.var]
    use.slice = use.slice or w
    use.extents.add((lanes.extent, lanes.total, lanes.base))
    rest = index - Index({lanes.var: 1})
    use.aligned &= (
        use.slice == w
        and all(is_same(c % w, 0) for c in (rest.const, *(c for _, c in rest.terms)))
        and (isinstance(lanes.extent, Param) or not is_same(lanes.extent, 1))
    )


def _moves(plan: Plan, index: Index, lanes: Var) -> bool:
    """Whether the index differs between the lanes of a vector."""
    return Lanes(lanes, plan.widths[lanes], integer(0), [], 0, set()).stride(index) != 0
