"""Which axes of two units are the same axis. In: Units and the Reads between them. Out: pairs of axes, variables of factors."""

from __future__ import annotations

from collections.abc import Iterable

from .graph import Node
from .index import Var
from .kernel import Read, Unit, at_sub_axes, reads_of
from .op import Op

Outer = tuple[Var, ...]


def identity_axes(p: Unit, p_outer: Outer, c_outer: Outer, r: Read) -> set[tuple[int, int]]:
    """Pairs (i, k): the consumer reads outer axis i of the producer at exactly its own outer axis k, unmasked."""
    masked = {v for m in r.mask for v in m.index.vars()}
    found = set()
    for e, sub in zip(r.index, p.kept(), strict=True):
        for v, part in zip(sub, at_sub_axes(e, sub), strict=True):
            w = part.as_var
            if v in p_outer and w is not None and w in c_outer and w.extent == v.extent and w not in masked:
                found.add((p_outer.index(v), c_outer.index(w)))
    return found


def same_axes(r: Read, outer_a: Outer, q: Read, outer_b: Outer) -> set[tuple[int, int]]:
    """Pairs of outer axes that read the same axis of a shared value at the identity."""
    found = set()
    for e, f in zip(r.index, q.index, strict=True):
        v, w = e.as_var, f.as_var
        if v is not None and w is not None and v in outer_a and w in outer_b and v.extent == w.extent:
            found.add((outer_a.index(v), outer_b.index(w)))
    return found


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
    return {v for r in reads for e in r.index for v in e.vars()} | {v for r in reads for m in r.mask for v in m.index.vars()}
