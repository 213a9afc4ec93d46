"""Lowered kernels -> Program: an order, in-place results, buffers in one arena. In: Steps. Out: a
Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..graph.graph import Node, reach
from ..graph.index import row_major_strides
from ..graph.op import Op
from ..graph.order import Order
from ..loops.loop import Buf, Loops
from ..passes.bounds_checks import CheckSite
from .arena import Block, place
from .in_place import Accesses
from .program import Call, Lifetime, Program, Ref, ValueLayout
from .run_order import Waits, least_peak, topological


@dataclass(eq=False)
class KernelStep:
    """A kernel call before it has addresses: which Nodes its buffers hold."""

    loops: Loops
    params: tuple[int, ...]
    parallel: tuple[bool, ...]
    reads: list[Node]
    writes: list[Node]
    is_check: bool = False
    early: bool = False  # a check of inputs only
    watched: bool = False  # it checks what it computes
    same: KernelStep | None = None  # one before with the same loops over the same buffers

    @property
    def scratch(self) -> tuple[Buf, ...]:
        """The buffers after those of reads and writes: memory of this call alone."""
        return self.loops.buffers[len(self.reads) + len(self.writes) :]

    def in_place(self, source: Node, out: Node) -> bool:
        """May what it writes take the memory of what it reads?"""
        buffers = self.loops.buffers
        return self._accesses.in_place(
            buffers[self.reads.index(source)], buffers[len(self.reads) + self.writes.index(out)]
        )

    @cached_property
    def _accesses(self) -> Accesses:
        return self.same._accesses if self.same else Accesses(self.loops)


Scratch = tuple[KernelStep, Buf]  # equal kernels have the same Buf


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


def plan(steps: list[KernelStep], p: Planner) -> Program:
    """Orders the steps, decides donations and places intermediates by liveness."""
    outside = {*p.inputs, *p.outputs}
    after = _waits(steps)
    order = Order(topological(steps, after), after.__getitem__)
    donations = _donations(steps, order, after, p)
    sequence = least_peak(order.items, after, lambda n: 0 if n in outside else n.nbytes, p.enough)
    memory = _Memory(sequence, p, donations)
    calls = [Call(s.loops, memory.refs(s), s.params, s.parallel, s.is_check) for s in sequence]
    outputs = tuple(ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in p.outputs)
    return Program(
        calls, tuple(p.values), outputs, memory.arena_bytes, donations, p.checks, memory.lifetimes()
    )


# ---------------------------------------------------------------- what runs after what


def _waits(steps: list[KernelStep]) -> Waits[KernelStep]:
    """A step runs after those that write what it reads, and after every check that does not need
    the step itself."""
    # an input that is an output too is read where it is
    writer = {n: s for s in steps for n in s.writes if n.op is not Op.INPUT}
    after = {s: {writer[n] for n in s.reads if n in writer} - {s} for s in steps}
    needed: set[KernelStep] = set()  # by the checks so far
    previous: KernelStep | None = None

    def missing(s: KernelStep) -> set[KernelStep]:
        return after[s] - needed

    for check in [s for s in steps if s.is_check]:
        new = set(reach([check], missing))
        _let_wait(new, previous, after)
        needed |= new
        previous = check
    _let_wait((s for s in steps if s not in needed), previous, after)
    return after


def _let_wait(
    steps: Iterable[KernelStep], check: KernelStep | None, after: Waits[KernelStep]
) -> None:
    if check is not None:
        for s in steps:
            after[s].add(check)


def _donations(
    steps: list[KernelStep], order: Order[KernelStep], after: Waits[KernelStep], p: Planner
) -> dict[int, int]:
    """The wished donations that are safe; readers of the old value then run before."""
    if any((s.is_check and not s.early) or s.watched for s in steps):
        return {}  # a failing late check must leave every input as it was
    writer = {n: s for s in steps for n in s.writes}
    readers: dict[Node, list[KernelStep]] = {}
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

    def __init__(self, order: list[KernelStep], p: Planner, donations: dict[int, int]) -> None:
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

    def _write(self, t: int, s: KernelStep) -> None:
        for n in s.writes:
            output = self._outputs.get(n)
            block = None if output in self._donations else self._overwritten(t, s, n)
            if output is not None:
                if block is not None:
                    self._inside[block] = output
            elif block is None:
                self._blocks[n] = Block(n.nbytes, t, self._last.get(n, t))
            else:
                block.last = self._last.get(n, t)
                self._blocks[n] = block
        for buf in s.scratch:
            self._blocks[s, buf] = Block(buf.size * buf.dtype.itemsize, t, t)

    def _overwritten(self, t: int, s: KernelStep, n: Node) -> Block | None:
        """The Block of a value that is not needed once this step has written n over it: the oldest,
        as of a sum that grows."""
        held = [
            (self._blocks[m], m)
            for m in s.reads
            if m in self._blocks and m not in self._gone and self._last[m] == t
        ]
        for block, source in sorted(held, key=lambda pair: pair[0].first):
            if block.nbytes == n.nbytes and s.in_place(source, n):
                self._instead[n] = source
                self._gone.add(source)
                return block
        return None

    def refs(self, s: KernelStep) -> tuple[Ref, ...]:
        """Where the arguments of a step are."""
        return (
            *map(self._read, s.reads),
            *map(self._written, s.writes),
            *(self._held((s, b)) for b in s.scratch),
        )

    @cached_property
    def _inputs(self) -> dict[Node, Ref]:
        return {n: Ref("input", i) for i, n in enumerate(self._p.inputs)}

    def _read(self, n: Node) -> Ref:
        return self._inputs.get(n) or self._written(n)

    def _written(self, n: Node) -> Ref:
        return Ref("output", self._outputs[n]) if n in self._outputs else self._held(n)

    def _held(self, what: Node | Scratch) -> Ref:
        block = self._blocks[what]
        output = self._inside.get(block)
        return Ref("arena", block.offset) if output is None else Ref("output", output)

    def lifetimes(self) -> tuple[Lifetime, ...]:
        """What every buffer holds, and when: the inputs, then what the steps write and use."""
        places: dict[Node, int] = {}
        out = [self._input(i, n) for i, n in enumerate(self._p.inputs)]
        for t, s in enumerate(self._order):
            for n, ref in zip(s.writes, map(self._written, s.writes), strict=True):
                last = (
                    len(self._order) - 1
                    if ref.space == "output" and n in self._outputs
                    else self._last.get(n, t)
                )
                taken = self._instead.get(n)
                instead = (
                    self._donations.get(self._outputs.get(n, -1))
                    if taken is None
                    else places[taken]
                )
                places[n] = len(out)
                out.append(Lifetime(n.op.value, n.dtype, n.shape, ref, t, last, instead, n.site))
            out += [
                Lifetime(b.name, b.dtype, (b.size,), self._held((s, b)), t, t) for b in s.scratch
            ]
        return tuple(out)

    def _input(self, i: int, n: Node) -> Lifetime:
        return Lifetime("input", n.dtype, n.shape, Ref("input", i), 0, self._last.get(n, 0))
