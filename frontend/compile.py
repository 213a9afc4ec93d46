"""The compiler, start to end. In: the roots of a Graph and its leaves. Out: a Compiled program, ready to run.

Read `build` first: its body is the pipeline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .. import options
from ..codegen.checks import Checks, clamp_late, find_checks
from ..codegen.llvm.build import compile_text
from ..codegen.llvm.emit import emit
from ..codegen.lowering import LoweredKernel, LoweredProgram, Settings, lower_all
from ..codegen.schedule import SERIAL_WORK
from ..codegen.target import Target, host, named
from ..ir.fuse import Fused, fuse
from ..ir.graph import Node, node, provenance, verify
from ..ir.half import widen
from ..ir.loop_text import show
from ..ir.loop_text import verify as verify_loops
from ..ir.op import Op
from ..ir.plan import Planner, plan
from ..ir.prepare import prepare
from ..ir.program import Program, Value
from ..ir.rules import simplify
from ..ir.scatter import rows_as_masks
from ..ir.spaces import recompute_spaces
from ..ir.sums import merge_sums
from ..ir.units import collect
from ..runtime import cache, device
from ..runtime.executable import Executable
from ..runtime.image import image_of, pack, unpack
from .kernels import kernel, kernel_key, known_kernel
from .structure import Structure
from .tune import fastest


@dataclass
class Compiled:
    """A program and every artefact on the way to it."""

    graph: list[Node]
    simplified: list[Node]
    fused: Fused
    lowered: LoweredProgram
    program: Program
    executable: Executable
    kernel_keys: list[str]
    target: Target

    @property
    def donations(self) -> Mapping[int, int]:
        """donations[o] = i: output o may be written into the memory of input i."""
        return self.program.donations

    def in_order(self) -> list[LoweredKernel]:
        """The kernels in the order they run."""
        by_loops = {id(k.step.loops): k for k in self.lowered.kernels}
        return [by_loops[id(call.loops)] for call in self.program.calls]

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        """A kernel's loops, LLVM IR before and after optimisation, and assembly, by file ending."""
        text = emit(replace(k.step.loops, name=k.name), self.target)
        kept = {"loops": show(replace(k.lowered.loops, name=k.name)), "ll": text}
        compile_text(text, self.target, kept, k.step.loops.tiny)
        return kept

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs. Raises runtime.executable.CheckFailed."""
        self.executable.run(inputs, outputs)


def executable(structure: Structure) -> Executable:
    """The program of a graph: as an earlier process left it on disk, or built and left there."""
    settings = current_settings()
    if options.current().verify:
        return build(*structure.unfolded()).executable
    key = program_key(structure, settings)
    found = load_program(key, structure)
    if found is None:
        compiled = build(*structure.unfolded())
        found = compiled.executable
        store_program(key, compiled, structure)
    return found


def build(outputs: Sequence[Node], leaves: Sequence[Node], values: Sequence[Value], donations: Mapping[int, int]) -> Compiled:
    """Compiles a Graph: distinct outputs over INPUT leaves whose layouts are `values`; `donations` are wishes."""
    settings = current_settings()
    strides = {leaf: value.strides for leaf, value in zip(leaves, values, strict=True)}

    graph = list(outputs)
    simplified = simplify(widen(graph))
    prepared = distinct(recompute_spaces(prepare(merge_sums(simplified))))
    checks = find_checks(prepared)
    prepared = checks.through(rows_as_masks, clamp_late(prepared, checks))
    units = collect(prepared, kept=[n for n, _ in checks.late])
    fused = fuse(units)
    with provenance(("", 0)):  # Nodes of loops have no line of the user's, nor is it worth looking for
        replaced = {prepared[o]: leaves[i] for o, i in donations.items()}
        lowered = lower_all(fused, checks, strides, settings, replaced, fastest if settings.tune else None)
    program = plan(lowered.steps, Planner(leaves, values, prepared, dict(donations), lowered.sites))
    check_artefacts(graph, simplified, prepared, checks, lowered)
    keys = [kernel_key(call.loops, settings.target) for call in program.calls]
    executable = link(program, keys, settings.target)

    return Compiled(graph, simplified, fused, lowered, program, executable, keys, settings.target)


def current_settings() -> Settings:
    """Target and thresholds from the options. Raises DeviceError for a device that this build lacks."""
    o = options.current()
    device.get(o.device)
    target = host() if o.target == "host" else named(o.target)
    return Settings(target, o.min_chunks, SERIAL_WORK if o.serial_threshold is None else o.serial_threshold, o.tune)


def distinct(roots: list[Node]) -> list[Node]:
    """Outputs that became one value are stored once each."""
    seen: set[Node] = set()
    out = []
    for r in roots:
        copy = r
        while copy in seen:
            copy = node(Op.KEEP, (copy,))
        seen.add(copy)
        out.append(copy)
    return out


def check_artefacts(
    graph: list[Node], simplified: list[Node], prepared: list[Node], checks: Checks, lowered: LoweredProgram
) -> None:
    """Runs the verifiers where WEFT_VERIFY asks for it."""
    if not options.current().verify:
        return
    for roots in (graph, simplified, prepared):
        verify(roots)
    for step in lowered.steps:
        verify_loops(step.loops)


def link(program: Program, keys: Sequence[str], target: Target) -> Executable:
    """The executable of a program, every kernel's code found or made."""
    addresses = [a for key, call in zip(keys, program.calls, strict=True) for a in kernel(key, call.loops, target)]
    return Executable(image_of(program), addresses)


# ---------------------------------------------------------------- programs on disk


def program_key(structure: Structure, settings: Settings) -> str:
    """What a program depends on: its graph, the settings, and the sources of every stage."""
    material = "\n".join([structure.text(), repr(settings), cache.source_fingerprint(*STAGES)])
    return hashlib.sha256(material.encode()).hexdigest()


STAGES = ("codegen", "ir", "runtime", "frontend/compile.py", "frontend/structure.py")


def store_program(key: str, compiled: Compiled, structure: Structure) -> None:
    """Leaves a program to later processes. User lines are stored by their place in the graph: there, they may be others."""
    phases = [len(call.loops.phases) for call in compiled.program.calls]
    kernels = list(zip(compiled.kernel_keys, phases, strict=True))
    cache.default().put(key, pack(image_of(compiled.program), kernels, structure.place_of), "program")


def load_program(key: str, structure: Structure) -> Executable | None:
    """The program that an earlier process left, if its kernels are there, too."""
    data = cache.default().get(key)
    if data is None:
        return None
    image, kernels = unpack(data, structure.site_at)
    addresses: list[int] = []
    for name, phases in kernels:
        found = known_kernel(name, phases)
        if found is None:
            return None
        addresses += found
    return Executable(image, addresses)
