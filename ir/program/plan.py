"""Lowered kernels -> Program: an order, in-place results, buffers in one arena. In: Steps. Out: a
Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ..graph.graph import Node, reach
from ..graph.index import row_major_strides
from ..graph.op import Op
from ..graph.order import Order
from ..passes.bounds_checks import CheckSite
from ..symbolic.questions import value_of
from .arena import Block, place
from .flat import Flat
from .program import Lifetime, Program, ValueLayout
from .ref import Ref
from .run_order import Waits, least_peak, topological
from .step import Scratch, Step


@dataclass
class Planner:
    """Everything plan() needs to know about the outside."""

    inputs: Sequence[Node]
    values: Sequence[ValueLayout]
    outputs: Sequence[Node]
    donations: dict[int, int]
    checks: tuple[CheckSite, ...] = ()
    enough: int = (
        0  # bytes of intermediates that are no reason to change the order: those of the last cache
    )


def plan(steps: list[Step], p: Planner) -> Program:
    """Orders the steps, decides donations and places intermediates by liveness."""
    outside = {*p.inputs, *p.outputs}
    after = _waits(steps)
    order = Order(topological(steps, after), after.__getitem__)
    donations = _donations(steps, order, after, p)
    held = cache(lambda n: 0 if n in outside else value_of(n.nbytes))
    sequence = least_peak(order.items, after, held, p.enough)
    memory = _Memory(sequence, p, donations)
    made, spans = Flat(), []
    for s in sequence:
        first = len(made.calls)
        s.add_to(made, memory)
        spans.append((first, max(first, len(made.calls) - 1)))
    most = max(len(made.calls) - 1, 0)
    spans = [(min(first, most), min(last, most)) for first, last in spans]
    outputs = tuple(ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in p.outputs)
    return Program(
        made.calls,
        tuple(p.values),
        outputs,
        memory.arena_bytes,
        donations,
        p.checks,
        memory.lifetimes(spans),
        tuple(made.blocks),
        made.cursors,
        tuple(made.counters),
    )


# ---------------------------------------------------------------- what runs after what


def _waits(steps: list[Step]) -> Waits[Step]:
    """A step runs after those that write what it reads, and after every check that does not need
    the step itself."""
    # an input that is an output too is read where it is
    writer = {n: s for s in steps for n in s.writes if n.op is not Op.INPUT}
    after = {s: {writer[n] for n in s.reads if n in writer} - {s} for s in steps}
    needed: set[Step] = set()  # by the checks so far
    previous: Step | None = None

    def missing(s: Step) -> set[Step]:
        return after[s] - needed

    for check in [s for s in steps if s.is_check]:
        new = set(reach([check], missing))
        _let_wait(new, previous, after)
        needed |= new
        previous = check
    _let_wait((s for s in steps if s not in needed), previous, after)
    return after


def _let_wait(steps: Iterable[Step], check: Step | None, after: Waits[Step]) -> None:
    if check is not None:
        for s in steps:
            after[s].add(check)


def _donations(
    steps: list[Step], order: Order[Step], after: Waits[Step], p: Planner
) -> dict[int, int]:
    """The wished donations that are safe; readers of the old value then run before."""
    if any((s.is_check and not s.early) or s.watched for s in steps):
        return {}  # a failing late check must leave every input as it was
    writer = {n: s for s in steps for n in s.writes}
    readers: dict[Node, list[Step]] = {}
    for s in steps:
        for n in s.reads:
            readers.setdefault(n, []).append(s)
    allowed: dict[int, int] = {}
    given: set[int] = set()
    for o, i in sorted(p.donations.items()):
        out, source = p.outputs[o], p.inputs[i]
        if (
            out not in writer
            or i in given
            or source.shape != out.shape
            or source.dtype is not out.dtype
        ):
            continue
        if p.values[i].strides != row_major_strides(source.shape):
            continue
        step = writer[out]
        if source in step.reads and not step.in_place(source, out):
            continue
        others = [s for s in readers.get(source, ()) if s is not step]
        if order.let_wait(step, others):
            after[step].update(others)
            allowed[o] = i
            given.add(i)
    return allowed


# ---------------------------------------------------------------- where values are


class _Memory:
    """A Ref for every argument of the steps, in the order in which they run.

    An intermediate gets a Block of the arena for its lifetime, or the Block of one that its kernel
    reads for the last time; so may an output, and then all that was in this Block lies in the
    output's memory.
    """

    def __init__(self, order: list[Step], p: Planner, donations: dict[int, int]) -> None:
        self._order, self._p, self._donations = order, p, donations
        self._outputs = {n: i for i, n in enumerate(p.outputs)}
        self._last = {n: t for t, s in enumerate(order) for n in s.reads}
        self._blocks: dict[Node | Scratch, Block] = {}
        self._instead: dict[Node, Node] = {}  # what is written -> what it overwrites
        self._gone: set[Node] = set()  # what is overwritten
        self._inside: dict[Block, int] = {}  # the output in whose memory a Block lies
        for t, s in enumerate(order):
            self._write(t, s)
        inside = self._inside
        self.arena_bytes = place(
            list(dict.fromkeys(b for b in self._blocks.values() if b not in inside))
        )

    def _write(self, t: int, s: Step) -> None:
        for n in s.writes:
            output = self._outputs.get(n)
            block = None if output in self._donations else self._overwritten(t, s, n)
            if output is not None:
                if block is not None:
                    self._inside[block] = output
            elif block is None:
                self._blocks[n] = Block(value_of(n.nbytes), t, self._last.get(n, t))
            else:
                block.last = self._last.get(n, t)
                self._blocks[n] = block
        for buf in s.scratch:
            self._blocks[s, buf] = Block(value_of(buf.size) * buf.dtype.itemsize, t, t)

    def _overwritten(self, t: int, s: Step, n: Node) -> Block | None:
        """The Block of a value that is not needed once this step has written n over it: the oldest,
        as of a sum that grows."""
        held = [
            (self._blocks[m], m)
            for m in s.reads
            if m in self._blocks and m not in self._gone and self._last[m] == t
        ]
        for block, source in sorted(held, key=lambda pair: pair[0].first):
            if block.nbytes == value_of(n.nbytes) and s.in_place(source, n):
                self._instead[n] = source
                self._gone.add(source)
                return block
        return None

    @cached_property
    def _inputs(self) -> dict[Node, Ref]:
        return {n: Ref("input", i) for i, n in enumerate(self._p.inputs)}

    def read(self, n: Node) -> Ref:
        """Where a step finds a value."""
        return self._inputs.get(n) or self.written(n)

    def written(self, n: Node) -> Ref:
        """Where a step puts a value."""
        return Ref("output", self._outputs[n]) if n in self._outputs else self.held(n)

    def held(self, what: Node | Scratch) -> Ref:
        """Where a Block lies."""
        block = self._blocks[what]
        output = self._inside.get(block)
        return Ref("arena", block.offset) if output is None else Ref("output", output)

    def lifetimes(self, spans: Sequence[tuple[int, int]]) -> tuple[Lifetime, ...]:
        """What every buffer holds, and when: the inputs, then what the steps write and use.
        `spans`: the calls of each step, of which it has several where it is a loop."""
        places: dict[Node, int] = {}
        end = max((last for _, last in spans), default=0)
        out = [self._input(i, n, spans) for i, n in enumerate(self._p.inputs)]
        for t, s in enumerate(self._order):
            first, own = spans[t]
            for n, ref in zip(s.writes, map(self.written, s.writes), strict=True):
                last = (
                    end
                    if ref.space == "output" and n in self._outputs
                    else spans[self._last.get(n, t)][1]
                )
                taken = self._instead.get(n)
                instead = (
                    self._donations.get(self._outputs.get(n, -1))
                    if taken is None
                    else places[taken]
                )
                places[n] = len(out)
                out.append(
                    Lifetime(n.op.value, n.dtype, n.shape, ref, first, last, instead, n.site)
                )
            out += [
                Lifetime(b.name, b.dtype, (b.size,), self.held((s, b)), first, own)
                for b in s.scratch
            ]
        return tuple(out)

    def _input(self, i: int, n: Node, spans: Sequence[tuple[int, int]]) -> Lifetime:
        last = spans[self._last[n]][1] if n in self._last else 0
        return Lifetime("input", n.dtype, n.shape, Ref("input", i), 0, last)
