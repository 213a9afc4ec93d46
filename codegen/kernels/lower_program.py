"""Kernels -> Steps: every kernel lowered by its kind, and the bounds checks. In: Fused kernels.
Out: Steps of a Program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from ...ir.graph.graph import Node
from ...ir.graph.site import Site
from ...ir.kernels.fuse import Fused
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import Loops
from ...ir.ops.routines import RECORDS, batch_in
from ...ir.passes.bounds_checks import Checks, CheckSite, leaves_of, pivots_of
from ...ir.program.routine_step import RoutineStep
from ...ir.program.step import KernelStep, Step
from ...ir.symbolic.scope import Scope
from .arguments import with_arguments
from .canonical import canonical
from .finite_checks import watched
from .lowered import Lowered
from .variants import Variant, Variants

MOST_CHECKS = 100  # of one kernel: a GPU takes 4 KB of arguments, 511 buffers


@dataclass
class LoweredKernel:
    """A kernel, its loops before transcendentals were expanded, and how it was scheduled."""

    name: str
    kernel: Kernel | None
    lowered: Lowered
    step: KernelStep | RoutineStep
    inside: tuple[str, ...] = ()  # the loops that it is in, outermost first

    @property
    def is_routine(self) -> bool:
        """Is it one of a library?"""
        return self.kernel is not None and self.kernel.kind == "routine"

    @property
    def line(self) -> Site | None:
        """The user's line for what no single operation computes: packing, sums of products."""
        units = self.kernel.units if self.kernel else []
        sites = {u.node.site[:2]: u.node.site for u in units if u.node.site}
        anchor = self.kernel.anchor if self.kernel else None
        return (
            next(iter(sites.values())) if len(sites) == 1 else anchor.node.site if anchor else None
        )


@dataclass
class LoweredProgram:
    """`kernels`: all, those inside of loops too, and their variants for other sizes; `steps`: what
    runs, a loop as one."""

    kernels: list[LoweredKernel] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    sites: list[CheckSite] = field(default_factory=list)


# what makes a step of a loop or a branch, given its kernel and the checks so far, to which it adds
Inner = Callable[[Kernel, list[CheckSite]], tuple[Step, list[LoweredKernel]]]


Strides = dict[Node, tuple[int, ...]]


class Lowering(Protocol):
    """How a target runs kernels."""

    @property
    def nans(self) -> str:
        """What kernels check their values for: "", "nan" or "inf"."""

    @property
    def most_scratch(self) -> int:
        """Bytes of scratch memory whose size is an argument of a kernel, at most."""

    def kernel(self, kernel: Kernel, strides: Strides, streamed: set[Node]) -> Lowered:
        """Loops of a kernel; the outputs `streamed` are written with non-temporal stores."""

    def checks(
        self, checks: list[tuple[Node, int]], strides: Strides, places: list[Node], first_site: int
    ) -> Lowered:
        """Loops of bounds checks."""

    def expanded(self, loops: Loops) -> Loops:
        """With transcendentals, and what else the target lacks, as operations that it has."""

    def parallel(self, lowered: Lowered) -> tuple[bool, ...]:
        """Whether threads share each phase."""

    def streamed(self, kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node]) -> set[Node]:
        """The outputs to write with non-temporal stores, past the caches."""


def lower_all(
    fused: Fused,
    checks: Checks,
    strides: Strides,
    lowering: Lowering,
    replaced: Mapping[Node, Node],
    made: Callable[[Loops, Loops | None], None],
    inner: Inner,
    sites: list[CheckSite],
    scope: Scope | None = None,
) -> LoweredProgram:
    """Every kernel and check of a program, equal ones once. `replaced[o]` is the input whose memory
    output o would like to take. `sites`: the checks of what this program is in, to which those here
    are added; `inner` makes the steps of loops; `scope`: the symbols in its shapes.

    `made` is called with the loops of each, as soon as they are there, and with those of one before
    that has the same code.
    """
    out = LoweredProgram(sites=sites)
    first_site = len(sites)
    sites += checks.sites
    before: dict[Hashable, Variants] = {}  # by canonical form
    forms = _Forms(strides)

    def coded(lowered: Lowered) -> Lowered:
        if scope is None:
            return lowered
        return with_arguments(lowered, lowering.most_scratch, scope)

    for check in _checks(checks, strides, lowering, first_site, coded):
        out.kernels.append(check)
        out.steps.append(check.step)
        made(check.step.loops, None)
    for fused_kernel in fused.kernels:
        if fused_kernel.kind in ("loop", "branch"):
            region, kernels = inner(fused_kernel, sites)
            out.steps.append(region)
            out.kernels += [replace(k, inside=(fused_kernel.name, *k.inside)) for k in kernels]
            continue
        if fused_kernel.kind == "routine":
            routine = _routine(fused_kernel, strides, sites)
            out.kernels.append(routine)
            out.steps.append(routine.step)
            continue
        kernel = replace(fused_kernel, outputs=store_order(fused_kernel, replaced))
        streamed = lowering.streamed(kernel, fused, replaced)
        form = forms.of(kernel, fused_kernel.outputs, streamed)
        past_caches = partial(_past_caches, kernel, fused, replaced, lowering, scope)
        lower = partial(_loops_of, kernel, strides, past_caches, lowering, coded)
        variants = before.setdefault(form, Variants(lower, scope))
        reports: list[int] = []  # numbers of the sites that a kernel is told
        if kernel.kind == "systems":
            reports.append(len(sites))
            sites.append(pivots_of(kernel.units[0].node))
        if lowering.nans:
            reports.append(len(sites))
            number = sum(s.kernel is not None for s in sites)
            sites.append(CheckSite(kernel.name, 0, 1, None, kernel=number))
        steps = _KernelSteps(kernel, variants, reports, lowering, made, out.kernels)
        out.steps.append(steps.here())
    return out


@dataclass
class _KernelSteps:
    """The steps of a kernel, one for each variant of its loops; `kernels` takes them."""

    kernel: Kernel
    variants: Variants
    reports: list[int]
    lowering: Lowering
    made: Callable[[Loops, Loops | None], None]
    kernels: list[LoweredKernel]
    known: dict[Variant, KernelStep] = field(default_factory=dict)

    def here(self) -> KernelStep:
        """The one for the values that symbols have."""
        variant = self.variants.here()
        if variant not in self.known:
            self.known[variant] = self._step(variant)
        return self.known[variant]

    def _step(self, variant: Variant) -> KernelStep:
        kernel, same = self.kernel, variant.step
        loops = variant.loops if same is None else replace(variant.loops, name=kernel.name)
        step = KernelStep(
            loops,
            (*variant.lowered.params, *self.reports),
            self.lowering.parallel(variant.lowered),
            kernel.inputs,
            kernel.outputs,
            is_check=kernel.kind == "systems",
            watched=bool(self.lowering.nans),
            same=same,
            over=kernel.outputs[0].src[0] if kernel.kind == "put" else None,
            here=self.here,
        )
        self.made(loops, None if same is None else same.loops)
        lowered = _renamed(variant.lowered, kernel.name)
        self.kernels.append(LoweredKernel(kernel.name, kernel, lowered, step))
        variant.step = variant.step or step
        return step


def _past_caches(
    kernel: Kernel,
    fused: Fused,
    replaced: Mapping[Node, Node],
    lowering: Lowering,
    scope: Scope | None,
) -> set[Node]:
    """The outputs to write with non-temporal stores, for all sizes at which these are the same."""
    decision = partial(lowering.streamed, kernel, fused, replaced)
    if scope is None:
        return decision()
    return scope.settle(decision, lambda n: f"{kernel.name} writes {len(n)} values past the caches")


def _loops_of(
    kernel: Kernel,
    strides: Strides,
    streamed: Callable[[], set[Node]],
    lowering: Lowering,
    coded: Callable[[Lowered], Lowered],
) -> tuple[Lowered, Loops]:
    """Loops of a kernel, before and after transcendentals were expanded."""
    lowered = coded(lowering.kernel(kernel, strides, streamed()))
    if lowering.nans:
        lowered = replace(lowered, loops=watched(lowered.loops, lowering.nans == "inf"))
    return lowered, lowering.expanded(lowered.loops)


def _routine(kernel: Kernel, strides: Strides, sites: list[CheckSite]) -> LoweredKernel:
    """A routine of a library, which has no loops; `sites` takes what it reports."""
    n = kernel.outputs[0]
    routine = n.arg[0]
    step = RoutineStep(
        kernel.name, routine, n.src, kernel.inputs, kernel.outputs, strides, len(sites)
    )
    sites.append(CheckSite(routine.name, 0, 0, n.site, batch=batch_in(n)))
    schedule = f"{routine} of {RECORDS[routine.name].library}"
    return LoweredKernel(kernel.name, kernel, Lowered(step.loops, (), [], schedule), step)


class _Forms:
    """The canonical form of kernels, asked once for the copies of one."""

    def __init__(self, strides: Strides) -> None:
        self._strides = strides
        self._of_copies: dict[Hashable, Hashable] = {}

    def of(self, kernel: Kernel, outputs: list[Node], streamed: set[Node]) -> Hashable:
        """`outputs`: those of the kernel in the order in which fusion gave them."""
        if kernel.copy_of is None:
            return canonical(kernel, self._strides, streamed)
        order = tuple([(outputs.index(n), n in streamed) for n in kernel.outputs])
        copied = kernel.copy_of, order
        if copied not in self._of_copies:
            self._of_copies[copied] = canonical(kernel, self._strides, streamed)
        return self._of_copies[copied]


def _renamed(lowered: Lowered, name: str) -> Lowered:
    return replace(lowered, loops=replace(lowered.loops, name=name))


def store_order(kernel: Kernel, replaced: Mapping[Node, Node]) -> list[Node]:
    """The outputs of a kernel, each after the others that read what it would overwrite, as far as
    that is possible."""
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


def _checks(
    checks: Checks,
    strides: Strides,
    lowering: Lowering,
    first_site: int,
    coded: Callable[[Lowered], Lowered],
) -> Iterator[LoweredKernel]:
    """The early checks, several a kernel, then the late ones."""
    for first in range(0, len(checks.early), MOST_CHECKS):
        some = checks.early[first : first + MOST_CHECKS]
        places = leaves_of(n for n, _ in some)
        lowered = coded(lowering.checks(some, strides, places, first_site + first))
        yield _check(f"check_inputs{first or ''}", lowered, places, lowering, early=True)
    for i, (n, extent) in enumerate(checks.late):
        site = first_site + len(checks.early) + i
        lowered = coded(lowering.checks([(n, extent)], strides, [n], site))
        yield _check(f"check_{n.op.value}{i}", lowered, [n], lowering, early=False)


def _check(
    name: str, lowered: Lowered, places: list[Node], lowering: Lowering, early: bool
) -> LoweredKernel:
    parallel = tuple(False for _ in lowered.work)
    loops = lowering.expanded(lowered.loops)
    step = KernelStep(loops, lowered.params, parallel, places, [], is_check=True, early=early)
    return LoweredKernel(name, None, lowered, step)
