"""Routines of a library as steps. In: the results of one. Out: a call, which names the routine and
how its arguments lie in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from ..graph.graph import Node
from ..graph.index import row_major_strides
from ..graph.routine import Routine
from ..loops.loop import GLOBAL, Buf, Loops
from ..ops.routines import parts_of
from ..symbolic.questions import value_of
from .flat import Flat
from .program import Call, Routined, ValueLayout
from .region_step import Bytes
from .step import Memory


@dataclass(eq=False)
class RoutineStep:
    """`reads`: its sources, each once; `writes`: the results that are needed; `sources` of the
    Nodes; `strides` of those sources that are inputs; `site`: the number of its check.

    It counts as a check of what was computed: nothing is written in place before it.
    """

    name: str
    routine: Routine
    sources: tuple[Node, ...]
    reads: list[Node]
    writes: list[Node]
    strides: Mapping[Node, tuple[int, ...]]
    site: int
    is_check = True
    early = False
    watched = False
    over = None  # what it is written over: as in a KernelStep

    @cached_property
    def loops(self) -> Loops:
        """Its buffers, without phases: the library has the code."""
        sources = [Buf(f"in{i}", s.dtype, s.size, GLOBAL) for i, s in enumerate(self.sources)]
        results = [
            Buf(f"out{k}", dtype, prod(shape), GLOBAL)
            for k, (dtype, shape) in enumerate(self.routine.specs)
        ]
        return Loops(self.name, (*sources, *results), (), [])

    @cached_property
    def results(self) -> dict[int, Node]:
        """The results that are needed, by number."""
        return {n.arg[1]: n for n in self.writes}

    @cached_property
    def _unread(self) -> dict[int, Bytes]:
        return {
            k: Bytes("unused", prod(shape) * dtype.itemsize)
            for k, (dtype, shape) in enumerate(self.routine.specs)
            if k not in self.results
        }

    @property
    def scratch(self) -> Sequence[Bytes]:
        """Results that nobody reads."""
        return [*self._unread.values()]

    def in_place(self, source: Node, out: Node) -> bool:
        """Never: what a library does on its way is not known."""
        return False

    def add_to(self, made: Flat, memory: Memory) -> None:
        """One call, for the values that symbols have."""
        results = [
            memory.written(self.results[k])
            if k in self.results
            else memory.held((self, self._unread[k]))
            for k in range(self.routine.results)
        ]
        layouts = [self._layout(i, s) for i, s in enumerate(self.sources)]
        routine = self._routine.whole
        parts = parts_of(routine, [v.shape for v in layouts])
        routined = Routined(routine, tuple(layouts), self.site, parts)
        refs = (*map(memory.read, self.sources), *results)
        made.calls.append(Call(self.loops, refs, (), (parts > 1,), True, routined))

    @property
    def _routine(self) -> Routine:
        specs = [(dtype, tuple(map(value_of, shape))) for dtype, shape in self.routine.specs]
        return replace(self.routine, specs=tuple(specs))

    def _layout(self, i: int, source: Node) -> ValueLayout:
        """How a source lies in memory, in elements as the library sees them."""
        whole = tuple(map(value_of, source.shape))
        strides = tuple(map(value_of, self.strides.get(source) or row_major_strides(source.shape)))
        shape = self.routine.whole_source(i, whole)
        if shape == whole:
            return ValueLayout(source.dtype, shape, strides)
        return ValueLayout(source.dtype.as_complex, shape, tuple([s // 2 for s in strides[:-1]]))
