"""A Node at an index -> a loop-level expression. In: where each stored value lives. Out: scalar
Nodes over LOADs and VARs.

Views are pushed into the index (ir/graph/views.py); values of the same kernel are evaluated in
place; a stack replaces recursion, so that chains of any length work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, node, scalar_node
from ...ir.graph.index import Gathered, Index, Mask, Range, mask_of
from ...ir.graph.op import ELEMENTWISE, Op
from ...ir.graph.site import NOWHERE, provenance
from ...ir.graph.views import resolve
from ...ir.loops.loop import Buf
from ...ir.symbolic.questions import is_below

# the value of a Node at an index, needed only where the mask holds
Key = tuple[Node, tuple[Index, ...], Mask]

Local = Callable[[Node, tuple[Index, ...]], Node | None]


@dataclass(frozen=True)
class Place:
    """A stored value: buf[origin + sum(index * strides)]."""

    buf: Buf
    strides: tuple[int, ...]
    # of a part of the value: where the element at index 0 would be
    origin: Index = field(default_factory=Index)

    def at(self, index: Sequence[Index]) -> Index:
        flat = self.origin
        for i, s in zip(index, self.strides, strict=True):
            flat = flat + i * s
        return flat


def load(buf: Buf, index: Index, mask: Mask = ()) -> Node:
    """The element of a buffer as a Node."""
    return scalar_node(Op.LOAD, (), (buf, index, mask), buf.dtype)


def counter(index: Index) -> Node:
    """The value of an index as an int64 Node."""
    return (
        const(index.const, dt.int64)
        if not index.terms
        else scalar_node(Op.VAR, (), index, dt.int64)
    )


def as_index(n: Node, extent: int) -> Index:
    """An int64 Node as an index: affine where it is one."""
    if n.op is Op.VAR:
        return n.arg  # type: ignore[no-any-return]
    return Index(const=n.arg) if n.op is Op.CONST else Index({Gathered(n, extent): 1})


def where_mask(mask: Mask, value: Node) -> Node:
    """The value where every condition holds, else 0."""
    if not mask:
        return value
    if any(r.never for r in mask):
        return const(0, value.dtype)
    holds = condition(mask[0])
    for r in mask[1:]:
        holds = node(Op.AND, (holds, condition(r)))
    return node(Op.WHERE, (holds, value, const(0, value.dtype)))


def condition(r: Range) -> Node:
    """A mask condition as a bool Node: only the bounds that are not certain."""
    at, (lo, hi) = counter(r.index), r.index.bounds
    above = node(Op.LT, (const(r.lo - 1, dt.int64), at))
    below = node(Op.LT, (at, const(r.hi, dt.int64)))
    if lo >= r.lo:
        return below
    return above if hi < r.hi else node(Op.AND, (above, below))


class Evaluator:
    """Evaluates Nodes inside one kernel. `places` are stored values, `local(n, index)` overrides
    (accumulators, scratch rows)."""

    def __init__(self, places: dict[Node, Place], local: Local = lambda n, at: None) -> None:
        self.places, self.local = places, local
        self.memo: dict[Key, Node] = {}

    def value(self, n: Node, index: Sequence[Index], guard: Mask = ()) -> Node:
        """n[index] as an expression: 0 where the guard does not hold."""
        base, at, mask = self._resolve(n, list(index))
        mask = mask_of([*guard, *mask])
        if base.op is not Op.GATHER and base in self.places and self.local(base, at) is None:
            return self._load(base, at, mask)
        self._evaluate((base, at, mask))
        return where_mask(mask, self.memo[base, at, mask])

    def _resolve(self, n: Node, index: list[Index]) -> tuple[Node, tuple[Index, ...], Mask]:
        base, at, ranges = resolve(n, index)
        return base, tuple(at), mask_of(ranges)

    def _load(self, base: Node, at: tuple[Index, ...], mask: Mask) -> Node:
        if any(r.never for r in mask):
            return const(0, base.dtype)
        place = self.places[base]
        return load(place.buf, place.at(at), mask)

    def _evaluate(self, root: Key) -> None:
        stack = [root]
        with provenance(NOWHERE) as line:
            while stack:
                key = stack[-1]
                if key in self.memo:
                    stack.pop()
                    continue
                line.move(key[0].site or NOWHERE)
                missing = self._step(key)
                if missing:
                    stack.extend(missing)
                else:
                    stack.pop()

    def _step(self, key: Key) -> list[Key]:
        """Computes memo[key], or returns what must be evaluated first."""
        n, at, guard = key
        value = self.local(n, at)
        if value is not None:
            self.memo[key] = value
        elif n in self.places:
            self.memo[key] = self._load(n, at, guard)
        elif n.op is Op.CONST:
            self.memo[key] = n
        elif n.op is Op.IOTA:
            self.memo[key] = counter(at[0])
        elif n.op is Op.GATHER:
            return self._gather(key)
        elif n.op is Op.KEEP:
            return self._elementwise(key)
        else:
            assert n.op in ELEMENTWISE, f"{n} cannot be evaluated inside a kernel"
            return self._elementwise(key)
        return []

    def _operands(
        self, sources: Sequence[Node], at: tuple[Index, ...], guard: Mask
    ) -> tuple[list[Node], list[Key]]:
        """Values of the sources; every load below keeps the guard, so that nothing outside of a
        padded value is read."""
        values, missing = [], []
        for s in sources:
            base, index, mask = self._resolve(s, list(at))
            both = mask_of([*guard, *mask])
            if base in self.places and self.local(base, index) is None:
                values.append(self._load(base, index, both))
            elif (base, index, both) in self.memo:
                values.append(where_mask(mask, self.memo[base, index, both]))
            else:
                missing.append((base, index, both))
        return values, missing

    def _elementwise(self, key: Key) -> list[Key]:
        n, at, guard = key
        values, missing = self._operands(n.src, at, guard)
        if not missing:
            self.memo[key] = values[0] if n.op is Op.KEEP else fold(n, values)
        return missing

    def _gather(self, key: Key) -> list[Key]:
        n, at, guard = key
        ndim = n.src[1].ndim
        indices, missing = self._operands(n.src[1:], at[:ndim], guard)
        if missing:
            return missing
        rest = iter(at[ndim:])
        chosen = dict(zip(n.arg, indices, strict=True))
        x = n.src[0]
        where = [
            as_index(chosen[a], d) if a in chosen else next(rest) for a, d in enumerate(x.shape)
        ]
        values, missing = self._operands([x], tuple(where), guard)
        if not missing:
            self.memo[key] = values[0]
        return missing


def fold(n: Node, values: list[Node]) -> Node:
    """The op over loop-level operands; counters stay affine and comparisons of counters fold by
    their bounds."""
    if (
        n.dtype is dt.int64
        and n.op in (Op.ADD, Op.SUB, Op.MUL)
        and all(v.op in (Op.VAR, Op.CONST) for v in values)
    ):
        a, b = (as_index(v, 0) for v in values)
        if n.op is Op.MUL and not (a.terms and b.terms):
            return counter(a * b.const if a.terms else b * a.const)
        if n.op is not Op.MUL:
            return counter(a + b if n.op is Op.ADD else a - b)
    if n.op is Op.LT and all(v.op in (Op.VAR, Op.CONST) and v.dtype is dt.int64 for v in values):
        (a_lo, a_hi), (b_lo, b_hi) = (as_index(v, 0).bounds for v in values)
        if is_below(a_hi, b_lo) or is_below(b_hi - 1, a_lo):
            return const(is_below(a_hi, b_lo), dt.bool_)
    if n.op is Op.WHERE and values[0].op is Op.CONST:
        return values[1] if values[0].arg else values[2]
    return node(n.op, values, n.arg)
