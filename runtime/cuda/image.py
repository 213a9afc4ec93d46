"""Image of a program for a GPU. In: a Program. Out: all that a run needs but the machine code.

Images go to disk as bytes, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from ...ir.loops.loop import Loops
from ...ir.passes.bounds_checks import CheckSite
from ...ir.program.flat import span_of
from ...ir.program.program import Call, Program
from ..commands import parsed
from ..image import PlaceOf, SiteAt, chunk_count, packed_checks, unpacked_checks
from ..table import Table


@dataclass(frozen=True)
class Launch:
    """One phase of the kernel that is called `symbol`.

    `buffers`: (space, number) as in a program's Refs.
    """

    symbol: str
    phase: int
    grid: int
    block: int
    shared: int  # bytes
    buffers: tuple[tuple[str, int], ...]
    params: tuple[int, ...]
    is_check: bool = False


@dataclass(frozen=True)
class CudaImage:
    """`host[i]`: the bytes of input i, which is in host memory; other addresses are the device's.

    `results`: bytes of outputs. `table`: where there are loops or branches, launches and commands
    in the words of `runtime/commands.py`, each phase being a launch whose number stands first; they
    need so many `cursors`.
    """

    inputs: int
    outputs: int
    arena_bytes: int
    launches: tuple[Launch, ...]
    host: dict[int, int] = field(default_factory=dict)
    donations: dict[int, int] = field(default_factory=dict)
    checks: tuple[CheckSite, ...] = ()
    results: tuple[int, ...] = ()
    table: tuple[int, ...] = ()
    cursors: int = 0

    @property
    def early(self) -> int:
        """How many launches check inputs before anything is written.

        A check that comes later, or in a loop, protects no memory.
        """
        first = len(self.launches)
        if self.table:
            entries = parsed(self.table)
            first = next((i for i, e in enumerate(entries) if e.is_command), len(entries))
        checks = (k for k, launch in enumerate(self.launches[:first]) if not launch.is_check)
        return next(checks, min(first, len(self.launches)))


def image_of(
    program: Program,
    symbols: Sequence[str],
    shared: Callable[[Loops, int], int],
    host: Mapping[int, int] | None = None,
) -> CudaImage:
    """The numbers of a program whose call k is of the kernel symbols[k].

    shared(loops, i) are the bytes of phase i.
    """
    of_calls = [_launches(call, s, shared) for call, s in zip(program.calls, symbols, strict=True)]
    launches = [launch for some in of_calls for launch in some]
    table = _table(program, list(map(len, of_calls))) if program.blocks else ()
    sizes = len(program.inputs), len(program.outputs), program.arena_bytes
    results = tuple(value.nbytes for value in program.outputs)
    return CudaImage(
        *sizes,
        tuple(launches),
        dict(host or {}),
        program.donations,
        program.checks,
        results,
        table,
        program.cursors,
    )


def _table(program: Program, counts: Sequence[int]) -> tuple[int, ...]:
    """Launches and commands. `counts`: the launches of each call."""

    def add_call(table: Table, number: int) -> None:
        for _ in range(counts[number]):
            table.words += [table.phases, 0, 0, 0]
            table.phases += 1

    table = Table(program, add_call)
    table.add(span_of(program))
    return tuple(table.words)


def _launches(call: Call, symbol: str, shared: Callable[[Loops, int], int]) -> list[Launch]:
    loops = call.loops
    buffers = tuple((ref.space, ref.number) for ref in call.refs)
    grids = [chunk_count(call, phase) for phase in loops.phases]
    return [
        Launch(
            symbol, i, grid, loops.threads[i], shared(loops, i), buffers, call.params, call.is_check
        )
        for i, grid in enumerate(grids)
        if grid
    ]


# ---------------------------------------------------------------- on disk


def pack(image: CudaImage, place_of: PlaceOf) -> bytes:
    """An image as bytes."""
    checks = packed_checks(image.checks, place_of)
    launches = [astuple(launch) for launch in image.launches]
    tables = (
        list(image.host.items()),
        list(image.donations.items()),
        checks,
        image.results,
        image.table,
        image.cursors,
    )
    return json.dumps([image.inputs, image.outputs, image.arena_bytes, launches, *tables]).encode()


def unpack(data: bytes, site_at: SiteAt) -> CudaImage:
    """What `pack` was given."""
    inputs, outputs, arena, launches, host, donations, checks, *rest = json.loads(data)
    results, table, cursors = rest
    tables = (
        dict(host),
        dict(donations),
        unpacked_checks(checks, site_at),
        tuple(results),
        tuple(table),
        cursors,
    )
    return CudaImage(inputs, outputs, arena, tuple(map(_launch, launches)), *tables)


def _launch(fields: Sequence[Any]) -> Launch:
    symbol, phase, grid, block, shared, buffers, params, is_check = fields
    refs = tuple((space, number) for space, number in buffers)
    return Launch(symbol, phase, grid, block, shared, refs, tuple(params), is_check)
