"""Results that may take the memory of an operand. In: the Loops of a kernel. Out: the answer for
one buffer read and one written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from ..graph.graph import Node, reach
from ..graph.index import Index
from ..graph.op import Op
from ..loops.loop import GLOBAL, Buf, Copy, For, If, Loops, Stmt, Store
from ..loops.walk import operands, roots, statements, usual_operands

# what a statement loads; the buffer and index of its store
Access = tuple[dict[Buf, set[Index]], Buf | None, Index | None]
# of all statements of a phase; of those of each body
Accessed = tuple[list[Access], list[list[Access]]]
Needs = Callable[[Node], tuple[Node, ...]]


class Accesses:
    """Which elements of its arguments a kernel loads and stores, statement by statement of each
    phase."""

    def __init__(self, loops: Loops) -> None:
        self._loops = loops
        self._found: dict[tuple[int, int], Accessed] = {}
        self._answers: dict[tuple[Buf, Buf], bool] = {}

    def in_place(self, read: Buf, written: Buf) -> bool:
        """Is every element of `read` loaded only where, and not after, the same element of
        `written` is stored?

        That is once, so it holds if all are loaded at the one index at which all are stored, or in
        each body at its own, as the parts of complex values at two. Phases before the first that
        stores have ended by then, and so have earlier loops of a phase that runs once: what they
        load does not matter.
        """
        if (read, written) not in self._answers:
            self._answers[read, written] = self._in_place(read, written)
        return self._answers[read, written]

    def _in_place(self, read: Buf, written: Buf) -> bool:
        if read.dtype.itemsize != written.dtype.itemsize:
            return False
        left = list(self._since(written))
        if (
            _loads_where_stored((a for everything, _ in left for a in everything), read, written)
            is True
        ):
            return True
        answers = [
            _loads_before_stores(body, read, written) for _, bodies in left for body in bodies
        ]
        return False not in answers and True in answers

    def _since(self, written: Buf) -> Iterator[Accessed]:
        """Of each phase, from the first statement on that may run when something is stored."""
        phases = self._loops.phases
        first = next((i for i, phase in enumerate(phases) if _stores([phase], written)), 0)
        for i in range(first, len(phases)):
            once = i == first and phases[i].extent == 1 and not self._loops.threads
            before = list(
                takewhile(lambda s: not _stores([s], written), phases[i].body if once else [])
            )
            yield self._accesses(
                i, max((at + 1 for at, s in enumerate(before) if isinstance(s, For)), default=0)
            )

    def _accesses(self, phase: int, start: int) -> Accessed:
        if (phase, start) not in self._found:
            whole = self._loops.phases[phase]
            self._found[phase, start] = _accesses(replace(whole, body=whole.body[start:]))
        return self._found[phase, start]


def _stores(body: list[Stmt], written: Buf) -> bool:
    return any(isinstance(s, Store) and s.buf is written for s in statements(body))


def _accesses(phase: For) -> Accessed:
    """Of all statements of a phase; of those of each body."""
    every: list[Stmt] = list(statements([phase]))
    loads = {id(s): _loads(s, operands) for s in every}
    bodies = [_in_one_body(s.body, loads) for s in every if isinstance(s, For | If)]
    return [_access(s, loads[id(s)]) for s in every], bodies


def _in_one_body(body: Sequence[Stmt], loads: Mapping[int, set[Node]]) -> list[Access]:
    """A Node that an earlier statement of the same body has evaluated is not evaluated again: it is
    loaded once."""
    accesses: list[Access] = []
    known: set[Node] = set()
    several = sum(isinstance(s, Store) for s in body) > 1
    for s in body:
        accesses.append(_access(s, loads[id(s)] - known))
        if several:
            known |= {n for n in _loads(s, usual_operands) if not operands(n)}
    return accesses


def _access(s: Stmt, loads: set[Node]) -> Access:
    """What a statement loads of each argument, and where it stores."""
    loaded: dict[Buf, set[Index]] = {}
    for n in loads:
        loaded.setdefault(n.arg[0], set()).add(n.arg[1])
    if isinstance(s, Copy):
        loaded.setdefault(s.source, set()).add(s.index)
    stored = (s.buf, s.index) if isinstance(s, Store) else (None, None)
    return loaded, *stored


def _loads(s: Stmt, needs: Needs) -> set[Node]:
    """The LOADs of arguments that a statement itself needs."""
    return {n for n in reach(roots(s), needs) if n.op is Op.LOAD and n.arg[0].space == GLOBAL}


def _loads_where_stored(body: Iterable[Access], read: Buf, written: Buf) -> bool | None:
    """Are all loads at the index at which these statements store, and none after the store; None if
    there are no loads."""
    stored: Index | None = None
    loaded: set[Index] = set()
    for loads, buf, index in body:
        here = loads.get(read)
        if here:
            if stored is not None:
                return False
            loaded |= here
        if buf is written:
            if stored not in (None, index):
                return False
            stored = index
    return None if not loaded else loaded == {stored}


def _loads_before_stores(body: Iterable[Access], read: Buf, written: Buf) -> bool | None:
    """Does each of these statements, which run in this order, load what none before has stored, and
    is all of it stored; None if there are no loads."""
    stored, loaded = set[Index](), set[Index]()
    for loads, buf, index in body:
        here = loads.get(read, set())
        if not stored.isdisjoint(here):
            return False
        loaded |= here
        if buf is written and index is not None:
            stored.add(index)
    return loaded <= stored if loaded else None
