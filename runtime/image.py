"""Image of a program, its numbers. In: a Program. Out: all of a run but the addresses of code.

Images go to disk as bytes, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..ir.graph.site import Site
from ..ir.loops.loop import For, Param
from ..ir.passes.bounds_checks import CheckSite
from ..ir.program.program import Call, LoopBlock, Program, Ref
from .commands import HEADER, ZERO, Slot, Table, header
from .native import CHECK, PARALLEL

PATIENCE = 64  # iterations of tiny kernels between two looks at the clock
BRIEF = 8  # tiny kernels, of which each takes about a microsecond
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

    @property
    def has_loops(self) -> bool:
        """Whether a run may be left and gone on with."""
        return bool(self.table[HEADER - 1])

    @property
    def parallel(self) -> bool:
        """Whether some phase is shared among threads."""
        return bool(self.table[1])


def image_of(program: Program) -> Image:
    """The numbers of a program."""
    contexts = [_context(program, call) for call in program.calls]
    code: list[int] = []

    def add_call(table: Table, number: int) -> None:
        _add_call(table, code, program.calls[number], contexts[number])

    stoppable = stoppable_of(program)
    table = Table(partial(place, program), add_call, stoppable)
    table.add(program.span)
    parallel = any(any(call.parallel) for call in program.calls)
    width = max((len(c) for c in contexts), default=1)
    tiny = all(call.loops.tiny for call in program.calls)
    has_loops = any(isinstance(b, LoopBlock) for b in program.blocks)
    patience = has_loops * (PATIENCE if tiny else 1)
    table.words[:HEADER] = header(table.phases, parallel, width, len(table.words), patience)
    sizes = len(program.inputs), len(program.outputs), program.arena_bytes, program.cursors
    few = len(program.calls) <= BRIEF and not program.blocks
    brief = few and tiny
    tables = tuple(table.words), tuple(code)
    counters = [(c.first, c.stop, place(program, c.word)[0]) for c in program.counters]
    return Image(
        *sizes,
        *tables,
        program.donations,
        program.checks,
        brief,
        tuple(counters),
        tuple(_stacks(program, stoppable)),
        stoppable is not None,
    )


def stoppable_of(program: Program) -> LoopBlock | None:
    """The loop of which all that is written in place is the last carry: ended after any iteration,
    it leaves what so many iterations give."""
    if not program.donations:
        return None
    donated = {Ref("output", o) for o in program.donations}
    loops = [b for b in program.blocks if isinstance(b, LoopBlock)]
    ends = [{x.end for x in b.swapped} | {x.end for x in b.held} for b in loops]
    return next((b for b, e in zip(loops, ends, strict=True) if donated <= e), None)


def _stacks(program: Program, loop: LoopBlock | None) -> list[tuple[int, int, int, int]]:
    """Of a loop that may be stopped: (the word that counts its iterations, how many there should
    be, a cursor's word, its step) for what it stacks."""
    if loop is None or loop.length is None:
        return []
    counter = place(program, loop.counter)[0]
    return [
        (counter, loop.length, place(program, c.cursor)[0], c.step)
        for c in loop.cursors
        if c.writes
    ]


def _add_call(table: Table, code: list[int], call: Call, context: list[Slot]) -> None:
    last = len(call.loops.phases) - 1
    for i, (phase, parallel) in enumerate(zip(call.loops.phases, call.parallel, strict=True)):
        flags = (PARALLEL if parallel else 0) | (CHECK if call.is_check and i == last else 0)
        own = context if i == 0 else []  # later phases find the context of the first
        code.append(len(table.words))
        table.words += [0, chunk_count(call, phase), flags, len(own)]
        table.words += [word for slot in own for word in slot]
        table.phases += 1


def chunk_count(call: Call, phase: For) -> int:
    """How many chunks a phase has in this call: the extent of its GRID loop."""
    if isinstance(phase.extent, Param):
        return call.params[call.loops.params.index(phase.extent)]
    return phase.extent


def _context(program: Program, call: Call) -> list[Slot]:
    """The buffers, the params, the status block, each as (place in the argument array, offset)."""
    buffers = [place(program, ref) for ref in call.refs]
    return [*buffers, *((ZERO, value) for value in call.params), (STATUS, 0)]


def place(program: Program, ref: Ref) -> Slot:
    """Where a Ref is in the argument array, and the offset from the address there."""
    first_output = FIRST + len(program.inputs)
    arena = first_output + len(program.outputs)
    if ref.space == "arena":
        return arena, ref.number
    if ref.space == "cursor":
        return arena + 1 + ref.number, 0
    return (FIRST if ref.space == "input" else first_output) + ref.number, 0


# ---------------------------------------------------------------- on disk


PlaceOf = Callable[[Site | None], int | None]  # what a user's line is stored as
SiteAt = Callable[[int | None], Site | None]  # the line again


def packed_checks(checks: Sequence[CheckSite], place_of: PlaceOf) -> list[dict[str, Any]]:
    """As JSON takes them."""
    return [vars(c) | {"site": place_of(c.site)} for c in checks]


def unpacked_checks(packed: list[dict[str, Any]], site_at: SiteAt) -> tuple[CheckSite, ...]:
    """What `packed_checks` was given."""
    return tuple(CheckSite(**(c | {"site": site_at(c["site"])})) for c in packed)


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
            code,
        ]
    ).encode()


def unpack(data: bytes, site_at: SiteAt) -> tuple[Image, Any]:
    """What `pack` was given."""
    inputs, outputs, arena, cursors, *tables, stoppable, code = json.loads(data)
    table, places, donations, checks, brief, counters, stacks = tables
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
    )
    return image, code
