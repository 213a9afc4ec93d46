"""Graph -> Units with commonly refined axes: (B*T, V) and (B, T, V) meet as (B, T, V). In: roots.
Out: Units in order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from ..graph.graph import Node, toposort
from ..graph.index import Div, Index, Mod, Var, row_major
from ..graph.op import ELEMENTWISE, HINTS, LEAVES, REGIONAL, SCANS, SYSTEMS, VIEWS, Op
from ..symbolic.decisions import ask_residue
from ..symbolic.questions import has_several, is_same
from .kernel import Unit, at_sub_axes, cost, is_widening

# a value made of constants and counters is recomputed where it is used, up to this many operations
INLINE_COST = 16
MAX_SPLITS = 6  # sub-axes of one axis
NONE = dict[Node, Unit]()


@dataclass
class Units:
    """The units of a Graph; `of` finds the unit of a Node, `inline` are Nodes evaluated where they
    are used."""

    order: list[Unit]
    of: dict[Node, Unit]
    inline: set[Node]
    stored: set[Node]  # Nodes that must be in memory: outputs and KEEP


def collect(
    roots: Iterable[Node], kept: Iterable[Node] = (), alike: Mapping[Node, Unit] = NONE
) -> Units:
    """A Unit for each computed Node, axes refined so that reshapes between units need no division.
    `kept` go to memory too; `alike`: units, refined in another Graph, of the same values, for which
    nothing has to be found out again.
    """
    roots = list(roots)
    order = toposort(roots)
    inline = inline_nodes(order)
    stored, copies = _stored([*roots, *kept], order)
    units: list[Unit] = []
    for n in order:
        is_value = (
            n.op in ELEMENTWISE
            or n.op in SCANS
            or n.op in REGIONAL
            or n.op in SYSTEMS
            or n.op in (Op.REDUCE, Op.SCATTER, Op.PUT, Op.ARGSORT, Op.FFT, Op.ELSEWHERE)
        )
        elsewhere = n in inline or is_widening(n)  # evaluated where it is used
        if n.size and ((is_value and (not elsewhere or n in stored)) or n in copies):
            axes = [list(sub) for sub in alike[n].axes] if n in alike else []
            units.append(Unit(n, len(units), axes))
    collected = Units(
        units, {u.node: u for u in units if u.node.op not in LEAVES}, inline - stored, stored
    )
    refine(collected, alike)
    return collected


def inline_nodes(order: list[Node]) -> set[Node]:
    """Maps over constants, counters and 0-d inputs only: cheap to repeat, nothing to load."""
    total: dict[Node, int] = {}
    for n in order:
        if n.op in (Op.CONST, Op.IOTA) or (n.op is Op.INPUT and n.size == 1):
            total[n] = 0
        elif (n.op in ELEMENTWISE or n.op in VIEWS) and all(s in total for s in n.src):
            operations = sum(total[s] for s in n.src) + (cost(n) if n.op in ELEMENTWISE else 0)
            if n.size == 1 or operations <= INLINE_COST:
                total[n] = operations if n.size > 1 else 0
    return {n for n in total if n.op in ELEMENTWISE}


def _stored(roots: list[Node], order: list[Node]) -> tuple[set[Node], set[Node]]:
    """(Nodes that live in memory, those of them that are views or leaves and need a copying
    unit)."""
    stored = {n for n in order if n.op is Op.KEEP} | set(roots)
    copies = {
        n for n in stored if n.op in VIEWS or n.op in HINTS or n.op in LEAVES or n.op is Op.GATHER
    }
    return stored, copies


def refine(units: Units, known: Container[Node] = ()) -> None:
    """Splits axes until no read between units divides a variable, as far as extents allow. Between
    `known` Nodes none does."""
    users: dict[Unit, list[Unit]] = {u: [] for u in units.order}
    for u in units.order:
        for r in u.reads:
            if r.base in units.of and units.of[r.base] is not u:
                users[units.of[r.base]].append(u)
    # what of a unit's reads may be split: all at first and once its axes are others, else what it
    # reads of a unit whose axes are
    work = list(units.order)
    waiting = {
        u: {r.base for r in u.reads if u.node not in known or r.base not in known}
        for u in units.order
    }
    while work:
        u = work.pop()
        if not waiting[u]:
            continue
        split = _refine_reads(u, units, waiting[u])
        if split is None:
            waiting[u] = set()
            continue
        waiting[split] = {r.base for r in split.reads}
        for user in users[split]:
            waiting[user].add(split.node)
        work += [split, *users[split]]


def _refine_reads(u: Unit, units: Units, waiting: set[Node]) -> Unit | None:
    """Splits an axis for the first of these reads that needs it, and gives the unit whose axis it
    is."""
    for r in u.reads:
        producer = units.of.get(r.base)
        if producer is u or r.base not in waiting:
            continue
        if producer is None:
            cut = _division(row_major(r.index, r.base.shape))
        else:
            cut = None
            for e, sub in zip(r.index, producer.kept(), strict=True):
                parts = at_sub_axes(e, sub)
                for part in parts:
                    cut = cut or _division(part)
                if cut is None and _merge_cut(e, parts, sub, producer):
                    return producer
        if cut is not None and _splittable(u, *cut):
            u.split(*cut)
            return u
    return None


def _splittable(u: Unit, v: Var, by: int) -> bool:
    """Asks, since sums would have another order."""
    rest = v.extent % by
    ask_residue(rest)
    return (
        is_same(rest, 0)
        and has_several(by)
        and not is_same(by, v.extent)
        and any(v in sub and len(sub) < MAX_SPLITS for sub in u.axes)
    )


def _division(e: Index) -> tuple[Var, int] | None:
    """A variable divided in e, and by what."""
    if e.is_affine:
        return None
    for t, _ in e.terms:
        match t:
            case Div(index, by) | Mod(index, by):
                v = index.as_var
                if v is not None:
                    return v, by
    return None


def _merge_cut(e: Index, parts: list[Index], sub: list[Var], producer: Unit) -> bool:
    """Where a consumer reads one axis as hi*m + lo over the whole extent, splits the producer's
    axis at m. `parts`: e over the sub-axes."""
    if len(sub) >= MAX_SPLITS or e.const or len(e.terms) < 2:
        return False
    return any(
        _merge_cut_at(part, v, producer)
        for part, v in zip(parts, sub, strict=True)
        if not part.const and len(part.terms) > 1
    )


def _merge_cut_at(e: Index, axis: Var, producer: Unit) -> bool:
    parts = sorted(e.terms, key=lambda tc: tc[1])
    stride = 1
    for t, c in parts:
        if not isinstance(t, Var) or not is_same(c, stride):
            return False
        stride *= t.extent
    low = parts[0][0]
    ask_residue(stride - axis.extent)
    if (
        not is_same(stride, axis.extent)
        or not isinstance(low, Var)
        or not _splittable(producer, axis, low.extent)
    ):
        return False
    producer.split(axis, low.extent)
    return True
