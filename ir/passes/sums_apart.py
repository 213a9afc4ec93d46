"""Graph -> Graph: a sum of added products becomes the sum of each product, and these are added.

    before    sum_k(a * b + c * d)        after    sum_k(a * b) + sum_k(c * d)

The gradient of a weight that is used several times has this form. What is gained: each sum is a contraction, whose
factors are read once for a tile of results; a sum of several products is none.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from ..graph.graph import Node, node, rebuild, reduce, toposort
from ..graph.op import VIEWS, Op
from ..graph.rewrite import Trace
from ..graph.site import provenance
from ..graph.views import is_steady
from ..kernels.contraction import MIN_CONTRACTION

Addend = tuple[Node, tuple[Node, ...]]  # a Node and the views through which a sum sees it, the innermost first


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
            done[n] = _added([reduce("add", _added([_seen(done[x], views) for x, views in p]), n.arg[1]) for p in parts[n]])
            if trace is not None:
                trace.append(("sums_apart", n, done[n]))
    return [done[r] for r in roots]


def _parts(n: Node, users: Mapping[Node, int]) -> list[list[Addend]]:
    """What is summed by itself: each product that makes a contraction, and all else together. Empty if n is no sum of these."""
    addends = _addends(n.src[0], users) if n.op is Op.REDUCE and n.arg[0] == "add" else []
    if len(addends) < 2:
        return []
    products = [a for a in addends if _contracts(*a, n.arg[1])]
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


def _contracts(x: Node, views: Sequence[Node], axes: Sequence[int]) -> bool:
    """Is the sum over a product a contraction: does each factor stay the same along an axis of the result that the other has?"""
    if x.op is not Op.MUL or not x.dtype.is_float:
        return False
    factors = [_seen(f, views) for f in x.src]
    shape = factors[0].shape
    if prod(shape) < MIN_CONTRACTION:
        return False
    kept = [a for a, d in enumerate(shape) if d > 1 and a not in axes]
    steady = [{a for a in kept if is_steady(f, a)} for f in factors]
    return bool(steady[0] - steady[1]) and bool(steady[1] - steady[0])


def _seen(x: Node, views: Sequence[Node]) -> Node:
    for view in views:
        x = node(view.op, (x,), view.arg)
    return x


def _added(terms: Sequence[Node]) -> Node:
    return functools.reduce(lambda a, b: node(Op.ADD, (a, b)), terms)
