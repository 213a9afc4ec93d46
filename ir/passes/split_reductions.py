"""Reductions in two steps wherever that gains. In: a Graph, how inputs lie in memory. Out: the
same, of partial results.

    before    sum(x[16777216])                after    sum(sum(reshape(x, [128, 131072]), 1), 0)

A reduction with few results still runs on every thread, in an order fixed by its shape alone. The
two are kernels of their own, not phases of one, so that the finishing sum fuses with what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.graph import Node, toposort
from ..graph.op import ELEMENTWISE, VIEWS, Op
from ..graph.rewrite import mapped
from ..kernels.column_sums import joined_whole
from .centred import by_parts, centred
from .split import Strides, split
from .split_windows import windows_in_parts


def split_reductions(roots: Sequence[Node], strides: Strides | None = None) -> list[Node]:
    """All that gain by it; those around a mean in the parts of the mean. `strides`: how inputs lie
    in memory."""
    nodes, strides = toposort(roots), strides or {}
    cuts, whole = centred(nodes, strides), joined_whole(nodes)
    repeated = _with_sums_around(_repeated(nodes), nodes)

    def cut_up(old: Node, n: Node) -> Node:
        if old in cuts:
            return by_parts(n, cuts[old])
        if old in whole:
            return n
        return windows_in_parts(n) or split(n, strides, old in repeated)

    return mapped(roots, nodes, cut_up)


def _repeated(nodes: Sequence[Node]) -> set[Node]:
    """Those of which maps and views lead to a value that is repeated."""
    found = set[Node]()
    for n in reversed(nodes):
        if n in found or n.op is Op.EXPAND:
            found |= {s for s in n.src if s.shape and (n.op in ELEMENTWISE or n.op in VIEWS)}
    return {n for n in found if n.op is Op.REDUCE}


def _with_sums_around(repeated: set[Node], nodes: Sequence[Node]) -> set[Node]:
    """Those, and sums over the same axes of what they went into, as of squares of what is
    centred: all of them may be one kernel."""
    if not repeated:
        return repeated
    found, went_in = set(repeated), dict[Node, frozenset[Any]]()
    for n in nodes:
        axes = frozenset[Any]().union(*(went_in.get(s, ()) for s in n.src))
        if n.op is Op.REDUCE and n.arg in axes:
            found.add(n)
        if n in found:
            axes = frozenset({n.arg})
        elif n.op not in ELEMENTWISE and n.op not in VIEWS:
            continue
        if axes:
            went_in[n] = axes
    return found
