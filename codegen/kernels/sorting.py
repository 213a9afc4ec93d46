"""Sorting taken apart: keys that compare as integers, places. In: a Kernel of one ARGSORT. Out: a Sorting."""

from __future__ import annotations

from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Mask, unravel
from ...ir.graph.op import Op
from .evaluate import as_index
from .single_op import Alone

PACKED_BITS = 32  # of a key that shares a word with a place
_UNSIGNED = {d.bits: d for d in (dt.uint8, dt.uint16, dt.uint32, dt.uint64)}


_SIGNED = {d.bits: d for d in (dt.int8, dt.int16, dt.int32, dt.int64)}


def sort_key(x: Node, descending: bool) -> Node:
    """An unsigned integer that is smaller where x sorts first: NaN is the greatest, -0.0 equals 0.0."""
    if x.dtype.kind == "b":
        key = cast(x, dt.uint8)
    elif x.dtype.is_float:
        key = _float_key(x)
    elif x.dtype.kind == "i":
        key = with_constant(Op.XOR, node(Op.BITCAST, (x,), _UNSIGNED[x.dtype.bits]), 1 << (x.dtype.bits - 1))
    else:
        key = x
    return with_constant(Op.XOR, key, (1 << key.dtype.bits) - 1) if descending else key


def _float_key(x: Node) -> Node:
    """Negative numbers with all bits flipped, others with the sign bit set: IEEE 754 orders the rest. In integers alone,
    since 16-bit floats are only moved."""
    bits, unsigned, signed = x.dtype.bits, _UNSIGNED[x.dtype.bits], _SIGNED[x.dtype.bits]
    sign, infinity = 1 << (bits - 1), ((1 << (bits - x.dtype.digits)) - 1) << (x.dtype.digits - 1)
    raw = node(Op.BITCAST, (x,), unsigned)
    filled = node(Op.BITCAST, (with_constant(Op.SHR, node(Op.BITCAST, (x,), signed), bits - 1),), unsigned)
    key = node(Op.XOR, (raw, with_constant(Op.OR, filled, sign)))
    size = with_constant(Op.AND, raw, sign - 1)
    key = node(Op.WHERE, (with_constant(Op.EQ, size, 0), const(sign, unsigned), key))
    return node(Op.WHERE, (with_constant(Op.LT, size, infinity + 1), key, const((1 << bits) - 1, unsigned)))


def with_constant(op: Op, x: Node, value: float) -> Node:
    """The op of x and a number of its dtype."""
    return node(op, (x, const(value, x.dtype)))


class Sorting(Alone):
    """What all schedules share: the lines of x, where an element is, where its place in the order goes."""

    @property
    def x(self) -> Node:
        return self.node.src[0]

    @property
    def axis(self) -> int:
        return self.node.arg[0]  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        return self.x.shape[self.axis]

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes that number the lines."""
        return tuple(d for a, d in enumerate(self.x.shape) if a != self.axis)

    @property
    def lines(self) -> int:
        return prod(self.shape)

    def at(self, line: Index, i: Index) -> list[Index]:
        """Element i of a line."""
        index = unravel(line, self.shape)
        index.insert(self.axis, i if self.n > 1 else Index())
        return index

    def key(self, line: Index, i: Index, guard: Mask = ()) -> Node:
        """The key of element i; of 0 where the guard does not hold."""
        return sort_key(self.evaluator.value(self.x, self.at(line, i), guard), self.kernel.units[0].node.arg[1])


def place_at(n: Node, extent: int) -> Index:
    """A computed number as an index; it is below the extent by construction."""
    return as_index(cast(n, dt.int64), extent)
