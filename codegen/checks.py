"""Bounds checks of gathers and scatters. In: a Graph. Out: which index Nodes to check, when, what a failure reports, and the
Graph with late indices clamped: a kernel that computes and uses one reads no foreign memory before its check has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..ir import dtype as dt
from ..ir.graph import ELEMENTWISE, HINTS, LEAVES, VIEWS, Node, Op, full, node, rebuild, toposort
from ..ir.index import Index
from ..ir.kernel import resolve
from ..ir.program import CheckSite


@dataclass
class Checks:
    """`early` are indices made of inputs alone, checked before anything is written; `late` must be in memory first."""

    early: list[tuple[Node, int]] = field(default_factory=list)
    late: list[tuple[Node, int]] = field(default_factory=list)
    sites: list[CheckSite] = field(default_factory=list)

    def through(self, rewrite: Callable[[list[Node]], list[Node]], roots: list[Node]) -> list[Node]:
        """The roots after a pass, which sees the late indices too: they must stay Nodes of the same Graph."""
        rewritten = rewrite([*roots, *(n for n, _ in self.late)])
        self.late = [(n, extent) for n, (_, extent) in zip(rewritten[len(roots) :], self.late, strict=True)]
        return rewritten[: len(roots)]


def find_checks(roots: Iterable[Node]) -> Checks:
    """Every (index Node, extent) that could be out of range, once each, named by the gather rather than its gradient."""
    order = toposort(roots)
    from_inputs = _made_of_inputs(order)
    found = Checks()
    early_sites, late_sites = [], []
    for user, n, axis, extent in sorted(_indices(order), key=lambda found: found[0].op is Op.SCATTER):
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


def clamp_late(roots: Iterable[Node], checks: Checks) -> list[Node]:
    """The Graph with every index of a late check clamped where it is used; `checks` then names the new Nodes."""
    roots = list(roots)
    late = set(checks.late)
    done: dict[Node, Node] = {}
    for n in toposort([*roots, *(n for n, _ in checks.late)]):
        src = [done[s] for s in n.src]
        if late and n.op in (Op.GATHER, Op.SCATTER):
            extents = [n.src[0].shape[a] for a in n.arg] if n.op is Op.GATHER else [n.arg[1][a] for a in n.arg[0]]
            src[1:] = [
                _clamped(new, e) if (old, e) in late else new for old, new, e in zip(n.src[1:], src[1:], extents, strict=True)
            ]
        done[n] = rebuild(n, tuple(src)) if src else n
    checks.late = [(done[n], extent) for n, extent in checks.late]
    return [done[r] for r in roots]


def _clamped(index: Node, extent: int) -> Node:
    low, high = full(0, dt.int64, index.shape), full(extent - 1, dt.int64, index.shape)
    above = node(Op.WHERE, (node(Op.LT, (index, low)), low, index))
    return node(Op.WHERE, (node(Op.LT, (high, above)), high, above))


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
