"""Operations of Nodes, for a roofline. In: Nodes. Out: as many as machine code for them needs.

Adding, multiplying, comparing or choosing is one operation, so that a product of matrices is 2MNK.
An exp is as many as its polynomial takes, 27 in float32, a multiplication and addition in one
instruction being two; what rare operands need is left out. Moving elements is none. What schedules
do besides (padding to whole tiles, computing a value at several places) does not count, nor do the
terms of a sum that they leave out, such as those of a transposed convolution that are always 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from ...codegen.math.expand import expand
from ...ir.graph.dtype import DType, float32
from ...ir.graph.graph import Node, const, leaf, scalar_node
from ...ir.graph.op import SYSTEMS, VIEWS, Op
from ...ir.graph.rewrite import constant_of
from ...ir.kernels.kernel import Kernel, cost
from ...ir.loops.walk import postorder, usual_operands
from ...ir.ops.table import TRANSCENDENTAL

MOVES = VIEWS | {
    Op.INPUT,
    Op.PUT,
    Op.CONST,
    Op.IOTA,
    Op.VAR,
    Op.GATHER,
    Op.BITCAST,
    Op.DETACH,
    Op.KEEP,
    Op.COPY,
}
PARTS = TRANSCENDENTAL | {Op.MOD}  # what is made of several operations
OTHERS = {Op.FMA: 2}


def arithmetic(nodes: Iterable[Node], goes_through: Callable[[Node], int] | None = None) -> int:
    """The operations of these Nodes, each computed once, for as many elements as it goes
    through."""
    return sum(an_element(n) * (goes_through or steps)(n) for n in nodes)


def executed(kernel: Kernel, terms: int | None) -> Callable[[Node], int]:
    """How many elements each Node of a kernel goes through of whose sum so many terms are left."""
    sums = [u.node for u in kernel.units if u.node.op is Op.REDUCE]
    if terms is None or not sums:
        return steps
    total = sums[0] if kernel.anchor is None else kernel.anchor.node

    def left(n: Node) -> int:
        return terms if n is total or n.shape == total.src[0].shape else steps(n)

    return left


def steps(n: Node) -> int:
    """How many elements the computation of a Node goes through: those of the result, or those that
    it adds up."""
    return n.src[0].size if n.op in (Op.REDUCE, Op.SCATTER) else n.size


def an_element(n: Node) -> int:
    """Operations for one of these elements."""
    if n.op in MOVES:
        return 0
    if n.op in (Op.ARGSORT, Op.FFT) or n.op in SYSTEMS:
        return cost(n)
    if n.op not in PARTS:
        return OTHERS.get(n.op, 1)
    exponent = constant_of(n.src[1]) if n.op is Op.POW else None
    return _parts(n.op, n.arg, float32 if n.dtype.is_half else n.dtype, len(n.src), exponent)


@cache
def _parts(op: Op, arg: object, dtype: DType, operands: int, exponent: float | None) -> int:
    src = [leaf(f"operand {i}", dtype, ()) for i in range(operands)]
    if exponent is not None:
        src[1] = const(exponent, dtype)
    root = expand(scalar_node(op, tuple(src), arg, dtype))
    return sum(1 if n.op in PARTS else an_element(n) for n in postorder([root], usual_operands))
