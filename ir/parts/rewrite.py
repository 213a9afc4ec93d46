"""Graph -> Graph, part by part. In: roots, a pass. Out: what the pass makes of them, asked once for
equal parts.

before    x1 = layer(x0); x2 = layer(x1); ...
asked     layer(ELSEWHERE)
after     x1 = layer'(x0); x2 = layer'(x1); ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph.graph import Node, rebuild, toposort
from ..graph.op import Op
from .part import Part
from .split import parts_of

Rewrite = Callable[[list[Node]], list[Node]]


def rewritten(roots: Sequence[Node], rewrite: Rewrite) -> list[Node]:
    """The roots after a pass that keeps values, and needs to see no more of a Graph than a part and
    what passes through it."""
    parts = parts_of(roots)
    if not parts:
        return rewrite(list(roots))
    maker = {n: c for alike in parts for c in _copies(alike, rewrite) for n in c.part.outputs}
    done: dict[Node, Node] = {}
    for n in toposort(roots):
        if n in maker:
            done[n] = maker[n].made(n, done)
    return [done[r] for r in roots]


def _copies(alike: Sequence[Part], rewrite: Rewrite) -> list[_Copy]:
    first = alike[0]
    graph = first.graph()
    outputs = rewrite([graph[n] for n in first.outputs])
    steps = _steps(outputs, [graph[n] for n in first.nodes if n.op is Op.INPUT])
    return [_Copy(p, outputs, steps) for p in alike]


@dataclass(frozen=True)
class _Steps:
    """The way to the outputs of a part: its leaves, and for each output the Nodes that those before
    it have not needed."""

    leaves: list[Node]
    new: list[list[Node]]


def _steps(outputs: Sequence[Node], leaves: list[Node]) -> _Steps:
    known = dict.fromkeys(leaves)
    new = []
    for n in outputs:
        new.append(toposort([n], known))
        known |= dict.fromkeys(new[-1])
    return _Steps(leaves, new)


class _Copy:
    """A part whose outputs are made in the steps of an equal part. `known`: what the Nodes of these
    are here."""

    def __init__(self, part: Part, outputs: Sequence[Node], steps: _Steps) -> None:
        self.part = part
        self.known = dict(
            zip(steps.leaves, (n for n in part.nodes if n.op is Op.INPUT), strict=True)
        )
        self._way = {
            n: (root, new) for n, root, new in zip(part.outputs, outputs, steps.new, strict=True)
        }
        self._inputs = list(part.inputs)

    def made(self, output: Node, done: dict[Node, Node]) -> Node:
        """What the next output of the part becomes; `done`: what outputs before it, also of other
        parts, have become."""
        known = self.known
        root, new = self._way[output]
        for n in new:
            is_elsewhere = n.op is Op.ELSEWHERE
            known[n] = (
                done[self._inputs[n.arg[0]]]
                if is_elsewhere
                else rebuild(n, tuple([known[s] for s in n.src]))
            )
        return known[root]
