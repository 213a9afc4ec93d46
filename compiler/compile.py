"""The compiler, start to end. In: the roots of a Graph and its leaves. Out: a Compiled program,
ready to run.

Read `build` first: its body is the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from ..codegen.kernels.lower_program import LoweredKernel, LoweredProgram, Strides, lower_all
from ..errors import DeviceError
from ..ir.graph.graph import Node, toposort
from ..ir.graph.op import Op
from ..ir.graph.site import NOWHERE, keeping_sites, located, provenance
from ..ir.kernels.fuse import Fused
from ..ir.kernels.kernel import Kernel
from ..ir.parts.kernels import kernels_of
from ..ir.parts.parted import in_parts
from ..ir.passes.along_memory import along_memory
from ..ir.passes.bounds_checks import CheckSite, clamp_late, find_checks
from ..ir.passes.complex_pairs import has_complex, in_pairs, paired
from ..ir.passes.custom_gradients import drop_custom_gradients, has_custom_gradients
from ..ir.passes.distinct import distinct, distinct_in_parts
from ..ir.passes.fold_empty import fold_empty
from ..ir.passes.keep_gathers import keep_gathers
from ..ir.passes.keep_views import keep_deep_views
from ..ir.passes.leave_loops import leave_loops
from ..ir.passes.loop_arguments import arguments_in_memory, needed_results
from ..ir.passes.merge_sums import merge_sums
from ..ir.passes.recompute_maps import recompute_maps
from ..ir.passes.recompute_spaces import recompute_spaces
from ..ir.passes.rows_as_masks import rows_as_masks
from ..ir.passes.simplify import simplify
from ..ir.passes.small_systems import has_small_systems, small_systems
from ..ir.passes.split_reductions import split_reductions
from ..ir.passes.sums_apart import sums_apart
from ..ir.passes.transforms import has_transforms, transforms_as_kernels
from ..ir.passes.widen_halves import widen
from ..ir.program.laid_out import laid_out
from ..ir.program.memory_report import Memory, memory_of
from ..ir.program.plan import Planner, plan
from ..ir.program.program import Program, ValueLayout
from ..ir.program.region_step import Body, RegionStep, anew, layouts
from ..ir.symbolic.decisions import require_several
from ..ir.symbolic.scope import Scope
from ..runtime.memory.devices import CPU
from ..runtime.runnable import Runnable
from .backends.backend import Backend, KernelBuilder
from .backends.kinds import current_backend
from .garbage import without_collections
from .pass_log import Pass, Passes
from .structure import Structure


@dataclass
class Compiled:
    """A program and every artefact on the way to it."""

    passes: list[Pass]
    fused: Fused
    lowered: LoweredProgram
    program: Program
    executable: Runnable
    kernel_keys: list[str]  # of each call, "" for a routine of a library
    backend: Backend
    strides: Strides  # of the leaves
    # program, keys and executable for the values that the symbols of a Scope have now
    arranged: Callable[[Scope], tuple[Program, list[str], Runnable]]

    @property
    def graph(self) -> list[Node]:
        """The roots as they came in."""
        return list(self.passes[0].roots or ())

    @property
    def fused_graph(self) -> list[Node]:
        """The Graph that fusion saw: the last one of the passes."""
        return next(list(p.roots) for p in reversed(self.passes) if p.roots is not None)

    def roots_behind(self, name: str) -> list[Node]:
        """The Graph that a pass gave."""
        return next(list(p.roots) for p in self.passes if p.name == name and p.roots is not None)

    @property
    def donations(self) -> Mapping[int, int]:
        """donations[o] = i: output o may be written into the memory of input i."""
        return self.program.donations

    def memory(self) -> Memory:
        """Which buffers a run needs, where and when."""
        return memory_of(self.program, [k.name for k in self.in_order()])

    def in_order(self) -> list[LoweredKernel]:
        """The kernels in the order they run."""
        by_loops = {id(k.step.loops): k for k in self.lowered.kernels}
        return [by_loops[id(call.loops)] for call in self.program.calls]

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        """A kernel's loops and what its backend makes of them on the way to machine code, by file
        ending."""
        return self.backend.texts(k)

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs. Raises runtime.executable.CheckFailed."""
        self.executable.run(inputs, outputs)


@without_collections
@keeping_sites()
def build(
    outputs: Sequence[Node],
    leaves: Sequence[Node],
    values: Sequence[ValueLayout],
    donations: Mapping[int, int],
    backend: Backend | None = None,
    scope: Scope | None = None,
) -> Compiled:
    """Compiles a Graph: distinct outputs over INPUT leaves whose layouts are `values`; `donations`
    are wishes. `scope`: the symbols in its shapes, if there are any; raises NotSymbolic where the
    compiler needs to know them."""
    backend = backend or current_backend()
    code = backend.builder()
    passes = Passes(outputs)
    with code:
        made = _lowered(passes, leaves, values, donations, backend, code, [], scope=scope)
    program, keys, executable = _arranged(passes, made, backend, code, scope)

    def again(scope: Scope) -> tuple[Program, list[str], Runnable]:
        return _arranged(Passes(outputs), made, backend, code, scope)

    return Compiled(
        passes.done,
        made.fused,
        made.lowered,
        program,
        executable,
        keys,
        backend,
        made.strides,
        again,
    )


def _arranged(
    passes: Passes, made: _Lowered, backend: Backend, code: KernelBuilder, scope: Scope | None
) -> tuple[Program, list[str], Runnable]:
    """Kernels in order, with memory and code: for the values that symbols have, if there are
    any."""
    with nullcontext() if scope is None else scope.at_hand():
        steps = made.lowered.steps
        if scope is not None:
            with provenance(NOWHERE), code:
                steps = anew(steps)
        program = passes.step("plan", plan, steps, made.planner)
        if scope is not None:
            program = laid_out(program)
        keys = ["" if call.routined else code.key_of(call.loops) for call in program.calls]
        return program, keys, passes.step("link", backend.link, program, keys, code)


@dataclass
class _Lowered:
    """A program whose kernels have no order and no memory yet."""

    fused: Fused
    lowered: LoweredProgram
    planner: Planner
    strides: Strides


def _lowered(
    passes: Passes,
    leaves: Sequence[Node],
    values: Sequence[ValueLayout],
    donations: Mapping[int, int],
    backend: Backend,
    code: KernelBuilder,
    sites: list[CheckSite],
    prefix: str = "",
    scope: Scope | None = None,
) -> _Lowered:
    """A program, or the body of a loop in one: `code` takes its kernels, `sites` its checks.
    `prefix`: what the names of its kernels begin with."""
    outputs = list(passes.done[0].roots or ())
    strict = backend.strict

    if has_custom_gradients(outputs):
        outputs = passes.graph("drop custom gradients", drop_custom_gradients, outputs)
    if has_complex(outputs):
        outputs = passes.graph("complex pairs", in_pairs, outputs, leaves)
        leaves, values = [paired(n) for n in leaves], [v.paired for v in values]
        if backend.policy.transforms and not strict and has_transforms(outputs):
            outputs = passes.graph("transforms as kernels", transforms_as_kernels, outputs)
    if has_small_systems(outputs):
        outputs = passes.graph("small systems", small_systems, outputs)
    strides = {leaf: value.strides for leaf, value in zip(leaves, values, strict=True)}

    needed = passes.graph("needed results", needed_results, outputs)
    left = needed if strict else passes.graph("leave loops", leave_loops, needed)
    summed_apart = left if strict else passes.rules("sums apart", sums_apart, left)
    widened = passes.graph("widen", widen, summed_apart)
    simplified = passes.rules("simplify", simplify, widened, strict)
    summed = simplified if strict else passes.rules("merge sums", merge_sums, simplified)
    filled = passes.graph("fold empty", fold_empty, summed)
    gathered = passes.graph("keep gathers", keep_gathers, filled)
    kept = passes.graph("keep deep views", keep_deep_views, gathered)
    stored = passes.graph("loop arguments", arguments_in_memory, kept, strides)
    checks = passes.step("find checks", find_checks, stored)
    clamped = passes.graph("clamp late", clamp_late, stored, checks)
    masked = passes.graph(
        "rows as masks", checks.through, partial(rows_as_masks, strict=strict), clamped
    )
    apart = passes.graph("distinct outputs", distinct, masked)
    if scope is not None:
        require_several(dict.fromkeys(d for n in toposort(apart) for d in n.shape))

    parts = passes.step("parts", in_parts, apart, [n for n, _ in checks.late], strides)
    if not strict:
        parts = passes.parts("along memory", parts.after, partial(along_memory, strides=strides))
        parts = passes.parts(
            "split reductions", parts.after, partial(split_reductions, strides=strides)
        )
    if backend.policy.chains != "none":
        recompute = partial(recompute_spaces, only_blocks=backend.policy.chains == "blocks")
        parts = passes.parts("recompute spaces", parts.after, recompute)
    parts = passes.parts("recompute maps", parts.after, recompute_maps)
    parts = passes.parts("distinct again", distinct_in_parts, parts)
    roots = checks.through(lambda _: [*parts.roots, *parts.kept], apart)
    fused = passes.step("fuse", kernels_of, parts, backend.policy).named(prefix)
    _require_host(fused, backend)
    replaced = {roots[o]: leaves[i] for o, i in donations.items()}
    inner = partial(_loop, strides, backend, code, scope)
    with provenance(NOWHERE):  # Nodes of loops
        lowered = passes.step(
            "lower",
            lower_all,
            fused,
            checks,
            strides,
            backend.lowering,
            replaced,
            code.begin,
            inner,
            sites,
            scope,
        )
    planner = Planner(leaves, values, roots, dict(donations), tuple(sites), backend.last_cache)
    return _Lowered(fused, lowered, planner, strides)


def _require_host(fused: Fused, backend: Backend) -> None:
    """Raises DeviceError for a routine of a library in a program of another device than the CPU."""
    for kernel in fused.kernels:
        if kernel.kind == "routine" and backend.device != CPU:
            n = kernel.outputs[0]
            where = f"{located(n.site)}: " if n.site else ""
            raise DeviceError(
                f"{where}{n.arg[0].name} is computed by the CPU, but the loop that it is in runs"
                f" on {backend.device}: move its arguments to the CPU before"
            )


def _loop(
    strides: Strides,
    backend: Backend,
    code: KernelBuilder,
    scope: Scope | None,
    kernel: Kernel,
    sites: list[CheckSite],
) -> tuple[RegionStep, list[LoweredKernel]]:
    """The step of a loop or branch, and the kernels of its bodies."""
    n = kernel.outputs[0]
    spec = n.arg[0]
    values = layouts(spec, n.src, strides)
    # carries that take the place of the last ones
    wishes = {k: spec.captured + k for k in range(spec.carries)} if n.op is Op.LOOP else {}
    bodies, before = [], len(sites)
    for i, region in enumerate(spec.regions):
        prefix = f"{kernel.name}_" if n.op is Op.LOOP else f"{kernel.name}_{i}_"
        inner = Passes(region.outputs)
        bodies.append(
            _lowered(inner, region.params, values, wishes, backend, code, sites, prefix, scope)
        )
    step = RegionStep(
        kernel.name,
        spec,
        n.src,
        kernel.inputs,
        kernel.outputs,
        strides,
        tuple([Body(b.lowered.steps, b.planner) for b in bodies]),
        range(before, len(sites)),
        watched=bool(backend.lowering.nans),
    )
    kernels = [k for b in bodies for k in b.lowered.kernels]
    return step, [k if k.kernel else replace(k, name=f"{kernel.name}_{k.name}") for k in kernels]


def program_of(structure: Structure) -> Compiled:
    """The same for a Structure, on its device."""
    return build(*structure.unfolded(), current_backend(structure.device))
