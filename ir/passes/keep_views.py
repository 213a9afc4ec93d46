"""Views after many reshapes, stored. In: a Graph. Out: the same, with a KEEP after every so many
reshapes in a row.

Reshapes that did not simplify divide the index once more each.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, node, toposort
from ..graph.op import VIEWS, Op
from ..graph.rewrite import mapped

MOST_RESHAPES = 6  # between computed values


def keep_deep_views(roots: Sequence[Node]) -> list[Node]:
    """Stores each view that is one reshape too many away from what was computed."""
    nodes = toposort(roots)
    deep: set[Node] = set()
    depth: dict[Node, int] = {}  # reshapes since the last computed or stored value
    for n in nodes:
        depth[n] = (
            max((depth[s] for s in n.src), default=0) + (n.op is Op.RESHAPE) if n.op in VIEWS else 0
        )
        if depth[n] > MOST_RESHAPES:
            deep.add(n)
            depth[n] = 0
    if not deep:
        return list(roots)
    return mapped(roots, nodes, lambda old, n: node(Op.KEEP, (n,)) if old in deep else n)
