"""Outputs that became one value, stored once each. In: the roots of a Graph. Out: roots of which no
two are one Node."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, node
from ..graph.op import Op
from ..graph.site import provenance
from ..parts.parted import PartedGraph, whole


def distinct(roots: Sequence[Node]) -> list[Node]:
    """Each root that was met before, in as many KEEPs as make it another Node."""
    seen: set[Node] = set()
    out = []
    for r in roots:
        copy = r
        while copy in seen:
            with provenance(r.site):
                copy = node(Op.KEEP, (copy,))
        seen.add(copy)
        out.append(copy)
    return out


def distinct_in_parts(graph: PartedGraph) -> PartedGraph:
    """The same for all that passes between parts; undivided where two parts have come to compute
    one value."""
    apart = graph.after(distinct)
    all_distinct = len(set(apart.now.values())) == len(apart.now)
    return apart if all_distinct else whole(distinct(apart.roots), apart.kept)
