"""The one fusion rule: Units -> Kernels, with a Reason for every boundary.

    before                                  after
    max(x) | exp(x - max) | sum | div       one kernel: outer rows; stages max, sum(exp), write

Two groups merge when every internal edge is the identity on the kept outer axes, no path leaves and
re-enters them, there is at most one contraction (maps before it are its prologue, maps and pools after
it its epilogue), and enough parallelism remains. Sums over the outer axes of a kernel of rows, and maps of them, join it
as its last phase (ir/kernels/column_sums.py). What is gained: values stay in registers and cache.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Literal

from ..graph.graph import Node, toposort
from ..graph.op import ELEMENTWISE, SCANS, Op
from .align import Form, Outer, Outers, extended, identity_axes, one_level, reads_own_place, shared_axes
from .chain import ChainFinder, epilogue_axes
from .column_sums import by_rows, refuse_columns, turned
from .contraction import products_of, users_of
from .kernel import Boundary, Chain, Kernel, Reason, Unit, cost, domain, kernel_kind, kernel_name
from .merge_order import Order
from .places import Read
from .pooled_epilogue import refuse_epilogue
from .recompute import copies, refuse_recompute
from .units import Units

MIN_PARALLEL = 64  # iterations of the outer axes that keep every thread busy
TINY = 1 << 14  # elements below which parallelism does not matter
MAX_BUFFERS = 60  # arguments of one kernel
PROLOGUE_COST = 12  # operations an element that packing may repeat
NO_MERGE = frozenset({Op.SCATTER, Op.ARGSORT, *SCANS})


@dataclass(eq=False)
class Group:
    """A kernel in the making. `outer[u]` is None for units of a contraction's prologue and for maps of column sums."""

    units: list[Unit]
    outer: dict[Unit, Outer | None]
    anchor: Unit | None = None
    serial: int = 0
    neighbours: set[Group] = field(default_factory=set)
    alone: bool = False  # a scan, scatter or sort: loops of its own
    chain: Chain | None = None  # of contractions; `anchor` is then its first result
    columns: dict[Unit, Outer] = field(default_factory=dict)  # see Kernel

    @property
    def extents(self) -> tuple[int, ...]:
        chosen = self.anchor or next(u for u in self.units if self.outer[u] is not None)
        return tuple(v.extent for v in self.outer[chosen] or ())

    @property
    def form(self) -> Form:
        return Form(self.outer, self.anchor, self.columns)

    def __lt__(self, other: Group) -> bool:
        return self.serial < other.serial


@dataclass(frozen=True)
class Policy:
    """What the kernels of a target may hold besides maps, reductions and one contraction."""

    chains: bool | Literal["blocks"] = True  # of contractions; "blocks": those whose columns, or rows, come in blocks
    pools: bool = True  # as the epilogue of a convolution
    columns: bool = True  # sums over the rows of a kernel of rows
    contractions: bool = True  # sums of products as such; else a product is a map, and its sum a reduction


class Fusion:
    """The state of one run: who uses whom, and which group each unit is in."""

    def __init__(self, units: Units, policy: Policy = Policy()) -> None:
        self.units, self.policy = units, policy
        self.users = users_of(units)
        self.group: dict[Unit, Group] = {}
        self.serial = 0
        for u in units.order:
            self._new_group([u], {u: u.kept_vars()}, None)
        self.readers = {u: tuple(dict.fromkeys(c for c, _ in self._uses(u))) for u in units.order}
        products = products_of(units, self.users) if policy.contractions else {}
        for product, anchor in products.items():
            self._new_group([product, anchor], {product: None, anchor: anchor.kept_vars()}, anchor)
        if policy.chains:
            self._form_chains(ChainFinder(units, self.users, products, policy.chains == "blocks"))

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

    def legal(self, a: Group, b: Group) -> Form | Reason:
        """The merged group, or why not. Data flows from a to b, or both share inputs."""
        if a.anchor is not None and b.anchor is not None:
            return Reason("one contraction", f"{a.anchor} and {b.anchor} would share a kernel")
        if a.alone or b.alone:
            return Reason("own loops", "a scan, scatter or sort keeps its own kernel")
        if b.anchor is not None and self._feeds_product(a, b):
            refused = self._prologue(a, b)
            if refused is None:
                return Form({**dict.fromkeys(a.units, None), **b.outer}, b.anchor)
            return refused
        if a.chain is not None:
            return self._chain_epilogue(a, a.chain, b)
        if b.chain is not None:
            return Reason("chain", "what a chain of contractions reads once is not computed with it")
        if a.columns and any(p in a.columns for p, _, _ in self.producers(b)):
            return self._after_columns(a, b)
        found = self._by_rows(a, b, a.form, b.form)
        return self._with_columns(a, b, found) if isinstance(found, Reason) else found

    def _by_rows(self, a: Group, b: Group, of_a: Form, of_b: Form) -> Form | Reason:
        """Both groups over shared outer axes, each seen in a way of its own."""
        outer = self._aligned(a, b, of_a.outer, of_b.outer)
        if isinstance(outer, Reason):
            return outer
        form = Form(outer, of_a.anchor or of_b.anchor, of_a.columns | of_b.columns)
        return self._shape_rules(a, b, form) or self._budget(a, b) or form

    def _with_columns(self, a: Group, b: Group, refused: Reason) -> Form | Reason:
        """One of the groups as column sums in the kernel of the other, or why they cannot share outer axes."""
        if a.anchor is not None or b.anchor is not None or not self.policy.columns:
            return refused
        for of_a, of_b in ((a.form, turned(b.units, b.form)), (turned(a.units, a.form), b.form)):
            if of_a is not None and of_b is not None:
                found = self._by_rows(a, b, of_a, of_b)
                if isinstance(found, Form):
                    return found
                refused = found
        return refused

    def _after_columns(self, a: Group, b: Group) -> Form | Reason:
        """Maps of the column sums of a, element by element."""
        if b.anchor is not None or any(u.node.op not in ELEMENTWISE or u.kept_vars() != b.outer[u] for u in b.units):
            return Reason("column sums", f"{b.units[0]} needs them whole")
        for p, c, r in self.producers(b):
            if self.group[p] is a and not reads_own_place(p, a.columns.get(p, ()), c, r):
                return Reason("misaligned", f"{c} does not read column sums of its own shape alone")
        of_b = {u: o or () for u, o in b.outer.items()}
        return self._budget(a, b) or Form(a.outer | dict.fromkeys(b.units, None), None, a.columns | of_b)

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

    def _chain_epilogue(self, a: Group, chain: Chain, b: Group) -> Form | Reason:
        """Maps of one result of a chain."""
        if any(u.node.op is Op.REDUCE for u in b.units):
            return Reason("epilogue", f"{b.units[0]} would reduce within a chain of contractions")
        reads = [(p, c, r) for p, c, r in self.producers(b) if self.group[p] is a]
        found = epilogue_axes(chain, {u: o for u, o in a.outer.items() if o is not None}, b.outer, reads)
        if found is None:
            return Reason("misaligned", f"{b.units[0]} does not read one result of a chain of contractions element by element")
        owner, outer = found
        return Form({**a.outer, **outer}, a.anchor, owner=dict.fromkeys(outer, owner))

    def _aligned(self, a: Group, b: Group, outer_a: Outers, outer_b: Outers) -> dict[Unit, Outer | None] | Reason:
        """Matches the outer axes of a and b through every edge between them (or through shared inputs)."""
        pairs = self._edge_pairs(a, b, outer_a, outer_b)
        if pairs is None:
            pairs = shared_axes(outer_a, outer_b)
        if pairs is None:
            return Reason("nothing shared", "no edge and no common input")
        chosen: dict[int, int] = {}
        for i, k in sorted(pairs):
            if i not in chosen and k not in chosen.values():
                chosen[i] = k
        outer: dict[Unit, Outer | None] = {}
        for u in a.units:
            own = outer_a[u]
            outer[u] = None if own is None else tuple(own[i] for i in chosen)
        for u in b.units:
            own = outer_b[u]
            outer[u] = None if own is None else tuple(own[k] for k in chosen.values())
        return outer

    def _edge_pairs(self, a: Group, b: Group, outer_a: Outers, outer_b: Outers) -> set[tuple[int, int]] | None:
        pairs: set[tuple[int, int]] | None = None
        for first, second, of_first, of_second, flip in ((a, b, outer_a, outer_b, False), (b, a, outer_b, outer_a, True)):
            for p, c, r in self.producers(second):
                if self.group[p] is not first:
                    continue
                p_outer, c_outer = of_first[p], of_second[c]
                if p_outer is None or c_outer is None:
                    return set()
                found = {(k, i) if flip else (i, k) for i, k in identity_axes(p, p_outer, c_outer, r)}
                pairs = found if pairs is None else pairs & found
        return pairs

    def _shape_rules(self, a: Group, b: Group, form: Form) -> Reason | None:
        outer, anchor = form.outer, form.anchor
        units = [u for u in outer if outer[u] is not None]
        width = len(outer[units[0]] or ())
        for u in units:
            if u.node.op is Op.REDUCE and u is not anchor and u not in form.columns and len(u.kept_vars()) != width:
                return Reason("misaligned", f"{u} does not run over the shared outer axes alone")
        if form.columns:
            refused = refuse_columns(outer, form.columns)
            if refused is not None or anchor is not None:
                return refused or Reason("epilogue", "column sums stay out of a contraction's kernel")
        if anchor is not None:
            product = self.units.of[anchor.node.src[0]]
            if not self.policy.pools and any(u.node.op is Op.REDUCE and u is not anchor for u in units):
                return Reason("epilogue", "a reduction behind a contraction keeps its own kernel on this target")
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
        edges = [e for g in (a, b) for e in self.producers(g)]
        return refuse_recompute([*a.units, *b.units], edges, self.users, outer)

    def _escapes(self, u: Unit, inside: Iterable[Unit]) -> bool:
        return self.is_output(u) or any(c not in inside for c in self.readers[u])

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

    def merge(self, a: Group, b: Group, form: Form) -> Group:
        large, small = _by_size(a, b)
        large.units = _merge_sorted(large.units, small.units)
        large.outer, large.anchor, large.columns = form.outer, form.anchor, form.columns
        large.chain = large.chain or small.chain
        if large.chain is not None:
            large.chain.owner |= form.owner
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
        return extended(u, self.users[u.node], target.outer, len(target.extents))

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
        heap: list[tuple[int, bool, int, int, Group, Group]] = []

        def offer(g: Group, h: Group) -> None:
            score = self.saved(g, h)
            if score > 0:
                product = g.anchor is not None or h.anchor is not None  # of equals last: what it writes is stored at once
                heapq.heappush(heap, (-score, product, min(g.serial, h.serial), max(g.serial, h.serial), g, h))

        for g in sorted(set(self.group.values())):
            for h in sorted(g.neighbours):
                if g < h:
                    offer(g, h)
        while heap:
            _, _, low, high, g, h = heapq.heappop(heap)
            if {g.serial, h.serial} != {low, high} or g is h:
                continue
            a, b = (g, h) if self._flows(g, h) else (h, g)
            result = self.legal(a, b)
            between = None if isinstance(result, Reason) else self.order.between(a, b)
            if isinstance(result, Reason) or between is None:
                continue
            self.order.merge(*_by_size(a, b), between)
            merged = self.merge(a, b, result)
            for n in sorted(merged.neighbours):
                offer(merged, n)
        for g in set(self.group.values()):
            form = g.form if g.anchor is not None else by_rows(g.units, g.form)
            g.outer, g.columns = form.outer, form.columns
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


def fuse(units: Units, policy: Policy = Policy()) -> Fused:
    """Groups units into kernels by the rule of the file's header; deterministic."""
    f = Fusion(units, policy)
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
    return Kernel(name, kind, g.units, outer, g.extents, outputs, inputs, g.anchor, g.chain, g.columns)
