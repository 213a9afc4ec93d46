"""Image of a program, its numbers: all of a run but the addresses of code. In: an Image, or bytes
from the disk. Out: bytes, or an Image. It is made by table.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir.graph.dtype import BY_NAME
from ..ir.graph.routine import Routine
from ..ir.graph.site import Site
from ..ir.loops.loop import For, Param
from ..ir.passes.bounds_checks import CheckSite
from ..ir.program.program import Call, Routined, ValueLayout
from .commands import HEADER

# places in the argument array: the status block's address, the first input; the constant 0 is first
STATUS, FIRST = 1, 2


@dataclass(frozen=True)
class Image:
    """`table` is the driver's, as llvm/driver.ll describes it.

    `code`: the places in it of the phases' addresses, in order. `cursors`: words of the arguments
    that commands use.
    """

    inputs: int
    outputs: int
    arena_bytes: int
    cursors: int
    table: tuple[int, ...]
    code: tuple[int, ...]
    donations: dict[int, int] = field(default_factory=dict)
    checks: tuple[CheckSite, ...] = ()
    # it takes a few microseconds, and no other Python thread need run meanwhile
    brief: bool = False
    # (first check, last one + 1, the word that counts the iterations of their loop), outer ones
    # first
    counters: tuple[tuple[int, int, int], ...] = ()
    # what a loop stacks that may be stopped: the word of its counter, its length, the word of a
    # cursor, the bytes that this moves in an iteration
    stacks: tuple[tuple[int, int, int, int], ...] = ()
    is_stoppable: bool = False  # is there such a loop
    # the word of the table from which on inputs may have been overwritten
    overwrites: int = 0
    # (the place in the table of its phase's address, what it calls) of each routine of a library
    routines: tuple[tuple[int, Routined], ...] = ()

    @property
    def has_loops(self) -> bool:
        """Whether a run may be left and gone on with."""
        return bool(self.table[HEADER - 1])

    @property
    def parallel(self) -> bool:
        """Whether some phase is shared among threads."""
        return bool(self.table[1])


def chunk_count(call: Call, phase: For) -> int:
    """How many chunks a phase has in this call: the extent of its GRID loop."""
    if isinstance(phase.extent, Param):
        return call.params[call.loops.params.index(phase.extent)]
    return phase.extent


# ---------------------------------------------------------------- on disk


PlaceOf = Callable[[Site | None], int | None]  # what a user's line is stored as
SiteAt = Callable[[int | None], Site | None]  # the line again


def packed_checks(checks: Sequence[CheckSite], place_of: PlaceOf) -> list[dict[str, Any]]:
    """As JSON takes them."""
    return [vars(c) | {"site": place_of(c.site)} for c in checks]


def unpacked_checks(packed: list[dict[str, Any]], site_at: SiteAt) -> tuple[CheckSite, ...]:
    """What `packed_checks` was given."""
    return tuple(
        CheckSite(**(c | {"site": site_at(c["site"]), "batch": _as_tuple(c["batch"])}))
        for c in packed
    )


def _as_tuple(items: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if items is None else tuple(items)


def _packed_routine(place: int, r: Routined) -> list[Any]:
    specs = [(dtype.name, shape) for dtype, shape in r.routine.specs]
    sources = [(v.dtype.name, v.shape, v.strides) for v in r.sources]
    return [place, r.routine.name, r.routine.params, specs, sources, r.site, r.parts]


def _unpacked_routine(packed: Sequence[Any]) -> tuple[int, Routined]:
    place, name, params, specs, sources, site, parts = packed
    routine = Routine(name, tuple(params), tuple([(BY_NAME[d], tuple(s)) for d, s in specs]))
    layouts = [ValueLayout(BY_NAME[d], tuple(s), tuple(strides)) for d, s, strides in sources]
    return place, Routined(routine, tuple(layouts), site, parts)


def pack(image: Image, code: Any, place_of: PlaceOf) -> bytes:
    """An Image and what names its code, as bytes."""
    checks = packed_checks(image.checks, place_of)
    sizes = image.inputs, image.outputs, image.arena_bytes, image.cursors
    return json.dumps(
        [
            *sizes,
            image.table,
            image.code,
            list(image.donations.items()),
            checks,
            image.brief,
            image.counters,
            image.stacks,
            image.is_stoppable,
            image.overwrites,
            [_packed_routine(place, r) for place, r in image.routines],
            code,
        ]
    ).encode()


def unpack(data: bytes, site_at: SiteAt) -> tuple[Image, Any]:
    """What `pack` was given."""
    inputs, outputs, arena, cursors, *tables, code = json.loads(data)
    table, places, donations, checks, brief, counters, stacks, stoppable, *rest = tables
    overwrites, routines = rest
    image = Image(
        inputs,
        outputs,
        arena,
        cursors,
        tuple(table),
        tuple(places),
        dict(donations),
        unpacked_checks(checks, site_at),
        brief,
        tuple([(first, stop, word) for first, stop, word in counters]),
        tuple([(counter, length, word, step) for counter, length, word, step in stacks]),
        stoppable,
        overwrites,
        tuple([_unpacked_routine(r) for r in routines]),
    )
    return image, code
