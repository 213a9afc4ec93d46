"""Fusion: Units -> Kernels, with a Reason for every boundary.

    before                                  after
    max(x) | exp(x - max) | sum | div       one kernel: outer rows; stages max, sum(exp), write

Two groups merge if the rules allow it (rules.py) and it saves bytes (search.py). What is gained:
values stay in registers and cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ..graph.graph import Node, toposort
from ..graph.op import Op
from .groups import EVERYTHING, Fusion, Group, Policy
from .kernel import Kernel, Kind, kernel_kind, kernel_name
from .reason import Boundary, Reason, Rule
from .rules import legal
from .search import merged
from .units import Units


@dataclass
class Fused:
    """What fusion decided: kernels in program order and why neighbours stayed apart."""

    kernels: list[Kernel]
    boundaries: list[Boundary]

    def named(self, prefix: str) -> Fused:
        """The same, where the names of kernels begin with something."""
        if not prefix:
            return self
        kernels = [replace(k, name=prefix + k.name) for k in self.kernels]
        boundaries = [
            replace(b, producer=prefix + b.producer, consumer=prefix + b.consumer)
            for b in self.boundaries
        ]
        return Fused(kernels, boundaries)

    @cached_property
    def read(self) -> set[Node]:
        """All that a kernel reads from memory."""
        return {n for k in self.kernels for n in k.inputs}


def fuse(units: Units, policy: Policy = EVERYTHING) -> Fused:
    """Groups units into kernels; deterministic."""
    f = Fusion(units, policy)
    kernels = {g: _kernel(f, g, i) for i, g in enumerate(merged(f))}
    boundaries = [
        Boundary(kernels[h].name, k.name, _reason(f, h, g))
        for g, k in kernels.items()
        for h in _sources(f, g)
    ]
    return Fused(list(kernels.values()), boundaries)


def _sources(f: Fusion, g: Group) -> list[Group]:
    """The groups that a group reads, in the order in which it does."""
    return [h for h in dict.fromkeys(f.group[p] for p, _, _ in f.edges_into(g)) if h is not g]


def _reason(f: Fusion, producer: Group, consumer: Group) -> Reason:
    """Why two groups stayed apart: asked again, since they have grown."""
    answer = legal(f, producer, consumer)
    return (
        answer
        if isinstance(answer, Reason)
        else Reason(Rule.CYCLE, "another kernel must run between them")
    )


def _kernel(f: Fusion, g: Group, number: int) -> Kernel:
    form, members, inline = g.form, {u.node for u in g.units}, f.units.inline
    outputs = [u.node for u in g.units if f.escapes(u, form)]
    read = dict.fromkeys(
        r.base
        for u in g.units
        for r in u.reads
        if r.base not in members or r.base not in f.units.of
    )
    # inline Nodes are evaluated here, from their 0-d inputs
    behind = toposort([n for n in read if n in inline])
    inputs = list(
        dict.fromkeys(
            [*(n for n in read if n not in inline), *(n for n in behind if n.op is Op.INPUT)]
        )
    )
    outer = {u: axes for u, axes in form.outer.items() if axes is not None}
    kind: Kind = "chain" if g.chain is not None else kernel_kind(g.units, form.anchor)
    name = kernel_name(g.units, kind, form.anchor, number)
    return Kernel(
        name,
        kind,
        g.units,
        outer,
        form.extents,
        outputs,
        inputs,
        form.anchor,
        g.chain,
        form.columns,
    )
