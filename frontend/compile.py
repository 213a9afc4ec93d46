"""The compiler, start to end. In: the roots of a Graph and its leaves. Out: a Compiled program, ready to run.

Read `build` first: its body is the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .. import options
from ..codegen.checks import clamp_late, find_checks
from ..codegen.llvm.build import compile_text
from ..codegen.llvm.emit import emit
from ..codegen.lowering import LoweredKernel, LoweredProgram, lower_all
from ..codegen.settings import Settings
from ..codegen.target import Target
from ..ir.fuse import Fused, fuse
from ..ir.graph import Node, node, provenance, verify
from ..ir.half import widen
from ..ir.loop import Loops
from ..ir.loop_text import show
from ..ir.loop_text import verify as verify_loops
from ..ir.memory import Memory, memory_of
from ..ir.op import Op
from ..ir.plan import Planner, plan
from ..ir.prepare import prepare
from ..ir.program import Program, Value
from ..ir.rules import simplify
from ..ir.scatter import rows_as_masks
from ..ir.spaces import recompute_spaces
from ..ir.sums import merge_sums
from ..ir.units import collect
from ..runtime.code import Code
from ..runtime.executable import Executable
from ..runtime.image import image_of
from .kernels import Compiler, kernel_key
from .settings import current_settings
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

    def memory(self) -> Memory:
        """Which buffers a run needs, where and when."""
        return memory_of(self.program, [k.name for k in self.in_order()])

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


def build(
    outputs: Sequence[Node],
    leaves: Sequence[Node],
    values: Sequence[Value],
    donations: Mapping[int, int],
    settings: Settings | None = None,
) -> Compiled:
    """Compiles a Graph: distinct outputs over INPUT leaves whose layouts are `values`; `donations` are wishes."""
    settings = settings or current_settings()
    strides = {leaf: value.strides for leaf, value in zip(leaves, values, strict=True)}

    graph = list(outputs)
    simplified = simplify(widen(graph))
    prepared = distinct(recompute_spaces(prepare(merge_sums(simplified), strides)))
    checks = find_checks(prepared)
    prepared = checks.through(rows_as_masks, clamp_late(prepared, checks))
    units = collect(prepared, kept=[n for n, _ in checks.late])
    fused = fuse(units)
    check_graphs(graph, simplified, prepared)
    replaced = {prepared[o]: leaves[i] for o, i in donations.items()}
    code = Making(settings.target, beside=not settings.tune)
    with provenance(("", 0)), code:  # Nodes of loops have no line of the user's
        lowered = lower_all(fused, checks, strides, settings, replaced, code.begin, fastest if settings.tune else None)
        program = plan(lowered.steps, Planner(leaves, values, prepared, dict(donations), lowered.sites, settings.target.l3))
    keys = [code.key_of(call.loops) for call in program.calls]
    executable = link(program, keys, code.codes)

    return Compiled(graph, simplified, fused, lowered, program, executable, keys, settings.target)


class Making(Compiler):
    """The code of a program's kernels, begun as soon as there are loops."""

    def __init__(self, target: Target, beside: bool) -> None:
        super().__init__(target, beside)
        self._keys: dict[int, str] = {}  # by the id of the loops, which the program keeps

    def begin(self, loops: Loops) -> None:
        """Verifies the loops, if the options ask for it, and wants their code."""
        if options.current().verify:
            verify_loops(loops)
        key = self._keys[id(loops)] = kernel_key(loops, self.target)
        self.want(key, loops)

    def key_of(self, loops: Loops) -> str:
        return self._keys[id(loops)]


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


def check_graphs(*graphs: list[Node]) -> None:
    """Runs the verifier where WEFT_VERIFY asks for it."""
    if options.current().verify:
        for roots in graphs:
            verify(roots)


def link(program: Program, keys: Sequence[str], codes: Mapping[str, Code]) -> Executable:
    """The executable of a program from the code of its kernels."""
    return Executable(image_of(program), [codes[key] for key in keys])
