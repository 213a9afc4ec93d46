"""LLVM IR text to machine code. In: module text, a Target. Out: the bytes of an object file;
optionally the IR and assembly."""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import Any

from ... import system
from .naming import marked, noted, notes
from .target import Target, library

# The emitter shares, hoists and folds what it can, so only the stack must become registers:
# measured run times of maps, rows and tiles are those of O2, and LLVM's code generation has its own
# strength reduction.
_PASSES = ("sroa", "simplify_cfg", "dead_code_elimination")

# bytes to compile a module, and a byte of its text: about three times what was measured
_LEAST, _SHARE = (
    24 << 20,
    128,
)


@cache
def binding() -> Any:
    """llvmlite's binding, with the native target set up once."""
    llvm = library()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm


def target_machine(target: Target, level: int = 2) -> Any:
    """A fresh target machine (an engine that takes one owns it)."""
    triple = binding().Target.from_default_triple()
    near = {"reloc": "pic", "codemodel": "small"} if runs_anywhere() else {}
    return triple.create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, jit=True, **near
    )


def runs_anywhere() -> bool:
    """Whether code refers to its constants by distance, so that it can be copied
    (runtime/flat.py)."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@cache
def _shared_machine(target: Target, level: int) -> tuple[Any, str, str]:
    """A target machine, its triple and its data layout."""
    machine = target_machine(target, level)
    return machine, machine.triple, str(machine.target_data)


def compile_text(
    text: str, target: Target, keep: dict[str, str] | None = None, fast: bool = False
) -> bytes:
    """Object code of a module; `keep` receives the optimised IR as "opt.ll" and the assembly as
    "s".

    `fast`: compiled four times as fast, to code that keeps every value in memory.
    """
    llvm = binding()
    # LLVM ends the process if it gets no memory
    system.require(_LEAST + _SHARE * len(text), "compiling a kernel")
    machine, triple, layout = _shared_machine(target, 0 if fast else 2)
    module = llvm.parse_assembly(
        f'target triple = "{triple}"\ntarget datalayout = "{layout}"\n{text}'
    )
    module.verify()
    if not fast:
        manager, builder = _passes(target)
        manager.run(module, builder)
    if keep is not None:
        said = notes(text)
        keep["opt.ll"] = noted(str(module), said)
        machine.set_asm_verbosity(True)  # it names the blocks
        keep["s"] = marked(machine.emit_assembly(llvm.parse_assembly(keep["opt.ll"])), said)
        machine.set_asm_verbosity(False)
    return bytes(machine.emit_object(module))


@cache
def _passes(target: Target) -> tuple[Any, Any]:
    """A pass manager, and what runs it."""
    llvm, (machine, _, _) = binding(), _shared_machine(target, 2)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    manager = llvm.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(manager, f"add_{name}_pass")()
    return manager, llvm.create_pass_builder(machine, options)
