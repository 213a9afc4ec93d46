"""Graph -> Graph: where several maps of one value are stored for a gradient, that value is stored,
and they are computed again.

    a = 0.5 * x; e = 1 + erf(x); y = a * e; ... y @ w ...
    before    gradient(a, e)      a, e and y are stored
    after     gradient(a', e')    x and y are stored

What is gained: memory, and its traffic. A copy is made distinct by a DETACH under it, which
vanishes at lowering. Maps of what is stored anyway, as those of a norm, are left alone: UNet's step
took 6 % longer with them, for 6 % of its memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, node, rebuild, toposort
from ..graph.op import ELEMENTWISE, Op
from ..graph.site import provenance
from ..kernels.kernel import cost
from ..parts.flow import Flow, levels_of
from ..symbolic.questions import value_of

MIN_BYTES = 1 << 20  # of a value: others stay in caches
MOST_COST = 40  # operations an element, beside storing and loading it
SMALL = 8  # what is so many times smaller is stored without much ado


def recompute_maps(roots: Sequence[Node]) -> list[Node]:
    """The same values, bit for bit."""
    roots = list(roots)
    if all(value_of(n.nbytes) < MIN_BYTES for n in toposort(roots)):
        return roots
    search = _Search(Flow(roots))
    return _rebuilt(search) if search.again else roots


class _Search:
    """`again`: what is computed again after a contraction; `maps`: what is on the way there from
    values chosen to be stored."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        levels, self._products = levels_of(flow)
        self.level = _when_needed(flow, levels)
        self._far = {
            n for n in flow.values if any(self.level[c] > self.level[n] for c in flow.readers[n])
        }
        self._chosen = self._worth_storing()
        self.maps: dict[Node, int] = {}  # operations an element
        for n in flow.values:
            self._visit(n)
        self.again = {n for n in self.maps if self._would_save(n)}

    def _would_save(self, n: Node) -> bool:
        """Is a map stored for what comes after a contraction alone, and needed before it, too?"""
        if (
            n not in self._far
            or n in self.flow.roots
            or value_of(n.nbytes) < MIN_BYTES
            or n.op not in ELEMENTWISE
        ):
            return False
        readers = self.flow.readers[n]
        return not any(c in self._products for c in readers) and any(
            self.level[c] == self.level[n] for c in readers
        )

    def _worth_storing(self) -> set[Node]:
        """Values of which two maps or more are stored: storing one instead is less."""
        made: dict[Node, list[Node]] = {}
        for n in filter(self._would_save, self.flow.values):
            at, total = n, 0
            while at.op in ELEMENTWISE and (total := total + cost(at)) <= MOST_COST:
                missing = [
                    s
                    for s in self.flow.sources[at]
                    if s not in self._far and not self._is_small(s, n)
                ]
                if len(missing) != 1 or missing[0].nbytes > n.nbytes:
                    break
                (at,) = missing
                made.setdefault(at, []).append(n)
        return {n for n, maps in made.items() if len(maps) > 1}

    def _is_small(self, s: Node, n: Node) -> bool:
        return s in self.flow.roots or value_of(s.nbytes) * SMALL <= value_of(n.nbytes)

    def _visit(self, n: Node) -> None:
        if (
            n in self._chosen
            or n.op not in ELEMENTWISE
            or (n in self._far and not self._would_save(n))
        ):
            return
        operands = self.flow.sources[n]
        total = cost(n) + sum(self.maps.get(s, 0) for s in operands)
        of_chosen = [s in self.maps or s in self._chosen for s in operands]
        there = all(
            is_so or s in self._far or self._is_small(s, n)
            for s, is_so in zip(operands, of_chosen, strict=True)
        )
        if any(of_chosen) and there and total <= MOST_COST:
            self.maps[n] = total


def _when_needed(flow: Flow, levels: dict[Node, int]) -> dict[Node, int]:
    """The contractions on the way to each value, or to what reads it first: a map is evaluated
    there."""
    when = dict(levels)
    for n in reversed(flow.values):
        if n.op in ELEMENTWISE and n not in flow.roots:
            when[n] = min(when[c] for c in flow.readers[n])
    return when


def _rebuilt(search: _Search) -> list[Node]:
    """The roots, where what is far from a value reads its copy."""
    flow, level = search.flow, search.level
    done: dict[Node, Node] = {}
    copy: dict[Node, Node] = {}  # what a Node is for those that are far
    for n in flow.order:
        far = [
            n in level and any(b in search.again and level[n] > level[b] for b in flow.below[s])
            for s in n.src
        ]
        done[n] = copy[n] = rebuild(
            n, tuple([copy[s] if is_far else done[s] for s, is_far in zip(n.src, far, strict=True)])
        )
        if n in search.maps:
            copy[n] = _copied(n, [copy[s] for s in n.src])
        elif n not in level:
            copy[n] = rebuild(n, tuple([copy[s] for s in n.src]))
    return [done[r] for r in flow.roots]


def _copied(n: Node, src: Sequence[Node]) -> Node:
    with provenance(n.site):
        return rebuild(n, (node(Op.DETACH, (src[0],)), *src[1:]))
