"""Steps of a program before they have addresses. In: Loops, the Nodes that their buffers hold. Out:
KernelSteps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from ..graph.dtype import DType
from ..graph.graph import Node
from ..loops.loop import Loops
from .blocks import CopyBlock
from .flat import Flat
from .in_place import Accesses
from .program import Call
from .ref import Ref


class Room(Protocol):
    """Scratch memory of one step: a buffer of a kernel, or what a loop needs."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> DType: ...


class Memory(Protocol):
    """Where values are."""

    def read(self, n: Node) -> Ref:
        """A value that a step reads."""

    def written(self, n: Node) -> Ref:
        """A value that a step writes."""

    def held(self, what: Scratch) -> Ref:
        """Scratch memory."""


class Step(Protocol):
    """What runs as a whole: a kernel, or a loop of several."""

    reads: list[Node]
    writes: list[Node]

    @property
    def is_check(self) -> bool:
        """Does it hold a bounds check, after which others run?"""

    @property
    def early(self) -> bool:
        """Is that one of inputs only?"""

    @property
    def watched(self) -> bool:
        """Does it check what it computes?"""

    @property
    def scratch(self) -> Sequence[Room]:
        """Memory of this step alone."""

    def in_place(self, source: Node, out: Node) -> bool:
        """May what it writes take the memory of what it reads?"""

    def add_to(self, made: Flat, memory: Memory) -> None:
        """Adds its calls to those of a program."""


Scratch = tuple[Step, Room]  # equal kernels have the same buffers


@dataclass(eq=False)
class KernelStep:
    """A kernel call: which Nodes its buffers hold."""

    loops: Loops
    params: tuple[int, ...]
    parallel: tuple[bool, ...]
    reads: list[Node]
    writes: list[Node]
    is_check: bool = False
    early: bool = False
    watched: bool = False
    same: KernelStep | None = None  # one before with the same loops over the same buffers
    over: Node | None = None  # what its result is but for the elements that it writes
    # the step of this kernel for the values that symbols have
    here: Callable[[], KernelStep] | None = None

    @property
    def scratch(self) -> Sequence[Room]:
        """The buffers after those of reads and writes."""
        return self.loops.buffers[len(self.reads) + len(self.writes) :]

    def in_place(self, source: Node, out: Node) -> bool:
        """By the elements that the loops load and store; or that over which the result is
        written."""
        if self.over is not None:
            return source is self.over
        buffers = self.loops.buffers
        return self._accesses.in_place(
            buffers[self.reads.index(source)], buffers[len(self.reads) + self.writes.index(out)]
        )

    @cached_property
    def _accesses(self) -> Accesses:
        return self.same._accesses if self.same else Accesses(self.loops)

    def add_to(self, made: Flat, memory: Memory) -> None:
        """One call, after a copy of what it writes over."""
        if self.over is not None:
            (out,) = self.writes
            start, end = memory.read(self.over), memory.written(out)
            made.blocks.append(CopyBlock(len(made.calls), start, end, out.nbytes))
        refs = (
            *map(memory.read, self.reads),
            *map(memory.written, self.writes),
            *(memory.held((self, b)) for b in self.scratch),
        )
        made.calls.append(Call(self.loops, refs, self.params, self.parallel, self.is_check))
