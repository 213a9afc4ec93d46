"""Loops to CUDA C. In: a verified Loops whose transcendentals are expanded, a CudaTarget. Out: text, a function a phase.

    extern "C" __global__ void __launch_bounds__(T) <name>_p<i>(buffers, params, weft_status* status)

A GRID iteration is a block. Registers are alike in all threads outside of LANES, and memory is written by the first thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.graph import Node, provenance
from ...ir.index import Index
from ...ir.loop import (
    LANES,
    REG,
    SERIAL,
    THREAD,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    Check,
    Commit,
    Copy,
    For,
    If,
    Loops,
    Multiply,
    Prefetch,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from ...ir.loop_walk import index_values, indices, postorder, statements, writes
from ...ir.op import Op
from .emit_tiles import write_commit, write_copy, write_multiply, write_wait
from .expr import EmitError, combined
from .function import Function, Lanes
from .lanes import lanes_loop, loaded_again, trips, write_body
from .layout import accesses, lay_out, simplified, threads_of, usual_loads, varies
from .order import find_order
from .target import WARP, CudaTarget
from .values import OPERATIONS, TYPES, identity, literal, zero
from .writer import INDENT

PAIRED = 256  # threads of a block with tiles up to which two share a multiprocessor: 128 registers each, which is enough
HEADER = '#include "weft.cuh"\n\n'


def phase_name(loops: Loops, phase: int) -> str:
    return f"{loops.name}_p{phase}"


def emit(loops: Loops, target: CudaTarget) -> str:
    """The text of all phases: the same for the same `show(loops)` and target."""
    with provenance(("", 0)):  # Nodes made by dealing out lanes have no line of the user's
        return HEADER + "\n".join(_phase(loops, i, target) for i in range(len(loops.phases)))


def shared_bytes(loops: Loops, phase: int) -> int:
    """Dynamic shared memory that a block of this phase needs."""
    return lay_out(simplified(loops.phases[phase]), threads_of(loops, phase)).shared


# ---------------------------------------------------------------- a phase


def _phase(loops: Loops, number: int, target: CudaTarget) -> str:
    phase, threads = simplified(loops.phases[number]), threads_of(loops, number)
    layout = lay_out(phase, threads)
    fn = Function(target, layout, find_order(phase, layout, threads), threads, phase_name(loops, number))
    fn.passing = frozenset(loops.passing)
    head = _signature(fn, loops, phase)
    with fn.variable(phase.var) as name:
        if phase.extent != 1:
            fn.writer.line(f"const unsigned {name} = blockIdx.x;")
        with fn.when(_in_total(fn, phase)):
            body(fn, phase.body)
    if fn.by_vectors:
        head += f"\n{INDENT}const bool aligned = weft_aligned({', '.join(map(fn.name, fn.by_vectors))});"
    return "\n".join([head, *fn.writer.lines, "}", ""])


def _signature(fn: Function, loops: Loops, phase: For) -> str:
    written = writes([phase])
    arguments = [f"{'' if b in written else 'const '}{TYPES[b.dtype]}* {fn.name(b)}" for b in loops.buffers]
    arguments += [f"long long {fn.name(p)}" for p in loops.params]
    tiled = any(isinstance(t, Alloc) and t.buf.space == THREAD for t in statements(phase.body))
    bounds = f"{fn.threads}, {2 if fn.threads <= PAIRED else 1}" if tiled else f"{fn.threads}"
    start = f'extern "C" __global__ void __launch_bounds__({bounds}) {fn.symbol}('
    return f"{start}{', '.join([*arguments, 'weft_status* status'])}) {{"


def _in_total(fn: Function, s: For) -> str:
    """base + var < total; empty where that is certain."""
    if s.total is None:
        return ""
    fn.evaluate_all(s.base.values())
    position = s.base + (Index({s.var: 1}) if s.extent != 1 else 0)
    if isinstance(s.total, int) and position.bounds[1] < s.total:
        return ""
    return f"{fn.indices.number(position)} < {fn.extent(s.total)}"


# ---------------------------------------------------------------- statements


def body(fn: Function, statements: list[Stmt]) -> None:
    if fn.lanes is not None:
        write_body(fn, statements, lambda run: _each(fn, run))
        return
    together = list(_runs_of_first_thread(fn, statements))
    again, mine = loaded_again(together), dict[Node, str]()
    others = {n for run in together if not _is_of_first_thread(fn, run[0]) for n in usual_loads(run)}
    for run in together:
        before(fn, run[0])
        if _is_of_first_thread(fn, run[0]):
            _load_for_all(fn, [n for n in usual_loads(run) if n in again & others and n not in fn.known])
            _first_thread(fn, run, again, mine)
        else:
            _each(fn, run)
        for n in [n for n in mine if not fn.reads(n).isdisjoint(writes(run))]:
            del mine[n]


def _load_for_all(fn: Function, loads: list[Node]) -> None:
    """What other threads need later, too, they load before the first one may write over it."""
    fn.evaluate_all(loads)
    if loads:
        _barrier(fn)


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
        STATEMENTS[type(s)](fn, s)


def _is_of_first_thread(fn: Function, s: Stmt) -> bool:
    """Whether one thread does it for all: what changes memory, and the sums of a block inside a warp."""
    if isinstance(s, Store | Reduce):
        return not fn.is_private(s.buf) or s.buf in fn.outside
    return isinstance(s, Check)


def _runs_of_first_thread(fn: Function, statements: list[Stmt]) -> Iterator[list[Stmt]]:
    run: list[Stmt] = []
    for s in statements:
        joins = run and _is_of_first_thread(fn, s) and _is_of_first_thread(fn, run[-1]) and not _waits(fn, s)
        if run and not joins:
            yield run
            run = []
        run.append(s)
    if run:
        yield run


def _waits(fn: Function, s: Stmt) -> bool:
    order, at = fn.order, id(s)
    return at in order.barrier or at in order.settle or at in order.restart


def before(fn: Function, s: Stmt) -> None:
    """What threads do together before a statement."""
    for buf in fn.order.settle.get(id(s), ()):
        settle(fn, buf)
    for buf in fn.order.restart.get(id(s), ()):
        restart(fn, buf)
    if id(s) in fn.order.barrier:
        _barrier(fn)


def _barrier(fn: Function) -> None:
    fn.writer.line("weft_warp_barrier();" if fn.in_warps else "weft_barrier();")


def restart(fn: Function, buf: Buf) -> None:
    """The sum so far stays with the first thread."""
    neutral = identity(fn.order.ops[buf], buf.dtype)
    _each_register(fn, buf, lambda at: f"if ({fn.thread} != 0) {at} = {neutral};")
    fn.changed([buf])


def settle(fn: Function, buf: Buf) -> None:
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


def _alloc(fn: Function, s: Alloc) -> None:
    buf, of = s.buf, TYPES[s.buf.dtype]
    name, init = fn.name(buf), None if s.init is None else literal(s.init, s.buf.dtype)
    fn.changed([buf])
    size = fn.layout.registers.get(buf, buf.size * (fn.lanes.unroll if fn.lanes else 1))
    if buf in fn.layout.offsets:
        at = str(fn.layout.offsets[buf])
        if stride := fn.layout.strides[buf]:
            at += f" + {stride} * weft_warp()"
        fn.writer.line(f"{of}* const {name} = weft_shared<{of}>({at});  // {buf.size} elements")
        if init is not None:
            with fn.block(f"for (unsigned i = {fn.thread}; i < {buf.size}; i += {fn.team})"):
                fn.writer.line(f"{name}[i] = {init};")
    elif size == 1 and buf not in fn.layout.registers:
        fn.writer.line(f"{of} {name}{'' if init is None else f' = {init}'};")
    else:
        fn.writer.line(f"{of} {name}[{size}];")
        if init is not None:
            with fn.block(f"for (unsigned i = 0; i < {size}; i++)", "#pragma unroll"):
                fn.writer.line(f"{name}[i] = {init};")


def _store(fn: Function, s: Store) -> None:
    fn.evaluate_all([*s.index.values(), *index_values(s.mask)])
    value = fn.evaluate(s.value)
    _guarded(fn, s, f"{fn.element(s.buf, s.index)} = {value};")


def _reduce(fn: Function, s: Reduce) -> None:
    if fn.lanes and not fn.is_private(s.buf) and _may_meet(fn.lanes, s.index):
        raise EmitError(f"lanes meet in {s.buf}[{s.index}]: they must be summed in registers first")
    fn.evaluate_all([*s.index.values(), *index_values(s.mask)])
    at, is_float = fn.element(s.buf, s.index), s.value.dtype.is_float
    if s.op == "add" and s.value.op is Op.MUL and is_float:
        a, b = [fn.evaluate(n) for n in s.value.src]
        _guarded(fn, s, f"{at} = weft_fma({a}, {b}, {at});")
    else:
        _guarded(fn, s, f"{at} = {combined(s.op, is_float, at, fn.evaluate(s.value))};")


def _may_meet(lanes: Lanes, index: Index) -> bool:
    """Whether two lanes may have the same index."""
    gathered = [varies(i, lanes.piece) for n in postorder(index.values()) for i in indices(n)]
    return any(gathered) or lanes.piece not in index.vars()


def _guarded(fn: Function, s: Store | Reduce, text: str) -> None:
    condition = fn.condition(s.mask)
    fn.writer.line(f"if ({condition}) {text}" if condition else text)
    fn.changed([s.buf])


def _check(fn: Function, s: Check) -> None:
    fn.evaluate_all(s.position.values())
    value, position = fn.evaluate(s.index), fn.indices.number(s.position)
    fn.writer.line(f"weft_check(status, {value}, {s.extent}, {s.site}, {position});")


def _prefetch(fn: Function, s: Prefetch) -> None:
    """A GPU hides latency by having more threads."""


def _if(fn: Function, s: If) -> None:
    fn.evaluate_all(index_values(s.cond))
    with fn.when(fn.condition(s.cond)):
        _inner(fn, s)


def _inner(fn: Function, s: For | If) -> None:
    body(fn, s.body)
    for buf in fn.order.settle_last.get(id(s), ()):
        settle(fn, buf)


def _for(fn: Function, s: For) -> None:
    LOOPS[s.kind](fn, s)


def _serial(fn: Function, s: For) -> None:
    fn.evaluate_all(s.base.values())
    fn.changed(writes(s.body))
    unrolled = s.kind == UNROLL or _indexes_registers(fn, s)
    if s.total is not None and unrolled:
        with _counted(fn, s, fn.extent(s.extent), True), fn.when(_in_total(fn, s)):
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
    found = [index for buf, index, _ in accesses(s.body) if fn.is_private(buf) or buf.space == "thread"]
    return isinstance(s.extent, int) and any(varies(index, s.var) for index in found)


def _warps(fn: Function, s: For) -> None:
    fn.evaluate_all(s.base.values())
    fn.changed(writes(s.body))
    end = trips(fn, s)
    fn.outside = {t.buf for t in statements(s.body) if isinstance(t, Reduce) and t.buf.space == REG}
    fn.outside -= {t.buf for t in statements(s.body) if isinstance(t, Alloc)}
    with fn.variable(s.var) as name:
        head = f"for ({fn.type_of(s.var)} {name} = weft_warp(); {name} < {end}; {name} += {fn.threads // WARP})"
        with fn.block(head):
            fn.in_warps = True
            _inner(fn, s)
            fn.in_warps = False
    fn.outside = set()


def _lanes(fn: Function, s: For) -> None:
    lanes_loop(fn, s, lambda run: _each(fn, run))


LOOPS: dict[str, Callable[[Function, For], None]] = {SERIAL: _serial, UNROLL: _serial, WARPS: _warps, LANES: _lanes}

# Statement type -> the function that writes it.
STATEMENTS: dict[type, Callable[..., None]] = {
    Alloc: _alloc,
    Store: _store,
    Reduce: _reduce,
    Check: _check,
    Prefetch: _prefetch,
    If: _if,
    For: _for,
    Copy: write_copy,
    Commit: write_commit,
    Wait: write_wait,
    Multiply: write_multiply,
}
