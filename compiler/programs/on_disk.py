"""Programs on disk. In: a Structure. Out: its Executable, as an earlier process left it, or built
and left to later ones.

What it takes to find a program is all that this file imports: the compiler and LLVM are loaded when
there is something to build.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import options
from ...runtime import cache
from ...runtime.memory.devices import number_of
from ..backends.kinds import current_settings, kind
from ..garbage import without_collections
from ..structure import Structure

if TYPE_CHECKING:
    from ...ir.program.memory_report import Memory
    from ..compile import Compiled

# whose sources a program on disk depends on
STAGES = (
    "codegen",
    "compiler",
    "ir",
    "runtime",
    "wording.py",
)


def executable(structure: Structure) -> Any:
    """The program of a graph: as an earlier process left it on disk, or built and left there."""
    settings = current_settings(structure.device)
    program = _program(structure, settings)
    program.planned = partial(planned_memory, structure, settings)
    return program


def checked(structure: Structure, nans: str) -> Any:
    """The same program whose kernels check what they compute."""
    return _program(structure, current_settings(structure.device, nans))


@without_collections
def _program(structure: Structure, settings: Any) -> Any:
    kind(structure.device).require(settings)
    if options.current().verify:
        return _built(structure, settings).executable
    key = program_key(structure, settings)
    program = load_program(key, structure)
    if program is None:
        compiled = _built(structure, settings)
        program = compiled.executable
        store_program(key, compiled, structure)
    return program


def _built(structure: Structure, settings: Any) -> Compiled:
    from .. import compile

    return compile.build(*structure.unfolded(), kind(structure.device).backend(settings))


def planned_memory(structure: Structure, settings: Any) -> Memory:
    """The Memory of a graph's program, which is planned anew: programs that are kept carry no
    names."""
    return _built(structure, settings).memory()


def program_key(structure: Structure, settings: Any) -> str:
    """What a program depends on: its graph, the settings, and the sources of every stage."""
    material = "\n".join([structure.text(), repr(settings), cache.source_fingerprint(*STAGES)])
    return hashlib.sha256(material.encode()).hexdigest()


def found(structure: Structure) -> tuple[Any, Structure] | None:
    """A program that an earlier process left, and the structure that says what its inputs are:
    constants may be among them that the given one has not there. It may be one of many sizes."""
    if options.current().verify:
        return None
    settings = current_settings(structure.device)
    key = program_key(structure, settings)
    program = load_program(_key_of_many(key), structure)
    if program is None and (uses := cache.default().get(_key_of_uses(key))) is not None:
        structure = replace(structure, varying=tuple(map(int, uses.decode().split())))
        program = load_program(_key_of_many(program_key(structure, settings)), structure)
    program = program or load_program(key, structure)
    if program is None:
        return None
    program.planned = partial(planned_memory, structure, settings)
    return program, structure


def keep(structure: Structure, made: Structure, compiled: Compiled) -> None:
    """Leaves the program of many sizes of `made` to later processes that look for that of a
    structure."""
    settings = current_settings(structure.device)
    store_program(_key_of_many(program_key(made, settings)), compiled, made)
    if made.varying != structure.varying:
        uses = " ".join(map(str, made.varying)).encode()
        cache.default().put(_key_of_uses(program_key(structure, settings)), uses, "program")


def _key_of_many(key: str) -> str:
    """Of the program of many sizes that serves a structure whose own program has this key."""
    return hashlib.sha256(f"many sizes {key}".encode()).hexdigest()


def _key_of_uses(key: str) -> str:
    """Of the uses of constants that are inputs of the program that was made for the structure with
    this key."""
    return hashlib.sha256(f"uses {key}".encode()).hexdigest()


def store_program(key: str, compiled: Compiled, structure: Structure) -> None:
    """Leaves a program to later processes. User lines are stored by their place in the graph:
    there, they may be others."""
    data = compiled.backend.packed(compiled.program, compiled.kernel_keys, structure.place_of)
    if data is not None:
        cache.default().put(key, data, "program")


def load_program(key: str, structure: Structure) -> Any:
    """The program that an earlier process left, if its kernels are there, too."""
    data = cache.default().get(key)
    if data is None:
        return None
    return kind(structure.device).load(number_of(structure.device), data, structure.site_at)
