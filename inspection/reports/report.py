"""What a compiled program does and why. In: a Compiled program. Out: a Report for `wf.explain`."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ... import options
from ...errors import WeftError
from ...frontend.backend import Launch
from ...frontend.compile import Compiled, LoweredKernel
from ...ir.graph import Node
from ...ir.kernel import Unit
from ...ir.loop import Check
from ...ir.loop_walk import statements
from ...ir.program import Call, CheckSite
from ...ir.site import Site, is_gradient
from ...runtime.image import chunk_count
from ..measured.machine import Machine, machine
from ..names.naming import NO_NAMES, InputNames, name_of
from .flops import arithmetic, steps
from .kernel_report import Apart, KernelReport, Report, Source


def report(c: Compiled, predict: bool = True, names: InputNames = NO_NAMES) -> Report:
    """The Report of a program whose inputs have these names; without predictions it asks for no figures of the machine."""
    memory = c.memory()
    figures = _figures(c.backend.device) if predict else None
    resident = figures is not None and memory.peak_bytes <= figures.cache_bytes
    calls = zip(c.in_order(), c.program.calls, c.kernel_keys, strict=True)
    apart = _apart(c)
    kernels = [
        replace(
            _kernel(k, call, c.program.checks, apart.get(k.name, ()), c.backend.launches(call, key), figures, resident),
            reads=tuple(name for n in k.step.reads if (name := name_of(n, names))),
        )
        for k, call, key in calls
    ]
    return Report(kernels, c.program.arena_bytes, len(c.program.donations), memory, c.backend.device)


def _kernel(
    k: LoweredKernel,
    call: Call,
    checks: Sequence[CheckSite],
    apart: Sequence[Apart],
    launches: tuple[Launch, ...],
    figures: Machine | None,
    resident: bool,
) -> KernelReport:
    units = [] if k.kernel is None else k.kernel.units
    nodes = [u.node for u in units]
    moved, flops = bytes_moved(k.step.reads, k.step.writes, units), arithmetic(nodes)
    threads = _threads(call, launches)
    workers = max((launch.blocks for launch in launches), default=threads)
    predicted, bound = (None, None) if figures is None else _prediction(figures, moved, flops, nodes, resident, workers)
    return KernelReport(
        name=k.name,
        kind="check" if k.kernel is None else k.kernel.kind,
        nodes=tuple(n.op.value for n in nodes),
        outer=() if k.kernel is None else tuple(k.kernel.extents),
        outputs=tuple(f"{n.dtype.name}{list(n.shape)}" for n in k.step.writes),
        bytes=moved,
        flops=flops,
        schedule=k.lowered.schedule,
        parallel=any(call.parallel),
        threads=threads,
        sources=_sources([n.site for n in nodes] or _checked(k, checks)),
        boundaries=tuple(apart),
        launches=launches,
        predicted=predicted,
        bound=bound,
    )


def _apart(c: Compiled) -> dict[str, list[Apart]]:
    """By the name of a kernel: why it is not one with those before it."""
    found: dict[str, list[Apart]] = {}
    for b in c.fused.boundaries:
        found.setdefault(b.consumer, []).append(Apart(b.producer, b.reason.rule, b.reason.detail))
    return found


def _sources(sites: Iterable[Site | None]) -> tuple[Source, ...]:
    found = dict.fromkeys((*site[:2], is_gradient(site)) for site in sites if site is not None)
    return tuple(Source(file, line, gradient, linecache.getline(file, line).strip()) for file, line, gradient in found)


def _checked(k: LoweredKernel, checks: Sequence[CheckSite]) -> list[Site | None]:
    """Where the indices were used that a kernel checks."""
    found = [s.site for s in statements(k.lowered.loops.phases) if isinstance(s, Check)]
    return [checks[site].site for site in found if isinstance(site, int)]


def _threads(call: Call, launches: tuple[Launch, ...]) -> int:
    """That share the widest phase: as many as there are, at most one a chunk."""
    if launches:
        return max(launch.blocks * launch.threads for launch in launches)
    shared = [chunk_count(call, phase) for phase, parallel in zip(call.loops.phases, call.parallel, strict=True) if parallel]
    return min(options.current().num_threads, max(shared, default=1))


def bytes_moved(reads: Iterable[Node], writes: Iterable[Node], units: Iterable[Unit]) -> int:
    """What is read and written at least: every element once, and no more of a value than there are steps that read it."""
    reading: Counter[Node] = Counter()
    for u in units:
        for base in {r.base for r in u.reads}:
            reading[base] += steps(u.node)
    read = sum(min(n.size, reading.get(n, n.size)) * n.dtype.itemsize for n in reads)
    return read + sum(n.size * n.dtype.itemsize for n in writes)


# ---------------------------------------------------------------- seconds


def _figures(device: str) -> Machine | None:
    """What the machine can do at most; None where that cannot be had."""
    try:
        return machine(device)
    except WeftError:
        return None


def _prediction(
    m: Machine, moved: int, flops: int, nodes: Sequence[Node], resident: bool, workers: int
) -> tuple[float, str]:
    """By the roofline, whose figures are those of all threads: fewer take as long as all would for more."""
    share = max(1, m.threads // workers)
    return m.seconds(moved * share if resident else moved, flops * share, _dtype(nodes), resident)


def _dtype(nodes: Sequence[Node]) -> str:
    """Whose peak counts: that of the wider floats where most of the arithmetic has their width."""
    wide = sum(arithmetic([n]) for n in nodes if n.dtype.itemsize == 8)
    return "float64" if 2 * wide > arithmetic(nodes) else "float32"
