"""Outputs that became one value, stored once each. In: the roots of a Graph. Out: roots of which no
two are one Node."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, node
from ..graph.op import Op
from ..graph.site import provenance


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
