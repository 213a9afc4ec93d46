"""Kernels in the making. In: Units. Out: Groups of them, each with its Form, and what passes
between them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ..graph.graph import Node
from ..graph.op import REGIONAL, SCANS, SYSTEMS, Op
from ..graph.order import earliest_first
from ..graph.region import together
from .align import Form, Outer
from .chain import ChainFinder
from .chain_cost import why_parted
from .contraction import products_of, products_over_windows, users_of
from .kernel import Chain, Unit
from .places import Read
from .reason import Reason
from .units import Units

ALONE = frozenset(
    {Op.SCATTER, Op.PUT, Op.ARGSORT, Op.FFT, Op.ELSEWHERE, *REGIONAL, *SCANS, *SYSTEMS}
)  # with loops of their own

Edge = tuple[Unit, Unit, Read]  # producer, consumer, and how it reads


@dataclass(frozen=True)
class Policy:
    """What the kernels of a target may hold besides maps, reductions and one contraction."""

    chains: Literal["none", "whole", "blocks"] = (
        "whole"  # of contractions; "blocks": whose columns, or rows, come in blocks
    )
    pooled_epilogues: bool = True  # of convolutions
    column_sums: bool = True  # over the rows of a kernel of rows
    contractions: bool = (
        True  # sums of products as such; else a product is a map, and its sum a reduction
    )
    transforms: bool = True  # Fourier transforms as kernels
    windows: bool = True  # also sums over windows of one factor, as depthwise convolutions


EVERYTHING = Policy()


@dataclass(eq=False)
class Group:
    """Units in order, and how they would run as one kernel."""

    units: list[Unit]
    form: Form
    serial: int
    chain: Chain | None = None  # of contractions; the form's anchor is then its first result
    neighbours: set[Group] = field(default_factory=set)

    @property
    def is_alone(self) -> bool:
        return self.units[-1].node.op in ALONE

    def __lt__(self, other: Group) -> bool:
        return self.serial < other.serial


class Fusion:
    """The state of one run: who uses whom, and which group each unit is in."""

    def __init__(self, units: Units, policy: Policy = EVERYTHING) -> None:
        self.units, self.policy = units, policy
        self.users = users_of(units)
        self.sources = {
            u: [(p, r) for r in u.reads if (p := units.of.get(r.base)) and p is not u]
            for u in units.order
        }
        self.readers = {u: tuple(dict.fromkeys(c for c, _ in self._uses(u))) for u in units.order}
        self.group: dict[Unit, Group] = {}
        self.parted: dict[
            Unit, Reason
        ] = {}  # contractions that could be a chain, and why they are not
        self.serial = 0
        for u in units.order:
            self._add([u], Form({u: u.kept_vars()}))
        for results in together(u.node for u in units.order).values():
            members = [units.of[n] for n in results]
            self._add(members, Form({u: u.kept_vars() for u in members}))
        products = products_of(units, self.users) if policy.contractions else {}
        windows = products_over_windows(units, self.users, products) if policy.windows else {}
        for product, anchor in (products | windows).items():
            self._add([product, anchor], Form({product: None, anchor: anchor.kept_vars()}, anchor))
        if policy.chains != "none":
            self._form_chains(ChainFinder(units, self.users, products, policy.chains == "blocks"))

    def _add(self, members: list[Unit], form: Form, chain: Chain | None = None) -> None:
        self.serial += 1
        self.group.update(dict.fromkeys(members, Group(members, form, self.serial, chain)))

    def _form_chains(self, finder: ChainFinder) -> None:
        """Contractions whose space of values is never stored become one group, where that costs
        less."""
        for chain in finder.chains():
            why = why_parted(chain, finder.contractions) if self.policy.chains == "whole" else None
            if why is not None:
                self.parted |= dict.fromkeys(chain.contractions, why)
                continue
            members = sorted(finder.members(chain), key=lambda u: u.position)
            outer: dict[Unit, Outer | None] = dict.fromkeys(members, None)
            self._add(
                members,
                Form(outer | {u: u.kept_vars() for u in chain.results}, chain.results[0]),
                chain,
            )

    # ------------------------------------------------------------ what passes between groups

    def _uses(self, u: Unit) -> list[tuple[Unit, Read]]:
        """Who reads the value of a unit (an input that is copied to an output is read where it
        lies)."""
        return self.users.get(u.node, []) if self.units.of.get(u.node) is u else []

    def edges_into(self, g: Group) -> Iterator[Edge]:
        """What the units of a group read of units, also of its own."""
        return ((p, u, r) for u in g.units for p, r in self.sources[u])

    def edges(self, a: Group, b: Group) -> list[Edge]:
        """What b reads of a."""
        return [(p, u, r) for p, u, r in self.edges_into(b) if self.group[p] is a]

    def needs(self, g: Group) -> set[Group]:
        """The groups that a group reads."""
        return {self.group[p] for u in g.units for p, _ in self.sources[u]} - {g}

    def is_output(self, u: Unit) -> bool:
        return u.node in self.units.stored

    def escapes(self, u: Unit, form: Form) -> bool:
        """Is a value stored, or read by others than the units of a form?"""
        return self.is_output(u) or any(c not in form.outer for c in self.readers[u])

    def bases(self, g: Group) -> set[Node]:
        """What a group reads from memory."""
        own = {u.node for u in g.units}
        return {
            r.base
            for u in g.units
            for r in u.reads
            if r.base not in own and r.base not in self.units.inline
        }

    # ------------------------------------------------------------ changes

    def connect(self) -> None:
        """Groups that exchange a value, or read the same one after each other, become
        neighbours."""
        for readers in self.users.values():
            groups = list(dict.fromkeys(self.group[c] for c, _ in readers))
            for g, h in pairwise(groups):
                _introduce(g, h)
        for g in dict.fromkeys(self.group.values()):
            for h in self.needs(g):
                _introduce(g, h)

    def merge(self, kept: Group, gone: Group, form: Form) -> None:
        """One of two groups becomes both, in this form."""
        kept.units = list(heapq.merge(kept.units, gone.units, key=lambda u: u.position))
        kept.form, kept.chain = form, kept.chain or gone.chain
        if kept.chain is not None:
            kept.chain.owner |= form.owner
        self.group.update(dict.fromkeys(gone.units, kept))
        kept.neighbours = (kept.neighbours | gone.neighbours) - {kept, gone}
        for n in gone.neighbours - {kept}:
            n.neighbours.discard(gone)
            n.neighbours.add(kept)
        self.serial += 1
        kept.serial, gone.serial = self.serial, -1

    def ordered(self) -> list[Group]:
        """Groups in an order that respects every edge, earliest units first."""
        return earliest_first(
            {g: self.needs(g) for g in set(self.group.values())}, lambda g: g.units[-1].position
        )


def _introduce(g: Group, h: Group) -> None:
    g.neighbours.add(h)
    h.neighbours.add(g)
