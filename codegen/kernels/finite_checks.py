"""Checks of what kernels compute. In: Loops. Out: the same Loops with a Check before each statement
that keeps a value.

    store out0[i] = log(in0[i]) + in1[i]
->  check 0 <= cast(bad) < 1
    bad = (~finite(log(in0[i])) & finite(in0[i])) | (~finite(log(in0[i]) + in1[i]) & ..)
    store out0[i] = log(in0[i]) + in1[i]

A Check fails where an operation gives a value that is not finite though its operands are, unless a
WHERE does not choose it. Sums are looked at when they are read: one that is not finite is suspect,
whatever was added. So a failing Check says that it is worth looking for the operation
(compiler/programs/nan_culprit.py); if none fails, there is none. With infinities allowed, NaNs
count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.analysis.finite import both, either, may_make, negated, passed_on, regular
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, node
from ...ir.graph.index import Index, Mask
from ...ir.graph.op import Op
from ...ir.loops.loop import (
    GLOBAL,
    Buf,
    Check,
    For,
    If,
    Loops,
    Multiply,
    Param,
    Reduce,
    Stmt,
    Store,
)
from ...ir.loops.walk import SLOW, operands, postorder, statements
from .evaluate import condition, load

SITE = Param("site")


def watched(loops: Loops, infinities: bool) -> Loops:
    """The Loops with Checks, whose site is their last argument: equal kernels share their code."""
    watch = _Watch(_sums(loops), infinities)
    phases = [replace(phase, body=watch.body(phase.body)) for phase in loops.phases]
    return replace(loops, phases=phases, params=(*loops.params, SITE))


def _sums(loops: Loops) -> set[Buf]:
    """The buffers of floats that sums and products gather in, or are moved to unless maxima are,
    too."""
    body = list(statements(loops.phases))
    maxima = {s.buf for s in body if isinstance(s, Reduce) and s.op == "max"}
    sums = {s.buf for s in body if isinstance(s, Reduce) and s.op != "max" and s.buf.dtype.is_float}
    sums |= {s.acc for s in body if isinstance(s, Multiply)}
    moves = [s for s in body if isinstance(s, Store) and _moved(s)]
    mixed = {s.buf for s in moves if _moved(s) in maxima}
    while new := {s.buf for s in moves if _moved(s) in sums} - sums - mixed:
        sums |= new
    return sums


def _moved(s: Stmt) -> Buf | None:
    """The buffer of which a statement moves an element to another one inside of the kernel: both
    may hold more than results."""
    if isinstance(s, Store | Reduce) and s.buf.space != GLOBAL and s.value.op is Op.LOAD:
        return s.value.arg[0]  # type: ignore[no-any-return]
    return None


class _Watch:
    def __init__(self, sums: set[Buf], infinities: bool) -> None:
        self.sums, self.infinities = sums, infinities

    def body(self, body: list[Stmt]) -> list[Stmt]:
        return [t for s in body for t in self.statement(s)]

    def statement(self, s: Stmt) -> list[Stmt]:
        match s:
            case For(body=body) | If(body=body):
                return [replace(s, body=self.body(body))]
            case Reduce(buf, index, "add" | "mul", value, mask) if (
                buf.space == GLOBAL and buf in self.sums
            ):
                return [
                    *self.before(s, value, mask),
                    s,
                    *self.before(s, load(buf, index, mask), ()),
                ]
            case Store(buf, _, value, mask) | Reduce(buf, _, _, value, mask) if _moved(
                s
            ) is None or self.is_last_seen(s, buf):
                return [*self.before(s, value, mask), s]
        return [s]

    def is_last_seen(self, s: Stmt, buf: Buf) -> bool:
        """Is a sum moved to where it cannot be distinguished from a maximum."""
        return _moved(s) in self.sums and buf not in self.sums

    def before(self, s: Stmt, value: Node, mask: Mask) -> list[Stmt]:
        """The Check of a value that is kept where the mask holds, if anything in it could go
        wrong."""
        bad = self.bad(
            value, [condition(r) for r in mask], fused=isinstance(s, Reduce) and s.op == "add"
        )
        return [] if bad is None else [Check(node(Op.CAST, (bad,), dt.int64), 1, SITE, Index())]

    def bad(self, value: Node, conditions: Iterable[Node], fused: bool) -> Node | None:
        """Has anything that a value is made of gone wrong. `fused`: a product is added without
        being rounded.

        Nothing has where all is finite that others do not pass on, which is quickly seen; else it
        is looked at one by one.
        """
        wrongs: dict[Node, Node | None] = {}
        for n, when in needs(value, both(conditions)).items():
            wrong = None if fused and n is value and n.op is Op.MUL else self.wrong(n)
            if wrong is not None:
                wrongs[n] = both([when, wrong])
        wrong = either(wrongs.values())
        odd = either(negated(regular(n, self.infinities)) for n in last(value, wrongs))
        if wrong is None or odd is None or len(wrongs) == 1:
            return wrong
        return node(Op.WHERE, (odd, wrong, const(False, dt.bool_)), SLOW)

    def wrong(self, n: Node) -> Node | None:
        """Is n not as it should be though its operands are; None where that cannot be."""
        if n.op is Op.LOAD:
            return negated(regular(n, self.infinities)) if n.arg[0] in self.sums else None
        if not may_make(n):
            return None
        fine = [r for s in n.src if (r := regular(s, self.infinities)) is not None]
        return both([negated(regular(n, self.infinities)), *fine])


def last(root: Node, suspects: Iterable[Node]) -> list[Node]:
    """Nodes of which some is not finite where a suspect is not."""
    marked, readers = set(suspects), dict[Node, Node]()
    order = postorder([root])
    for n in order:
        readers |= dict.fromkeys(passed_on(n), n)
    for n in order:
        if n in marked and n in readers:
            marked.add(readers[n])
    return [n for n in order if n in marked and n not in readers]


def needs(root: Node, when: Node | None) -> dict[Node, Node | None]:
    """When each Node below the root counts, None for always: what a WHERE does not choose does
    not."""
    cases_of: dict[Node, list[Node] | None] = {root: None if when is None else [when]}

    def add(n: Node, *whens: Node | None) -> None:
        here, before = both(whens), cases_of.get(n, [])
        cases_of[n] = None if here is None or before is None else [*before, here]

    out: dict[Node, Node | None] = {}
    for n in reversed(postorder([root])):
        cases = cases_of[n]
        here = out[n] = None if cases is None else either(dict.fromkeys(cases))
        if n.op is Op.WHERE:
            chosen, x, y = n.src
            add(chosen, here)
            add(x, here, chosen)
            add(y, here, negated(chosen))
        else:
            for s in operands(n):
                add(s, here)
    return out
