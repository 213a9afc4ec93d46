"""Sorting taken apart: keys that compare as integers, places. In: a Kernel of one ARGSORT. Out: a
Sorting."""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Mask
from ...ir.graph.op import Op
from .evaluate import as_index
from .single_op import Lines

PACKED_BITS = 32  # of a key that shares a word with a place
_UNSIGNED = {d.bits: d for d in (dt.uint8, dt.uint16, dt.uint32, dt.uint64)}


_SIGNED = {d.bits: d for d in (dt.int8, dt.int16, dt.int32, dt.int64)}


def sort_key(x: Node, descending: bool) -> Node:
    """An unsigned integer that is smaller where x sorts first: NaN is the greatest, -0.0 equals
    0.0."""
    if x.dtype.kind == "b":
        key = cast(x, dt.uint8)
    elif x.dtype.is_float:
        key = _float_key(x)
    elif x.dtype.kind == "i":
        key = with_constant(
            Op.XOR, node(Op.BITCAST, (x,), _UNSIGNED[x.dtype.bits]), 1 << (x.dtype.bits - 1)
        )
    else:
        key = x
    return with_constant(Op.XOR, key, (1 << key.dtype.bits) - 1) if descending else key


def _float_key(x: Node) -> Node:
    """Negative numbers with all bits flipped, others with the sign bit set: IEEE 754 orders the
    rest. In integers alone, since 16-bit floats are only moved."""
    bits, unsigned, signed = x.dtype.bits, _UNSIGNED[x.dtype.bits], _SIGNED[x.dtype.bits]
    sign, infinity = 1 << (bits - 1), ((1 << (bits - x.dtype.digits)) - 1) << (x.dtype.digits - 1)
    raw = node(Op.BITCAST, (x,), unsigned)
    filled = node(
        Op.BITCAST, (with_constant(Op.SHR, node(Op.BITCAST, (x,), signed), bits - 1),), unsigned
    )
    key = node(Op.XOR, (raw, with_constant(Op.OR, filled, sign)))
    size = with_constant(Op.AND, raw, sign - 1)
    key = node(Op.WHERE, (with_constant(Op.EQ, size, 0), const(sign, unsigned), key))
    return node(
        Op.WHERE, (with_constant(Op.LT, size, infinity + 1), key, const((1 << bits) - 1, unsigned))
    )


def with_constant(op: Op, x: Node, value: float) -> Node:
    """The op of x and a number of its dtype."""
    return node(op, (x, const(value, x.dtype)))


class Sorting(Lines):
    """What all schedules share: the keys of the lines."""

    def key(self, line: Index, i: Index, guard: Mask = ()) -> Node:
        """The key of element i; of 0 where the guard does not hold."""
        return sort_key(
            self.evaluator.value(self.node.src[0], self.at(line, i), guard), self.node.arg[1]
        )


def packed(key: Node, place: Node) -> Node:
    """A key and a place in one word: words compare as the keys, equal ones as the places."""
    return node(Op.OR, (with_constant(Op.SHL, key, PACKED_BITS), cast(place, dt.uint64)))


def place_in(word: Node) -> Node:
    """The place in such a word."""
    return node(Op.BITCAST, (with_constant(Op.AND, word, (1 << PACKED_BITS) - 1),), dt.int64)


def place_at(n: Node, extent: int) -> Index:
    """A computed number as an index; it is below the extent by construction."""
    return as_index(cast(n, dt.int64), extent)
