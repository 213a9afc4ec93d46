"""Bounds checks of gathers and scatters. In: a Graph. Out: which index Nodes to check, when, what a
failure reports, and the Graph with late indices clamped: a kernel that computes and uses one reads
no foreign memory before its check has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..analysis.ranges import ranges
from ..graph import dtype as dt
from ..graph.graph import Node, first_index, full, indices_of, node, rebuild, toposort
from ..graph.negative_indices import shift_of
from ..graph.op import ELEMENTWISE, HINTS, INDEXED, LEAVES, VIEWS, Op
from ..graph.rewrite import mapped
from ..graph.site import Site

# views that show every element of their source
WHOLE = frozenset({Op.RESHAPE, Op.PERMUTE, Op.FLIP, Op.EXPAND, *HINTS})


@dataclass
class Checks:
    """`early` are indices made of inputs alone, checked before anything is written; `late` must be
    in memory first."""

    early: list[tuple[Node, int]] = field(default_factory=list)
    late: list[tuple[Node, int]] = field(default_factory=list)
    sites: list[CheckSite] = field(default_factory=list)

    def through(self, rewrite: Callable[[list[Node]], list[Node]], roots: list[Node]) -> list[Node]:
        """The roots after a pass, which sees the late indices too: they must stay Nodes of the same
        Graph."""
        rewritten = rewrite([*roots, *(n for n, _ in self.late)])
        self.late = [
            (n, extent) for n, (_, extent) in zip(rewritten[len(roots) :], self.late, strict=True)
        ]
        return rewritten[: len(roots)]


def find_checks(roots: Iterable[Node]) -> Checks:
    """Every (index Node, extent) that could be out of range, once each, named by the gather rather
    than its gradient."""
    order = toposort(roots)
    users = [n for n in order if n.op in INDEXED]
    if not users:
        return Checks()
    from_inputs, known = _made_of_inputs(order), ranges(order)
    checks = Checks()
    early_sites: list[CheckSite] = []
    late_sites: list[CheckSite] = []
    for user in sorted(users, key=lambda n: n.op is not Op.GATHER):
        for indices, axis, extent in indices_of(user):
            n = _seen_whole(indices)
            least, greatest = known[n]
            is_certain = least >= 0 and greatest < extent
            if (
                n.size == 0
                or is_certain
                or (n, extent) in checks.early
                or (n, extent) in checks.late
            ):
                continue
            pairs, sites = (
                (checks.early, early_sites) if n in from_inputs else (checks.late, late_sites)
            )
            pairs.append((n, extent))
            sites.append(CheckSite(user.op.value, axis, extent, user.site, shift_of(n, extent)))
    checks.sites = early_sites + late_sites
    return checks


def _seen_whole(n: Node) -> Node:
    """What has the same elements as n, each perhaps less often."""
    while n.op in WHOLE and n.size:
        n = n.src[0]
    return n


def clamp_late(roots: Iterable[Node], checks: Checks) -> list[Node]:
    """The Graph with every index of a late check clamped where it is used; `checks` then names the
    new Nodes."""
    roots = list(roots)
    late = set(checks.late)
    if not late:
        return roots

    def clamped(old: Node, n: Node) -> Node:
        if n.op not in INDEXED:
            return n
        extents = [
            extent if (_seen_whole(i), extent) in late else None for i, _, extent in indices_of(old)
        ]
        first = first_index(n)
        indices = [
            i if extent is None else _clamped(i, extent)
            for i, extent in zip(n.src[first:], extents, strict=True)
        ]
        return rebuild(n, (*n.src[:first], *indices))

    return checks.through(lambda graph: mapped(graph, toposort(graph), clamped), roots)


def _clamped(index: Node, extent: int) -> Node:
    low, high = full(0, dt.int64, index.shape), full(extent - 1, dt.int64, index.shape)
    above = node(Op.WHERE, (node(Op.LT, (index, low)), low, index))
    return node(Op.WHERE, (node(Op.LT, (high, above)), high, above))


def _made_of_inputs(order: list[Node]) -> set[Node]:
    allowed = ELEMENTWISE | VIEWS | HINTS | LEAVES
    out: set[Node] = set()
    for n in order:
        if n.op in allowed and all(s in out for s in n.src):
            out.add(n)
    return out


def leaves_of(nodes: Iterable[Node]) -> list[Node]:
    """The inputs below these Nodes."""
    return [n for n in toposort(nodes) if n.op is Op.INPUT]


@dataclass(frozen=True)
class CheckSite:
    """What a failing Check reports: the name of the operation, the axis, its extent, the user's
    line.

    `shift` is what separates a negative value from the index that was written
    (ir/graph/negative_indices.py). `kernel`: the Check looks at values instead
    (codegen/kernels/finite_checks.py), those of this kernel of the program, named by `what`;
    those in loops are counted, too. `batch`: a matrix of a batch with these axes is refused, by a
    routine (ir/ops/routines.py), or by the kernel that solves or factors systems of equations,
    whose value is the number of the first bad pivot, from 1.
    """

    what: str
    axis: int
    extent: int
    site: Site | None
    shift: int = 0
    kernel: int | None = None
    batch: tuple[int, ...] | None = None


def pivots_of(n: Node) -> CheckSite:
    """What the Check of a SOLVE or CHOLESKY reports."""
    return CheckSite(n.arg or n.op.value, 0, 1, n.site, batch=n.shape[:-2])
