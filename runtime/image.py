"""Image of a program, its numbers. In: a Program. Out: all of a run but the addresses of code.

Images go to disk as bytes, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir.graph.site import Site
from ..ir.loops.loop import For, Param
from ..ir.passes.bounds_checks import CheckSite
from ..ir.program.program import Call, Program, Ref
from .native import CHECK, PARALLEL

BRIEF = 8  # tiny kernels, of which each takes about a microsecond
# places in the argument array: the constant 0, the status block's address, the first input
ZERO, STATUS, FIRST = 0, 1, 2


@dataclass(frozen=True)
class Image:
    """`table` is the driver's, as llvm/driver.ll describes it.

    `code`: the places in it of the phases' addresses, in order.
    """

    inputs: int
    outputs: int
    arena_bytes: int
    table: tuple[int, ...]
    code: tuple[int, ...]
    donations: dict[int, int] = field(default_factory=dict)
    checks: tuple[CheckSite, ...] = ()
    # it takes a few microseconds, and no other Python thread need run meanwhile
    brief: bool = False

    @property
    def parallel(self) -> bool:
        """Whether some phase is shared among threads."""
        return bool(self.table[1])


def image_of(program: Program) -> Image:
    """The numbers of a program."""
    contexts = [_context(program, call) for call in program.calls]
    phases = sum(len(call.loops.phases) for call in program.calls)
    parallel = any(any(call.parallel) for call in program.calls)
    table = [phases, int(parallel), max((len(c) for c in contexts), default=1)]
    code: list[int] = []
    for call, context in zip(program.calls, contexts, strict=True):
        _add_call(table, code, call, context)
    sizes = len(program.inputs), len(program.outputs), program.arena_bytes
    brief = len(program.calls) <= BRIEF and all(call.loops.tiny for call in program.calls)
    return Image(*sizes, tuple(table), tuple(code), program.donations, program.checks, brief)


def _add_call(
    table: list[int], code: list[int], call: Call, context: list[tuple[int, int]]
) -> None:
    last = len(call.loops.phases) - 1
    for i, (phase, parallel) in enumerate(zip(call.loops.phases, call.parallel, strict=True)):
        flags = (PARALLEL if parallel else 0) | (CHECK if call.is_check and i == last else 0)
        own = context if i == 0 else []  # later phases find the context of the first
        code.append(len(table))
        table += [0, chunk_count(call, phase), flags, len(own)]
        table += [word for slot in own for word in slot]


def chunk_count(call: Call, phase: For) -> int:
    """How many chunks a phase has in this call: the extent of its GRID loop."""
    if isinstance(phase.extent, Param):
        return call.params[call.loops.params.index(phase.extent)]
    return phase.extent


def _context(program: Program, call: Call) -> list[tuple[int, int]]:
    """The buffers, the params, the status block, each as (place in the argument array, offset)."""
    buffers = [_place(program, ref) for ref in call.refs]
    return [*buffers, *((ZERO, value) for value in call.params), (STATUS, 0)]


def _place(program: Program, ref: Ref) -> tuple[int, int]:
    first_output = FIRST + len(program.inputs)
    if ref.space == "arena":
        return first_output + len(program.outputs), ref.number
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
    sizes = image.inputs, image.outputs, image.arena_bytes
    return json.dumps(
        [*sizes, image.table, image.code, list(image.donations.items()), checks, image.brief, code]
    ).encode()


def unpack(data: bytes, site_at: SiteAt) -> tuple[Image, Any]:
    """What `pack` was given."""
    inputs, outputs, arena, table, places, donations, checks, brief, code = json.loads(data)
    tables = tuple(table), tuple(places), dict(donations), unpacked_checks(checks, site_at)
    return Image(inputs, outputs, arena, *tables, brief), code
