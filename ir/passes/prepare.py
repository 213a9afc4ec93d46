"""Graph -> Graph before units are formed: empty sources become constants, long reductions partial sums; deep views and what
windows read of gathered rows are stored.

    before    sum(x[16777216])                after    sum(sum(reshape(x, [128, 131072]), 1), 0)

What is gained: a reduction with few results still runs on every thread, in an order fixed by its shape alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..graph import dtype as dt
from ..graph.graph import Node, full, node, rebuild, toposort
from ..graph.op import VIEWS, Op
from ..graph.site import provenance
from ..kernels.column_sums import joined_whole
from ..kernels.kernel import is_widening
from .centred import by_parts, centred
from .split_reductions import Strides, split

MAX_RESHAPES = 6  # between computed values


def prepare(roots: Iterable[Node], strides: Strides | None = None, strict: bool = False) -> list[Node]:
    """The same values, in a form whose every kernel has work and enough parallelism. `strides`: how inputs lie in memory.

    `strict`: sums stay as they are.
    """
    roots, strides = list(roots), strides or {}
    nodes = toposort(roots)
    gathered = {g for n in nodes for g in _windowed_gathers(n)}
    cuts, whole = ({}, set(nodes)) if strict else (centred(nodes, strides), joined_whole(nodes))
    done: dict[Node, Node] = {}
    depth: dict[Node, int] = {}  # reshapes since the last computed value
    with provenance(None) as here:
        for n in nodes:
            here.move(n.site)
            new = rebuild(n, tuple(done[s] for s in n.src)) if n.src else n
            made = _without_empty(new)
            if n in cuts:
                made = by_parts(made, cuts[n])
            elif n not in whole:
                made = split(made, strides)
            done[n], depth[n] = _kept_if_deep(made, max((depth[s] for s in n.src), default=0))
            if n in gathered:
                done[n] = node(Op.KEEP, (done[n],))
    return [done[r] for r in roots]


def _windowed_gathers(n: Node) -> list[Node]:
    """Gathers whose elements a sum of products reads through windows, once a window: a convolution over embeddings."""
    if n.op is not Op.REDUCE or n.arg[0] != "add" or n.src[0].op is not Op.MUL:
        return []
    factors = [_through_views(f) for f in n.src[0].src]
    return [base for base, windows in factors if windows and base.op is Op.GATHER]


def _through_views(n: Node) -> tuple[Node, bool]:
    """(what a value is a view of, whether through windows)."""
    windows = False
    while n.op in VIEWS or n.op is Op.DETACH or is_widening(n):
        windows |= n.op is Op.SKEW
        n = n.src[0]
    return n, windows


def _kept_if_deep(n: Node, depth: int) -> tuple[Node, int]:
    """Stores a view behind many reshapes that did not simplify: each divides the index once more."""
    if n.op not in VIEWS:
        return n, 0
    depth += n.op is Op.RESHAPE
    return (node(Op.KEEP, (n,)), 0) if depth > MAX_RESHAPES else (n, depth)


def _without_empty(n: Node) -> Node:
    """A value computed from an empty one is the op's identity; an empty one needs no other value."""
    if all(s.size for s in n.src):
        return n if n.size or not n.src else full(0, n.dtype, n.shape)
    if n.op is Op.REDUCE:
        kind = n.arg[0]
        return full(dt.lowest(n.dtype) if kind == "max" else int(kind == "mul"), n.dtype, n.shape)
    is_max = n.op is Op.SCATTER and n.arg[2:]
    return full(dt.lowest(n.dtype) if is_max else 0, n.dtype, n.shape)


