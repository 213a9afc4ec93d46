"""A GPU. In: CudaSettings. Out: its Backend: kernels as CUDA C, a program as launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...codegen.cuda.emit.emit import emit, shared_bytes
from ...codegen.cuda.lowering import CudaLowering, stays_loop
from ...codegen.cuda.settings import CudaSettings
from ...codegen.cuda.toolchain.build import Usage, compiled_texts, missing_tools
from ...codegen.kernels.lower_program import LoweredKernel
from ...ir.kernels.groups import Policy
from ...ir.loops.listing import listing, numbered
from ...ir.loops.loop import Loops
from ...ir.loops.text import key as loops_key
from ...ir.program.program import Call, Program
from ...runtime import cache
from ...runtime.cuda import devices
from ...runtime.cuda.executable import CudaExecutable
from ...runtime.cuda.image import CudaImage, image_of, pack
from ...runtime.image import PlaceOf, chunk_count
from .backend import Launch, verified

POLICY = Policy(chains="blocks", pooled_epilogues=False, transforms=False, windows=False)
LAST_CACHE = 40 << 20  # bytes: the level-2 cache of an A100; an H100 has 50 MB


def symbol_of(loops: Loops, settings: CudaSettings) -> str:
    """The name of a kernel in its text: a hash of its loops (not their name), of the target and of
    the code generator."""
    return f"weft_{loops_key(loops, repr(settings.target), cache.source_fingerprint())[:32]}"


class KernelBuilder:
    """The kernels of a program, whose texts are compiled together at the end of the context."""

    def __init__(self, settings: CudaSettings) -> None:
        self._settings = settings
        self._symbols: dict[int, str] = {}  # by the id of the loops, which the program keeps
        self._loops: dict[str, Loops] = {}

    def begin(self, loops: Loops, same: Loops | None) -> None:
        """Takes the loops of one kernel."""
        if same is not None:
            self._symbols[id(loops)] = self._symbols[id(same)]
            return
        symbol = self._symbols[id(loops)] = symbol_of(verified(loops), self._settings)
        self._loops.setdefault(symbol, loops)

    def key_of(self, loops: Loops) -> str:
        """The symbol of its code."""
        return self._symbols[id(loops)]

    def __enter__(self) -> KernelBuilder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.load()

    def load(self) -> None:
        """Sees to it that the device has the kernels: it may be another one by now."""
        devices.gpu(self._settings.number).kernels.want(
            {s: partial(self._text, s) for s in self._loops}
        )

    def _text(self, symbol: str) -> str:
        return emit(replace(self._loops[symbol], name=symbol), self._settings.target)


class CudaBackend:
    """Code for a GPU."""

    strict = False
    policy = POLICY
    last_cache = LAST_CACHE

    def __init__(self, settings: CudaSettings) -> None:
        self.settings = settings
        self.device = f"cuda:{settings.number}"
        self.lowering = CudaLowering(settings.target, settings.nans)

    def builder(self) -> KernelBuilder:
        """For one program."""
        return KernelBuilder(self.settings)

    def link(self, program: Program, keys: Sequence[str], code: KernelBuilder) -> CudaExecutable:
        """An executable of the program, whose kernels the device has loaded."""
        code.load()
        return CudaExecutable(_image(program, keys), devices.gpu(self.settings.number))

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        """A kernel's loops, CUDA C and, where there are tools, PTX and the GPU's assembly, by file
        ending."""
        loops = numbered(replace(k.lowered.loops, name=k.name), stays_loop)
        text = emit(self.lowering.expanded(loops), self.settings.target)
        return {
            "loops": listing(loops, k.line),
            "cu": text,
            **compiled_texts(text, self.settings.target.arch),
        }

    def missing(self) -> dict[str, str]:
        """PTX and the GPU's assembly, where there are no tools."""
        return missing_tools()

    def launches(self, call: Call, key: str) -> tuple[Launch, ...]:
        """As the device is asked for it, with what the assembler reported."""
        kernels = devices.gpu(self.settings.number).kernels
        return tuple(
            _launch(
                chunk_count(call, phase),
                call.loops.threads[i],
                shared_bytes(call.loops, i),
                kernels.usage(key, i),
            )
            for i, phase in enumerate(call.loops.phases)
        )

    def packed(self, program: Program, keys: Sequence[str], place_of: PlaceOf) -> bytes:
        """The program's launches, with the names of its kernels."""
        return pack(_image(program, keys), place_of)


def _launch(blocks: int, threads: int, shared: int, usage: Usage | None) -> Launch:
    if usage is None:
        return Launch(blocks, threads, shared)
    return Launch(
        blocks,
        threads,
        shared + usage.shared,
        usage.registers,
        usage.spill_stores + usage.spill_loads,
    )


def _image(program: Program, keys: Sequence[str]) -> CudaImage:
    host = {i: value.span for i, value in enumerate(program.inputs) if value.is_host}
    return image_of(program, keys, shared_bytes, host)
