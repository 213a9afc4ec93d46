"""LANES loops: how the threads of a block or warp share them. In: a For, the Function it stands in. Out: its lines.

Thread t takes the pieces t, t + T, t + 2T .. of `unroll` neighbours each; a loop over `e` computes one element of a piece after
the other, between vector loads and stores of 16 bytes. Lanes behind the last whole piece go to one thread each. Where a body
is a run of stores and reductions, the loads of up to four pieces of a thread are written before the first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...ir.graph import Node
from ...ir.index import Index, Var
from ...ir.loop import GLOBAL, REG, Alloc, Buf, Check, For, If, Prefetch, Reduce, Stmt, Store
from ...ir.loop_walk import Substitution, operands, postorder, roots, statements, usual_operands, variables, writes
from ...ir.op import Op
from .function import Function, Lanes
from .layout import accesses, own_loads, usual_loads, vector_of
from .values import TYPES, zero

IN_FLIGHT = 4  # pieces of a thread that are loaded at once
REGISTERS = 32  # at most for these
Body = Callable[[list[Stmt]], None]


@dataclass(frozen=True)
class Vector:
    """A LOAD or Store of a whole piece, in parts of w elements."""

    buf: Buf
    index: Index
    w: int
    parts: int

    @property
    def type(self) -> str:
        return f"weft_vec<{TYPES[self.buf.dtype]}, {self.w}>" if self.w > 1 else TYPES[self.buf.dtype]


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
        if s.extent != unroll * fn.team:  # evaluated once, not at every turn
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
    fn.writer.line(f"const {fn.type_of(s.var)} {end} = {left} < 0 ? 0 : {left} < {limit} ? {left} : {limit};")
    return end


def _signed(fn: Function, index: Index) -> str:
    text = fn.indices.number(index)
    lo, hi = index.bounds
    return f"({text})" if lo < 0 or hi >= 1 << 32 else f"static_cast<long long>({text})"


def hoist(fn: Function, s: For) -> None:
    """Evaluates before the loop what all its turns share, unless that might read outside of memory."""
    changing = writes(s.body)
    bound = {s.var, *(t.var for t in statements(s.body) if isinstance(t, For))}
    certain = s.total is None and isinstance(s.extent, int) and s.extent > 0
    always = {n for t in s.body if not isinstance(t, If | For) for n in postorder(roots(t), usual_operands)}
    fixed: dict[Node, bool] = {}
    for n in postorder([r for t in statements(s.body) for r in roots(t)], usual_operands):
        same = variables(n).isdisjoint(bound) and all(fixed.get(o, False) for o in operands(n))
        if n.op is Op.LOAD:
            buf, index, _ = n.arg
            same &= buf not in changing and (buf.space == REG or (certain and n in always) or not index.terms)
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
        """The lanes behind the last whole piece of `before` lanes: fewer than there are threads."""
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
        with self.each_step(self.steps) as step, self.lanes(Index({step: 1})), self.piece_at(self.at_step(step), not self.whole):
            self.body_here()

    @contextmanager
    def each_step(self, count: int) -> Iterator[Var]:
        step = Var("step", count)
        head = "for (unsigned {0} = 0; {0} < {1}; {0}++)"
        with self.fn.variable(step) as name, self.fn.block(head.format(name, count), "#pragma unroll"):
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
        found = vectors(self.statements, self.e, self.piece)
        return {n: v for n, v in found.items() if n not in self.fn.known and v.buf.space == GLOBAL}

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
        with fn.block(f"for ({fn.type_of(self.piece)} {first} = {fn.thread}; {first} < {self.pieces}; {first} += {stride})"):
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


# ---------------------------------------------------------------- pieces


def write_body(fn: Function, body: list[Stmt], other: Body) -> None:
    """Runs of plain statements over all elements of a piece; other statements one by one."""
    together = list(runs(fn, body))
    again = loaded_again(together)
    for run in together:
        if isinstance(run[0], Store | Reduce | Check):
            write_run(fn, run, other, again)
        else:
            other(run)


def loaded_again(together: list[list[Stmt]]) -> set[Node]:
    """LOADs of arguments that several runs need. An output may overwrite them in between: they must not be loaded twice."""
    seen: set[Node] = set()
    again: set[Node] = set()
    for run in together:
        if not isinstance(run[0], For | If):
            loads = usual_loads(run)
            again |= loads.keys() & seen
            seen |= loads.keys()
    return again


def runs(fn: Function, body: list[Stmt]) -> Iterator[list[Stmt]]:
    """Stores, reductions and checks that follow each other, none of which loads what another one wrote to memory."""
    run: list[Stmt] = []
    written: set[Buf] = set()
    for s in body:
        plain = isinstance(s, Store | Reduce | Check)
        if run and (not plain or any(n.arg[0] in written for n in own_loads(s))):
            yield run
            run, written = [], set()
        if not plain:
            if not isinstance(s, Prefetch):
                yield [s]
            continue
        run.append(s)
        if isinstance(s, Store | Reduce) and not fn.is_private(s.buf):
            written.add(s.buf)
    if run:
        yield run


def vectors(run: list[Stmt], e: Var | None, piece: Var) -> dict[Node, Vector]:
    """LOADs of whole pieces. Of single lanes: those from arguments that differ from piece to piece."""
    found: dict[Node, Vector] = {}
    for n in postorder([r for s in run for r in roots(s)], usual_operands):
        if n.op is not Op.LOAD:
            continue
        buf, index, _ = n.arg
        if e is None:
            if not operands(n) and piece in variables(n) and buf.space == GLOBAL:
                found[n] = Vector(buf, index, 1, 1)
        elif w := _vector(buf, n, e):
            found[n] = Vector(buf, index - Index({e: 1}), w, e.extent // w)
    return found


def _vector(buf: Buf, n: Node, e: Var) -> int:
    return 0 if operands(n) or buf.space in (REG, "thread") else vector_of(buf, n.arg[1], n.arg[2], e)


def vector_load(fn: Function, n: Node, v: Vector, part: int) -> str:
    """Elements part * w and on."""
    condition = fn.condition(n.arg[2])
    if v.w == 1:
        element = fn.element(v.buf, v.index)
        return f"{condition} ? {element} : {zero(v.buf.dtype)}" if condition else element
    found = f"weft_load<{v.w}>({fn.address(v.buf, v.index + part * v.w)}{fn.aligned(v.buf)})"
    return f"{condition} ? {found} : {v.type}{{}}" if condition else found


def element_of(fn: Function, name: str, v: Vector, slot: str = "") -> str:
    """Element e of a piece that was loaded (as number `slot` of several)."""
    if v.w == 1:
        return f"{name}[{slot}]"
    assert fn.lanes is not None and fn.lanes.e is not None
    e = "e"
    if v.parts == 1:
        return f"{name}[{slot}][{e}]" if slot else f"{name}[{e}]"
    at = f"{v.parts} * {slot} + {e} / {v.w}" if slot else f"{e} / {v.w}"
    return f"{name}[{at}][{e} % {v.w}]"


def write_run(fn: Function, run: list[Stmt], other: Body, again: set[Node]) -> None:
    lanes = fn.lanes
    assert lanes is not None
    if lanes.e is None:
        other(run)
        return
    for n, found in vectors(run, lanes.e, lanes.piece).items():
        if n not in fn.known and found.buf not in fn.layout.registers:
            _load_piece(fn, n, found)
    for n in usual_loads(run):
        if n in again and n not in fn.known and lanes.varies(n):
            _load_elements(fn, n, lanes)
    for n in postorder([r for s in run for r in roots(s)], usual_operands):
        if n.op is not Op.CONST and not lanes.varies(n):
            fn.evaluate(n)
    outputs = {id(s): v for s in run if isinstance(s, Store) and (v := _stored_vector(fn, s, lanes.e))}
    names = {at: fn.writer.fresh(v.buf.name) for at, v in outputs.items()}
    for at, out in outputs.items():
        fn.writer.line(f"{out.type} {names[at]}{f'[{out.parts}]' if out.parts > 1 else ''};")
    with _elements(fn, lanes):
        for s in run:
            if isinstance(s, Store) and id(s) in outputs:
                fn.writer.line(f"{element_of(fn, names[id(s)], outputs[id(s)])} = {fn.evaluate(s.value)};")
            else:
                other([s])
    for s in run:
        if isinstance(s, Store) and id(s) in outputs:
            _store_piece(fn, s, outputs[id(s)], names[id(s)])


def _load_piece(fn: Function, n: Node, v: Vector) -> None:
    name = fn.writer.fresh(v.buf.name)
    if v.parts == 1:
        fn.writer.line(f"const {v.type} {name} = {vector_load(fn, n, v, 0)};")
    else:
        parts = ", ".join(vector_load(fn, n, v, part) for part in range(v.parts))
        fn.writer.line(f"const {v.type} {name}[{v.parts}] = {{{parts}}};")
    fn.known[n] = element_of(fn, name, v)


def _load_elements(fn: Function, n: Node, lanes: Lanes) -> None:
    """One by one, but kept for later runs."""
    name = fn.writer.fresh(n.arg[0].name)
    fn.writer.line(f"{TYPES[n.dtype]} {name}[{lanes.unroll}];")
    with _elements(fn, lanes):
        fn.writer.line(f"{name}[e] = {fn.evaluate(n)};")
    fn.known[n] = f"{name}[e]"


@contextmanager
def _elements(fn: Function, lanes: Lanes) -> Iterator[None]:
    assert lanes.e is not None
    fn.indices.names[lanes.e] = "e"
    with fn.block(f"for (unsigned e = 0; e < {lanes.unroll}; e++)", "#pragma unroll"):
        yield


def _stored_vector(fn: Function, s: Store, e: Var) -> Vector | None:
    if fn.is_private(s.buf) or s.buf.space == "thread" or s.index.values() or any(r.index.values() for r in s.mask):
        return None
    w = vector_of(s.buf, s.index, s.mask, e)
    return Vector(s.buf, s.index - Index({e: 1}), w, e.extent // w) if w else None


def _store_piece(fn: Function, s: Store, v: Vector, name: str) -> None:
    store = "weft_store_streaming" if s.buf in fn.passing else "weft_store"
    with fn.when(fn.condition(s.mask)):
        for part in range(v.parts):
            value = name if v.parts == 1 else f"{name}[{part}]"
            fn.writer.line(f"{store}({fn.address(v.buf, v.index + part * v.w)}, {value}{fn.aligned(v.buf)});")
    fn.changed([s.buf])
