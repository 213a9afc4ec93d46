"""Executables for any sizes. In: a Structure. Out: that of a program that serves its sizes
among others, if there is one, else of one that is compiled.

The first structure is compiled for its sizes alone. When one comes that differs in extents only,
the program that serves both is compiled, and kept for others. Where its guards exclude a size, that
one gets another such program, up to MOST of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import options
from ...ir.symbolic.integer import NotSymbolic, NotSymbolicHere, NotSymbolicUnless, Symbolic
from ...ir.symbolic.scope import LEAST
from ..backends.kinds import current_settings, kind
from ..programs import on_disk
from ..structure import Structure
from .extents import Apart, apart
from .formulas import Formulas, Pair, formulas

if TYPE_CHECKING:
    from .generic import Generic

MOST = 12  # generic programs of one family
GREATER = 1.2  # times the sizes at which there was none: those may do
MOST_RESIDUES = 8  # attempts to make a new program
MOST_SEEN = 6  # sizes that formulas of a new program fit, too, where there are such formulas
MOST_KEPT = 64  # sizes of one program on disk, where later processes find them at once


@dataclass(frozen=True)
class Made:
    """An executable, the structure that says what its inputs are, and whether it was `compiled`:
    other sizes of a program are not."""

    executable: Any
    structure: Structure
    compiled: bool = True


@dataclass
class Family:
    """Structures that differ in extents. `kins`: by which of these are 0 and which 1; `symbols`:
    names that users gave extents that differ."""

    kins: dict[Ones, Kin] = field(default_factory=dict)
    generics: list[Generic] = field(default_factory=list)
    symbols: Mapping[Pair, str] = field(default_factory=dict)

    def kin(self, parts: Apart) -> Kin:
        """Those of which a program may serve this one, too."""
        ones = tuple([(i, e) for i, e in enumerate(parts.extents) if e < LEAST])
        return self.kins.setdefault(ones, Kin())


@dataclass
class Kin:
    """Structures with the same extents of 0 or 1, which no symbol has. `last`: the greatest that
    was compiled for its sizes alone; `seen`: some that no program served when they came;
    `refused`: the sum of the extents that differ at which no program of several sizes could be
    made last, and `why_not`."""

    last: tuple[Apart, Structure] | None = None
    seen: list[Apart] = field(default_factory=list)
    refused: int = 0
    why_not: str = ""


Ones = tuple[tuple[int, int], ...]  # places and extents
Families = dict[Hashable, Family]  # in the order in which they were met last


def executable(structure: Structure, families: Families | None) -> Made:
    """The program of a graph; without families one of its sizes alone."""
    takes_sizes = options.current().dynamic_shapes and kind(structure.device).takes_sizes
    if families is None or not takes_sizes:
        return Made(on_disk.executable(structure), structure)
    parts = apart(structure.key)
    place = _place(parts, structure)
    family = families[place] = families.pop(place, Family())
    made = _served(family, parts, structure)
    if made is None and (there := on_disk.found(structure)) is not None:
        made = Made(*there)
    elif made is None:
        made = _generalised(family, parts, structure)
        made = made or Made(on_disk.executable(structure), structure)
    kin = family.kin(parts)
    if kin.last is None or sum(parts.extents) > sum(kin.last[0].extents):
        kin.last = parts, structure  # the other has less to tell
    return made


def expect(structure: Structure, families: Families, symbols: Mapping[Pair, str]) -> None:
    """A graph whose sizes the program of the next one shall serve, too, if none was compiled
    yet."""
    parts = apart(structure.key)
    family = families.setdefault(_place(parts, structure), Family())
    if not family.generics:
        family.kin(parts).last, family.symbols = (parts, structure), symbols


def told(structure: Structure, families: Families) -> str:
    """Which sizes the program that serves a graph is for, or why each has its own."""
    parts = apart(structure.key)
    family = families.get(_place(parts, structure), Family())
    for generic in family.generics:
        if generic.values_of(parts, structure) is not None:
            return str(generic)
    why = family.kin(parts).why_not
    return f"each size has a program of its own: {why}" if why and not family.generics else ""


def _place(parts: Apart, structure: Structure) -> Hashable:
    return parts.rest, current_settings(structure.device), options.current().verify


def _served(family: Family, parts: Apart, structure: Structure) -> Made | None:
    """By a program that is there."""
    for generic in family.generics:
        values = generic.values_of(parts, structure)
        if values is None:
            continue
        try:
            compiled = generic.laid_out(values)
        except NotSymbolic:  # a kernel has to know them
            continue
        own = generic.structure
        served = Structure(structure.key, structure.constants, own.varying, own.sites, own.origins)
        if generic.kept < MOST_KEPT:
            generic.kept += 1
            on_disk.keep(structure, served, compiled)
        settings = current_settings(structure.device)
        compiled.executable.planned = partial(on_disk.planned_memory, served, settings)
        return Made(compiled.executable, served, compiled=False)
    return None


def _generalised(family: Family, parts: Apart, structure: Structure) -> Made | None:
    """By a new one."""
    kin = family.kin(parts)
    pair = _pair(family, kin, parts)
    if pair is None or len(family.generics) == MOST:
        return None
    other, found = pair
    varying = {*other.varying}.union(*(g.structure.varying for g in family.generics))
    other = replace(other, varying=tuple(sorted(varying)))  # even where it is the same here
    pairs = zip(parts.extents, found.extents, strict=True)
    size = sum(e for e, formula in pairs if isinstance(formula, Symbolic))
    if size < GREATER * kin.refused:
        return None
    try:
        new = _compiled(other, structure, parts, found)
    except NotSymbolicHere:
        return None
    except NotSymbolic as reason:
        kin.refused, kin.why_not = size, str(reason)
        return None
    family.generics.append(new)
    made = _served(family, parts, structure)
    assert made is not None, "a program serves the sizes that it was compiled at"
    return replace(made, compiled=True)


def _compiled(other: Structure, structure: Structure, parts: Apart, found: Formulas) -> Generic:
    """A new program, of sizes of the same residues where it has to know these."""
    from .generic import generic

    for _ in range(MOST_RESIDUES):
        try:
            return generic(other, structure, parts, found)
        except NotSymbolicUnless as needed:
            refined = found.of_residue(needed.symbol, needed.by, needed.shift)
            if refined is None:
                raise
            found = refined
    raise NotSymbolicHere("it would have to know what is left of several sizes")


def _pair(family: Family, kin: Kin, parts: Apart) -> tuple[Structure, Formulas] | None:
    """Another structure that a new program can serve, with formulas for both."""
    last = kin.last
    if last is None:  # the first with these extents of 0 or 1: others vary as they do elsewhere
        narrowed = ((g.structure, g.formulas.narrowed(parts.extents)) for g in family.generics)
        return next(((other, found) for other, found in narrowed if found), None)
    if last[0] == parts:
        return None
    others = [o for o in kin.seen if o not in (last[0], parts)][-MOST_SEEN:]
    kin.seen = [*others, parts]
    found = formulas(last[0], parts, family.symbols, others)
    found = found or formulas(last[0], parts, family.symbols)
    return None if found is None else (last[1], found)
