"""Loops to CUDA C. In: a verified Loops whose transcendentals are expanded, a CudaTarget. Out:
text, one function per phase.

    extern "C" __global__ void __launch_bounds__(T) <name>_p<i>(buffers, params,
        weft_status* status)

A GRID iteration is a block. Registers are alike in all threads outside of LANES, and memory is
written by the first thread.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.index import Index
from ....ir.graph.site import NOWHERE, provenance
from ....ir.loops.loop import LANES, SERIAL, THREAD, UNROLL, Alloc, For, If, Loops, Stmt
from ....ir.loops.walk import Substitution, statements, writes
from ..target import CudaTarget
from .barriers import find_order
from .function import Function
from .layout import accesses, is_single, lay_out, threads_of
from .nested import body, in_total
from .values import TYPES
from .writer import INDENT

# threads of a block with tiles up to which two share a multiprocessor: 128 registers each, which is
# enough
PAIRED = 256
HEADER = '#include "weft.cuh"\n\n'


def phase_name(loops: Loops, phase: int) -> str:
    return f"{loops.name}_p{phase}"


def emit(loops: Loops, target: CudaTarget) -> str:
    """The text of all phases: the same for the same `show(loops)` and target."""
    with provenance(NOWHERE):  # Nodes made by dealing out lanes
        return HEADER + "\n".join(_phase(loops, i, target) for i in range(len(loops.phases)))


def shared_bytes(loops: Loops, phase: int) -> int:
    """Dynamic shared memory that a block of this phase needs."""
    return lay_out(simplified(loops.phases[phase]), threads_of(loops, phase)).shared


# ---------------------------------------------------------------- a phase


def _phase(loops: Loops, number: int, target: CudaTarget) -> str:
    phase, threads = simplified(loops.phases[number]), threads_of(loops, number)
    layout = lay_out(phase, threads)
    fn = Function(
        target, layout, find_order(phase, layout, threads), threads, phase_name(loops, number)
    )
    fn.streamed = frozenset(loops.streamed)
    head = _signature(fn, loops, phase)
    with fn.variable(phase.var) as name:
        if not is_single(phase):
            fn.writer.line(f"const unsigned {name} = blockIdx.x;")
        with fn.when(in_total(fn, phase)):
            body(fn, phase.body)
    if fn.by_vectors:
        head += (
            f"\n{INDENT}const bool aligned ="
            f" weft_aligned({', '.join(map(fn.name, fn.by_vectors))});"
        )
    return "\n".join([head, *fn.writer.lines, "}", ""])


def _signature(fn: Function, loops: Loops, phase: For) -> str:
    written = writes([phase])
    arguments = [
        f"{'' if b in written else 'const '}{TYPES[b.dtype]}* {fn.name(b)}" for b in loops.buffers
    ]
    arguments += [f"long long {fn.name(p)}" for p in loops.params]
    fn.indices.arguments |= {p.atom: fn.name(p) for p in loops.params if p.atom is not None}
    tiled = any(isinstance(t, Alloc) and t.buf.space == THREAD for t in statements(phase.body))
    bounds = f"{fn.threads}, {2 if fn.threads <= PAIRED else 1}" if tiled else f"{fn.threads}"
    start = f'extern "C" __global__ void __launch_bounds__({bounds}) {fn.symbol}('
    return f"{start}{', '.join([*arguments, 'weft_status* status'])}) {{"


# ---------------------------------------------------------------- loops of one turn


def simplified(phase: For) -> For:
    """Without the loops of one turn that a schedule leaves where an extent happens to be 1, the
    grid's included."""
    once = Substitution({phase.var: Index()}) if is_single(phase) else Substitution({})
    return replace(
        phase, base=once.index(phase.base), body=_without_single_turns(once.body(phase.body))
    )


def _without_single_turns(body: list[Stmt]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        match s:
            case For(kind=kind, total=None) if is_single(s) and (
                kind in (SERIAL, UNROLL) or (kind == LANES and not _has_registers(s))
            ):
                out += _without_single_turns(Substitution({s.var: Index()}).body(s.body))
            case For() | If():
                out.append(replace(s, body=_without_single_turns(s.body)))
            case _:
                out.append(s)
    return out


def _has_registers(s: For) -> bool:
    return any(buf.space == THREAD for buf, _, _ in accesses(s.body))
