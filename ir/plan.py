"""Lowered kernels -> Program: an order, in-place outputs, buffers in one arena. In: Steps. Out: ir/program.py's Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .graph import Node
from .index import Index, row_major_strides
from .loop import Buf, For, If, Loops, Stmt, Store
from .loop_walk import postorder, roots, statements
from .op import Op
from .program import Call, CheckSite, Program, Ref, Value

ALIGN = 64


@dataclass(eq=False)
class Step:
    """A kernel call before it has addresses: which Nodes its buffers hold."""

    loops: Loops
    params: tuple[int, ...]
    parallel: tuple[bool, ...]
    reads: list[Node]
    writes: list[Node]
    is_check: bool = False
    early: bool = False  # a check of inputs only

    @property
    def scratch(self) -> tuple[Buf, ...]:
        """The buffers behind those of reads and writes: memory of this call alone."""
        return self.loops.buffers[len(self.reads) + len(self.writes) :]


@dataclass
class Planner:
    """Everything plan() needs to know about the outside."""

    inputs: Sequence[Node]
    values: Sequence[Value]
    outputs: Sequence[Node]
    donations: dict[int, int]
    checks: tuple[CheckSite, ...] = ()
    after: dict[Step, set[Step]] = field(default_factory=dict)


def plan(steps: list[Step], p: Planner) -> Program:
    """Orders the steps, decides donations and places intermediates by liveness."""
    writer = {n: s for s in steps for n in s.writes if n.op is not Op.INPUT}  # an input that is an output too is read where it is
    p.after = {s: {writer[n] for n in s.reads if n in writer} - {s} for s in steps}
    checks = [s for s in steps if s.is_check]
    for s in steps:
        if not s.is_check:
            p.after[s] |= {c for c in checks if not (c.early is False and _reaches(p.after, c, s))}
    donations = _donations(steps, p)
    order = _order(steps, p.after)
    refs, arena_bytes = _place(order, p)
    calls = [Call(s.loops, tuple(refs[a] for a in _arguments(s)), s.params, s.parallel, s.is_check) for s in order]
    outputs = tuple(Value(n.dtype, n.shape, row_major_strides(n.shape)) for n in p.outputs)
    return Program(calls, tuple(p.values), outputs, arena_bytes, donations, p.checks)


Argument = tuple[Node, bool] | Buf  # (Node, is written), or memory of one call


def _arguments(s: Step) -> list[Argument]:
    return [*((n, False) for n in s.reads), *((n, True) for n in s.writes), *s.scratch]


def _reaches(after: dict[Step, set[Step]], start: Step, goal: Step) -> bool:
    """Does start (transitively) wait for goal?"""
    seen, stack = {start}, [start]
    while stack:
        s = stack.pop()
        if s is goal:
            return True
        stack += [t for t in after[s] if t not in seen]
        seen |= after[s]
    return False


def _donations(steps: list[Step], p: Planner) -> dict[int, int]:
    """The wished donations that are safe, with write-after-read edges added for them."""
    if any(s.is_check and not s.early for s in steps):
        return {}  # a failing late check must leave every input as it was
    writer = {n: s for s in steps for n in s.writes}
    allowed: dict[int, int] = {}
    for o, i in sorted(p.donations.items()):
        out, source = p.outputs[o], p.inputs[i]
        if out not in writer or source.shape != out.shape or source.dtype is not out.dtype:
            continue
        if p.values[i].strides != row_major_strides(source.shape) or i in allowed.values():
            continue
        step = writer[out]
        readers = [s for s in steps if source in s.reads and s is not step]
        if source in step.reads and not _in_place(step, source, out):
            continue
        if any(_reaches(p.after, r, step) for r in readers):
            continue
        p.after[step] |= set(readers)
        allowed[o] = i
    return allowed


def _in_place(step: Step, source: Node, out: Node) -> bool:
    """Is every element of the source read only where, and not after, the same element of the output is written?

    That is once, so it holds if all are read at the one index at which all are written, or in each body at its own.
    """
    read, written = step.loops.buffers[step.reads.index(source)], step.loops.buffers[len(step.reads) + step.writes.index(out)]
    everything: list[Stmt] = [s for phase in step.loops.phases for s in statements([phase])]
    bodies: list[Sequence[Stmt]] = [list(step.loops.phases), *(s.body for s in everything if isinstance(s, For | If))]
    return _loads_where_stored(everything, read, written) is True or _body_by_body(bodies, read, written)


def _body_by_body(bodies: Iterable[Sequence[Stmt]], read: Buf, written: Buf) -> bool:
    found = [_loads_where_stored(body, read, written) for body in bodies]
    return False not in found and True in found


def _loads_where_stored(body: Iterable[Stmt], read: Buf, written: Buf) -> bool | None:
    """Are all loads at the index at which these statements store, and none behind the store; None if there are no loads."""
    stored: Index | None = None
    loaded: set[Index] = set()
    for s in body:
        here = {n.arg[1] for n in postorder(roots(s)) if n.op is Op.LOAD and n.arg[0] is read}
        if stored is not None and here:
            return False
        loaded |= here
        if isinstance(s, Store) and s.buf is written:
            if stored not in (None, s.index):
                return False
            stored = s.index
    return None if not loaded else loaded == {stored}


def _order(steps: list[Step], after: dict[Step, set[Step]]) -> list[Step]:
    """A topological order that keeps the given one where it may."""
    done: dict[Step, None] = {}
    for first in steps:
        stack = [first]
        while stack:
            s = stack[-1]
            missing = [t for t in steps if t in after[s] and t not in done] if s not in done else []
            if missing:
                stack.append(missing[0])
            else:
                done.setdefault(stack.pop(), None)
    return list(done)


def _place(order: list[Step], p: Planner) -> tuple[dict[Argument, Ref], int]:
    """A Ref for every argument; intermediates share the arena when their lifetimes do not meet."""
    refs: dict[Argument, Ref] = {(n, False): Ref("input", i) for i, n in enumerate(p.inputs)}
    outputs = {n: Ref("output", i) for i, n in enumerate(p.outputs)}
    last = {n: t for t, s in enumerate(order) for n in s.reads}
    free = _FreeList()
    ends: dict[int, list[tuple[int, int]]] = {}
    for t, s in enumerate(order):
        for n in s.writes:
            if n in outputs:
                ref = outputs[n]
            else:
                offset, size = free.take_for(n.size * n.dtype.itemsize)
                ref = Ref("arena", offset)
                ends.setdefault(last.get(n, t), []).append((offset, size))
            refs[n, True] = ref
            refs.setdefault((n, False), ref)
        for buf in s.scratch:
            offset, size = free.take_for(buf.size * buf.dtype.itemsize)
            refs[buf] = Ref("arena", offset)
            ends.setdefault(t, []).append((offset, size))
        for offset, size in ends.pop(t, []):
            free.give(offset, size)
    return refs, free.top


class _FreeList:
    """First fit over the free gaps of a growing arena."""

    def __init__(self) -> None:
        self.top = 0
        self.gaps: list[tuple[int, int]] = []  # (offset, size), ascending, never adjacent

    def take_for(self, nbytes: int) -> tuple[int, int]:
        """(offset, size) of aligned memory for so many bytes."""
        size = -(-nbytes // ALIGN) * ALIGN
        return self.take(size), size

    def take(self, size: int) -> int:
        for at, (offset, room) in enumerate(self.gaps):
            if room >= size:
                self.gaps[at : at + 1] = [(offset + size, room - size)] if room > size else []
                return offset
        offset = self.top
        self.top += size
        return offset

    def give(self, offset: int, size: int) -> None:
        gaps = sorted([*self.gaps, (offset, size)])
        self.gaps = []
        for o, s in gaps:
            if self.gaps and sum(self.gaps[-1]) == o:
                self.gaps[-1] = (self.gaps[-1][0], self.gaps[-1][1] + s)
            else:
                self.gaps.append((o, s))
