"""Barriers and reductions between statements. In: a phase, its Layout. Out: an Order: before which
statements threads wait for each other, or combine the partial sums of an accumulator.

A barrier goes before a statement that touches an element which another thread may have written
since the last barrier, or writes one which another thread may have read. The thread that touches an
element is known for an index that names the lane: then a loop dealt out alike leaves it to the same
thread. A statement without lanes is done by the first thread, if it writes memory. An output may
lie in the memory of an input that is read at the same index, so those two count as one.

A REG accumulator outside of LANES is `fresh` (its init in every thread), `partial` (a part of the
sum in each) or `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ....ir.graph.index import Index, Var
from ....ir.loops.loop import (
    LANES,
    REG,
    THREAD,
    WARPS,
    Alloc,
    Buf,
    Check,
    Copy,
    For,
    If,
    Multiply,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from ....ir.loops.walk import reads, statements
from ..target import WARP
from .conflicts import State, Touch, may_be_one, owner
from .expr import EmitError
from .layout import Layout, accesses, own_loads

FRESH, PARTIAL, WHOLE = "fresh", "partial", "whole"
FIRST = "first"  # the thread that acts for all


@dataclass
class Order:
    """By id of the statement."""

    barrier: set[int] = field(default_factory=set)  # before it
    combine: dict[int, list[Buf]] = field(default_factory=dict)  # before it
    # before it: all threads but the first begin anew
    restart: dict[int, list[Buf]] = field(default_factory=dict)
    combine_last: dict[int, list[Buf]] = field(default_factory=dict)  # at the end of its body
    ops: dict[Buf, str] = field(default_factory=dict)  # of accumulators


def find_order(phase: For, layout: Layout, threads: int) -> Order:
    order = Order(ops={s.buf: s.op for s in statements(phase.body) if isinstance(s, Reduce)})
    _Flow(order, layout, threads, {phase.var}).body(phase.body, State())
    return order


class _Flow:
    """Runs through statements in the order in which a team of threads does."""

    def __init__(
        self, order: Order, layout: Layout, team: int, fixed: set[Var], in_warps: bool = False
    ) -> None:
        self.order, self.layout, self.team, self.fixed, self.in_warps = (
            order,
            layout,
            team,
            fixed,
            in_warps,
        )

    def body(self, body: list[Stmt], state: State) -> None:
        for s in body:
            self.statement(s, state)

    def statement(self, s: Stmt, state: State) -> None:
        match s:
            case For(kind="lanes"):
                self.lanes(s, state)
            case For(kind="warps"):
                self.warps(s, state)
            case For() | If():
                self.nested(s, state)
            case _:
                self.simple(s, state)

    # ------------------------------------------------------------ memory

    def access(
        self, s: Stmt, state: State, read: Iterable[Touch], written: Iterable[Touch]
    ) -> None:
        read, written = set(read), set(written)
        self.displace(s, state)
        after = [(a, b) for a in state.written for b in read | written]
        if any(
            self.conflict(a, b) for a, b in after + [(a, b) for a in state.read for b in written]
        ):
            self.order.barrier.add(id(s))
            state.synchronised()
        state.read |= read
        state.written |= written

    def displace(self, s: Stmt, state: State) -> None:
        """A Copy, which a Wait makes seen, still waits until what was in its place before is no
        longer needed."""
        targets = {t.to for t in statements([s]) if isinstance(t, Copy)}
        if any(
            self.layout.overlap(o.buf, to)
            for to in targets
            for o in state.read | state.written
            if o.buf is not to
        ):
            self.order.barrier.add(id(s))
            state.synchronised()

    def conflict(self, a: Touch, b: Touch) -> bool:
        """Whether two threads may touch one element."""
        if a.buf is b.buf or (may_be_one(a.buf, b.buf) and a.index == b.index):
            return a.who is None or a.who != b.who
        return self.layout.overlap(a.buf, b.buf)

    def is_shared(self, buf: Buf) -> bool:
        return buf.space not in (REG, THREAD) and buf not in self.layout.registers

    def touches(
        self, places: Iterable[tuple[Buf, Index]], who: Callable[[Index], object]
    ) -> list[Touch]:
        return [Touch(b, i, who(i)) for b, i in places if self.is_shared(b)]

    # ------------------------------------------------------------ statements

    def simple(self, s: Stmt, state: State) -> None:
        loads = [(n.arg[0], n.arg[1]) for n in own_loads(s)]
        written: list[tuple[Buf, Index]] = []
        who: object = None
        if isinstance(s, Wait):
            state.synchronised()  # it has a barrier, and no thread touches what is copied before it
        elif isinstance(s, Multiply):
            loads = [(s.rows.buf, s.rows.first), (s.lanes.buf, s.lanes.first)]
        elif isinstance(s, Store | Reduce) and self.is_shared(s.buf):
            who, written = FIRST, [(s.buf, s.index)]
            loads += written if isinstance(s, Reduce) else []
        elif isinstance(s, Check):
            who = FIRST
        elif isinstance(s, Alloc) and s.init is not None and self.is_shared(s.buf):
            written = [(s.buf, Index())]
        self.sums_before(s, state)
        self.access(
            s, state, self.touches(loads, lambda _: who), self.touches(written, lambda _: who)
        )
        self.sums_after(s, state)

    def lanes(self, s: For, state: State) -> None:
        self.sums_before(s, state)
        inside = accesses([s])
        written = {b for b in _written(s.body)}
        mapping = (s.extent, s.total, s.base, self.layout.unroll[id(s)])
        touched = [
            Touch(b, i, owner(s, i, mapping, self.fixed)) for b, i, _ in inside if self.is_shared(b)
        ]
        self.access(s, state, touched, [t for t in touched if t.buf in written])
        self.sums_after(s, state)

    def warps(self, s: For, state: State) -> None:
        self.sums_before(s, state)
        touched = [
            Touch(b, i, None)
            for b, i, _ in accesses([s])
            if self.is_shared(b) and not self.layout.strides.get(b)
        ]
        written = _written(s.body)
        self.access(s, state, touched, [t for t in touched if t.buf in written])
        inside = _Flow(self.order, self.layout, WARP, self.fixed, True)
        first = State()
        inside.body(s.body, first)
        inside.body(s.body, first)
        self.sums_after(s, state)

    def nested(self, s: For | If, state: State) -> None:
        """A loop, the second turn of which meets what the first one did; or a branch."""
        kept = self.carried(s, state)
        before = state.copy()
        for _ in range(2 if isinstance(s, For) else 1):
            self.body(s.body, state)
            partial = [b for b in kept if state.sums[b] == PARTIAL]
            if partial:
                self.order.combine_last[id(s)] = partial
                state.sums |= dict.fromkeys(partial, WHOLE)
            state.join(before)
        state.sums = {b: state.sums[b] for b in before.sums}

    # ------------------------------------------------------------ accumulators

    def carried(self, s: For | If, state: State) -> list[Buf]:
        """Makes accumulators what they will be at the end of the body, too; gives those combined
        there."""
        added, used = self.added(s.body), self.used(s.body)
        for buf in state.sums:
            if buf in used:
                if state.sums[buf] == PARTIAL:
                    self.combine(s, buf, state)
                if buf in added or buf in _written(s.body):
                    state.sums[buf] = WHOLE
            elif buf in added:
                self.restart(s, buf, state)
        return [b for b in state.sums if b in used and b in added]

    def added(self, body: list[Stmt]) -> set[Buf]:
        """Accumulators that get partial sums."""
        partial: set[Buf] = set()
        for s in body:
            if isinstance(s, For) and s.kind in (LANES, WARPS):
                partial |= {
                    t.buf for t in statements(s.body) if isinstance(t, Reduce)
                } - _allocated(s.body)
            elif isinstance(s, For | If):
                partial |= self.added(s.body)
        return {b for b in partial if b.space == REG and b not in self.layout.registers}

    def used(self, body: list[Stmt]) -> set[Buf]:
        """Accumulators whose sums are needed or replaced."""
        used = {b for b in reads(body) if b.space == REG}
        for s in body:
            if isinstance(s, Store | Reduce):
                used.add(s.buf)
            elif isinstance(s, If) or (isinstance(s, For) and s.kind not in (LANES, WARPS)):
                used |= self.used(s.body)
        return used

    def sums_before(self, s: Stmt, state: State) -> None:
        added, used = self.added([s]), self.used([s])
        if isinstance(s, For) and s.kind == WARPS and added & used:
            raise EmitError(f"{added & used} are read and added to in the warps loop {s.var}")
        for buf in [b for b in state.sums if b in used and state.sums[b] == PARTIAL]:
            self.combine(s, buf, state)
        for buf in [b for b in state.sums if b in added]:
            self.restart(s, buf, state)

    def sums_after(self, s: Stmt, state: State) -> None:
        if isinstance(s, Alloc) and s.buf.space == REG and s.buf not in self.layout.registers:
            state.sums[s.buf] = FRESH if s.init is not None else WHOLE
        elif isinstance(s, Store | Reduce) and s.buf in state.sums:
            state.sums[s.buf] = WHOLE

    def combine(self, s: Stmt, buf: Buf, state: State) -> None:
        _note(self.order.combine, s, buf)
        state.sums[buf] = WHOLE
        if self.team > WARP:  # it has barriers
            state.synchronised()

    def restart(self, s: Stmt, buf: Buf, state: State) -> None:
        if state.sums[buf] == WHOLE:
            _note(self.order.restart, s, buf)
        state.sums[buf] = PARTIAL


def _note(where: dict[int, list[Buf]], s: Stmt, buf: Buf) -> None:
    known = where.setdefault(id(s), [])
    if buf not in known:
        known.append(buf)


def _written(body: list[Stmt]) -> set[Buf]:
    return {s.buf for s in statements(body) if isinstance(s, Store | Reduce)}


def _allocated(body: list[Stmt]) -> set[Buf]:
    return {s.buf for s in statements(body) if isinstance(s, Alloc)}
