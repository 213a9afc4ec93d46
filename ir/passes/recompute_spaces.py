"""Graph -> Graph: what several chains of contractions need of one space is computed in each, so
that none of them stores it.

    before    S -> P -> O ... loss ... dO -> dS(P) -> dQ        P is needed on both sides of the
                                                                loss: stored, T x T
    after     S -> P -> O ... loss ... dO;  S' -> P' -> dS' -> dQ     only the maximum and the sum
                                                                      of each row are stored

What is gained: attention's gradients need memory for rows, not for scores. A copy is made distinct
by a DETACH under its product, which vanishes at lowering. Where the parts would not become chains
the graph stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from ..graph.graph import Node, node, reach, rebuild, toposort
from ..graph.op import Op
from ..graph.site import provenance
from ..kernels.chain import ChainFinder
from ..kernels.contraction import products_of, users_of
from ..kernels.kernel import Chain, Unit, is_seen_through
from ..kernels.units import NONE, collect
from .row_sums import row_sums_of_results

MIN_PRODUCTS = 3  # contractions of a graph in which a space may be needed twice
Views = Mapping[Node, Sequence[Node]]  # those of each Node


@dataclass(eq=False)
class Plan:
    """A space in parts, each of which computes the region for itself; `part` numbers results and
    row reductions."""

    region: set[Node]
    products: set[Node]  # of its scores
    part: dict[Node, int]
    results: list[Node]
    copies: list[dict[Node, Node]] = field(default_factory=list)

    @property
    def parts(self) -> int:
        return 1 + max(self.part.values())


def recompute_spaces(roots: Sequence[Node], only_blocks: bool = False) -> list[Node]:
    """The same values; a space that cannot be one kernel is computed in several. `only_blocks`: see
    ChainFinder.

    First in one part for each side of what lies between its results; where that is too much for one
    kernel, also by whether a result sums over the columns or the rows, with sums along the rows
    taken of results.
    """
    roots = list(roots)
    if sum(n.op is Op.REDUCE and n.src[0].op is Op.MUL for n in toposort(roots)) < MIN_PRODUCTS:
        return roots
    finder = _finder(roots, only_blocks)
    best, failed = _attempt(roots, finder, by_side=False)
    if failed:
        summed = row_sums_of_results(roots, _spaces(finder))
        again = _finder(summed, only_blocks, finder.units.of)
        other, still_failed = _attempt(summed, again, by_side=True, most=failed - 1)
        best = other if still_failed < failed else best
    return best


def _finder(
    roots: Sequence[Node], only_blocks: bool, alike: Mapping[Node, Unit] = NONE
) -> ChainFinder:
    units = collect(roots, alike=alike)
    users = users_of(units)
    return ChainFinder(units, users, products_of(units, users), only_blocks)


def _spaces(finder: ChainFinder) -> list[Chain]:
    """Those with reductions along their rows: a space without is not worth computing twice."""
    return [c for c in finder.spaces if c.reduces]


def _attempt(
    roots: list[Node], finder: ChainFinder, by_side: bool, most: float = inf
) -> tuple[list[Node], int]:
    """(the graph with spaces in parts where they then become chains, the number of spaces where
    they do not). `most`: such spaces beyond which it is given up."""
    order = toposort(roots)
    place = {n: i for i, n in enumerate(order)}
    views: dict[Node, list[Node]] = {}
    for n in order:
        if is_seen_through(n):
            views.setdefault(n.src[0], []).append(n)
    whole = {u for c in finder.chains() for u in c.results}
    plans = [
        _plan(place, c, finder, views, by_side)
        for c in _spaces(finder)
        if not whole.issuperset(c.results)
    ]
    wanted = len(plans)
    while plans:
        done = _rebuilt(order, plans)
        new = [done[r] for r in roots]
        made = [done, *(copies for p in plans for copies in p.copies)]
        alike = {m[n]: u for m in made for n, u in finder.units.of.items() if n in m}
        again = _finder(new, finder.only_blocks, alike)
        left = _chained(plans, done, (c for c in again.spaces if again.may_be_worth(c)))
        if len(left) == len(plans):  # else sizes need not be asked
            left = _chained(plans, done, again.chains())
        if wanted - len(left) > most:
            break
        if len(left) == len(plans):
            return new, wanted - len(plans)
        plans = left
    return roots, wanted


def _chained(
    plans: Iterable[Plan], done: Mapping[Node, Node], chains: Iterable[Chain]
) -> list[Plan]:
    """The plans all of whose results are those of chains."""
    chained = {u.node for c in chains for u in c.results}
    return [p for p in plans if all(done[n] in chained for n in p.results)]


# ---------------------------------------------------------------- parts


def _plan(
    place: Mapping[Node, int], chain: Chain, finder: ChainFinder, views: Views, by_side: bool
) -> Plan:
    """Results at the same distance from the first are a part; so are, with `by_side`, all that sum
    over the rows."""
    products = {finder.contractions[u].node for u in chain.scores}
    region = _region(chain, finder, views)
    depth = _depths(place, region | {u.node for u in (*chain.inner, *chain.results)})
    last = max(depth[u.node] for u in chain.results)
    key = {u.node: (depth[u.node], False) for u in chain.results}
    if by_side:
        key |= {u.node: (last, True) for u in chain.results if chain.sums_rows(u)}
    keys = sorted(set(key.values()))
    for u in chain.inner:
        if u.node.op is Op.REDUCE:
            key[u.node] = next(
                (k for k in keys if k >= (depth[u.node], False) and not k[1]), keys[-1]
            )
    return Plan(
        region,
        products,
        {n: keys.index(k) for n, k in key.items()},
        [u.node for u in chain.results],
    )


def _region(chain: Chain, finder: ChainFinder, views: Views) -> set[Node]:
    """Scores, maps of the space, views of both, and the products of scores and results."""
    values = {u.node for u in (*chain.scores, *chain.inner) if chain.spans(u)}
    products = {finder.contractions[u].node for u in chain.contractions}
    return set(reach(values | products, lambda n: views.get(n, ())))


def _depths(place: Mapping[Node, int], members: set[Node]) -> dict[Node, int]:
    """How often the way to a member of a space leaves the members for other computations. `place`:
    of every Node, in order."""
    depth: dict[Node, int] = {}
    inside: set[Node] = set()
    places = [place[n] for n in members]
    for n in islice(place, min(places), max(places) + 1):
        stays = n in members or is_seen_through(n)
        if n in members or (stays and n.src[0] in inside):
            inside.add(n)
        depth[n] = max((depth.get(s, 0) + (s in inside and not stays) for s in n.src), default=0)
    return depth


def _rebuilt(order: Sequence[Node], plans: Sequence[Plan]) -> dict[Node, Node]:
    """What becomes of every Node: results and row reductions of part k are made of the k-th copy of
    their region."""
    done: dict[Node, Node] = {}
    region = {n: p for p in plans for n in p.region}
    numbered = {n: p for p in plans for n in p.part}
    for p in plans:
        p.copies = [{} for _ in range(p.parts)]
    for n in order:
        if n in region:
            for number, copies in enumerate(region[n].copies):
                copies[n] = _copy(
                    n, [copies.get(s, done[s]) for s in n.src], number * (n in region[n].products)
                )
            done[n] = region[n].copies[0][n]
        else:
            copies = numbered[n].copies[numbered[n].part[n]] if n in numbered else {}
            done[n] = rebuild(n, tuple(copies.get(s, done[s]) for s in n.src))
    return done


def _copy(n: Node, src: Sequence[Node], marks: int) -> Node:
    """n over other sources, with as many DETACHs under its first one."""
    first, *rest = src
    with provenance(n.site):
        for _ in range(marks):
            first = node(Op.DETACH, (first,))
    return rebuild(n, (first, *rest))
