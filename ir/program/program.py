"""The Program: which kernels run, in which order, on which buffers. Made by plan.py, run by
runtime/executable.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from ..graph.dtype import DType
from ..graph.routine import Routine
from ..graph.shapes import Shape
from ..graph.site import Site
from ..loops.loop import Loops
from ..passes.bounds_checks import CheckSite
from .ref import Ref

if TYPE_CHECKING:
    from .blocks import Block, Counter


@dataclass(frozen=True)
class Routined:
    """A routine of a library: `sources`, how its arguments lie in memory; a failure is that of the
    check `site`; `parts` of its batch that threads may share."""

    routine: Routine
    sources: tuple[ValueLayout, ...]
    site: int
    parts: int = 1


@dataclass
class Call:
    """One kernel call: a Ref for each of its buffers, a value for each of its params; or the call
    of a routine, whose loops have no phases: Refs of its sources, then of all its results."""

    loops: Loops
    refs: tuple[Ref, ...]
    params: tuple[int, ...]
    parallel: tuple[bool, ...]  # per phase
    is_check: bool = False  # the driver returns after it if the status is set
    routined: Routined | None = None


@dataclass(frozen=True)
class ValueLayout:
    """An input or output of a program: dense row-major unless strides (in elements) say otherwise.

    is_host: an input of a program of a GPU that lies in the CPU's memory, from which each run
    copies it.
    """

    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    is_host: bool = False

    @property
    def paired(self) -> ValueLayout:
        """The parts of complex numbers along a last axis, in the same memory; else itself."""
        if not self.dtype.is_complex:
            return self
        strides = (*(2 * s for s in self.strides), 1)
        return replace(self, dtype=self.dtype.part, shape=(*self.shape, 2), strides=strides)

    @property
    def nbytes(self) -> int:
        """Of its elements, those that are repeated by a stride of 0 counted once."""
        distinct = prod(d for d, s in zip(self.shape, self.strides, strict=True) if s)
        return distinct * self.dtype.itemsize if prod(self.shape) else 0

    @property
    def span(self) -> int:
        """Bytes from its first element to the end of its last."""
        last = sum((d - 1) * s for d, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.dtype.itemsize if prod(self.shape) else 0


@dataclass(frozen=True)
class Lifetime:
    """What a buffer holds from step `first` to step `last`, both included: the result of op `what`
    of the user's line `site`, or scratch memory of that name. `instead_of`: the Lifetime whose
    memory this one takes over, by its place in the table."""

    what: str
    dtype: DType
    shape: Shape
    ref: Ref
    first: int
    last: int
    instead_of: int | None = None
    site: Site | None = None

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


@dataclass
class Program:
    """`donations[o] = i`: output o may be written into the memory of input i (bytes and layout
    agree).

    `lifetimes`: the inputs, then what the calls write and use, in their order. `blocks`: loops and
    branches in order; `cursors`: how many words they need; `counters`: those that
    count the iterations of loops with checks, outer ones first.
    """

    calls: list[Call]
    inputs: tuple[ValueLayout, ...]
    outputs: tuple[ValueLayout, ...]
    arena_bytes: int
    donations: dict[int, int] = field(default_factory=dict)
    checks: tuple[CheckSite, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    blocks: tuple[Block, ...] = ()
    cursors: int = 0
    counters: tuple[Counter, ...] = ()
