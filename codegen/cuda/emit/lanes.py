"""LANES loops: how the threads of a block or warp share them. In: a For, the Function it stands in.
Out: its lines.

Thread t takes the pieces t, t + T, t + 2T .. of `unroll` neighbours each; a loop over `e` computes
one element of a piece after the other, between vector loads and stores of 16 bytes. Lanes after the
last whole piece go to one thread each. Where a body is a run of stores and reductions, the loads of
up to four pieces of a thread are written before the first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var
from ....ir.graph.op import Op
from ....ir.loops.loop import GLOBAL, REG, Alloc, For, If, Param, Reduce, Store
from ....ir.loops.walk import (
    Substitution,
    operands,
    postorder,
    roots,
    statements,
    usual_operands,
    variables,
    writes,
)
from ....ir.symbolic.questions import is_same
from .function import Function, Lanes
from .index import fits
from .layout import accesses
from .vector_pieces import Body, Vector, element_of, runs, vector_load, vectors, write_body

IN_FLIGHT = 4  # pieces of a thread that are loaded at once
REGISTERS = 32  # at most for these


def lanes_loop(fn: Function, s: For, body: Body) -> None:
    """The loop; `body` writes what is no run of plain statements."""
    unroll = fn.layout.unroll[id(s)]
    fn.evaluate_all(s.base.values())
    fn.changed(writes(s.body))
    hoist(fn, s)
    end = trips(fn, s)
    if unroll == 1:
        _Dealt(fn, s, 1, end, body).write()
        return
    if isinstance(end, int):
        whole: int | str = end // unroll
        left = end % unroll
    else:
        whole, left = f"{end} / {unroll}", 1
        # evaluated once, not at every turn
        if isinstance(s.extent, Param) or not is_same(s.extent, unroll * fn.team):
            whole = fn.writer.name(f"{s.var.name}_pieces")
            fn.writer.line(f"const {fn.type_of(s.var)} {whole} = {end} / {unroll};")
    if whole:
        _Dealt(fn, s, unroll, whole, body).write()
    if left:
        _Dealt(fn, s, 1, end, body).write_rest(unroll)


def trips(fn: Function, s: For) -> int | str:
    """How often a loop runs: its extent, cut at `total`."""
    if s.total is None:
        return s.extent if isinstance(s.extent, int) else fn.extent(s.extent)
    left, end = fn.writer.name(f"{s.var.name}_left"), fn.writer.name(f"{s.var.name}_end")
    fn.writer.line(f"const long long {left} = {fn.extent(s.total)} - {_signed(fn, s.base)};")
    limit = fn.extent(s.extent)
    fn.writer.line(
        f"const {fn.type_of(s.var)} {end} = {left} < 0 ? 0 : {left} < {limit} ? {left} : {limit};"
    )
    return end


def _signed(fn: Function, index: Index) -> str:
    text = fn.indices.number(index)
    return f"static_cast<long long>({text})" if fits(index) else f"({text})"


def hoist(fn: Function, s: For) -> None:
    """Evaluates before the loop what all its turns share, unless that might read outside of
    memory."""
    changing = writes(s.body)
    bound = {s.var, *(t.var for t in statements(s.body) if isinstance(t, For))}
    certain = s.total is None and isinstance(s.extent, int) and s.extent > 0
    always = {
        n
        for t in s.body
        if not isinstance(t, If | For)
        for n in postorder(roots(t), usual_operands)
    }
    fixed: dict[Node, bool] = {}
    for n in postorder([r for t in statements(s.body) for r in roots(t)], usual_operands):
        same = variables(n).isdisjoint(bound) and all(fixed.get(o, False) for o in operands(n))
        if n.op is Op.LOAD:
            buf, index, _ = n.arg
            same &= buf not in changing and (
                buf.space == REG or (certain and n in always) or not index.terms
            )
        fixed[n] = same
        if same and n.op is not Op.CONST:
            fn.evaluate(n)


class _Dealt:
    """A LANES loop dealt out in pieces of `unroll` lanes."""

    def __init__(self, fn: Function, s: For, unroll: int, pieces: int | str, body: Body) -> None:
        self.fn, self.loop, self.unroll, self.pieces, self.body = fn, s, unroll, pieces, body
        name = s.var.name if unroll == 1 else f"{s.var.name}{unroll}"
        self.piece = Var(name, -(-s.var.extent // unroll))
        self.e = Var("e", unroll) if unroll > 1 else None
        lane = Index({self.piece: unroll}) + (Index({self.e: 1}) if self.e else 0)
        self.statements = Substitution({s.var: lane}).body(s.body)
        self.own = {t.buf for t in statements(s.body) if isinstance(t, Alloc)}
        self.steps = -(-(s.extent // unroll or 1) // fn.team) if isinstance(s.extent, int) else None
        if unroll == 1 and isinstance(s.extent, int):
            self.steps = -(-s.extent // fn.team)

    @property
    def whole(self) -> bool:
        """Whether every thread has a piece in every step."""
        return isinstance(self.pieces, int) and self.pieces % self.fn.team == 0

    def at_step(self, step: Var) -> str:
        return f"{self.fn.thread} + {self.fn.team} * {self.fn.indices.names[step]}"

    @contextmanager
    def lanes(self, step: Index) -> Iterator[None]:
        self.fn.lanes = Lanes(self.piece, self.e, step, self.unroll, self.own)
        yield
        self.fn.lanes = None

    @contextmanager
    def piece_at(self, text: str, guarded: bool) -> Iterator[None]:
        """The piece's number, and whether there is such a piece."""
        fn = self.fn
        with fn.variable(self.piece) as name:
            fn.writer.line(f"const {fn.type_of(self.piece)} {name} = {text};")
            with fn.when(f"{name} < {self.pieces}" if guarded else ""):
                yield

    # ------------------------------------------------------------ loops

    def write(self) -> None:
        if self.touches_registers():
            self.steps_unrolled()
            return
        loads = self.loads_at_once()
        flight = self.in_flight(loads)
        if flight > 1:
            self.flights(loads, flight)
        elif self.steps == 1:
            self.one_step(self.fn.thread)
        else:
            self.strided()

    def write_rest(self, before: int) -> None:
        """The lanes after the last whole piece of `before` lanes: fewer than there are threads."""
        end = self.pieces
        start = end // before * before if isinstance(end, int) else f"{end} / {before} * {before}"
        self.one_step(f"{start} + {self.fn.thread}", guarded=True)

    def one_step(self, text: str, guarded: bool = False) -> None:
        fn = self.fn
        with fn.block(""), self.lanes(Index()), self.piece_at(text, guarded or not self.whole):
            self.body_here()

    def strided(self) -> None:
        fn, of = self.fn, self.fn.type_of(self.piece)
        with fn.variable(self.piece) as name:
            head = f"for ({of} {name} = {fn.thread}; {name} < {self.pieces}; {name} += {fn.team})"
            with fn.block(head), self.lanes(Index()):
                self.body_here()

    def steps_unrolled(self) -> None:
        """Registers need constant indices."""
        fn = self.fn
        assert self.steps is not None
        if self.steps == 1:
            self.one_step(fn.thread)
            return
        with (
            self.each_step(self.steps) as step,
            self.lanes(Index({step: 1})),
            self.piece_at(self.at_step(step), not self.whole),
        ):
            self.body_here()

    @contextmanager
    def each_step(self, count: int) -> Iterator[Var]:
        step = Var("step", count)
        head = "for (unsigned {0} = 0; {0} < {1}; {0}++)"
        with (
            self.fn.variable(step) as name,
            self.fn.block(head.format(name, count), "#pragma unroll"),
        ):
            yield step

    def body_here(self) -> None:
        write_body(self.fn, self.statements, self.body)

    def touches_registers(self) -> bool:
        return any(buf in self.fn.layout.registers for buf, _, _ in accesses(self.statements))

    # ------------------------------------------------------------ several pieces at once

    def loads_at_once(self) -> dict[Node, Vector]:
        """What a run loads from arguments, if the body is one run."""
        plain = all(isinstance(t, Store | Reduce) for t in self.statements)
        if not plain or len(list(runs(self.fn, self.statements))) != 1:
            return {}
        loads = vectors(self.statements, self.e, self.piece)
        return {n: v for n, v in loads.items() if n not in self.fn.known and v.buf.space == GLOBAL}

    def in_flight(self, loads: dict[Node, Vector]) -> int:
        registers = sum(max(1, v.w * v.parts * v.buf.dtype.itemsize // 4) for v in loads.values())
        most = IN_FLIGHT
        while most > 1 and (not registers or registers * most > REGISTERS):
            most //= 2
        return most if self.steps is None else min(most, self.steps)

    def flights(self, loads: dict[Node, Vector], flight: int) -> None:
        """All loads of `flight` steps, then all of their computations and stores."""
        fn = self.fn
        stride = fn.team * flight
        if self.steps is not None and self.steps <= flight:
            with fn.block(""):
                self.flight(loads, flight, fn.thread)
            return
        first = fn.writer.name("first")
        with fn.block(
            f"for ({fn.type_of(self.piece)} {first} = {fn.thread}; {first} < {self.pieces}; {first}"
            f" += {stride})"
        ):
            self.flight(loads, flight, first)

    def flight(self, loads: dict[Node, Vector], flight: int, first: str) -> None:
        fn, stride = self.fn, self.fn.team * flight
        guarded = not (isinstance(self.pieces, int) and self.pieces % stride == 0)
        names = {}
        for n, v in loads.items():
            names[n] = fn.writer.fresh(v.buf.name)
            fn.writer.line(f"{v.type} {names[n]}[{flight * v.parts}];")
        with self.each_step(flight) as step, self.lanes(Index()):
            at = fn.indices.names[step]
            with self.piece_at(f"{first} + {fn.team} * {at}", guarded):
                for n, v in loads.items():
                    for part in range(v.parts):
                        slot = at if v.parts == 1 else f"{v.parts} * {at} + {part}"
                        fn.writer.line(f"{names[n]}[{slot}] = {vector_load(fn, n, v, part)};")
        with self.each_step(flight) as step, self.lanes(Index()):
            at = fn.indices.names[step]
            with self.piece_at(f"{first} + {fn.team} * {at}", guarded):
                for n, v in loads.items():
                    fn.known[n] = element_of(fn, names[n], v, at)
                self.body_here()
