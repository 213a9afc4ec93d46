"""Programs on disk. In: a Structure. Out: its Executable, as an earlier process left it, or built and left to later ones.

What it takes to find a program is all that this file imports: the compiler and LLVM are loaded when there is something to build.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from .. import options
from ..codegen.settings import Settings
from ..runtime import cache
from ..runtime.code import known, phase_names
from ..runtime.executable import Executable
from ..runtime.image import image_of, pack, unpack
from .settings import current_settings
from .structure import Structure

if TYPE_CHECKING:
    from ..ir.memory import Memory
    from .compile import Compiled

STAGES = ("codegen", "ir", "runtime", "frontend/compile.py", "frontend/programs.py", "frontend/structure.py")


def executable(structure: Structure) -> Executable:
    """The program of a graph: as an earlier process left it on disk, or built and left there."""
    settings = current_settings()
    found = _found(structure, settings)
    found.planned = partial(planned_memory, structure, settings)
    return found


def _found(structure: Structure, settings: Settings) -> Executable:
    if options.current().verify:
        return _built(structure, settings).executable
    key = program_key(structure, settings)
    found = load_program(key, structure)
    if found is None:
        compiled = _built(structure, settings)
        found = compiled.executable
        store_program(key, compiled, structure)
    return found


def _built(structure: Structure, settings: Settings) -> Compiled:
    from . import compile

    return compile.build(*structure.unfolded(), settings)


def planned_memory(structure: Structure, settings: Settings) -> Memory:
    """The Memory of a graph's program, which is planned anew: programs that are kept carry no names."""
    return _built(structure, settings).memory()


def program_key(structure: Structure, settings: Settings) -> str:
    """What a program depends on: its graph, the settings, and the sources of every stage."""
    material = "\n".join([structure.text(), repr(settings), cache.source_fingerprint(*STAGES)])
    return hashlib.sha256(material.encode()).hexdigest()


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
    codes = []
    for name, phases in kernels:
        code = known.find(name, phase_names(name, phases))
        if code is None:
            return None
        codes.append(code)
    return Executable(image, codes)
