"""Gathers that are stored before windows read them. In: a Graph. Out: the same, with a KEEP around
each of them.

    before    sum(windows(table[i]) * w)     after    sum(windows(keep(table[i])) * w)

A convolution over embeddings reads each element once a window: it is gathered once, not as often as
it is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, node, toposort
from ..graph.op import Op
from ..graph.rewrite import is_sum_of_products, mapped
from ..kernels.kernel import is_seen_through


def keep_gathers(roots: Sequence[Node]) -> list[Node]:
    """Stores gathers whose elements a sum of products reads through windows."""
    nodes = toposort(roots)
    gathers = {g for n in nodes for g in _windowed(n)}
    if not gathers:
        return list(roots)
    return mapped(roots, nodes, lambda old, n: node(Op.KEEP, (n,)) if old in gathers else n)


def _windowed(n: Node) -> list[Node]:
    """The gathers that a sum of products reads so."""
    if not is_sum_of_products(n):
        return []
    factors = [_through_views(f) for f in n.src[0].src]
    return [base for base, windows in factors if windows and base.op is Op.GATHER]


def _through_views(n: Node) -> tuple[Node, bool]:
    """(what a value is a view of, whether through windows)."""
    windows = False
    while is_seen_through(n):
        windows |= n.op is Op.SKEW
        n = n.src[0]
    return n, windows
