"""Programs by key. In: a captured graph. Out: its Program, from the table of this process or built;
what it takes to run it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import count
from typing import TYPE_CHECKING

from ... import options
from ...compiler.structure import Key, Structure
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from . import watchers
from .cached_program import CachedProgram
from .capture import Capture

if TYPE_CHECKING:
    from ...compiler.programs.nan_checked import Watched
    from ...compiler.symbolic.table import Families, Made

# of 13 KB or more each; what was used the longest ago is forgotten beyond, and stays in the disk
# cache
MAX_PROGRAMS = 4096
# programs that were compiled, and that others served; runs; outputs in place
statistics = dict.fromkeys(("built", "laid_out", "found", "generalised", "runs", "donated"), 0)
_uses = count(1)


class Programs(dict[Hashable, CachedProgram]):
    """Programs by the key of their graph and the options; `families` of those that differ in
    sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.families: Families = {}

    def clear(self) -> None:
        """Forgets all."""
        super().clear()
        self.families.clear()

    def forget_some(self) -> None:
        """Drops the eighth of the programs that was used the longest ago, and all families but
        those that programs were made of last."""
        for place in sorted(self, key=lambda place: self[place].used)[: max(1, len(self) // 8)]:
            del self[place]
        for family in [*self.families][: -MAX_PROGRAMS // 8]:
            del self.families[family]


_programs = Programs()


def find(key: Key, capture: Capture, several_sizes: bool = True) -> CachedProgram:
    """The program of a captured graph, built where there is none or where other constants differ
    than those it takes. `several_sizes`: may it be one that serves other sizes, too."""
    o, constants = options.current(), capture.packed_constants()
    several_sizes = several_sizes and o.dynamic_shapes
    place = (key, o.interpret, o.target, o.matmul, o.strict, o.strict and o.verify, several_sizes)
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
        _programs.forget_some()
    structure = Structure(key, constants, varying, capture.sites, capture.origins())
    program = _programs[place] = _build(structure, several_sizes)
    program.used = next(_uses)
    return program


def expect(key: Key, capture: Capture, symbols: Mapping[tuple[int, int], str]) -> None:
    """Other sizes of a graph that comes next, so that its program serves them, too: `symbols` are
    the names of the extents that differ, by theirs here and there."""
    from ...compiler.symbolic import table

    structure = Structure(key, capture.packed_constants(), (), capture.sites, capture.origins())
    table.expect(structure, _programs.families, symbols)


def sizes_of(structure: Structure) -> str:
    """Which sizes the program of a graph serves besides its own, or why there are none; "" if it
    has met no others. Symbols have values meanwhile: for one thread at a time, as `find`."""
    from ...compiler.symbolic import table

    return table.told(structure, _programs.families)


def _changed(old: bytes, new: bytes) -> set[int]:
    if old == new:
        return set()
    return {i // 8 for i in range(0, len(new), 8) if old[i : i + 8] != new[i : i + 8]}


def _build(structure: Structure, several_sizes: bool) -> CachedProgram:
    made = _made(structure, several_sizes)
    program = CachedProgram(made.executable, made.structure, made.structure.checked)
    statistics["built" if made.compiled else "laid_out"] += 1
    watchers.on_built(program, statistics["built"] + statistics["laid_out"])
    return program


def _made(structure: Structure, several_sizes: bool) -> Made:
    """By the compiler, or with WEFT_INTERPRET=1 the reference interpreter, or both."""
    from ...compiler.symbolic import table

    o = options.current()
    if o.interpret:
        from ...compiler.programs import interpreted

        return table.Made(interpreted.executable(structure), structure)
    if o.strict and o.verify:
        from ...compiler.programs.strict_checked import Compared

        return table.Made(Compared(structure), structure)
    return table.executable(structure, _programs.families if several_sizes else None)


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
