"""Bounds checks of gathers and scatters. In: a Graph. Out: which index Nodes to check, when, and what a failure reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..ir.graph import ELEMENTWISE, HINTS, LEAVES, VIEWS, Node, Op, toposort
from ..ir.index import Index
from ..ir.kernel import resolve
from ..ir.program import CheckSite


@dataclass
class Checks:
    """`early` are indices made of inputs alone, checked before anything is written; `late` must be in memory first."""

    early: list[tuple[Node, int]] = field(default_factory=list)
    late: list[tuple[Node, int]] = field(default_factory=list)
    sites: list[CheckSite] = field(default_factory=list)


def find_checks(roots: Iterable[Node]) -> Checks:
    """Every (index Node, extent) that could be out of range, once each."""
    order = toposort(roots)
    from_inputs = _made_of_inputs(order)
    found = Checks()
    early_sites, late_sites = [], []
    for user, n, axis, extent in _indices(order):
        if n.size == 0 or _is_counter(n, extent) or (n, extent) in found.early or (n, extent) in found.late:
            continue
        site = CheckSite(user.op.value, axis, extent, user.site)
        if n in from_inputs:
            found.early.append((n, extent))
            early_sites.append(site)
        else:
            found.late.append((n, extent))
            late_sites.append(site)
    found.sites = early_sites + late_sites
    return found


def _indices(order: list[Node]) -> list[tuple[Node, Node, int, int]]:
    """(gather or scatter, index Node, axis, extent)."""
    found = []
    for n in order:
        if n.op is Op.GATHER:
            found += [(n, i, a, n.src[0].shape[a]) for a, i in zip(n.arg, n.src[1:], strict=True)]
        elif n.op is Op.SCATTER:
            found += [(n, i, a, n.arg[1][a]) for a, i in zip(n.arg[0], n.src[1:], strict=True)]
    return found


def _made_of_inputs(order: list[Node]) -> set[Node]:
    allowed = ELEMENTWISE | VIEWS | HINTS | LEAVES
    out: set[Node] = set()
    for n in order:
        if n.op in allowed and all(s in out for s in n.src):
            out.add(n)
    return out


def _is_counter(n: Node, extent: int) -> bool:
    """A counter (seen through views) that cannot leave 0 .. extent-1."""
    base, _, mask = resolve(n, [Index() for _ in n.shape])
    return base.op is Op.IOTA and base.arg <= extent and not mask


def leaves_of(nodes: Iterable[Node]) -> list[Node]:
    """The inputs below these Nodes."""
    return [n for n in toposort(nodes) if n.op is Op.INPUT]
