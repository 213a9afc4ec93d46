"""Memory that a program needs, and when. In: a Program and the names of its kernels. Out: a Memory,
which can be printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...wording import amount
from ..graph.shapes import Shape
from .arena import most_alive
from .program import Lifetime, Program

SHOWN = 8  # buffers that are alive at the peak, the largest first


@dataclass(frozen=True)
class MemoryBuffer:
    """One value, or scratch memory, of a program.

    Attributes: `name`, the kernel that writes it and the operation, or which input; `dtype`;
    `shape`; `bytes`; `space`, where it is: "input", "output", "arena", or "donated", an output that
    is written into the memory of an input if nothing else can see that; `number` of the input or
    output in whose memory it lies, None in the arena; `offset` in the arena in bytes; `first` and
    `last`, the steps from which and to which it is needed; `in_place_of`, the name of the buffer
    whose memory it takes over; `line`, the user's (file, line) or None.
    """

    name: str
    dtype: str
    shape: Shape
    bytes: int
    space: str
    number: int | None
    offset: int
    first: int
    last: int
    in_place_of: str | None = None
    line: tuple[str, int] | None = None

    @property
    def place(self) -> str:
        """`arena + 64`, `input 0`."""
        return f"arena + {self.offset}" if self.number is None else f"{self.space} {self.number}"

    def __str__(self) -> str:
        instead = f", in place of {self.in_place_of}" if self.in_place_of else ""
        what = f"{amount(self.bytes)}B  {self.name}  {self.dtype}{list(self.shape)}"
        return f"{what}  {self.place}, steps {self.first}-{self.last}{instead}"


@dataclass(frozen=True)
class Memory:
    """The memory of one run of a program, known before it runs.

    Attributes: `arena_bytes`, for intermediates; `peak_bytes`, inputs and outputs, which the caller
    holds, and what is needed of the arena in its worst step; `peak_step`, that step, and
    `peak_kernel`, its name; `steps`, how many there are; `buffers`, every MemoryBuffer: the inputs,
    then what the steps write and use.
    """

    arena_bytes: int = 0
    peak_bytes: int = 0
    peak_step: int = 0
    peak_kernel: str = ""
    steps: int = 0
    buffers: tuple[MemoryBuffer, ...] = ()

    def alive(self, step: int) -> list[MemoryBuffer]:
        """The buffers that are needed in a step, the largest first."""
        return sorted(
            (b for b in self.buffers if b.first <= step <= b.last), key=lambda b: -b.bytes
        )

    @property
    def at_peak(self) -> list[MemoryBuffer]:
        """The buffers that are needed in the worst step, the largest first."""
        return self.alive(self.peak_step)

    def __str__(self) -> str:
        head = (
            f"memory: {amount(self.peak_bytes)}B at the peak, {amount(self.arena_bytes)}B of it at"
            " most in the arena"
        )
        if not self.steps:
            return head
        alive = self.at_peak
        lines = [
            f"{head}; needed in step {self.peak_step} of {self.steps}, {self.peak_kernel}:",
            *map(str, alive[:SHOWN]),
        ]
        if len(alive) > SHOWN:
            lines.append(
                f"{amount(sum(b.bytes for b in alive[SHOWN:]))}B  {len(alive) - SHOWN} more"
            )
        return "\n    ".join(lines)

    __repr__ = __str__


def memory_of(program: Program, kernels: Sequence[str]) -> Memory:
    """The Memory of a program whose calls are kernels of these names."""
    table = program.lifetimes
    names = _names(table, kernels)
    buffers = tuple(_buffer(program, entry, i, names) for i, entry in enumerate(table))
    overwritten = {e.instead_of for e in table}  # what takes over counts from that step on
    held = [
        (e.nbytes, e.first, e.last - (i in overwritten))
        for i, e in enumerate(table)
        if e.ref.space == "arena"
    ]
    needed, step = most_alive(held, len(kernels)) if kernels else (0, 0)
    outputs = sum(e.nbytes for o, e in enumerate(program.outputs) if o not in program.donations)
    outside = sum(b.bytes for b in buffers if b.space == "input") + outputs
    return Memory(
        program.arena_bytes,
        outside + needed,
        step,
        kernels[step] if kernels else "",
        len(kernels),
        buffers,
    )


def _names(table: Sequence[Lifetime], kernels: Sequence[str]) -> list[str]:
    """A name of its own for every entry."""
    seen: Counter[str] = Counter()
    out = []
    for e in table:
        name = f"input {e.ref.number}" if e.what == "input" else f"{kernels[e.first]}/{e.what}"
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out


def _buffer(program: Program, e: Lifetime, i: int, names: Sequence[str]) -> MemoryBuffer:
    space, number = e.ref.space, e.ref.number
    nbytes = program.inputs[number].nbytes if space == "input" else e.nbytes
    place, offset = (None, number) if space == "arena" else (number, 0)
    if space == "output" and number in program.donations:
        space = "donated"
    instead = None if e.instead_of is None else names[e.instead_of]
    line = None if e.site is None else e.site[:2]
    return MemoryBuffer(
        names[i],
        e.dtype.name,
        e.shape,
        nbytes,
        space,
        place,
        offset,
        e.first,
        e.last,
        instead,
        line,
    )
