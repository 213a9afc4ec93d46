"""What a compiled program does and why. In: a Compiled program. Out: a Report for `wf.explain`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..frontend.backend import Launch
from ..frontend.compile import Compiled, LoweredKernel
from ..ir.graph import Node
from ..ir.kernel import Boundary, work
from ..ir.memory import Memory, amount
from ..ir.program import Call


@dataclass(frozen=True)
class KernelReport:
    """One kernel of a program.

    Attributes: `name`; `kind` (map, rows, contraction, scan, scatter, sort, check); `nodes`, the operations it computes;
    `outer`, the extents of its parallel axes; `outputs`, text of each stored value; `bytes` it reads and writes at least;
    `flops`, operations weighed relative to an add; `schedule`, how it runs and why; `parallel`, whether threads share it;
    `lines`, the user's (file, line) pairs; `boundaries`, why it did not merge with its neighbours; `launches`, on a GPU the
    blocks, threads, shared memory, registers and spills of each phase.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    outer: tuple[int, ...]
    outputs: tuple[str, ...]
    bytes: int
    flops: int
    schedule: str
    parallel: bool
    lines: tuple[tuple[str, int], ...]
    boundaries: tuple[str, ...] = ()
    launches: tuple[Launch, ...] = ()

    def __str__(self) -> str:
        where = ", ".join(f"{file.rsplit('/', 1)[-1]}:{line}" for file, line in self.lines[:4])
        head = f"{self.name}  outer {list(self.outer)}  {amount(self.bytes)}B  {amount(self.flops)}op  "
        head += "GPU" if self.launches else "threads" if self.parallel else "one thread"
        computes = " ".join(word if count == 1 else f"{word}*{count}" for word, count in Counter(self.nodes).items())
        out = [head, f"    computes  {computes}", f"    writes    {', '.join(self.outputs) or 'the status only'}"]
        out += [f"    schedule  {self.schedule}"]
        out += [f"    launch    {launch}" for launch in self.launches]
        if where:
            out.append(f"    from      {where}")
        return "\n".join(out + [f"    apart     {text}" for text in self.boundaries])


@dataclass(frozen=True)
class Report:
    """The kernels of a program, in the order they run, and the memory it needs.

    Attributes: `kernels`, a KernelReport each; `arena_bytes`, memory for intermediates; `in_place`, how many outputs may be
    written over inputs; `memory`, a Memory: every buffer with its place and lifetime, and what is needed in the worst step.
    """

    kernels: list[KernelReport] = field(default_factory=list)
    arena_bytes: int = 0
    in_place: int = 0
    memory: Memory = field(default_factory=Memory)

    def __str__(self) -> str:
        total = f"{len(self.kernels)} kernels, {amount(sum(k.bytes for k in self.kernels))}B moved, "
        total += f"{amount(self.arena_bytes)}B of scratch, {self.in_place} outputs in place"
        return "\n".join([total, *map(str, self.kernels), *([str(self.memory)] if self.kernels else [])])

    __repr__ = __str__


def report(c: Compiled) -> Report:
    """The Report of a program."""
    calls = zip(c.in_order(), c.program.calls, c.kernel_keys, strict=True)
    kernels = [_kernel(k, call, c.fused.boundaries, c.backend.launches(call, key)) for k, call, key in calls]
    return Report(kernels, c.program.arena_bytes, len(c.program.donations), c.memory())


def _kernel(
    k: LoweredKernel, call: Call, boundaries: list[Boundary], launches: tuple[Launch, ...]
) -> KernelReport:
    reasons = tuple(f"from {b.producer}: {b.reason}" for b in boundaries if b.consumer == k.name)
    reads, writes = k.step.reads, k.step.writes
    moved = sum(n.size * n.dtype.itemsize for n in [*reads, *writes])
    if k.kernel is None:
        how = k.lowered.schedule, any(call.parallel), _lines(reads)
        return KernelReport(k.name, "check", (), (), (), moved, 0, *how, reasons, launches)
    units = k.kernel.units
    flops = work(u.node for u in units)
    outputs = tuple(f"{n.dtype.name}{list(n.shape)}" for n in writes)
    nodes = tuple(u.node.op.value for u in units)
    how = k.lowered.schedule, any(call.parallel), _lines([u.node for u in units])
    return KernelReport(k.name, k.kernel.kind, nodes, k.kernel.extents, outputs, moved, flops, *how, reasons, launches)


def _lines(nodes: list[Node]) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys(n.site[:2] for n in nodes if n.site is not None))
