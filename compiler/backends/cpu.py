"""The CPU. In: Settings. Out: its Backend: kernels as LLVM IR, a program as one native call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...codegen.cpu.lowering import CpuLowering
from ...codegen.cpu.settings import Settings
from ...codegen.kernels.lower_program import LoweredKernel
from ...codegen.llvm.build import compile_text
from ...codegen.llvm.emit import emit
from ...codegen.llvm.lane_plan import stays_loop
from ...codegen.llvm.target import Target
from ...ir.kernels.groups import Policy
from ...ir.loops.listing import listing, numbered
from ...ir.loops.loop import Loops
from ...ir.program.program import Call, Program
from ...runtime.executable import Executable
from ...runtime.image import PlaceOf, pack
from ...runtime.memory.devices import CPU
from ...runtime.table import image_of
from .backend import Launch, verified
from .compile_kernels import Compiler, kernel_key
from .tune import fastest

# sums are loops over their terms
IN_ORDER = Policy(chains="none", contractions=False, windows=False, column_sums=False)


class KernelBuilder(Compiler):
    """The code of a program's kernels, begun as soon as there are loops."""

    def __init__(self, target: Target, beside: bool) -> None:
        super().__init__(target, beside)
        self._keys: dict[int, str] = {}  # by the id of the loops, which the program keeps

    def begin(self, loops: Loops, same: Loops | None) -> None:
        """Wants their code."""
        if same is not None:
            self._keys[id(loops)] = self._keys[id(same)]
            return
        key = self._keys[id(loops)] = kernel_key(verified(loops), self.target)
        self.want(key, loops)

    def key_of(self, loops: Loops) -> str:
        return self._keys[id(loops)]


class CpuBackend:
    """Code for a CPU."""

    device = CPU
    policy = Policy()

    def __init__(self, settings: Settings) -> None:
        self.strict = settings.strict
        if settings.strict:
            self.policy = IN_ORDER
        self.target, self._beside = settings.target, not settings.tune
        self.lowering = CpuLowering(settings, fastest if settings.tune else None)
        self.last_cache = settings.target.l3

    def builder(self) -> KernelBuilder:
        """For one program."""
        return KernelBuilder(self.target, self._beside)

    def link(self, program: Program, keys: Sequence[str], code: KernelBuilder) -> Executable:
        """An executable of the program from the code of its kernels. What an exception kept from
        being compiled when it was begun, as where a later kernel refused those sizes, is now."""
        with code:
            for key, call in zip(keys, program.calls, strict=True):
                if key:
                    code.want(key, call.loops)
        return Executable(image_of(program), [code.codes[key] for key in keys if key])

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        """A kernel's loops, LLVM IR before and after optimisation, and assembly, by file ending."""
        loops = numbered(
            replace(k.lowered.loops, name=k.name), lambda s: stays_loop(s, self.target)
        )
        kept = {"loops": listing(loops, k.line)}
        if not loops.phases:  # a routine of a library
            return kept
        kept |= {
            "ll": emit(self.lowering.expanded(loops), self.target),
        }
        compile_text(kept["ll"], self.target, kept, loops.tiny)
        return kept

    def missing(self) -> dict[str, str]:
        """Nothing: LLVM comes along."""
        return {}

    def launches(self, call: Call, key: str) -> tuple[Launch, ...]:
        """None: threads take what there is."""
        return ()

    def packed(self, program: Program, keys: Sequence[str], place_of: PlaceOf) -> bytes:
        """The program's image, with the names of its kernels and how many phases each has."""
        phases = [len(call.loops.phases) for call in program.calls]
        named = [(key, count) for key, count in zip(keys, phases, strict=True) if key]
        return pack(image_of(program), named, place_of)
