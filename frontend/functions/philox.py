"""Random bits. In: key and draw number as 0-d uint64 Nodes, a count. Out: uint64 Nodes that hold 32
random bits each.

Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
2011), as in Random123. Element e of draw d has the counter (e low, e high, d low, d high): a pure
function of key, draw and position.
"""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, full, node
from ...ir.graph.op import Op
from ..operands.broadcast import broadcast_to

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # golden ratio and sqrt(3) - 1
ROUNDS = 10
LOW = 0xFFFFFFFF

Words = tuple[Node, Node, Node, Node]


def _like(x: Node, value: int) -> Node:
    return full(value, dt.uint64, x.shape)


def low(x: Node) -> Node:
    """The low 32 bits."""
    return node(Op.AND, (x, _like(x, LOW)))


def high(x: Node) -> Node:
    """The high 32 bits."""
    return node(Op.SHR, (x, _like(x, 32)))


def _xor(a: Node, b: Node, key: Node) -> Node:
    return node(Op.XOR, (node(Op.XOR, (a, b)), broadcast_to(key, a.shape)))


def philox(counter: Words, key: tuple[Node, Node]) -> Words:
    """Four random words from four counter words of one shape and two 0-d key words; words are
    uint64 below 2**32."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for step in range(ROUNDS):
        if step:
            k0 = low(node(Op.ADD, (k0, const(WEYL[0], dt.uint64))))
            k1 = low(node(Op.ADD, (k1, const(WEYL[1], dt.uint64))))
        p0 = node(Op.MUL, (c0, _like(c0, MULTIPLIERS[0])))
        p1 = node(Op.MUL, (c2, _like(c2, MULTIPLIERS[1])))
        c0, c1, c2, c3 = _xor(high(p1), c1, k0), low(p1), _xor(high(p0), c3, k1), low(p0)
    return c0, c1, c2, c3


def words(count: int, key: Node, draw: Node) -> Words:
    """Four random words for each of `count` elements."""
    position = node(Op.CAST, (node(Op.IOTA, (), count),), dt.uint64)
    shape = position.shape
    draw_low, draw_high = broadcast_to(low(draw), shape), broadcast_to(high(draw), shape)
    counter = (low(position), high(position), draw_low, draw_high)
    return philox(counter, (low(key), high(key)))
