"""The one fusion rule: Units -> Kernels, with a Reason for every boundary.

    before                                  after
    max(x) | exp(x - max) | sum | div       one kernel: outer rows; stages max, sum(exp), write

Two groups merge when every internal edge is the identity on the kept outer axes, no path leaves and
re-enters them, there is at most one contraction (maps before it are its prologue, maps and pools after
it its epilogue), and enough parallelism remains. What is gained: values stay in registers and cache.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from .align import Outer, identity_axes, one_level, same_axes
from .chain import ChainFinder, epilogue_axes
from .contraction import products_of, users_of
from .graph import Node, toposort
from .kernel import Boundary, Chain, Kernel, Read, Reason, Unit, cost, domain, kernel_kind, kernel_name
from .op import ELEMENTWISE, SCANS, Op
from .order import Order
from .pooling import refuse_epilogue
from .recompute import copies
from .units import Units

MIN_PARALLEL = 64  # iterations of the outer axes that keep every thread busy
TINY = 1 << 14  # elements below which parallelism does not matter
MAX_BUFFERS = 60  # arguments of one kernel
PROLOGUE_COST = 12  # operations an element that packing may repeat
MAX_REPEATED = 8  # operations an element that a row may repeat rather than store the value
NO_MERGE = frozenset({Op.SCATTER, Op.ARGSORT, *SCANS})



@dataclass(eq=False)
class Group:
    """A kernel in the making. `outer[u]` is None for units of a contraction's prologue."""

    units: list[Unit]
    outer: dict[Unit, Outer | None]
    anchor: Unit | None = None
    serial: int = 0
    neighbours: set[Group] = field(default_factory=set)
    alone: bool = False  # a scan, scatter or sort: loops of its own
    chain: Chain | None = None  # of contractions; `anchor` is then its first result

    @property
    def extents(self) -> tuple[int, ...]:
        chosen = self.anchor or next(u for u in self.units if self.outer[u] is not None)
        return tuple(v.extent for v in self.outer[chosen] or ())

    def __lt__(self, other: Group) -> bool:
        return self.serial < other.serial


class Fusion:
    """The state of one run: who uses whom, and which group each unit is in."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.users = users_of(units)
        self.group: dict[Unit, Group] = {}
        self.serial = 0
        for u in units.order:
            self._new_group([u], {u: u.kept_vars()}, None)
        self.readers = {u: tuple(dict.fromkeys(c for c, _ in self._uses(u))) for u in units.order}
        products = products_of(units, self.users)
        for product, anchor in products.items():
            self._new_group([product, anchor], {product: None, anchor: anchor.kept_vars()}, anchor)
        self._form_chains(ChainFinder(units, self.users, products))

    def _new_group(self, members: list[Unit], outer: dict[Unit, Outer | None], anchor: Unit | None) -> Group:
        self.serial += 1
        g = Group(members, outer, anchor, self.serial, alone=any(u.node.op in NO_MERGE for u in members))
        for u in members:
            self.group[u] = g
        return g

    def _form_chains(self, finder: ChainFinder) -> None:
        """Contractions whose space of values is never stored become one group."""
        for chain in finder.chains():
            members = sorted({*chain.labels, *(finder.contractions[u] for u in chain.contractions)}, key=lambda u: u.position)
            outer: dict[Unit, Outer | None] = dict.fromkeys(members, None)
            outer |= {u: u.kept_vars() for u in chain.results}
            self._new_group(members, outer, chain.results[0]).chain = chain

    def producers(self, g: Group) -> Iterable[tuple[Unit, Unit, Read]]:
        """Edges into g: (producer, consumer, read), also those inside g."""
        for u in g.units:
            for r in u.reads:
                p = self.units.of.get(r.base)
                if p is not None and p is not u:
                    yield p, u, r

    def is_output(self, u: Unit) -> bool:
        return u.node in self.units.stored

    # ------------------------------------------------------------ legality

    def legal(self, a: Group, b: Group) -> tuple[dict[Unit, Outer | None], Unit | None] | Reason:
        """The outer axes of the merged group, or why not. Data flows from a to b, or both share inputs."""
        if a.anchor is not None and b.anchor is not None:
            return Reason("one contraction", f"{a.anchor} and {b.anchor} would share a kernel")
        if a.alone or b.alone:
            return Reason("own loops", "a scan, scatter or sort keeps its own kernel")
        if b.anchor is not None and self._feeds_product(a, b):
            refused = self._prologue(a, b)
            if refused is None:
                return {**dict.fromkeys(a.units, None), **b.outer}, b.anchor
            return refused
        if a.chain is not None:
            return self._chain_epilogue(a, a.chain, b)
        if b.chain is not None:
            return Reason("chain", "what a chain of contractions reads once is not computed with it")
        outer = self._aligned(a, b)
        if isinstance(outer, Reason):
            return outer
        anchor = a.anchor or b.anchor
        refused = self._shape_rules(a, b, outer, anchor) or self._budget(a, b)
        return refused or (outer, anchor)

    def _feeds_product(self, a: Group, b: Group) -> bool:
        return any(self.group[p] is a and b.outer[c] is None for p, c, _ in self.producers(b))

    def _prologue(self, a: Group, b: Group) -> Reason | None:
        """May every unit of a be evaluated while the contraction of b loads its operands?"""
        inside = set(a.units) | {u for u in b.units if b.outer[u] is None}
        for u in a.units:
            if u.node.op not in ELEMENTWISE:
                return Reason("prologue", f"{u} is not elementwise")
            if self.is_output(u) or any(c not in inside for c, _ in self.users.get(u.node, [])):
                return Reason("prologue", f"{u} is needed elsewhere too")
        times = copies([*a.units, *b.units], self.users, {**dict.fromkeys(a.units, None), **b.outer})
        total = sum(cost(u.node) * times[u] for u in a.units)
        if total > PROLOGUE_COST:
            return Reason("costly prologue", f"{total} operations an element would be repeated while packing")
        return None

    def _chain_epilogue(self, a: Group, chain: Chain, b: Group) -> tuple[dict[Unit, Outer | None], Unit | None] | Reason:
        """Maps of one result of a chain."""
        if any(u.node.op is Op.REDUCE for u in b.units):
            return Reason("epilogue", f"{b.units[0]} would reduce within a chain of contractions")
        reads = [(p, c, r) for p, c, r in self.producers(b) if self.group[p] is a]
        found = epilogue_axes(chain, {u: o for u, o in a.outer.items() if o is not None}, b.outer, reads)
        if found is None:
            return Reason("misaligned", f"{b.units[0]} does not read one result of a chain of contractions element by element")
        owner, outer = found
        chain.owner |= dict.fromkeys(outer, owner)
        return {**a.outer, **outer}, a.anchor

    def _aligned(self, a: Group, b: Group) -> dict[Unit, Outer | None] | Reason:
        """Matches the outer axes of a and b through every edge between them (or through shared inputs)."""
        pairs = self._edge_pairs(a, b)
        if pairs is None:
            pairs = self._shared_pairs(a, b)
        if pairs is None:
            return Reason("nothing shared", "no edge and no common input")
        chosen: dict[int, int] = {}
        for i, k in sorted(pairs):
            if i not in chosen and k not in chosen.values():
                chosen[i] = k
        outer: dict[Unit, Outer | None] = {}
        for u in a.units:
            own = a.outer[u]
            outer[u] = None if own is None else tuple(own[i] for i in chosen)
        for u in b.units:
            own = b.outer[u]
            outer[u] = None if own is None else tuple(own[k] for k in chosen.values())
        return outer

    def _edge_pairs(self, a: Group, b: Group) -> set[tuple[int, int]] | None:
        pairs: set[tuple[int, int]] | None = None
        for first, second, flip in ((a, b, False), (b, a, True)):
            for p, c, r in self.producers(second):
                if self.group[p] is not first:
                    continue
                p_outer, c_outer = first.outer[p], second.outer[c]
                if p_outer is None or c_outer is None:
                    return set()
                found = {(k, i) if flip else (i, k) for i, k in identity_axes(p, p_outer, c_outer, r)}
                pairs = found if pairs is None else pairs & found
        return pairs

    def _shared_pairs(self, a: Group, b: Group) -> set[tuple[int, int]] | None:
        reads_a = [(r, a.outer[u]) for u in a.units for r in u.reads]
        by_base: dict[Node, list[tuple[Read, Outer | None]]] = {}
        for u in b.units:
            for r in u.reads:
                by_base.setdefault(r.base, []).append((r, b.outer[u]))
        best: set[tuple[int, int]] | None = None
        for r, outer_a in reads_a:
            for q, outer_b in by_base.get(r.base, []):
                found = same_axes(r, outer_a or (), q, outer_b or ())
                best = found if best is None else best & found
        return best

    def _shape_rules(self, a: Group, b: Group, outer: dict[Unit, Outer | None], anchor: Unit | None) -> Reason | None:
        units = [u for u in outer if outer[u] is not None]
        width = len(outer[units[0]] or ())
        for u in units:
            if u.node.op is Op.REDUCE and u is not anchor and len(u.kept_vars()) != width:
                return Reason("misaligned", f"{u} does not run over the shared outer axes alone")
        if anchor is not None:
            product = self.units.of[anchor.node.src[0]]
            refused = refuse_epilogue(outer, anchor, product, lambda u: self._escapes(u, outer))
            if refused is not None:
                return refused
        reduces = any(u.node.op is Op.REDUCE for u in units)
        if not reduces and (width != len(a.extents) or width != len(b.extents)):
            return Reason("misaligned", f"maps over {list(a.extents)} and {list(b.extents)} do not index each other alike")
        parallel = prod(v.extent for v in outer[units[0]] or ())
        work = max(prod(domain(u.node)) for u in units)
        before = min(prod(a.extents), prod(b.extents))
        if parallel < MIN_PARALLEL and work > TINY and (parallel < before or not one_level(units)):
            return Reason("parallelism", f"{parallel} outer iterations would be left of {before}")
        return self._recompute(a, b, outer)

    def _escapes(self, u: Unit, inside: Iterable[Unit]) -> bool:
        return self.is_output(u) or any(c not in inside for c in self.readers[u])

    def _recompute(self, a: Group, b: Group, outer: dict[Unit, Outer | None]) -> Reason | None:
        """A map read through a window or at several places of the row would be evaluated again and again."""
        for u, places in copies([*a.units, *b.units], self.users, outer).items():
            if places > 1 and places * cost(u.node) > MAX_REPEATED:
                return Reason("recompute", f"{u} would be evaluated at {places} places for each element")
        for g in (a, b):
            for p, c, r in self.producers(g):
                if p not in outer or outer[p] is None or outer[c] is None or p.node.op is Op.REDUCE:
                    continue
                inner = set(c.inner_vars(outer[c] or ()))
                used = {v for e in r.index for v in e.vars()} & inner
                times = prod(v.extent for v in used) / max(1, prod(v.extent for v in p.inner_vars(outer[p] or ())))
                if times > 1 and times * cost(p.node) > MAX_REPEATED:
                    return Reason("recompute", f"{p} would be evaluated {times:.0f} times for each element")
        return None

    def _budget(self, a: Group, b: Group) -> Reason | None:
        bases = {r.base for g in (a, b) for u in g.units for r in u.reads}
        touched = sum(1 for n in bases if n not in self.units.inline)
        inside = sum(1 for n in bases if n in self.units.of and self.group[self.units.of[n]] in (a, b))
        if touched - inside > MAX_BUFFERS:
            return Reason("budget", f"{touched - inside} input buffers")
        return None

    def _consumers(self, g: Group) -> set[Group]:
        return {self.group[c] for u in g.units for c in self.readers[u]} - {g}

    def _uses(self, u: Unit) -> list[tuple[Unit, Read]]:
        """Who reads the value of a unit (an input that is copied to an output is read where it lies)."""
        return self.users.get(u.node, []) if self.units.of.get(u.node) is u else []

    # ------------------------------------------------------------ search

    def saved(self, a: Group, b: Group) -> int:
        """Bytes of stores and loads that merging avoids."""
        total = 0
        members = {a, b}
        for first, second in ((a, b), (b, a)):
            crossing = {p for p, _, _ in self.producers(second) if self.group[p] is first}
            for p in crossing:
                size = p.node.size * p.node.dtype.itemsize
                escapes = self.is_output(p) or any(self.group[c] not in members for c, _ in self.users[p.node])
                total += size if escapes else 2 * size
        shared = self._bases(a) & self._bases(b)
        return total + sum(n.size * n.dtype.itemsize for n in shared)

    def _bases(self, g: Group) -> set[Node]:
        own = {u.node for u in g.units}
        return {r.base for u in g.units for r in u.reads if r.base not in own and r.base not in self.units.inline}

    def merge(self, a: Group, b: Group, outer: dict[Unit, Outer | None], anchor: Unit | None) -> Group:
        large, small = _by_size(a, b)
        large.units = _merge_sorted(large.units, small.units)
        large.outer, large.anchor, large.chain = outer, anchor, large.chain or small.chain
        for u in small.units:
            self.group[u] = large
        large.neighbours |= small.neighbours
        large.neighbours -= {a, b}
        for n in small.neighbours:
            n.neighbours.discard(small)
            if n is not large:
                n.neighbours.add(large)
        self.serial += 1
        large.serial, small.serial = self.serial, -1
        return large

    def absorb_maps(self) -> None:
        """Merges each map into the group of its only consumers: cannot make a cycle, so no search is needed."""
        bases = {g: self._settled_bases(g) for g in set(self.group.values())}
        for u in reversed(self.units.order):
            if self.is_output(u) or u.node.op not in ELEMENTWISE or self.group[u].anchor is not None:
                continue
            targets = {self.group[c] for c, _ in self.users.get(u.node, [])}
            if len(targets) == 1 and len(self.group[u].units) == 1 and self.group[u] not in targets:
                (target,) = targets
                extended = self._extend(u, target)
                together = bases[target] | bases[self.group[u]]
                if extended is not None and len(together) <= max(MAX_BUFFERS, len(bases[target])):
                    bases[target] = together
                    target.units.append(u)
                    target.outer[u] = extended
                    self.group[u] = target
        for g in set(self.group.values()):
            g.units.sort(key=lambda u: u.position)

    def _settled_bases(self, g: Group) -> set[Node]:
        """What g reads from memory whatever is absorbed: not the maps that may still become part of it."""
        maps = (n for n in self._bases(g) if n in self.units.of and n.op in ELEMENTWISE and not self.is_output(self.units.of[n]))
        return self._bases(g) - set(maps)

    def _extend(self, u: Unit, target: Group) -> Outer | None:
        """The outer variables of a map that every consumer in the target group reads at the identity, if it is a plain map."""
        if target.anchor is not None or target.alone:
            return None
        found: Outer | None = None
        width = len(target.extents)
        if len(u.kept_vars()) != width:
            return None
        for c, r in self.users[u.node]:
            c_outer = target.outer[c]
            if c_outer is None:
                return None
            pairs = dict((k, i) for i, k in identity_axes(u, u.kept_vars(), c_outer, r))
            if len(pairs) != width:
                return None
            outer = tuple(u.kept_vars()[pairs[k]] for k in range(width))
            if found not in (None, outer):
                return None
            found = outer
        return found

    def connect(self) -> None:
        for readers in self.users.values():
            groups = list(dict.fromkeys(self.group[c] for c, _ in readers))
            for g, h in pairwise(groups):
                g.neighbours.add(h)
                h.neighbours.add(g)
        for g in dict.fromkeys(self.group.values()):
            for p, _, _ in self.producers(g):
                if self.group[p] is not g:
                    g.neighbours.add(self.group[p])
                    self.group[p].neighbours.add(g)

    def run(self) -> list[Group]:
        self.absorb_maps()
        self.connect()
        self.order = Order(self._ordered(), self._consumers)
        heap: list[tuple[int, int, int, Group, Group]] = []

        def offer(g: Group, h: Group) -> None:
            score = self.saved(g, h)
            if score > 0:
                heapq.heappush(heap, (-score, min(g.serial, h.serial), max(g.serial, h.serial), g, h))

        for g in sorted(set(self.group.values())):
            for h in sorted(g.neighbours):
                if g < h:
                    offer(g, h)
        while heap:
            _, low, high, g, h = heapq.heappop(heap)
            if {g.serial, h.serial} != {low, high} or g is h:
                continue
            a, b = (g, h) if self._flows(g, h) else (h, g)
            result = self.legal(a, b)
            between = None if isinstance(result, Reason) else self.order.between(a, b)
            if isinstance(result, Reason) or between is None:
                continue
            self.order.merge(*_by_size(a, b), between)
            merged = self.merge(a, b, *result)
            for n in sorted(merged.neighbours):
                offer(merged, n)
        return self._ordered()

    def _flows(self, g: Group, h: Group) -> bool:
        return any(self.group[p] is g for p, _, _ in self.producers(h))

    def _ordered(self) -> list[Group]:
        """Groups in an order that respects every edge, earliest units first."""
        groups = set(self.group.values())
        waiting = {g: {self.group[p] for p, _, _ in self.producers(g)} - {g} for g in groups}
        after: dict[Group, list[Group]] = {g: [] for g in groups}
        for g, needs in waiting.items():
            for p in needs:
                after[p].append(g)
        ready = [(max(u.position for u in g.units), g) for g in groups if not waiting[g]]
        heapq.heapify(ready)
        out = []
        while ready:
            _, g = heapq.heappop(ready)
            out.append(g)
            for h in after[g]:
                waiting[h].discard(g)
                if not waiting[h]:
                    heapq.heappush(ready, (max(u.position for u in h.units), h))
        assert len(out) == len(groups), "kernels depend on each other in a cycle"
        return out


def _by_size(a: Group, b: Group) -> tuple[Group, Group]:
    """(the one with more units, the other)."""
    return (b, a) if len(a.units) < len(b.units) else (a, b)


def _merge_sorted(a: list[Unit], b: list[Unit]) -> list[Unit]:
    return list(heapq.merge(a, b, key=lambda u: u.position))


@dataclass
class Fused:
    """What fusion decided: kernels in program order and why neighbours stayed apart."""

    kernels: list[Kernel]
    boundaries: list[Boundary]
    units: Units


def fuse(units: Units) -> Fused:
    """Groups units into kernels by the rule of the file's header; deterministic."""
    f = Fusion(units)
    groups = f.run()
    kernels = [_kernel(f, g, i) for i, g in enumerate(groups)]
    name = {id(g): k.name for g, k in zip(groups, kernels, strict=True)}
    return Fused(kernels, _boundaries(f, groups, name), units)


def _boundaries(f: Fusion, groups: list[Group], name: dict[int, str]) -> list[Boundary]:
    """A reason for each pair of final kernels with an edge between them; asked again, since groups have grown."""
    out = []
    for g in groups:
        for h in dict.fromkeys(f.group[p] for p, _, _ in f.producers(g) if f.group[p] is not g):
            answer = f.legal(h, g)
            reason = answer if isinstance(answer, Reason) else Reason("cycle", "another kernel must run between them")
            out.append(Boundary(name[id(h)], name[id(g)], reason))
    return out


def _kernel(f: Fusion, g: Group, number: int) -> Kernel:
    members = {u.node for u in g.units}
    outputs = [
        u.node
        for u in g.units
        if f.is_output(u) or any(f.group[c] is not g for c in f.readers[u])
    ]
    inputs = list(
        dict.fromkeys(r.base for u in g.units for r in u.reads if r.base not in members or f.units.of.get(r.base) is None)
    )
    behind = toposort([n for n in inputs if n in f.units.inline])  # inline Nodes are evaluated here, from their 0-d inputs
    inputs = list(dict.fromkeys([*(n for n in inputs if n not in f.units.inline), *(n for n in behind if n.op is Op.INPUT)]))
    outer = {u: o for u, o in g.outer.items() if o is not None}
    kind = "chain" if g.chain is not None else kernel_kind(g.units, g.anchor)
    name = kernel_name(g.units, kind, g.anchor, number)
    return Kernel(name, kind, g.units, outer, g.extents, outputs, inputs, g.anchor, g.chain)
