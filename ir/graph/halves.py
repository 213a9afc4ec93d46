"""The arithmetic of 16-bit floats. In: Nodes. Out: whether they compute in float32, add up, or only
move values.
"""

from __future__ import annotations

from .graph import Node
from .op import HINTS, LEAVES, REGIONAL, VIEWS, Op

TRANSPARENT = VIEWS | {Op.DETACH}


def is_sum(n: Node) -> bool:
    return n.op is Op.REDUCE and n.arg[0] == "add"


def computes_half(n: Node) -> bool:
    """Does it compute with 16-bit floats?"""
    return n.op not in MOVES and any(s.dtype.is_half for s in n.src)


# the ops that move values as they are, or convert them, or compute in Graphs of their own
MOVES = (
    LEAVES
    | VIEWS
    | HINTS
    | REGIONAL
    | {Op.CAST, Op.BITCAST, Op.WHERE, Op.GATHER, Op.PUT, Op.ARGSORT}
)
