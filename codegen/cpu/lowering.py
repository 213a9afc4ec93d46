"""Kernels -> Steps: every kernel lowered by its kind, and the bounds checks. In: Fused kernels. Out: Steps for a Program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...ir.graph.graph import Node
from ...ir.graph.site import Site
from ...ir.kernels.fuse import Fused
from ...ir.kernels.kernel import Kernel, work
from ...ir.loops.loop import SERIAL, For, If, Loops, Stmt
from ...ir.passes.bounds_checks import Checks, leaves_of
from ...ir.program.plan import Step
from ...ir.program.program import CheckSite
from ..kernels import axes
from ..kernels.finite_checks import watched
from ..kernels.row_classes import lower_rows
from ..math.expand import expand_loops
from .chain.chain import lower_chain
from .column_sums import lower_column_sums
from .contraction import lower_contraction
from .row_order import in_blocks
from .rows import Fastest, Lowered, Tuning
from .scan_scatter_checks import lower_checks, lower_scan, lower_scatter
from .settings import Settings
from .sort import lower_sort
from .target import Target

PASSING_KINDS = ("map", "rows")  # of kernels that write each element once, in order
MANY_CACHES = 1.5  # times the last cache that a kernel touches: less than two thirds of it would be found there again
MOST_CHECKS = 100  # of one kernel: a GPU takes 4 KB of arguments, 511 buffers


@dataclass
class LoweredKernel:
    """A kernel, its loops before transcendentals were expanded, and how it was scheduled."""

    name: str
    kernel: Kernel | None
    lowered: Lowered
    step: Step

    @property
    def line(self) -> Site | None:
        """The user's line behind what no single operation computes: packing, sums of products."""
        units = self.kernel.units if self.kernel else []
        sites = {u.node.site[:2]: u.node.site for u in units if u.node.site}
        anchor = self.kernel.anchor if self.kernel else None
        return next(iter(sites.values())) if len(sites) == 1 else anchor.node.site if anchor else None


@dataclass
class LoweredProgram:
    kernels: list[LoweredKernel] = field(default_factory=list)
    sites: tuple[CheckSite, ...] = ()

    @property
    def steps(self) -> list[Step]:
        return [k.step for k in self.kernels]


Strides = dict[Node, tuple[int, ...]]


class Lowering(Protocol):
    """How a target runs kernels."""

    @property
    def nans(self) -> str:
        """What kernels check their values for: "", "nan" or "inf"."""

    def kernel(self, kernel: Kernel, strides: Strides, passing: set[Node]) -> Lowered:
        """Loops of a kernel; the outputs `passing` would better not take room in caches."""

    def checks(self, checks: list[tuple[Node, int]], strides: Strides, places: list[Node], first_site: int) -> Lowered:
        """Loops of bounds checks."""

    def expanded(self, loops: Loops) -> Loops:
        """With transcendentals, and what else the target lacks, as operations that it has."""

    def parallel(self, lowered: Lowered) -> tuple[bool, ...]:
        """Whether threads share each phase."""

    def passing(self, kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node]) -> set[Node]:
        """The outputs that had better be written past the caches."""


@dataclass
class HostLowering:
    """For a CPU; `fastest` picks among candidates, if they are timed."""

    settings: Settings
    fastest: Fastest | None = None

    @property
    def nans(self) -> str:
        """As the settings say."""
        return self.settings.nans

    def kernel(self, kernel: Kernel, strides: Strides, passing: set[Node]) -> Lowered:
        """By its kind."""
        return _passing(lower_kernel(kernel, strides, self.settings, self.fastest), kernel, passing)

    def checks(self, checks: list[tuple[Node, int]], strides: Strides, places: list[Node], first_site: int) -> Lowered:
        """One phase each."""
        lowered = lower_checks(checks, strides, places, first_site)
        return one_lane(lowered) if is_tiny(work(n for n, _ in checks), self.settings) else lowered

    def expanded(self, loops: Loops) -> Loops:
        """As polynomials."""
        return expand_loops(loops, self.settings.target.has_float16, strict=self.settings.strict)

    def parallel(self, lowered: Lowered) -> tuple[bool, ...]:
        """Where it gains more than waking threads costs."""
        return tuple(w >= self.settings.serial_work for w in lowered.work)

    def passing(self, kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node]) -> set[Node]:
        """Large ones that no kernel reads."""
        return passing_outputs(kernel, fused, replaced, self.settings.target)


def is_tiny(operations: int, settings: Settings) -> bool:
    """Whether compiling fast code would never pay. Who forces threads or chunks wants the schedules that have them."""
    return settings.min_chunks == 1 and operations < min(axes.TINY_WORK, settings.serial_work)


def lower_kernel(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], settings: Settings, fastest: Fastest | None = None
) -> Lowered:
    """Loops of one kernel; `fastest` picks among its candidates."""
    nodes = [u.node for u in kernel.units]
    tiny = is_tiny(work(nodes), settings) and not any(in_blocks(n, settings.target) for n in nodes)
    tuning = Tuning(settings.min_chunks, tiny, fastest, settings.strict)
    lowered = _lowered(kernel, strides, settings.target, tuning)
    return one_lane(lowered) if tuning.tiny and is_tiny(sum(lowered.work), settings) else lowered


def one_lane(lowered: Lowered) -> Lowered:
    """The same loops for a tiny kernel: no lanes, nothing unrolled."""
    phases = [replace(phase, body=_serial(phase.body)) for phase in lowered.loops.phases]
    return replace(lowered, loops=replace(lowered.loops, phases=phases, tiny=True))


def _serial(body: list[Stmt]) -> list[Stmt]:
    return [_serial_statement(s) for s in body]


def _serial_statement(s: Stmt) -> Stmt:
    match s:
        case For():
            return replace(s, kind=SERIAL, unroll=1, body=_serial(s.body))
        case If():
            return replace(s, body=_serial(s.body))
    return s


def _lowered(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning) -> Lowered:
    match kernel.kind:
        case "contraction":
            return lower_contraction(kernel, strides, target, tuning)
        case "chain":
            return lower_chain(kernel, strides, target, tuning)
        case "scan":
            return lower_scan(kernel, strides, tuning)
        case "scatter":
            return lower_scatter(kernel, strides, tuning)
        case "sort":
            return lower_sort(kernel, strides, target, tuning)
    if kernel.columns:
        return lower_column_sums(kernel, strides, target, tuning)
    return lower_rows(kernel, strides, target, tuning)


def lower_all(
    fused: Fused,
    checks: Checks,
    strides: Strides,
    lowering: Lowering,
    replaced: Mapping[Node, Node],
    made: Callable[[Loops], None],
) -> LoweredProgram:
    """Every kernel and check of a program. `replaced[o]` is the input whose memory output o would like to take.

    `made` is called with the loops of each, as soon as they are there.
    """
    out = LoweredProgram(sites=tuple(checks.sites))

    def add(lowered: LoweredKernel) -> None:
        out.kernels.append(lowered)
        made(lowered.step.loops)

    for first in range(0, len(checks.early), MOST_CHECKS):
        some = checks.early[first : first + MOST_CHECKS]
        places = leaves_of(n for n, _ in some)
        add(_check(f"check_inputs{first or ''}", lowering.checks(some, strides, places, first), places, lowering, early=True))
    for i, (n, extent) in enumerate(checks.late):
        site = len(checks.early) + i
        lowered = lowering.checks([(n, extent)], strides, [n], site)
        add(_check(f"check_{n.op.value}{i}", lowered, [n], lowering, early=False))
    for fused_kernel in fused.kernels:
        kernel = replace(fused_kernel, outputs=store_order(fused_kernel, replaced))
        lowered = lowering.kernel(kernel, strides, lowering.passing(kernel, fused, replaced))
        if lowering.nans:
            params = (*lowered.params, len(out.sites))
            lowered = replace(lowered, loops=watched(lowered.loops, lowering.nans == "inf"), params=params)
            out.sites += (CheckSite(kernel.name, 0, 1, None, kernel=fused.kernels.index(fused_kernel)),)
        loops = lowering.expanded(lowered.loops)
        parallel = lowering.parallel(lowered)
        step = Step(loops, lowered.params, parallel, kernel.inputs, kernel.outputs, watched=bool(lowering.nans))
        add(LoweredKernel(kernel.name, kernel, lowered, step))
    return out


def _passing(lowered: Lowered, kernel: Kernel, outputs: set[Node]) -> Lowered:
    buffers = lowered.loops.buffers[len(kernel.inputs) :]  # behind those of the outputs, scratch memory may follow
    found = tuple(b for b, n in zip(buffers, kernel.outputs, strict=False) if n in outputs)
    return replace(lowered, loops=replace(lowered.loops, passing=found)) if found else lowered


def passing_outputs(kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node], target: Target) -> set[Node]:
    """What a kernel that writes every element once writes past the caches: it does not fit, and nothing has it there already.

    A store to a line that is not in a cache reads it first. It need not, but then the line is not there for whoever reads next:
    of an output, the cache would keep its share of all that the kernel reads and writes.
    """
    if kernel.kind not in PASSING_KINDS:
        return set()
    touched = sum(n.size * n.dtype.itemsize for n in [*kernel.inputs, *kernel.outputs])
    least = target.l2 if touched > MANY_CACHES * target.l3 else target.l3
    large = {n for n in kernel.outputs if n.size * n.dtype.itemsize > least and n not in replaced}
    return large - {n for k in fused.kernels for n in k.inputs} if large else large


def store_order(kernel: Kernel, replaced: Mapping[Node, Node]) -> list[Node]:
    """The outputs of a kernel, each behind the others that read what it would like to overwrite, as far as that is possible."""
    left = list(kernel.outputs)
    if len(left) < 2 or not any(n in replaced for n in left):
        return left
    inputs = set(kernel.inputs)
    needs = {n: _needed(n, inputs) for n in left}
    out: list[Node] = []
    while left:
        free = (n for n in left if all(m is n or replaced.get(n) not in needs[m] for m in left))
        out.append(next(free, left[0]))
        left.remove(out[-1])
    return out


def _needed(n: Node, inputs: set[Node]) -> set[Node]:
    """The inputs that a value of the kernel is computed from."""
    seen, stack = {n}, [n]
    while stack:
        m = stack.pop()
        new = {s for s in (() if m in inputs else m.src) if s not in seen}
        seen |= new
        stack += new
    return seen & inputs


def _check(name: str, lowered: Lowered, places: list[Node], lowering: Lowering, early: bool) -> LoweredKernel:
    parallel = tuple(False for _ in lowered.work)
    loops = lowering.expanded(lowered.loops)
    step = Step(loops, lowered.params, parallel, places, [], is_check=True, early=early)
    return LoweredKernel(name, None, lowered, step)
