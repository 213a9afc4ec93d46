"""Graph -> Graph: a sum of added products becomes the sum of each product, and these are added.

    before    sum_k(a * b + c * d)        after    sum_k(a * b) + sum_k(c * d)

The gradient of a weight that is used several times has this form. What is gained: each sum is a
contraction, whose factors are read once for a tile of results; a sum of several products is none.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..graph.graph import Node, node, rebuild, reduce, toposort
from ..graph.op import VIEWS, Op
from ..graph.rewrite import Trace
from ..graph.site import provenance
from ..kernels.contraction import contracts, seen

# a Node and the views through which a sum sees it, the innermost first
Addend = tuple[Node, tuple[Node, ...]]


def sums_apart(roots: Iterable[Node], trace: Trace | None = None) -> list[Node]:
    """Takes every such sum apart whose additions have no other user; `trace` takes note of it."""
    roots = list(roots)
    order = toposort(roots)
    users = Counter([*roots, *(s for n in order for s in n.src)])
    parts = {n: p for n in order if len(p := _parts(n, users)) > 1}
    if not parts:
        return roots
    done: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in order:
            here.move(n.site)
            if n not in parts:
                done[n] = rebuild(n, tuple([done[s] for s in n.src]))
                continue
            done[n] = _added(
                [
                    reduce("add", _added([seen(done[x], views) for x, views in p]), n.arg[1])
                    for p in parts[n]
                ]
            )
            if trace is not None:
                trace.append(("sums_apart", n, done[n]))
    return [done[r] for r in roots]


def _parts(n: Node, users: Mapping[Node, int]) -> list[list[Addend]]:
    """What is summed by itself: each product that makes a contraction, and all else together. Empty
    if n is no sum of these."""
    addends = _addends(n.src[0], users) if n.op is Op.REDUCE and n.arg[0] == "add" else []
    if len(addends) < 2:
        return []
    products = [a for a in addends if contracts(a[0], n.arg[1], a[1])]
    rest = [a for a in addends if a not in products]
    return [*([a] for a in products), *([rest] if rest else [])] if products else []


def _addends(x: Node, users: Mapping[Node, int]) -> list[Addend]:
    """What is added up, in order."""
    out: list[Addend] = []
    stack: list[Addend] = [(x, ())]
    while stack:
        x, views = stack.pop()
        if users[x] == 1 and x.op in VIEWS:
            stack.append((x.src[0], (x, *views)))
        elif users[x] == 1 and x.op is Op.ADD:
            stack += [(s, views) for s in reversed(x.src)]
        else:
            out.append((x, views))
    return out


def _added(terms: Sequence[Node]) -> Node:
    return functools.reduce(lambda a, b: node(Op.ADD, (a, b)), terms)
