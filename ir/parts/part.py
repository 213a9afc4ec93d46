"""A part of a Graph. In: the values that it computes. Out: its Nodes in an order that equal parts
share, as a Graph of its own.

Parts may need each other, both before and after: a layer and its gradient are one part, and the
loss lies between. What is made elsewhere of a part's outputs and read by it is an ELSEWHERE in its
Graph, so paths through other parts are seen there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..graph.graph import Node, const_key, rebuild, shaped, toposort
from ..graph.op import INDEXED, Op

Strides = Mapping[Node, tuple[int, ...]]  # of inputs


@dataclass(eq=False)
class Part:
    """`nodes`: all that it evaluates and the inputs of the Graph, sources first. `inputs`: what
    other parts compute, and for each the outputs of this one that it is made of (`after`).
    `outputs`: what other parts or the user read.
    """

    nodes: list[Node]
    inputs: dict[Node, list[Node]]
    outputs: list[Node]

    @property
    def leaves(self) -> list[Node]:
        """The inputs of the Graph that it evaluates."""
        return [n for n in self.nodes if n.op is Op.INPUT]

    def form(self, strides: Strides) -> Hashable:
        """Equal for parts that differ in nothing but what they read. `strides`: how the inputs of
        the Graph lie in memory."""
        if any(n.op in INDEXED for n in self.nodes):  # indices name Nodes
            return self
        numbers = {n: i for i, n in enumerate((*self.inputs, *self.nodes))}
        inputs = [
            (n.dtype, n.shape, *(numbers[o] for o in after)) for n, after in self.inputs.items()
        ]
        nodes = [
            (n.op, _argument(n, strides), n.dtype, n.shape, n.site, *(numbers[s] for s in n.src))
            for n in self.nodes
        ]
        return tuple(inputs), tuple(nodes), tuple([numbers[n] for n in self.outputs])

    def graph(self) -> dict[Node, Node]:
        """What every Node, and every input, is in a Graph of this part alone."""
        known: dict[Node, Node] = {}
        places = {n: i for i, n in enumerate(self.inputs)}

        def source(s: Node) -> Node:
            if s not in known:
                after = tuple(known[o] for o in self.inputs[s])
                known[s] = shaped(
                    Op.ELSEWHERE, after, (places[s], s.dtype, s.shape), s.dtype, s.shape
                )
            return known[s]

        for n in self.nodes:
            known[n] = rebuild(n, tuple([source(s) for s in n.src]))
        return known


def _argument(n: Node, strides: Strides) -> object:
    if n.op is Op.INPUT:
        return strides.get(n)
    return const_key(n.arg, n.dtype) if n.op is Op.CONST else n.arg


def part_of(
    outputs: Sequence[Node], external: Iterable[Node], after: Mapping[Node, Sequence[Node]]
) -> Part:
    """The part that computes these, in order, of what is external to it."""
    nodes = toposort(outputs, dict.fromkeys(external))
    own = set(nodes)
    inputs = dict.fromkeys(s for n in nodes for s in n.src if s not in own)
    return Part(nodes, {n: list(after[n]) for n in inputs}, list(outputs))
