"""Matching of the axes of two units. In: Units and the Reads between them. Out: pairs of axes,
variables of factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..graph.graph import Node
from ..graph.index import Var
from ..graph.op import Op
from ..symbolic.questions import has_several
from .kernel import Unit, at_sub_axes, reads_of
from .places import Read

Outer = tuple[Var, ...]
Outers = Mapping[Unit, Outer | None]


@dataclass
class Form:
    """How units run as one kernel: outer axes, contraction and column sums (see Kernel), owners
    within a chain (see Chain).

    `outer[u]` is None for units of a contraction's prologue and for maps of column sums.
    """

    outer: dict[Unit, Outer | None]
    anchor: Unit | None = None
    columns: dict[Unit, Outer] = field(default_factory=dict)
    owner: dict[Unit, Unit] = field(default_factory=dict)

    @property
    def units(self) -> list[Unit]:
        return sorted(self.outer, key=lambda u: u.position)

    @property
    def running(self) -> list[Unit]:
        """The units that run over the outer axes."""
        return [u for u, axes in self.outer.items() if axes is not None]

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the outer axes."""
        axes = (
            self.outer[self.anchor]
            if self.anchor
            else next(axes for axes in self.outer.values() if axes is not None)
        )
        return tuple(v.extent for v in axes or ())


def identity_axes(p: Unit, p_outer: Outer, c_outer: Outer, r: Read) -> set[tuple[int, int]]:
    """Pairs (i, k): the consumer reads outer axis i of the producer at exactly its own outer axis
    k, unmasked."""
    masked = {v for m in r.mask for v in m.index.vars()}
    pairs = set()
    for e, sub in zip(r.index, p.kept(), strict=True):
        for v, part in zip(sub, at_sub_axes(e, sub), strict=True):
            w = part.as_var
            if (
                v in p_outer
                and w is not None
                and w in c_outer
                and w.extent == v.extent
                and w not in masked
            ):
                pairs.add((p_outer.index(v), c_outer.index(w)))
    return pairs


def same_axes(r: Read, outer_a: Outer, q: Read, outer_b: Outer) -> set[tuple[int, int]]:
    """Pairs of outer axes along which both reads take equal steps in one axis of a shared value."""
    pairs = set[tuple[int, int]]()
    for e, f in zip(r.index, q.index, strict=True):
        steps = [
            (i, k)
            for i, v in enumerate(outer_a)
            for k, w in enumerate(outer_b)
            if 0 != e.coef(v) == f.coef(w)
        ]
        pairs |= {(i, k) for i, k in steps if outer_a[i].extent == outer_b[k].extent}
    return pairs


def shared_axes(a: Form, b: Form) -> set[tuple[int, int]]:
    """Pairs of outer axes that are the same axis of the largest value both read, of those with the
    most axes. Asks about sizes where another value has other pairs."""
    reads_a, reads_b = _by_base(a.outer), _by_base(b.outer)
    pairs = {
        base: set.intersection(
            *(same_axes(r, own, q, other) for r, own in reads_a[base] for q, other in reads_b[base])
        )
        for base in reads_a
        if base in reads_b
    }
    largest, *others = pairs
    for n in others:
        if pairs[n] != pairs[largest] and _is_larger(n, largest):
            largest = n
    return pairs[largest]


def _is_larger(one: Node, other: Node) -> bool:
    ranks = [sum(map(has_several, n.shape)) for n in (one, other)]
    return one.nbytes > other.nbytes if ranks[0] == ranks[1] else ranks[0] > ranks[1]


def _by_base(units: Outers) -> dict[Node, list[tuple[Read, Outer]]]:
    out: dict[Node, list[tuple[Read, Outer]]] = {}
    for u, outer in units.items():
        for r in u.reads:
            out.setdefault(r.base, []).append((r, outer or ()))
    return out


def reads_own_place(p: Unit, p_outer: Outer, c: Unit, r: Read) -> bool:
    """Does the consumer read the element of the producer at its own place, both over these axes
    alone?"""
    kept = c.kept_vars()
    return len(p_outer) == len(kept) and identity_axes(p, p_outer, kept, r) == {
        (i, i) for i in range(len(kept))
    }


def extended(u: Unit, reads: Iterable[tuple[Unit, Read]], form: Form) -> Outer | None:
    """The outer variables of a map that every consumer reads at the identity, if those are all that
    it has."""
    axes: Outer | None = None
    kept, width = u.kept_vars(), len(form.extents)
    if len(kept) != width:
        return None
    for c, r in reads:
        c_outer = form.outer[c]
        if c_outer is None:
            return None
        pairs = dict((k, i) for i, k in identity_axes(u, kept, c_outer, r))
        if len(pairs) != width:
            return None
        own = tuple(kept[pairs[k]] for k in range(width))
        if axes not in (None, own):
            return None
        axes = own
    return axes


def one_level(units: Iterable[Unit]) -> bool:
    """No reduction among the units depends on another."""
    reduced: set[Node] = set()
    for u in sorted(units, key=lambda u: u.position):
        tainted = any(r.base in reduced for r in u.reads)
        if u.node.op is Op.REDUCE and tainted:
            return False
        if tainted or u.node.op is Op.REDUCE:
            reduced.add(u.node)
    return True


def factor_vars(anchor: Unit, product: Unit) -> tuple[set[Var], set[Var]] | None:
    """The variables of the anchor that index each factor of its product."""
    reads = [r for r in anchor.reads if r.base is product.node]
    if len(reads) != 1 or reads[0].mask:
        return None
    (read,) = reads
    to_anchor: dict[Var, set[Var]] = {}
    for e, sub in zip(read.index, product.axes, strict=True):
        for v, part in zip(sub, at_sub_axes(e, sub), strict=True):
            to_anchor[v] = part.vars()
    sides = []
    for s in product.node.src:
        from_factor = _factor_index_vars(s, product)
        sides.append({w for v in from_factor for w in to_anchor.get(v, set())})
    return sides[0], sides[1]


def _factor_index_vars(factor: Node, product: Unit) -> set[Var]:
    reads = reads_of(factor, product.coordinates())
    return {v for r in reads for e in r.index for v in e.vars()} | {
        v for r in reads for m in r.mask for v in m.index.vars()
    }
