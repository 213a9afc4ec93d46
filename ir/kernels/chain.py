"""Chained contractions: what attention is made of. In: Units and contractions. Out: Chains, each of
which becomes one kernel.

    S[b, i, j] = sum_d q[b, i, d] * k[b, j, d]       a score: a contraction that spans the space (b,
                                                     i, j)
    P = exp(S - max_j S) / sum_j ...                 maps of the space, reductions along its rows
    O[b, i, c] = sum_j P[b, i, j] * v[b, j, c]       a result: a contraction that leaves the space

What is gained: the space is never stored. Every value of the space has to be used inside it.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..graph.graph import Node, reach
from ..graph.index import Var
from ..graph.op import ELEMENTWISE, Op
from ..symbolic.questions import has_several
from .align import Form, Outer, factor_vars, identity_axes
from .chain_sizes import MOST_TERMS, ChainSizes, sizes_of, width
from .contraction import Users
from .kernel import Chain, Labels, Unit, at_sub_axes, base_of
from .places import Read
from .units import Units


def labels_of_reader(p: Unit, labels: Labels, r: Read) -> Labels | None:
    """What the variables of a reader are in the space, as far as it reads a labelled producer at
    the identity."""
    places = _identity(p, r)
    return None if places is None else {w: labels[v] for v, w in places.items()}


def labels_of_producer(p: Unit, reader: Labels, r: Read) -> Labels | None:
    """What the variables of a producer are, if its labelled reader reads it at the identity."""
    places = _identity(p, r)
    return (
        None
        if places is None or not reader.keys() >= set(places.values())
        else {v: reader[w] for v, w in places.items()}
    )


def _identity(p: Unit, r: Read) -> dict[Var, Var] | None:
    """The reader's variable at each variable of a producer that is read at the identity."""
    places = {}
    for e, sub in zip(r.index, p.kept(), strict=True):
        for v, part in zip(sub, at_sub_axes(e, sub), strict=True):
            w = part.as_var
            if has_several(v.extent):
                if w is None or w.extent != v.extent or r.mask:
                    return None
                places[v] = w
    return places


def with_epilogue(
    chain: Chain, form: Form, maps: Form, reads: list[tuple[Unit, Unit, Read]]
) -> Form | None:
    """The form of a chain together with maps that follow one of its results; None if there is not
    one result that they follow.

    Results (and what already follows them) are read at the identity, values of a row at that row.
    """
    followed: set[tuple[Unit, tuple[int, ...]]] = set()
    for p, c, r in reads:
        own, theirs = form.outer[p], maps.outer[c]
        if own is not None and theirs is not None:
            pairs = dict(identity_axes(p, own, theirs, r))
            if len(pairs) != len(own) or len(theirs) != len(own) or c.inner_vars(theirs):
                return None
            followed.add((chain.owner.get(p, p), tuple(pairs[i] for i in range(len(own)))))
    if len(followed) != 1:
        return None
    ((owner, order),) = followed
    moved: dict[Unit, Outer | None] = {
        u: None if o is None else tuple(o[k] for k in order) for u, o in maps.outer.items()
    }
    if any(o is None or u.inner_vars(o) for u, o in moved.items()):
        return None
    if not all(
        _at_row(chain, owner, p, moved[c] or (), r) for p, c, r in reads if form.outer[p] is None
    ):
        return None
    return Form(form.outer | moved, form.anchor, owner=dict.fromkeys(moved, owner))


def _at_row(chain: Chain, owner: Unit, p: Unit, outer: Outer, r: Read) -> bool:
    """Does a map that follows a result read a value of the rows at its own row?"""
    labels = labels_of_reader(p, chain.labels[p], r) if p in chain.labels else None
    mine = dict(zip(outer, owner.kept_vars(), strict=True))
    return labels is not None and all(
        v in mine and chain.labels[owner].get(mine[v]) is label for v, label in labels.items()
    )


class ChainFinder:
    """Grows a Chain from one score. `products[u]` is the contraction that a product belongs to.

    `chains` gives all that a CPU makes a kernel of; with only_blocks, those of which a kernel holds
    no more than a block.
    """

    def __init__(
        self, units: Units, users: Users, products: Mapping[Unit, Unit], only_blocks: bool = False
    ) -> None:
        self.units, self.users, self.products, self.only_blocks = (
            units,
            users,
            products,
            only_blocks,
        )
        self.contractions = {a: p for p, a in products.items()}
        self.labels: dict[Unit, Labels] = {}

    def chains(self) -> Iterator[Chain]:
        """Every chain that can be a kernel."""
        taken: dict[
            Unit, set[Unit]
        ] = {}  # the units of the chains so far, each with all of its chain
        spans: list[tuple[int, int]] = []  # the first and the last position of each chain
        for chain in self.spaces:
            members = self.members(chain)
            is_apart = taken.keys().isdisjoint(members)  # a result of one may be a score of another
            if is_apart and not self._comes_back(members, taken, spans) and self._is_worth(chain):
                taken |= dict.fromkeys(members, members)
                insort(spans, _span(members))
                yield chain

    @cached_property
    def spaces(self) -> list[Chain]:
        """Every space whose values are used in contractions alone, also of chains that are too much
        for one kernel."""
        seen: set[Unit] = set()
        spaces = []
        for seed in self.contractions:
            chain = self.grown(seed) if seed not in seen else None
            seen |= self.labels.keys()  # what belongs to a space that fails fails with it
            if chain is not None and self._closed(chain):
                spaces.append(chain)
        return spaces

    def grown(self, seed: Unit) -> Chain | None:
        """The space of which a contraction is a score, and everything that meets there."""
        sides = factor_vars(seed, self.contractions[seed])
        assert sides is not None
        kept = seed.kept_vars()
        self.sides = [
            frozenset(v for v in kept if v in sides[s] and v not in sides[1 - s]) for s in (0, 1)
        ]
        self.space = set(kept)
        self.columns: frozenset[Var] | None = None
        self.labels = {}
        self.results: dict[Unit, None] = {}
        self.met: set[Unit] = set()
        self.work: list[tuple[int, Unit]] = []
        self.escapes = False  # is a value of the space needed outside of it?
        self._add(seed, {v: v for v in kept})
        while self.work and not self.escapes:
            self._visit(heapq.heappop(self.work)[1])
        return None if self.escapes else self._chain(seed)

    def _add(self, u: Unit, labels: Labels) -> None:
        self.labels[u] = labels
        self.escapes |= u.node in self.units.stored and self._spans(u)
        for c, _ in self.users.get(u.node, ()):
            if c not in self.labels:
                heapq.heappush(self.work, (c.position, c))

    def _visit(self, c: Unit) -> None:
        if c in self.labels:
            return
        labels = self._labels(c)
        if labels is None:
            pass
        elif c in self.products:
            self._result(self.products[c], c, labels)
        elif c.node.op in ELEMENTWISE and set(c.kept_vars()) <= labels.keys():
            self._add(c, labels)
            self._scores_of(c)
        elif c.node.op is Op.REDUCE and set(c.inner_vars(())) <= labels.keys():
            self._row_reduction(c, labels)
        if c not in self.labels and self.products.get(c) not in self.results:
            self.escapes |= any(self._spans(p) for p, _ in self._reads(c))

    def _spans(self, u: Unit) -> bool:
        return {self.labels[u][v] for v in u.kept_vars()} == self.space

    def _reads(self, c: Unit) -> list[tuple[Unit, Read]]:
        """What c reads of the space and its rows."""
        reads = [(self.units.of[r.base], r) for r in c.reads if r.base in self.units.of]
        return [(p, r) for p, r in reads if p in self.labels and p not in self.results]

    def _labels(self, c: Unit) -> Labels | None:
        """What c's variables are in the space, as far as c reads it; None if it reads anything not
        in its place."""
        own: Labels = {}
        for p, r in self._reads(c):
            labels = labels_of_reader(p, self.labels[p], r)
            if labels is None or any(own.get(v, label) is not label for v, label in labels.items()):
                return None
            own |= labels
        return own

    def _row_reduction(self, c: Unit, labels: Labels) -> None:
        over = frozenset(labels[v] for v in c.inner_vars(c.kept_vars()))
        if (
            over in self.sides
            and self.columns in (None, over)
            and set(labels.values()) == self.space
        ):
            self.columns = over
            self._add(c, labels)

    def _scores_of(self, c: Unit) -> None:
        """A map of the space may be made of another contraction's result, too: that is then a
        score."""
        stack = [(c, self.labels[c])]
        while stack:
            u, mine = stack.pop()
            for r in u.reads:
                p = self.units.of.get(r.base)
                labels = (
                    None
                    if p is None or p in self.labels or p in self.met
                    else labels_of_producer(p, mine, r)
                )
                if p is None or labels is None or set(labels.values()) != self.space:
                    continue
                self.met.add(p)
                if p in self.contractions:
                    self._add(p, labels)
                elif p.node.op in ELEMENTWISE:
                    stack.append((p, labels))

    def _is_score(self, u: Unit, chain: Chain) -> bool:
        """Does one factor vary along the last axis of the rows, and the other along the columns?"""
        sides = factor_vars(u, self.contractions[u])
        assert sides is not None
        row, columns = chain.rows[-1], set(chain.columns)
        a, b = ({chain.labels[u][v] for v in side if v in chain.labels[u]} for side in sides)
        return any(
            row in q and not columns & q and columns & k and row not in k
            for q, k in ((a, b), (b, a))
        )

    def _is_result(self, u: Unit, chain: Chain) -> bool:
        """Does it sum over the columns (or the rows), and is its other factor the same for all rows
        of a block (all columns)?"""
        sides, factors = factor_vars(u, self.contractions[u]), self.contractions[u].node.src
        assert sides is not None
        space = _space_of(chain)
        inside = [i for i, f in enumerate(factors) if base_of(f) in space]
        if not inside:  # it reads the space through a gather
            return False
        over = {chain.labels[u].get(v) for v in u.inner_vars(u.kept_vars())}
        other = {chain.labels[u].get(v) for v in sides[1 - inside[0]]}
        if over == set(chain.rows):
            return other.isdisjoint(chain.columns)
        return over == set(chain.columns) and chain.rows[-1] not in other

    def _result(self, anchor: Unit, product: Unit, labels: Labels) -> None:
        """A contraction whose product has one factor in the space."""
        own = self._of_anchor(anchor, product, labels)
        if own is None:
            return
        over = frozenset(own[v] for v in anchor.inner_vars(anchor.kept_vars()) if v in own)
        summed = set(anchor.inner_vars(anchor.kept_vars())) <= own.keys()
        if (
            summed
            and over in self.sides
            and set(own.values()) == self.space
            and width(anchor, own) <= MOST_TERMS
        ):
            self.results[anchor] = None
            self.labels[anchor] = own

    def _of_anchor(self, anchor: Unit, product: Unit, labels: Labels) -> Labels | None:
        read = next(r for r in anchor.reads if r.base is product.node)
        own: Labels = {}
        for e, sub in zip(read.index, product.axes, strict=True):
            for v, part in zip(sub, at_sub_axes(e, sub), strict=True):
                if v in labels:
                    w = part.as_var
                    if w is None or w.extent != v.extent:
                        return None
                    own[w] = labels[v]
        return own

    # ------------------------------------------------------------ is it one?

    def _chain(self, seed: Unit) -> Chain | None:
        if self.columns is None and self.results:
            first = next(iter(self.results))
            self.columns = frozenset(
                self.labels[first][v] for v in first.inner_vars(first.kept_vars())
            )
        if self.columns is None or not self.results:
            return None
        self._drop_row_maps()
        rows = next(s for s in self.sides if s != self.columns)
        inner = sorted(
            (u for u in self.labels if u not in self.contractions), key=lambda u: u.position
        )
        scores = sorted(
            (u for u in self.labels if u in self.contractions and u not in self.results),
            key=lambda u: u.position,
        )
        kept = seed.kept_vars()
        return Chain(
            tuple(v for v in kept if v not in rows and v not in self.columns),
            tuple(v for v in kept if v in rows),
            tuple(v for v in kept if v in self.columns),
            scores,
            inner,
            list(self.results),
            self.labels,
        )

    def _drop_row_maps(self) -> None:
        """Maps of the rows' values that nothing here needs are other kernels' business."""
        for u in sorted(self.labels, key=lambda u: -u.position):
            of_rows = u.node.op in ELEMENTWISE and set(self.labels[u].values()) != self.space
            if of_rows and not any(c in self.labels for c, _ in self.users.get(u.node, ())):
                del self.labels[u]

    def _closed(self, chain: Chain) -> bool:
        """Every value of the space is read in place, inside it alone, and contractions have the
        form that the kernel computes."""
        members = {*chain.inner, *(self.contractions[u] for u in chain.results)}
        for u in (*chain.scores, *chain.inner):
            if chain.spans(u) and any(c not in members for c, _ in self.users.get(u.node, ())):
                return False
        if any(self._labels(u) is None for u in members):
            return False
        if (
            len({u.node.dtype for u in (*chain.scores, *chain.results)}) > 1
        ):  # the space has one dtype
            return False
        return all(self._is_score(u, chain) for u in chain.scores) and all(
            self._is_result(u, chain) for u in chain.results
        )

    def may_be_worth(self, chain: Chain) -> bool:
        """Are there sizes at which it is a kernel, as far as is known of them all?"""
        sizes = self._sizes(chain)
        return sizes is not None and sizes.may_be_worth()

    def _is_worth(self, chain: Chain) -> bool:
        sizes = self._sizes(chain)
        return sizes is not None and sizes.are_worth()

    def _sizes(self, chain: Chain) -> ChainSizes | None:
        """Those that a kernel has; None if none holds no more than a block."""
        if self.only_blocks:
            if not one_sided(chain):
                return None
            chain = transposed_chain(chain)
        return sizes_of(chain, in_blocks(chain), self.only_blocks)

    def _comes_back(
        self, members: set[Unit], together: Mapping[Unit, set[Unit]], spans: list[tuple[int, int]]
    ) -> bool:
        """Does anything outside depend on a chain and feed it? Other chains are each computed at
        once."""
        _, last = _span(members)
        for low, high in spans:  # beyond `last` nothing leads back, but within a chain
            last = max(last, high) if low <= last else last
        after = reach(
            self._readers(members),
            lambda u: self._readers(together.get(u, {u})) if u.position <= last else (),
        )
        return not members.isdisjoint(after)

    def members(self, chain: Chain) -> set[Unit]:
        """Its units, with the products of its contractions."""
        return {*chain.labels, *(self.contractions[u] for u in chain.contractions)}

    def _readers(self, units: set[Unit]) -> list[Unit]:
        return [c for u in units for c, _ in self.users.get(u.node, ()) if c not in units]


def _span(units: Iterable[Unit]) -> tuple[int, int]:
    """The first and the last position."""
    positions = [u.position for u in units]
    return min(positions), max(positions)


# ---------------------------------------------------------------- softmax


@dataclass(frozen=True)
class Softmax:
    """p = exp(x - max x), total = sum of p; each result's factor is `quotient`s p / total, through
    linear maps.

    `tainted`: maximum and total, and the values of the chain that need one of them.
    """

    maximum: Node
    powers: Node
    total: Node
    quotients: frozenset[Node]
    tainted: frozenset[Node]


def softmax_of(chain: Chain) -> Softmax | None:
    """The one softmax along the rows, if the reductions of a chain are its maximum and sum and its
    results linear in it."""
    reductions = [u.node for u in chain.inner if u.node.op is Op.REDUCE]
    if len(reductions) != 2:
        return None
    maximum, total = reductions
    powers = base_of(total.src[0])
    if maximum.arg[0] != "max" or total.arg[0] != "add" or powers.op is not Op.EXP:
        return None
    (shifted,) = powers.src
    if shifted.op is not Op.SUB or [base_of(s) for s in shifted.src] != [
        base_of(maximum.src[0]),
        maximum,
    ]:
        return None
    quotients = {
        u.node for u in chain.inner if u.node.op is Op.DIV and base_of(u.node.src[1]) is total
    }
    tainted = {maximum, total}
    for u in chain.inner:
        if any(base_of(s) in tainted for s in u.node.src):
            tainted.add(u.node)
    return Softmax(maximum, powers, total, frozenset(quotients), frozenset(tainted))


def is_online(chain: Chain) -> bool:
    """May the columns come in blocks, the maximum and the sum rescaled from one to the next?"""
    softmax = softmax_of(chain)
    if softmax is None or any(map(chain.sums_rows, chain.results)):
        return False
    return all(_is_linear(factor_of(chain, a), softmax) for a in chain.results)


def in_blocks(chain: Chain) -> bool:
    """May the columns come in blocks?"""
    return is_online(chain) or not chain.reduces


def one_sided(chain: Chain) -> bool:
    """Do all results sum over the same side, which can be the columns?"""
    over_rows = {chain.sums_rows(u) for u in chain.results}
    return over_rows == {False} or (
        over_rows == {True} and not chain.reduces and len(chain.rows) == len(chain.columns) == 1
    )


def transposed_chain(chain: Chain) -> Chain:
    """A chain that is one-sided, with columns for what its results sum over."""
    return (
        replace(chain, rows=chain.columns, columns=chain.rows)
        if any(map(chain.sums_rows, chain.results))
        else chain
    )


def factor_of(chain: Chain, anchor: Unit) -> Node:
    """The factor of a result that lies in the space."""
    space = _space_of(chain)
    return next(f for f in anchor.node.src[0].src if base_of(f) in space)


def _space_of(chain: Chain) -> set[Node]:
    """Its values of the space."""
    return {u.node for u in (*chain.inner, *chain.scores)}


def _is_linear(n: Node, s: Softmax) -> bool:
    """Is a map of the space a quotient of the softmax, or a multiple of one by what does not depend
    on the row's sums?"""
    n = base_of(n)
    if n in s.quotients:
        return base_of(n.src[0]) is s.powers
    if n not in s.tainted:
        return False
    steady = [base_of(x) not in s.tainted for x in n.src]
    match n.op:
        case Op.MUL if True in steady:
            return _is_linear(n.src[1 - steady.index(True)], s)
        case Op.DIV if steady[1]:
            return _is_linear(n.src[0], s)
        case Op.NEG | Op.CAST if n.dtype.is_float and n.dtype.bits >= n.src[0].dtype.bits:
            return _is_linear(n.src[0], s)
    # nor WHERE: a row without columns has the sum NaN, and what is chosen instead of its quotients
    # must stay
    return False
