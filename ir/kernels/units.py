"""Graph -> Units with commonly refined axes: (B*T, V) and (B, T, V) meet as (B, T, V). In: roots.
Out: Units in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..graph.graph import Node, toposort
from ..graph.index import Div, Index, Mod, Var, row_major
from ..graph.op import ELEMENTWISE, HINTS, LEAVES, SCANS, VIEWS, Op
from .kernel import Unit, at_sub_axes, cost, is_widening

# a value made of constants and counters is recomputed where it is used, up to this many operations
INLINE_COST = 16
MAX_SPLITS = 6  # sub-axes of one axis


@dataclass
class Units:
    """The units of a Graph; `of` finds the unit of a Node, `inline` are Nodes evaluated where they
    are used."""

    order: list[Unit]
    of: dict[Node, Unit]
    inline: set[Node]
    stored: set[Node]  # Nodes that must be in memory: outputs and KEEP


def collect(roots: Iterable[Node], kept: Iterable[Node] = ()) -> Units:
    """A Unit for each computed Node, axes refined so that reshapes between units need no division;
    `kept` go to memory too."""
    roots = list(roots)
    order = toposort(roots)
    inline = inline_nodes(order)
    stored, copies = _stored([*roots, *kept], order)
    units: list[Unit] = []
    for n in order:
        is_value = (
            n.op in ELEMENTWISE
            or n.op in SCANS
            or n.op in (Op.REDUCE, Op.SCATTER, Op.ARGSORT, Op.ELSEWHERE)
        )
        elsewhere = n in inline or is_widening(n)  # evaluated where it is used
        if n.size and ((is_value and (not elsewhere or n in stored)) or n in copies):
            units.append(Unit(n, len(units)))
    collected = Units(
        units, {u.node: u for u in units if u.node.op not in LEAVES}, inline - stored, stored
    )
    refine(collected)
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


def refine(units: Units) -> None:
    """Splits axes until no read between units divides a variable, as far as extents allow."""
    users: dict[Unit, list[Unit]] = {u: [] for u in units.order}
    for u in units.order:
        for r in u.reads:
            if r.base in units.of and units.of[r.base] is not u:
                users[units.of[r.base]].append(u)
    # a unit has nothing new to split unless it or what it reads changed
    work, changed = (
        list(units.order),
        set(units.order),
    )
    while work:
        u = work.pop()
        if u not in changed:
            continue
        touched = _refine_reads(u, units)
        if not touched:
            changed.discard(u)
        for t in touched:
            near = [t, *users[t]]  # those whose reads are others now
            work += near
            changed.update(near)


def _refine_reads(u: Unit, units: Units) -> set[Unit]:
    for r in u.reads:
        producer = units.of.get(r.base)
        if producer is u:
            continue
        if producer is None:
            cut = _division(row_major(r.index, r.base.shape))
        else:
            cut = None
            for e, sub in zip(r.index, producer.kept(), strict=True):
                for part in at_sub_axes(e, sub):
                    cut = cut or _division(part)
                if cut is None and _merge_cut(e, sub, producer):
                    return {producer}
        if cut is not None and _splittable(u, *cut):
            u.split(*cut)
            return {u}
    return set()


def _splittable(u: Unit, v: Var, by: int) -> bool:
    return (
        v.extent % by == 0
        and 1 < by < v.extent
        and any(v in sub and len(sub) < MAX_SPLITS for sub in u.axes)
    )


def _division(e: Index) -> tuple[Var, int] | None:
    """A variable divided in e, and by what."""
    for t, _ in e.terms:
        match t:
            case Div(index, by) | Mod(index, by):
                v = index.as_var
                if v is not None:
                    return v, by
    return None


def _merge_cut(e: Index, sub: list[Var], producer: Unit) -> bool:
    """Where a consumer reads one axis as hi*m + lo over the whole extent, splits the producer's
    axis at m."""
    if len(sub) >= MAX_SPLITS or e.const or len(e.terms) < 2:
        return False
    if len(sub) > 1:
        return any(
            _merge_cut(part, [v], producer)
            for part, v in zip(at_sub_axes(e, sub), sub, strict=True)
        )
    parts = sorted(e.terms, key=lambda tc: tc[1])
    stride = 1
    for t, c in parts:
        if not isinstance(t, Var) or c != stride:
            return False
        stride *= t.extent
    low = parts[0][0]
    if (
        stride != sub[0].extent
        or not isinstance(low, Var)
        or not _splittable(producer, sub[0], low.extent)
    ):
        return False
    producer.split(sub[0], low.extent)
    return True
