"""Graph -> Kernels, part by part. In: a Graph in parts. Out: the Kernels of all parts, those of
equal parts made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..graph.graph import Node, toposort
from ..graph.op import Op
from ..graph.order import earliest_first
from ..kernels.fuse import Fused, fuse
from ..kernels.groups import EVERYTHING, Policy
from ..kernels.kernel import Chain, Kernel, Unit, kernel_name
from ..kernels.reason import Boundary, Reason, Rule
from ..kernels.units import collect
from .parted import PartedGraph


def kernels_of(graph: PartedGraph, policy: Policy = EVERYTHING) -> Fused:
    """The Kernels of a Graph. What one part reads of another is in memory."""
    if graph.is_whole:
        return fuse(collect(graph.alike[0].outputs), policy)
    place = {n: i for i, n in enumerate(toposort(graph.roots))}
    copies = [
        _FusedCopy(fused, c.nodes, place)
        for alike, made in zip(graph.alike, graph.copies, strict=True)
        for fused in [fuse(collect(alike.outputs), policy)]
        for c in made
    ]
    maker = _makers(k for c in copies for k in c.kernels.values())
    if maker is None:
        return fuse(collect([*graph.roots, *graph.kept]), policy)
    kernels = dict.fromkeys(maker.values())
    needs = {k: {maker[n] for n in k.inputs if n in maker} - {k} for k in kernels}
    ordered = earliest_first(needs, lambda k: k.units[-1].position)
    name = {k: kernel_name(k.units, k.kind, k.anchor, i) for i, k in enumerate(ordered)}
    pairs = [
        *((h, k, reason) for c in copies for h, k, reason in c.boundaries),
        *((maker[n], k, reason) for c in copies for n, k, reason in c.reads),
    ]
    boundaries = [
        Boundary(name[h], name[k], reason) for h, k, reason in pairs if h in name and k in name
    ]
    return Fused([replace(k, name=name[k]) for k in ordered], boundaries)


def _makers(kernels: Iterable[Kernel]) -> dict[Node, Kernel] | None:
    """The Kernel that makes each output. Where parts evaluate the same for themselves, as the words
    of one seed, the first of equal Kernels makes it for all; None where Kernels have some outputs
    in common and others not: one might then wait for itself."""
    maker: dict[Node, Kernel] = {}
    for k in kernels:
        first = next((maker[n] for n in k.outputs if n in maker), None)
        if first is not None and first.outputs != k.outputs:
            return None
        maker.update((n, first or k) for n in k.outputs)
    return maker


class _FusedCopy:
    """The Kernels of a part, after those of an equal one. `nodes`: what Nodes of that one's Graph
    are here."""

    def __init__(self, fused: Fused, nodes: Mapping[Node, Node], place: Mapping[Node, int]) -> None:
        self._nodes, self._place = nodes, place
        self._units: dict[Unit, Unit] = {}
        self.kernels = {
            k.name: self._kernel(k) for k in fused.kernels if k.units[0].node.op is not Op.ELSEWHERE
        }
        own, reason = (
            self.kernels,
            Reason(Rule.PARTS, "what passes between layers that are compiled once is stored"),
        )
        pairs = [(own.get(b.producer), own.get(b.consumer), b.reason) for b in fused.boundaries]
        self.boundaries = [
            (h, k, because) for h, k, because in pairs if h is not None and k is not None
        ]
        read = [
            (n, own[k.name])
            for k in fused.kernels
            if k.name in own
            for n in k.inputs
            if n.op is Op.ELSEWHERE
        ]
        self.reads = [(nodes[n], k, reason) for n, k in read]

    def _unit(self, u: Unit) -> Unit:
        unit = self._units.get(u)
        if unit is None:
            node = self._nodes[u.node]
            unit = self._units[u] = Unit(node, self._place[node], u.axes)
        return unit

    def _kernel(self, k: Kernel) -> Kernel:
        of = self._unit
        return replace(
            k,
            units=[of(u) for u in k.units],
            outer={of(u): axes for u, axes in k.outer.items()},
            outputs=[self._nodes[n] for n in k.outputs],
            inputs=[self._nodes[n] for n in k.inputs],
            anchor=None if k.anchor is None else of(k.anchor),
            chain=None if k.chain is None else _chain(k.chain, of),
            columns={of(u): axes for u, axes in k.columns.items()},
            copy_of=k,
        )


def _chain(c: Chain, of: Callable[[Unit], Unit]) -> Chain:
    return replace(
        c,
        scores=[of(u) for u in c.scores],
        inner=[of(u) for u in c.inner],
        results=[of(u) for u in c.results],
        labels={of(u): labels for u, labels in c.labels.items()},
        owner={of(u): of(result) for u, result in c.owner.items()},
    )
