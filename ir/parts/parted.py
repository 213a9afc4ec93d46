"""A Graph in parts. In: roots. Out: one Graph for all parts that are equal, which passes rewrite
once, and the roots made of them again.

before    x1 = layer(x0); x2 = layer(x1); ...
pass      layer(ELSEWHERE) -> layer'(ELSEWHERE)
after     x1 = layer'(x0); x2 = layer'(x1); ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from ..graph.graph import Node, rebuild, toposort
from ..graph.op import Op
from ..graph.site import keeping_sites
from .part import Part, Strides, part_of
from .split import parts_of

Rewrite = Callable[[list[Node]], list[Node]]


@dataclass(frozen=True)
class Alike:
    """Equal parts. `outputs`: those of the first one in a Graph of its own, as the passes have left
    them. `leaves`: the inputs of that Graph."""

    parts: list[Part]
    outputs: list[Node]
    leaves: list[Node]


class PartedGraph:
    """Roots, and other Nodes that must be in memory. Attributes: `before`, both as they came in;
    `alike`, the parts, equal ones together."""

    def __init__(
        self, before: tuple[Sequence[Node], Sequence[Node]], alike: Sequence[Alike]
    ) -> None:
        self.before, self.alike = before, alike

    @property
    def is_whole(self) -> bool:
        """Is it one part alone?"""
        return len(self.alike) == 1 and len(self.alike[0].parts) == 1

    def after(self, rewrite: Rewrite) -> PartedGraph:
        """After a pass that keeps values, and needs to see no more of a Graph than a part and what
        passes through it."""
        alike = [replace(a, outputs=rewrite(list(a.outputs))) for a in self.alike]
        return PartedGraph(self.before, alike)

    @property
    def roots(self) -> list[Node]:
        """What the roots have become."""
        return [self.now[r] for r in self.before[0]]

    @property
    def kept(self) -> list[Node]:
        """What else must be in memory."""
        return [self.now[n] for n in self.before[1]]

    @cached_property
    def now(self) -> dict[Node, Node]:
        """What everything that passes between parts has become."""
        if self.is_whole:
            (one,) = self.alike
            return dict(zip(one.parts[0].outputs, one.outputs, strict=True))
        maker = {n: c for copies in self.copies for c in copies for n in c.part.outputs}
        now: dict[Node, Node] = {}
        with keeping_sites():
            for n in toposort(chain(*self.before)):
                if n in maker:
                    now[n] = maker[n].made(n, now)
        return now

    @cached_property
    def copies(self) -> list[list[Copy]]:
        """The parts, equal ones together, each as a copy of the first."""
        return [list(_copies(a)) for a in self.alike]


def in_parts(roots: Sequence[Node], kept: Sequence[Node], strides: Strides) -> PartedGraph:
    """A Graph of distinct roots in parts. `kept`: Nodes that must be in memory, too; `strides`: how
    inputs lie there."""
    parts = parts_of(list(dict.fromkeys([*roots, *kept])), strides)
    return PartedGraph((roots, kept), list(map(alone, parts))) if parts else whole(roots, kept)


def whole(roots: Sequence[Node], kept: Sequence[Node]) -> PartedGraph:
    """A Graph of distinct roots as one part."""
    part = part_of(list(dict.fromkeys([*roots, *kept])), (), {})
    return PartedGraph((roots, kept), [alone([part])])


def alone(parts: list[Part]) -> Alike:
    """Equal parts with a Graph of their own."""
    first = parts[0]
    graph = first.graph()
    return Alike(parts, [graph[n] for n in first.outputs], [graph[n] for n in first.leaves])


def _copies(alike: Alike) -> Iterator[Copy]:
    steps = _steps(alike.outputs, alike.leaves)
    return (Copy(p, alike, steps) for p in alike.parts)


def _steps(outputs: Sequence[Node], leaves: Sequence[Node]) -> list[list[Node]]:
    """For each output the Nodes that those before it have not needed."""
    known = dict.fromkeys(leaves)
    new = []
    for n in outputs:
        new.append(toposort([n], known))
        known |= dict.fromkeys(new[-1])
    return new


class Copy:
    """A part that is made in the steps of an equal one. `nodes`: what the Nodes of that one's Graph
    are here, once they are made."""

    def __init__(self, part: Part, alike: Alike, steps: Sequence[list[Node]]) -> None:
        self.part = part
        self.nodes = dict(zip(alike.leaves, part.leaves, strict=True))
        self._way = {
            n: (root, new) for n, root, new in zip(part.outputs, alike.outputs, steps, strict=True)
        }
        self._inputs = list(part.inputs)

    def made(self, output: Node, now: Mapping[Node, Node]) -> Node:
        """What the next output of the part becomes; `now`: what outputs before it, also of other
        parts, have become."""
        nodes = self.nodes
        root, new = self._way[output]
        for n in new:
            is_elsewhere = n.op is Op.ELSEWHERE
            nodes[n] = (
                now[self._inputs[n.arg[0]]]
                if is_elsewhere
                else rebuild(n, tuple([nodes[s] for s in n.src]))
            )
        return nodes[root]
