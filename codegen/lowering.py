"""Kernels -> Steps: every kernel lowered by its kind, and the bounds checks. In: Fused kernels. Out: Steps for ir/plan.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.fuse import Fused
from ..ir.graph import Node
from ..ir.kernel import Kernel, work
from ..ir.plan import Step
from ..ir.program import CheckSite
from . import schedule
from .checks import Checks, leaves_of
from .contract import lower_contraction
from .lower import Lowered, Tuning, lower_rows
from .lower_sort import lower_sort
from .lower_special import lower_checks, lower_scan, lower_scatter
from .math import expand_loops
from .target import Target


@dataclass
class Settings:
    """What lowering may depend on besides the kernel: never the number of threads."""

    target: Target
    min_chunks: int = 1
    serial_work: int = schedule.SERIAL_WORK


@dataclass
class LoweredKernel:
    """A kernel, its loops before transcendentals were expanded, and how it was scheduled."""

    name: str
    kernel: Kernel | None
    lowered: Lowered
    step: Step


@dataclass
class LoweredProgram:
    kernels: list[LoweredKernel] = field(default_factory=list)
    sites: tuple[CheckSite, ...] = ()

    @property
    def steps(self) -> list[Step]:
        return [k.step for k in self.kernels]


def _is_tiny(operations: int, settings: Settings) -> bool:
    """Whether compiling fast code would never pay. Who forces threads or chunks wants the schedules that have them."""
    return settings.min_chunks == 1 and operations < min(schedule.TINY_WORK, settings.serial_work)


def lower_kernel(kernel: Kernel, strides: dict[Node, tuple[int, ...]], settings: Settings) -> Lowered:
    """Loops of one kernel."""
    tuning = Tuning(settings.min_chunks, _is_tiny(work(u.node for u in kernel.units), settings))
    match kernel.kind:
        case "contraction":
            return lower_contraction(kernel, strides, settings.target, tuning)
        case "scan":
            return lower_scan(kernel, strides, tuning)
        case "scatter":
            return lower_scatter(kernel, strides, tuning)
        case "sort":
            return lower_sort(kernel, strides, settings.target, tuning)
    return lower_rows(kernel, strides, settings.target, tuning)


def lower_all(fused: Fused, checks: Checks, strides: dict[Node, tuple[int, ...]], settings: Settings) -> LoweredProgram:
    """Every kernel and check of a program."""
    out = LoweredProgram(sites=tuple(checks.sites))
    if checks.early:
        places = leaves_of(n for n, _ in checks.early)
        lowered = lower_checks(checks.early, strides, places, 0, _check_tuning(checks.early, settings))
        out.kernels.append(_check("check_inputs", lowered, places, settings, early=True))
    for i, (n, extent) in enumerate(checks.late):
        site = len(checks.early) + i
        lowered = lower_checks([(n, extent)], strides, [n], site, _check_tuning([(n, extent)], settings))
        out.kernels.append(_check(f"check_{n.op.value}{i}", lowered, [n], settings, early=False))
    for kernel in fused.kernels:
        lowered = lower_kernel(kernel, strides, settings)
        parallel = tuple(w >= settings.serial_work for w in lowered.work)
        loops = expand_loops(lowered.loops, settings.target.has_float16)
        step = Step(loops, lowered.params, parallel, kernel.inputs, kernel.outputs)
        out.kernels.append(LoweredKernel(kernel.name, kernel, lowered, step))
    return out


def _check_tuning(checks: list[tuple[Node, int]], settings: Settings) -> Tuning:
    return Tuning(tiny=_is_tiny(work(n for n, _ in checks), settings))


def _check(name: str, lowered: Lowered, places: list[Node], settings: Settings, early: bool) -> LoweredKernel:
    parallel = tuple(False for _ in lowered.work)
    loops = expand_loops(lowered.loops, settings.target.has_float16)
    step = Step(loops, lowered.params, parallel, places, [], is_check=True, early=early)
    return LoweredKernel(name, None, lowered, step)
