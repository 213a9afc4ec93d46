"""The Report of a program. In: a Compiled program. Out: kernels with lines, costs, reasons."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from ... import options
from ...codegen.kernels.lower_program import LoweredKernel
from ...compiler.backends.backend import Launch
from ...compiler.compile import Compiled
from ...errors import WeftError
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.site import Site, is_gradient
from ...ir.kernels.kernel import Kernel, Unit
from ...ir.kernels.places import Read
from ...ir.loops.loop import Check
from ...ir.loops.walk import statements
from ...ir.ops.routines import flops as flops_of_routine
from ...ir.passes.bounds_checks import CheckSite
from ...ir.program.blocks import LoopBlock
from ...ir.program.program import Call, Program
from ...runtime.image import chunk_count
from ..machine.judged import predicted
from ..machine.machine import machine
from ..machine.roofline import Machine
from ..names.naming import NO_NAMES, InputNames, name_of
from .flops import arithmetic, executed, steps
from .kernel import Apart, KernelReport, Source
from .loop import loops
from .report import Report

# Kinds of kernels of which all elements are read, written and computed.
WHOLE = {"map", "rows", "contraction"}


def report(c: Compiled, predict: bool = True, names: InputNames = NO_NAMES) -> Report:
    """The Report of a program whose inputs have these names; without predictions it asks for no
    figures of the machine."""
    calls = zip(c.in_order(), c.program.calls, c.kernel_keys, strict=True)
    apart, times = _apart(c), iterations(c.program)
    kernels = [
        replace(
            _kernel(
                k, call, c.program.checks, apart.get(k.name, ()), c.backend.launches(call, key)
            ).repeated(times[i]),
            reads=tuple(name for n in k.step.reads if (name := name_of(n, names))),
        )
        for i, (k, call, key) in enumerate(calls)
    ]
    unpredicted = Report(
        kernels,
        c.program.arena_bytes,
        len(c.program.donations),
        c.memory(),
        c.backend.device,
        c.backend.strict,
        loops(c),
    )
    figures = _figures(unpredicted.device) if predict else None
    return unpredicted if figures is None else predicted(unpredicted, figures)


def iterations(program: Program) -> list[int]:
    """How often each call runs; once in loops whose end nobody knows."""
    times = [1] * len(program.calls)
    blocks = list(program.blocks)
    while blocks:
        block = blocks.pop()
        blocks += [b for body in block.bodies for b in body.blocks]
        if isinstance(block, LoopBlock) and block.length is not None and block.condition is None:
            for i in range(block.body.first, block.body.stop):
                times[i] *= block.length
    return times


def _kernel(
    k: LoweredKernel,
    call: Call,
    checks: Sequence[CheckSite],
    apart: Sequence[Apart],
    launches: tuple[Launch, ...],
) -> KernelReport:
    units = [] if k.kernel is None else k.kernel.units
    nodes = [u.node for u in units]
    read, written = (
        bytes_read(k.step.reads, units),
        sum(n.size * n.dtype.itemsize for n in k.step.writes),
    )
    if k.is_routine:
        read = {n: n.nbytes for n in k.step.reads}
    if k.step.over is not None:  # it writes a part alone
        read = {n: nbytes for n, nbytes in read.items() if n is not k.step.over}
        written = nodes[0].src[1].nbytes
    sure_bytes, sure_flops = _sure(k.kernel, read, written) if k.kernel is not None else (0, 0)
    return KernelReport(
        name=k.name,
        kind="check" if k.kernel is None else k.kernel.kind,
        nodes=tuple(n.arg[0].name if n.op is Op.ROUTINE else n.op.value for n in nodes),
        outer=() if k.kernel is None else tuple(k.kernel.extents),
        outputs=tuple(f"{n.dtype.name}{list(n.shape)}" for n in k.step.writes),
        bytes=sum(read.values()) + written,
        written=written,
        flops=_flops(k, nodes),
        floats=_floats(nodes),
        sure_bytes=sure_bytes,
        sure_flops=sure_flops,
        schedule=k.lowered.schedule,
        parallel=any(call.parallel),
        threads=_threads(call, launches),
        sources=_sources([n.site for n in nodes] or _checked(k, checks)),
        boundaries=tuple(apart),
        choices=k.lowered.choices,
        launches=launches,
    )


def _flops(k: LoweredKernel, nodes: Sequence[Node]) -> int:
    if k.kernel is None:
        return 0
    if k.is_routine:
        return flops_of_routine(nodes[0].arg[0], [s.shape for s in nodes[0].src])
    return arithmetic(nodes, executed(k.kernel, k.lowered.terms))


def _apart(c: Compiled) -> dict[str, list[Apart]]:
    """By the name of a kernel: why it is not one with those before it."""
    reasons: dict[str, list[Apart]] = {}
    for b in c.fused.boundaries:
        reasons.setdefault(b.consumer, []).append(
            Apart(b.producer, str(b.reason.rule), b.reason.detail)
        )
    return reasons


def _sources(sites: Iterable[Site | None]) -> tuple[Source, ...]:
    lines = dict.fromkeys((*site[:2], is_gradient(site)) for site in sites if site is not None)
    return tuple(
        Source(file, line, gradient, linecache.getline(file, line).strip())
        for file, line, gradient in lines
    )


def _checked(k: LoweredKernel, checks: Sequence[CheckSite]) -> list[Site | None]:
    """Where the indices were used that a kernel checks."""
    sites = [s.site for s in statements(k.lowered.loops.phases) if isinstance(s, Check)]
    return [checks[site].site for site in sites if isinstance(site, int)]


def _threads(call: Call, launches: tuple[Launch, ...]) -> int:
    """That share the widest phase: as many as there are, at most one a chunk."""
    if launches:
        return max(launch.blocks * launch.threads for launch in launches)
    if call.routined is not None:
        return min(options.current().num_threads, call.routined.parts)
    shared = [
        chunk_count(call, phase)
        for phase, parallel in zip(call.loops.phases, call.parallel, strict=True)
        if parallel
    ]
    return min(options.current().num_threads, max(shared, default=1))


def bytes_read(reads: Iterable[Node], units: Iterable[Unit]) -> dict[Node, int]:
    """Of each value at least: every element once, and no more than there are steps that read it, or
    than they can reach."""
    reading: Counter[Node] = Counter()
    for u in units:
        for base in {r.base for r in u.reads}:
            reading[base] += min(steps(u.node), max(_reached(r) for r in u.reads if r.base is base))
    return {n: min(n.size, reading.get(n, n.size)) * n.dtype.itemsize for n in reads}


def _sure(kernel: Kernel, read: dict[Node, int], written: int) -> tuple[int, int]:
    """(bytes, operations) that no schedule does without: inputs may be views of one memory,
    computed indices alike, and what is computed of the zeros around a value may be left out;
    products of integers are faster than those of floats."""
    if kernel.kind not in WHOLE or any(
        r.mask or any(i.values() for i in r.index) for u in kernel.units for r in u.reads
    ):
        return 0, 0
    inputs = [size for n, size in read.items() if n.op is Op.INPUT]
    products = kernel.kind == "contraction" and all(u.node.dtype.is_float for u in kernel.units)
    flops = arithmetic(u.node for u in kernel.units) if products else 0
    return sum(read.values()) - sum(inputs) + max(inputs, default=0) + written, flops


def _reached(r: Read) -> int:
    """How many elements lie between the first and the last index of each axis."""
    return prod(last - first + 1 for first, last in (i.bounds for i in r.index))


def _floats(nodes: Sequence[Node]) -> str:
    """Whose speed the arithmetic has: that of the wider floats where most of it has their width."""
    wide = sum(arithmetic([n]) for n in nodes if n.dtype.itemsize == 8)
    return "float64" if 2 * wide > arithmetic(nodes) else "float32"


def _figures(device: str) -> Machine | None:
    """What the machine can do at most; None where that cannot be had."""
    try:
        return machine(device)
    except WeftError:
        return None
