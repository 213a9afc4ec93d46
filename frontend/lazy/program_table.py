"""Programs by key. In: a captured graph. Out: its Program, from the table of this process or built;
what it takes to run it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import TYPE_CHECKING, Any

from ... import options
from ...compiler.structure import Key, Structure
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from . import watchers
from .cached_program import CachedProgram
from .capture import Capture

if TYPE_CHECKING:
    from ...compiler.programs.nan_checked import Watched

# of 13 KB or more each; what was used the longest ago is forgotten beyond, and stays in the disk
# cache
MAX_PROGRAMS = 4096
# programs; runs; outputs in place
statistics = dict.fromkeys(("built", "found", "generalised", "runs", "donated"), 0)
_programs: dict[Hashable, CachedProgram] = {}
_uses = count(1)


def find(key: Key, capture: Capture) -> CachedProgram:
    """The program of a captured graph, built where there is none or where other constants differ
    than those it takes."""
    o, constants = options.current(), capture.packed_constants()
    place = (key, o.interpret, o.target, o.matmul, o.strict, o.strict and o.verify)
    program = _programs.get(place)
    varying: tuple[int, ...] = ()
    if program is not None:
        program.used = next(_uses)
        changed = _changed(program.structure.constants, constants)
        if changed <= set(program.structure.varying):
            statistics["found"] += 1
            return program
        statistics["generalised"] += 1
        varying = tuple(sorted(changed | set(program.structure.varying)))
    elif len(_programs) >= MAX_PROGRAMS:
        _forget_some()
    program = _programs[place] = _build(
        Structure(key, constants, varying, capture.sites, capture.origins())
    )
    program.used = next(_uses)
    return program


def _forget_some() -> None:
    """Drops the eighth of the programs that was used the longest ago."""
    for place in sorted(_programs, key=lambda place: _programs[place].used)[
        : max(1, len(_programs) // 8)
    ]:
        del _programs[place]


def _changed(old: bytes, new: bytes) -> set[int]:
    if old == new:
        return set()
    return {i // 8 for i in range(0, len(new), 8) if old[i : i + 8] != new[i : i + 8]}


def _build(structure: Structure) -> CachedProgram:
    statistics["built"] += 1
    program = CachedProgram(maker()(structure), structure, structure.checked)
    watchers.on_built(program, statistics["built"])
    return program


def maker() -> Callable[[Structure], Any]:
    """What makes an executable of a Structure: the compiler, or with WEFT_INTERPRET=1 the reference
    interpreter, or both."""
    o = options.current()
    if o.interpret:
        from ...compiler.programs import interpreted

        return interpreted.executable
    if o.strict and o.verify:
        from ...compiler.programs.strict_checked import Compared

        return Compared
    from ...compiler.programs import on_disk

    return on_disk.executable


def constants_of(program: CachedProgram, capture: Capture) -> list[Storage]:
    """The inputs that hold the constants which vary between graphs of this program."""
    if not program.structure.varying:
        return []
    constants = [capture.constants[use] for use in program.structure.varying]
    return storage.scalars([v for v, _ in constants], [d for _, d in constants])


def watched_of(program: CachedProgram) -> Watched | None:
    """What runs in place of a program's executable while `debug_nans` is in force, else None."""
    o = options.current()
    if not o.debug_nans:
        return None
    if o.debug_nans not in program.watched:
        from ...compiler.programs.nan_checked import Watched

        program.watched[o.debug_nans] = Watched(program.executable, program.structure, o.debug_nans)
    return program.watched[o.debug_nans]
