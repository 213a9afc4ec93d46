"""Loops and branches as steps. In: the results of one, the programs of its bodies. Out: calls of
these, and the Block that repeats or chooses them.

    captured values    stay where they are
    slices             a cursor that moves by one element along the first axis each iteration
    stacked results    another one
    carries            in place, where the body may write the next one over the last; else two
                       buffers take turns, so that the last one is in the result's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.index import row_major_strides
from ..graph.region import Branch, Loop
from .blocks import BranchBlock, Counter, Held, LoopBlock, Moved, Swapped
from .flat import Flat
from .plan import Planner, plan
from .program import Program, ValueLayout
from .ref import Ref
from .step import KernelStep, Memory, Step


@dataclass(frozen=True, eq=False)
class Bytes:
    """Scratch memory of a loop, equal to no other."""

    name: str
    size: int
    dtype: DType = dt.uint8


@dataclass(frozen=True)
class Body:
    """What a program of a loop or branch is made of."""

    steps: list[Step]
    planner: Planner


@dataclass(eq=False)
class RegionStep:
    """`reads`: its sources, each once; `writes`: the results that are needed; `sources` of the
    Nodes; `strides` of those sources that are inputs."""

    name: str
    spec: Loop | Branch
    sources: tuple[Node, ...]
    reads: list[Node]
    writes: list[Node]
    strides: Mapping[Node, tuple[int, ...]]
    bodies: tuple[Body, ...]
    checks: range = range(0)  # those of its bodies
    watched: bool = False
    early = False

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """Those of its bodies."""
        return tuple([plan(b.steps, b.planner) for b in self.bodies])

    @property
    def inner(self) -> list[RegionStep]:
        """The loops and branches in its bodies."""
        return [s for b in self.bodies for s in b.steps if isinstance(s, RegionStep)]

    @property
    def is_check(self) -> bool:
        """Of some body."""
        return any(call.is_check for p in self.programs for call in p.calls)

    @cached_property
    def results(self) -> dict[int, Node]:
        """The results that are needed, by number."""
        return {n.arg[1]: n for n in self.writes}

    @cached_property
    def scratch(self) -> Sequence[Bytes]:
        """The arena of its bodies, carries that nobody needs at the end, second buffers."""
        return [b for b in (self._arena, *self._last.values(), *self._second.values()) if b]

    @cached_property
    def _arena(self) -> Bytes | None:
        nbytes = max(p.arena_bytes for p in self.programs)
        return Bytes("body", nbytes) if nbytes else None

    @cached_property
    def _last(self) -> dict[int, Bytes]:
        """For results that nobody needs: carries, as a rule."""
        spec = self.spec
        missing = [k for k in range(spec.results) if k not in self.results]
        sizes = [spec.regions[0].outputs[k].nbytes for k in missing]
        if isinstance(spec, Loop):
            often = [1 if k < spec.carries else spec.length or 0 for k in missing]
            sizes = [size * n for size, n in zip(sizes, often, strict=True)]
        return {k: Bytes("unused", size) for k, size in zip(missing, sizes, strict=True)}

    @cached_property
    def _second(self) -> dict[int, Bytes]:
        """For carries that are not written in place."""
        if not isinstance(self.spec, Loop):
            return {}
        places = (k for k in range(self.spec.carries) if not self.is_held(k))
        return {k: Bytes("carry", self.spec.body.outputs[k].nbytes) for k in places}

    def is_held(self, k: int) -> bool:
        """Does carry k stay in place?"""
        return k in self.programs[0].donations

    def in_place(self, source: Node, out: Node) -> bool:
        """The first value of a carry that is written in place, and nothing else here."""
        spec, k = self.spec, out.arg[1]
        return (
            isinstance(spec, Loop)
            and k < spec.carries
            and self.is_held(k)
            and self.sources[spec.captured + k] is source
            and self.sources.count(source) == 1
        )

    # ------------------------------------------------------------ calls

    def add_to(self, made: Flat, memory: Memory) -> None:
        """The calls of its bodies, and one Block."""
        sources = [memory.read(s) for s in self.sources]
        arena = memory.held((self, self._arena)) if self._arena else None
        if isinstance(self.spec, Branch):
            self._add_branch(made, memory, sources, arena)
        else:
            self._add_loop(self.spec, made, memory, sources, arena)

    def _result(self, memory: Memory, k: int) -> Ref:
        """Where result k belongs."""
        if k in self.results:
            return memory.written(self.results[k])
        return memory.held((self, self._last[k]))

    def _add_branch(
        self, made: Flat, memory: Memory, sources: Sequence[Ref], arena: Ref | None
    ) -> None:
        outputs = [self._result(memory, k) for k in range(self.spec.results)]
        seen = made.cursor()
        bodies = [made.embed(p, sources[1:], outputs, arena) for p in self.programs]
        made.blocks.append(BranchBlock(sources[0], tuple(bodies), seen))

    def _add_loop(
        self, spec: Loop, made: Flat, memory: Memory, sources: Sequence[Ref], arena: Ref | None
    ) -> None:
        first, last = spec.captured, spec.captured + spec.carries
        carries = [
            self._carry(spec, made, memory, k, start) for k, start in enumerate(sources[first:last])
        ]
        read = [c.end if isinstance(c, Held) else c.read for c in carries]
        written = [c.end if isinstance(c, Held) else c.written for c in carries]
        slices = [
            self._moved(
                made, spec, ref, self.strides.get(n) or row_major_strides(n.shape), n.dtype, False
            )
            for ref, n in zip(sources[last:], self.sources[last:], strict=True)
        ]
        stacks = [self._stack(spec, made, memory, k) for k in range(spec.carries, spec.results)]
        counter, seen = made.cursor(), made.cursor()
        if self.checks:
            made.counters.append(Counter(self.checks.start, self.checks.stop, counter))
        body = made.embed(
            _guarding(self.programs[0]) if self.watched else self.programs[0],
            [*sources[:first], *read, *(m.cursor for m in slices)],
            [*written, *(m.cursor for m in stacks)],
            arena,
        )
        block = LoopBlock(
            body,
            spec.length,
            read[0] if spec.is_while else None,
            counter,
            seen,
            (*slices, *stacks),
            tuple([c for c in carries if isinstance(c, Swapped)]),
            tuple([c for c in carries if isinstance(c, Held)]),
        )
        made.blocks.append(block)

    def _carry(self, spec: Loop, made: Flat, memory: Memory, k: int, start: Ref) -> Held | Swapped:
        end, nbytes = self._result(memory, k), spec.body.outputs[k].nbytes
        if self.is_held(k):
            return Held(start, end, nbytes)
        ways = end, memory.held((self, self._second[k]))
        if not spec.is_while and (spec.length or 0) % 2 == 0:
            ways = ways[::-1]
        return Swapped(made.cursor(), made.cursor(), made.cursor(), start, ways, end, nbytes)

    def _stack(self, spec: Loop, made: Flat, memory: Memory, k: int) -> Moved:
        """The cursor of result k."""
        out = spec.body.outputs[k]
        strides = (out.size, *row_major_strides(out.shape))
        return self._moved(made, spec, self._result(memory, k), strides, out.dtype, True)

    def _moved(
        self,
        made: Flat,
        spec: Loop,
        ref: Ref,
        strides: Sequence[int],
        dtype: DType,
        writes: bool,
    ) -> Moved:
        step = strides[0] * dtype.itemsize
        if spec.reverse:
            last = step * ((spec.length or 1) - 1)
            return Moved(made.cursor(), ref, last, -step, writes)
        return Moved(made.cursor(), ref, 0, step, writes)


def anew(steps: list[Step]) -> list[Step]:
    """The same steps for the values that symbols have: other loops may suit these, and bodies are
    planned again."""
    return [_anew(s) for s in steps]


def _anew(step: Step) -> Step:
    match step:
        case RegionStep():
            bodies = [replace(b, steps=anew(b.steps)) for b in step.bodies]
            return replace(step, bodies=tuple(bodies))
        case KernelStep() if step.here is not None:
            return step.here()
    return step


def _guarding(program: Program) -> Program:
    """The same, left at once when a kernel has met a wrong value: in that iteration."""
    return replace(program, calls=[replace(call, is_check=True) for call in program.calls])


def layouts(
    spec: Loop | Branch, sources: Sequence[Node], strides: Mapping[Node, tuple[int, ...]]
) -> list[ValueLayout]:
    """How the arguments of a body lie in memory, given the strides of sources: carries densely."""
    of = [strides.get(s) or row_major_strides(s.shape) for s in sources]
    if isinstance(spec, Branch):
        return [ValueLayout(s.dtype, s.shape, o) for s, o in zip(sources[1:], of[1:], strict=True)]
    first, last = spec.captured, spec.captured + spec.carries
    params = spec.body.params
    of[first:last] = [row_major_strides(p.shape) for p in params[first:last]]
    of[last:] = [o[1:] for o in of[last:]]
    return [ValueLayout(p.dtype, p.shape, o) for p, o in zip(params, of, strict=True)]
