"""Bodies: loops, branches, and the threads that run them. In: statements, the Function they stand
in. Out: their lines.

Outside of LANES all threads hold the same registers, and the first one writes to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ....ir.graph.graph import Node
from ....ir.graph.index import Index
from ....ir.loops.loop import (
    LANES,
    REG,
    SERIAL,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    Check,
    For,
    If,
    Reduce,
    Stmt,
    Store,
    neutral,
)
from ....ir.loops.walk import index_values, statements, writes
from ....ir.symbolic.questions import is_below
from ..target import WARP
from .function import Function
from .lanes import lanes_loop, trips
from .layout import accesses, is_single, usual_loads, varies
from .simple import PLAIN
from .values import OPERATIONS, TYPES, literal, zero
from .vector_pieces import loaded_again, write_body


def body(fn: Function, statements: list[Stmt]) -> None:
    if fn.lanes is not None:
        write_body(fn, statements, lambda run: _each(fn, run))
        return
    together = list(_runs_of_first_thread(fn, statements))
    again, mine = loaded_again(together), dict[Node, str]()
    others = {
        n for run in together if not _is_of_first_thread(fn, run[0]) for n in usual_loads(run)
    }
    for run in together:
        before(fn, run[0])
        if _is_of_first_thread(fn, run[0]):
            _load_for_all(
                fn, [n for n in usual_loads(run) if n in again & others and n not in fn.known]
            )
            _first_thread(fn, run, again, mine)
        else:
            _each(fn, run)
        for n in [n for n in mine if not fn.reads(n).isdisjoint(writes(run))]:
            del mine[n]


def _load_for_all(fn: Function, loads: list[Node]) -> None:
    """What other threads need later, too, they load before the first one may write over it."""
    fn.evaluate_all(loads)
    if loads:
        barrier(fn)


def _first_thread(fn: Function, run: list[Stmt], again: set[Node], mine: dict[Node, str]) -> None:
    """A run of statements that one thread does; what it loads for later ones as well is `mine`."""
    new = [n for n in usual_loads(run) if n in again and n not in mine and n not in fn.known]
    for n in new:
        mine[n] = fn.writer.fresh(n.arg[0].name)
        fn.writer.line(f"{TYPES[n.dtype]} {mine[n]} = {zero(n.dtype)};")
    with fn.block(f"if ({fn.thread} == 0)"):
        for n in new:
            fn.writer.line(f"{mine[n]} = {fn.loaded(n)};")
        fn.known |= mine
        _each(fn, run)


def _each(fn: Function, run: list[Stmt]) -> None:
    for s in run:
        write = PLAIN.get(type(s)) or NESTED[type(s)]
        write(fn, s)


def _is_of_first_thread(fn: Function, s: Stmt) -> bool:
    """Whether one thread does it for all: what changes memory, and the sums of a block inside a
    warp."""
    if isinstance(s, Store | Reduce):
        return not fn.is_private(s.buf) or s.buf in fn.outside
    return isinstance(s, Check)


def _runs_of_first_thread(fn: Function, statements: list[Stmt]) -> Iterator[list[Stmt]]:
    run: list[Stmt] = []
    for s in statements:
        joins = (
            run
            and _is_of_first_thread(fn, s)
            and _is_of_first_thread(fn, run[-1])
            and not _waits(fn, s)
        )
        if run and not joins:
            yield run
            run = []
        run.append(s)
    if run:
        yield run


def _waits(fn: Function, s: Stmt) -> bool:
    order, at = fn.order, id(s)
    return at in order.barrier or at in order.combine or at in order.restart


# ---------------------------------------------------------------- what threads do together


def before(fn: Function, s: Stmt) -> None:
    """What threads do together before a statement."""
    for buf in fn.order.combine.get(id(s), ()):
        combine(fn, buf)
    for buf in fn.order.restart.get(id(s), ()):
        restart(fn, buf)
    if id(s) in fn.order.barrier:
        barrier(fn)


def barrier(fn: Function) -> None:
    fn.writer.line("weft_warp_barrier();" if fn.in_warps else "weft_barrier();")


def restart(fn: Function, buf: Buf) -> None:
    """The sum so far stays with the first thread."""
    start = literal(neutral(fn.order.ops[buf], buf.dtype), buf.dtype)
    _each_register(fn, buf, lambda at: f"if ({fn.thread} != 0) {at} = {start};")
    fn.changed([buf])


def combine(fn: Function, buf: Buf) -> None:
    """Every thread gets the whole sum."""
    op = OPERATIONS[fn.order.ops[buf]]
    call = f"weft_warp_reduce<{op}>" if fn.in_warps else f"weft_block_reduce<{op}, {fn.threads}>"
    _each_register(fn, buf, lambda at: f"{at} = {call}({at});")
    fn.changed([buf])


def _each_register(fn: Function, buf: Buf, text: Callable[[str], str]) -> None:
    if buf.size == 1:
        fn.writer.line(text(fn.name(buf)))
        return
    with fn.block(f"for (unsigned i = 0; i < {buf.size}; i++)", "#pragma unroll"):
        fn.writer.line(text(f"{fn.name(buf)}[i]"))


# ---------------------------------------------------------------- branches and loops


def in_total(fn: Function, s: For) -> str:
    """base + var < total; empty where that is certain."""
    if s.total is None:
        return ""
    fn.evaluate_all(s.base.values())
    position = s.base + (0 if is_single(s) else Index({s.var: 1}))
    if isinstance(s.total, int) and is_below(position.bounds[1], s.total):
        return ""
    return f"{fn.indices.number(position)} < {fn.extent(s.total)}"


def _if(fn: Function, s: If) -> None:
    fn.evaluate_all(index_values(s.cond))
    with fn.when(fn.condition(s.cond)):
        _inner(fn, s)


def _inner(fn: Function, s: For | If) -> None:
    body(fn, s.body)
    for buf in fn.order.combine_last.get(id(s), ()):
        combine(fn, buf)


def _for(fn: Function, s: For) -> None:
    if s.note:
        fn.writer.line(f"// {s.note}")
    LOOPS[s.kind](fn, s)


def _serial(fn: Function, s: For) -> None:
    fn.evaluate_all(s.base.values())
    fn.changed(writes(s.body))
    unrolled = s.kind == UNROLL or _indexes_registers(fn, s)
    if s.total is not None and unrolled:
        with _counted(fn, s, fn.extent(s.extent), True), fn.when(in_total(fn, s)):
            _inner(fn, s)
        return
    with _counted(fn, s, str(trips(fn, s)), unrolled):
        _inner(fn, s)


@contextmanager
def _counted(fn: Function, s: For, end: str, unrolled: bool) -> Iterator[None]:
    with fn.variable(s.var) as name:
        head = f"for ({fn.type_of(s.var)} {name} = 0; {name} < {end}; {name}++)"
        with fn.block(head, *["#pragma unroll"] * unrolled):
            yield


def _indexes_registers(fn: Function, s: For) -> bool:
    """Whether a loop must be unrolled because registers have no addresses."""
    places = [
        index for buf, index, _ in accesses(s.body) if fn.is_private(buf) or buf.space == "thread"
    ]
    return isinstance(s.extent, int) and any(varies(index, s.var) for index in places)


def _warps(fn: Function, s: For) -> None:
    fn.evaluate_all(s.base.values())
    fn.changed(writes(s.body))
    end = trips(fn, s)
    fn.outside = {t.buf for t in statements(s.body) if isinstance(t, Reduce) and t.buf.space == REG}
    fn.outside -= {t.buf for t in statements(s.body) if isinstance(t, Alloc)}
    with fn.variable(s.var) as name:
        head = (
            f"for ({fn.type_of(s.var)} {name} = weft_warp(); {name} < {end}; {name} +="
            f" {fn.threads // WARP})"
        )
        with fn.block(head):
            fn.in_warps = True
            _inner(fn, s)
            fn.in_warps = False
    fn.outside = set()


def _lanes(fn: Function, s: For) -> None:
    lanes_loop(fn, s, lambda run: _each(fn, run))


LOOPS: dict[str, Callable[[Function, For], None]] = {
    SERIAL: _serial,
    UNROLL: _serial,
    WARPS: _warps,
    LANES: _lanes,
}
NESTED: dict[type, Callable[..., None]] = {If: _if, For: _for}
