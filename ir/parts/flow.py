"""Flow of computed values. In: the roots of a Graph. Out: the Nodes that become Units, and which of
them each one reads.

Views, constants and what is evaluated where it is used stand between these; each part of a Graph
has such Nodes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph.graph import Node, toposort
from ..graph.op import ELEMENTWISE, REGIONAL, SCANS, SYSTEMS, Op
from ..kernels.contraction import contracts
from ..kernels.kernel import is_widening
from ..kernels.units import inline_nodes

COMPUTED = (
    ELEMENTWISE
    | REGIONAL
    | SYSTEMS
    | {Op.REDUCE, Op.SCATTER, Op.PUT, Op.ARGSORT, Op.FFT, Op.KEEP, Op.ELSEWHERE, *SCANS}
)


class Flow:
    """Attributes: `order`, all Nodes, sources first; `values`, what is computed, and roots;
    `sources` and `readers` of each."""

    def __init__(self, roots: Sequence[Node]) -> None:
        self.order = toposort(roots)
        self.place = {n: i for i, n in enumerate(self.order)}
        self.roots = dict.fromkeys(roots)
        inline = inline_nodes(self.order)
        below = self.below = dict[
            Node, tuple[Node, ...]
        ]()  # the computed values that are needed where a Node is evaluated
        self.sources: dict[Node, tuple[Node, ...]] = {}
        for n in self.order:
            needed = _joined(below[s] for s in n.src)
            if n in self.roots or (n.op in COMPUTED and n not in inline and not is_widening(n)):
                self.sources[n] = needed
                needed = (n,)
            below[n] = needed
        self.values = list(self.sources)
        self.readers: dict[Node, list[Node]] = {n: [] for n in self.values}
        for n, sources in self.sources.items():
            for s in sources:
                self.readers[s].append(n)


def levels_of(flow: Flow) -> tuple[dict[Node, int], set[Node]]:
    """(of each value the contractions on the way to it, the products that contractions sum up)."""
    level: dict[Node, int] = {}
    products: set[Node] = set()
    for n in flow.values:
        is_contraction = n.op is Op.REDUCE and n.arg[0] == "add" and contracts(n.src[0], n.arg[1])
        if is_contraction:
            products.add(n.src[0])
        below = [level[s] for s in flow.sources[n]]
        # between what a part gives and what it gets for that lie contractions of others
        level[n] = max(below, default=0) + (
            is_contraction or (n.op is Op.ELSEWHERE and bool(below))
        )
    return level, products


def _joined(parts: Iterable[tuple[Node, ...]]) -> tuple[Node, ...]:
    some = [p for p in parts if p]
    return some[0] if len(some) == 1 else tuple(dict.fromkeys(n for p in some for n in p))
