"""The values that a program computes. In: a Capture. Out: which of them take time, and which to
store for what needs others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property

from ...ir.graph import graph
from ...ir.graph.graph import Node
from ...ir.graph.op import ELEMENTWISE, HINTS, LEAVES, VIEWS, Op
from ...ir.ops.table import TRANSCENDENTAL
from .capture import Capture

_TRANSPARENT = HINTS | VIEWS - {Op.PAD} | {Op.COPY}
_MAPS = ELEMENTWISE | VIEWS - _TRANSPARENT
_LOCAL = _MAPS | _TRANSPARENT | LEAVES
# additions for each element, or one transcendental function, that may be repeated where nothing is
# loaded
CHEAP = 16
LARGE = 1 << 26  # bytes of a value that is rather computed anew from less
DEPTH = 16  # maps and products that this takes at most
MOST_FLIPS = (
    2  # of each other: a loop may flip a value again and again, and memory is never seen flipped
)


class Computed:
    """The Nodes that a program computes."""

    def __init__(self, capture: Capture) -> None:
        self._index, self._views = capture.index, capture.views

    @cached_property
    def nodes(self) -> set[Node]:
        """All of them, but for Leaves that wait, which are what defines them."""
        return {n for n in self._index if n not in self._views and n.op is not Op.INPUT}

    def is_repeated(self, n: Node) -> bool:
        """Is it worth a look that this has been computed before: what is costly, and numbers from
        the second time on."""
        if n.size == 1 and n.op in _MAPS:
            return n.computed > 1 and not _is_folded(n)
        return self.is_costly(n)

    def is_costly(self, n: Node) -> bool:
        """Does it take more than a few operations on constants, counters and 0-d inputs."""
        total, seen, stack = 0, {n}, [n]
        if n.op in _TRANSPARENT:
            return _flips_of(n) > MOST_FLIPS
        while stack and total < CHEAP:
            n = stack.pop()
            if (n in self._views and n.shape) or n.op not in _LOCAL:
                return True
            if n.op in _MAPS:
                total += CHEAP if n.op in TRANSCENDENTAL else 1
            if n not in self._views:
                below = [s for s in graph.sources(n) if s not in seen]
                seen.update(below)
                stack += below
        return total >= CHEAP

    def computed_often(self, again: Sequence[Node]) -> set[Node]:
        """Values computed for the third time that something else needs: they will still be there
        when it is computed."""
        often = {n for n in again if n.computed > 1 and n.nbytes <= LARGE}
        if not often:
            return often
        return {
            s for n in self.nodes if n not in often for s in n.src if s in often and s in self.nodes
        }

    def stored_for(self, met: Iterable[Node], outputs: Container[Node]) -> list[Node]:
        """What is stored for those that are made of these: the Nodes, or the fewer bytes that a
        view or a map needs."""
        stored: dict[Node, None] = {}
        seen, stack = set(met), list(met)
        while stack:
            n = stack.pop()
            less = None if n in outputs else self._smaller(n)
            if less is None:
                stored[n] = None
                continue
            new = [s for s in less if s in self.nodes and s not in seen]
            seen.update(new)
            stack += new
        kept = (n for n in stored if n.op not in _TRANSPARENT or _behind_views(n) not in stored)
        return sorted(kept, key=self._index.__getitem__)

    def _smaller(self, n: Node) -> Sequence[Node] | None:
        """The sources, of a view, of a map that makes more bytes than they have, and of what is
        cheap to compute again; None for others, and for numbers: a loop may count on and on."""
        if n.op in LEAVES or _is_folded(n):
            return ()
        if n.op in _TRANSPARENT:
            return n.src if n.src[0].nbytes <= n.nbytes and _flips_of(n) <= MOST_FLIPS else None
        if n.size == 1:
            return None
        if n.nbytes > LARGE and (less := self._much_less(n)) != {n}:
            return list(less)
        if n.op not in _MAPS:
            return None
        bases = {_behind_views(s) for s in n.src}
        grows = sum(b.nbytes for b in bases if b.op is not Op.CONST) < n.nbytes
        return n.src if grows or not self.is_costly(n) else None

    def _much_less(self, n: Node, depth: int = DEPTH) -> set[Node]:
        """What a large value is made of by maps and products, if that takes half of its bytes at
        most, as the factors of a matrix product with few steps do; else the value."""
        if n.nbytes <= LARGE or not depth or n not in self.nodes:
            return {n}
        if n.op in _TRANSPARENT:
            return self._much_less(n.src[0], depth)
        if n.op not in _MAPS and not (n.op is Op.REDUCE and n.src[0].op is Op.MUL):
            return {n}
        less = {base for s in n.src for base in self._much_less(s, depth - 1)}
        return less if 2 * sum(s.nbytes for s in less) <= n.nbytes else {n}


def _is_folded(n: Node) -> bool:
    """Is it an operation on constants, as the 1/n of a mean is? Every program folds it."""
    of_one = n.size == 1 and n.op in ELEMENTWISE
    return of_one and all(_behind_views(s).op is Op.CONST for s in n.src)


def _flips_of(n: Node) -> int:
    """How many there are in a chain of views."""
    count = 0
    while n.op in _TRANSPARENT:
        count += n.op is Op.FLIP
        n = n.src[0]
    return count


def _behind_views(n: Node) -> Node:
    while n.op in _TRANSPARENT:
        n = n.src[0]
    return n
