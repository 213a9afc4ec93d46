"""Indexes and masks over scalars and lanes. In: Index, Range, the lane variable's place. Out:
scalar or vector values.

The lane variable takes W consecutive values from a multiple of W on; a group is one such vector,
and an unrolled step has several. The stride of an Index is what it grows by from lane to lane, if
that is one number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from ...ir.graph.graph import Node
from ...ir.graph.index import Div, Gathered, Index, Mask, Mod, Range, Term, Var, stretch
from ...ir.graph.op import Op
from ...ir.loops.loop import Buf
from ...ir.loops.walk import any_below, index_values, variables
from ...ir.symbolic.integer import Symbolic
from .values import Val, integer, iota
from .writer import Writer

# elements beyond an array's ends: a border of images reaches less far, and 64 vectors there cost 5
# us
FAR = 1024


@dataclass(eq=False)
class Lanes:
    """An open LANES loop: its variable is `base` in lane 0 of group 0; a tail says which lanes of a
    group are in range."""

    var: Var
    w: int
    base: Val
    tails: list[Val | None]
    level: int  # of the region its body stands in
    lanewise: set[Buf]  # REG buffers allocated inside: one copy a lane
    varies: dict[Node, bool] = field(default_factory=dict)  # shared by all steps of a loop
    first: Val | int = 0  # the partial sum that lane 0 of group 0 adds to

    def shift(self, index: Index, group: int) -> Index:
        """The index in lane 0 of a group, in terms of the variable in group 0."""
        if group == 0 or self.var not in index.vars():
            return index
        return index.substitute({self.var: Index({self.var: 1}, group * self.w)})

    def varying(self, root: Node) -> bool:
        """Whether a Node may differ between lanes."""
        return (
            self.varies[root]
            if root in self.varies
            else any_below(root, self.varies, self._varies_itself)
        )

    def _varies_itself(self, n: Node) -> bool:
        if n.op is Op.LOAD and n.arg[0] in self.lanewise:
            return True
        return n.op in (Op.LOAD, Op.VAR) and self.var in variables(n)

    def stride(self, index: Index) -> int | None:
        """What the index grows by from lane to lane; None where that is not one number, or not
        known."""
        total = 0
        for term, coef in index.terms:
            step = self._term_stride(term)
            if step is None:
                return None
            if step:
                total += coef * step
        return None if isinstance(total, Symbolic) else total

    def stretch(self, index: Index) -> int | None:
        """How many neighbouring lanes see each element, if a vector sees consecutive elements so
        often: x[lane // 2]."""
        by = stretch(index, self.var)
        match [t for t, _ in index.terms if self.stride(Index({t: 1})) != 0]:
            case [Div(inner, _)] if by > 1 and self.w % by == 0 and self.stride(inner) == 1:
                return by
        return None

    def _term_stride(self, term: object) -> int | None:
        match term:
            case Var():
                return int(term is self.var)
            case Gathered(n, _):
                return None if self.varying(n) else 0
            case Div(index, by):
                step = self.stride(index)
                return 0 if step == 0 or (step and self._within(index, step, by)) else None
            case Mod(index, by):
                step = self.stride(index)
                return step if step == 0 or (step and self._within(index, step, by)) else None
        raise AssertionError(term)

    def _within(self, index: Index, step: int, by: int) -> bool:
        """Whether no two lanes of a group lie in different blocks of `by`."""
        if isinstance(by, Symbolic) or any(isinstance(c, Symbolic) for _, c in index.terms):
            return False
        block = gcd(by, index.const)
        for term, coef in index.terms:
            block = gcd(block, coef * self.w if term is self.var else coef)
        return 0 < step * (self.w - 1) < block


@dataclass
class Scope:
    """What names mean at this place of a function."""

    writer: Writer
    vars: dict[Var, Val] = field(default_factory=dict)
    lanes: Lanes | None = None

    def key(self, n: Node, group: int) -> object:
        """The memo key of a Node: per group where its lanes differ."""
        return (n, self.lanes, group) if self.lanes and self.lanes.varying(n) else n

    def value(self, n: Node, group: int) -> Val | None:
        return self.writer.known(self.key(n, group))


def _block(scope: Scope, term: Div | Mod | Gathered | Var, group: int) -> Val:
    """A term in lane 0 of a group, whose index is already shifted to that group."""
    w = scope.writer
    match term:
        case Var():
            return scope.vars[term]
        case Gathered(n, extent):
            value = scope.value(n, group)
            assert value is not None
            return _clamped(w, value, extent)
        case Div(index, by):
            return w.divide(scalar_index(scope, index, group, shifted=True), by, index.bounds[0])
        case Mod(index, by):
            return _remainder(
                w, scalar_index(scope, index, group, shifted=True), by, index.bounds[0]
            )


def _clamped(w: Writer, v: Val, extent: int) -> Val:
    """0 where a gathered index is out of range: a Check reports it, memory stays safe."""
    return w.select(w.compare("ult", v, w.number(extent)), v, integer(0))


def _remainder(w: Writer, v: Val, by: int, least: int) -> Val:
    if not isinstance(by, Symbolic) and by & (by - 1) == 0:
        return w.binary("and", v, Val(str(by - 1), v.type))
    return w.binary("sub", v, w.mul(w.divide(v, by, least), by))


def _ordered_terms(scope: Scope, index: Index, group: int) -> list[Val]:
    """Every term times its coefficient, those of outer loops first."""
    parts = [scope.writer.mul(_block(scope, t, group), c) for t, c in index.terms]
    return sorted(parts, key=lambda v: v.level)


def scalar_index(scope: Scope, index: Index, group: int, shifted: bool = False) -> Val:
    """The index (in lane 0 of a group) as an i64."""
    if scope.lanes and not shifted:
        index = scope.lanes.shift(index, group)
    total = integer(0)
    for part in _ordered_terms(scope, index, group):
        total = scope.writer.add(total, part)
    return scope.writer.add(total, scope.writer.number(index.const))


def pointer(scope: Scope, base: Val, elem: str, index: Index, group: int) -> Val:
    """Where element `index` (in lane 0 of a group) of an array is: outer loops' part first, the
    constant last."""
    w = scope.writer
    if scope.lanes:
        index = scope.lanes.shift(index, group)
    pending, ptr = integer(0), base
    for part in _ordered_terms(scope, index, group):
        if part.level > pending.level and pending.text != "0":
            ptr, pending = w.offset(ptr, elem, pending), integer(0)
        pending = w.add(pending, part)
    return w.offset(w.offset(ptr, elem, pending), elem, w.number(index.const))


_LIMIT = 1 << 31


def index_bits(index: Index) -> int:
    """32 where every step of its evaluation fits, else 64."""
    bounds = [b for t, _ in index.terms for b in t.bounds]
    if any(isinstance(x, Symbolic) for x in (index.const, *bounds, *(c for _, c in index.terms))):
        return 64
    size = abs(index.const) + sum(abs(c) * (1 + max(map(abs, t.bounds))) for t, c in index.terms)
    inner = [t.index for t, _ in index.terms if isinstance(t, Div | Mod)]
    return 32 if 2 * size < _LIMIT and all(index_bits(i) == 32 for i in inner) else 64


def vector_index(scope: Scope, index: Index, group: int, bits: int) -> Val:
    """The index in every lane of a group, as `bits`-wide integers."""
    w, lanes = scope.writer, scope.lanes
    assert lanes is not None
    stride = lanes.stride(index)
    if stride is not None:
        first = _narrow(w, scalar_index(scope, index, group), bits)
        return (
            w.add(w.splat(first, lanes.w), iota(lanes.w, bits, step=stride))
            if stride
            else w.splat(first, lanes.w)
        )
    apart = {t: c for t, c in index.terms if lanes.stride(Index({t: c})) is None}
    uniform = Index({t: c for t, c in index.terms if t not in apart}, index.const)
    total = vector_index(scope, uniform, group, bits)
    for term, coef in apart.items():
        total = w.add(total, w.mul(_vector_term(scope, term, group, bits), coef))
    return total


def _vector_term(scope: Scope, term: Term, group: int, bits: int) -> Val:
    w = scope.writer
    assert scope.lanes is not None
    if scope.lanes.stride(alone := Index({term: 1})) is not None:  # times what is not known
        return vector_index(scope, alone, group, bits)
    match term:
        case Gathered(n, extent):
            value = scope.value(n, group)
            assert value is not None
            return _narrow(w, _clamped(w, value, extent), bits)
        case Div(index, by):
            return w.divide(vector_index(scope, index, group, bits), by, index.bounds[0])
        case Mod(index, by):
            return _remainder(w, vector_index(scope, index, group, bits), by, index.bounds[0])
    raise AssertionError(term)


def _narrow(w: Writer, v: Val, bits: int) -> Val:
    if v.type == f"i{bits}":
        return v
    return (
        Val(v.text, f"i{bits}", v.w)
        if v.literal and v.w == 1
        else w.convert("trunc", v, f"i{bits}")
    )


# ---------------------------------------------------------------- masks


def both(w: Writer, a: Val | None, b: Val | None) -> Val | None:
    """a and b, where None always holds."""
    if a is None or b is None:
        return a or b
    return w.binary("and", a, b)


def mask_value(scope: Scope, mask: Mask, group: int) -> Val | None:
    """The mask as an i1 or a vector of them; None where it always holds."""
    out: Val | None = None
    for r in mask:
        if not r.always:
            out = both(scope.writer, out, _range_value(scope, r, group))
    return out


def far_ranges(mask: Mask, index: Index) -> Mask:
    """The conditions without which the index might go far beyond its array, as to the other parts
    of a join."""
    coefs = dict(index.terms)

    def reach(r: Range) -> int:
        return r.beyond * max((abs(coefs.get(t, 0) // c) for t, c in r.index.terms), default=0)

    def is_far(r: Range) -> bool:
        steps = [c for t, k in r.index.terms for c in (k, coefs.get(t, 0))]
        return any(isinstance(c, Symbolic) for c in steps) or reach(r) >= FAR

    return tuple(r for r in mask if is_far(r))


def any_live(scope: Scope, mask: Mask, group: int) -> Val | None:
    """Whether the mask may hold in any lane; None where it always does."""
    assert scope.lanes is not None
    w, lanes = scope.writer, scope.lanes
    uniform, varying = (
        tuple(r for r in mask if (lanes.stride(r.index) == 0) is same) for same in (True, False)
    )
    some = mask_value(scope, varying, group)
    return both(w, mask_value(scope, uniform, group), some and w.any_lane(some))


def _range_value(scope: Scope, r: Range, group: int) -> Val:
    """lo <= index < hi as one unsigned comparison."""
    if r.never:
        return Val("false", "i1")
    varying = scope.lanes is not None and scope.lanes.stride(r.index) != 0
    shifted = r.index - r.lo
    if not varying:
        return scope.writer.compare(
            "ult", scalar_index(scope, shifted, group), scope.writer.number(r.hi - r.lo)
        )
    extent = r.hi - r.lo
    fits = index_bits(shifted) == 32 and not isinstance(extent, Symbolic) and extent < _LIMIT
    bits = 32 if fits else 64
    return scope.writer.compare(
        "ult", vector_index(scope, shifted, group, bits), scope.writer.number(extent, bits)
    )


def tail_of(scope: Scope, group: int) -> Val | None:
    return scope.lanes.tails[group] if scope.lanes else None


def active(scope: Scope, mask: Mask, group: int) -> Val | None:
    """The mask together with the loop's tail."""
    return both(scope.writer, mask_value(scope, mask, group), tail_of(scope, group))


def needed(index: Index, mask: Mask = ()) -> list[Node]:
    """The Nodes to evaluate before an index and a mask can be."""
    return [*index.values(), *index_values(mask)]
