"""Graph -> Graph, part by part. In: roots, a pass. Out: what the pass makes of them, asked once for equal parts.

    before    x1 = layer(x0); x2 = layer(x1); ...
    asked     layer(ELSEWHERE)
    after     x1 = layer'(x0); x2 = layer'(x1); ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph.graph import Node, rebuild, toposort
from ..graph.op import Op
from .part import Part
from .split import parts_of

Rewrite = Callable[[list[Node]], list[Node]]


def rewritten(roots: Sequence[Node], rewrite: Rewrite) -> list[Node]:
    """The roots after a pass that keeps values, and needs to see no more of a Graph than a part and what passes through it."""
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
    leaves = [{graph[a]: b for a, b in zip(first.nodes, p.nodes, strict=True) if a.op is Op.INPUT} for p in alike]
    return [_Copy(p, outputs, known) for p, known in zip(alike, leaves, strict=True)]


class _Copy:
    """A part whose outputs are made as those of an equal part. `known`: what Nodes of that one's Graph are here."""

    def __init__(self, part: Part, outputs: Sequence[Node], known: dict[Node, Node]) -> None:
        self.part, self.known = part, known
        self._outputs = dict(zip(part.outputs, outputs, strict=True))
        self._inputs = list(part.inputs)

    def made(self, output: Node, done: dict[Node, Node]) -> Node:
        """What an output of the part becomes; `done`: what the outputs before it, of any part, have become."""
        known, root = self.known, self._outputs[output]
        for n in toposort([root], known):
            is_elsewhere = n.op is Op.ELSEWHERE
            known[n] = done[self._inputs[n.arg[0]]] if is_elsewhere else rebuild(n, tuple([known[s] for s in n.src]))
        return known[root]
