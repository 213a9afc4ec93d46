"""Finiteness of Nodes. In: Nodes of a Graph or of Loops. Out: bool Nodes of the same shape."""

from __future__ import annotations

from collections.abc import Iterable

from ..graph import dtype as dt
from ..graph.graph import Node, cast, full, node
from ..graph.op import Op
from ..ops.table import RECORDS

MAKERS = {r.op for r in RECORDS.values() if not r.keeps_finite} | {Op.FMA, Op.LDEXP}


def may_make(n: Node) -> bool:
    """Can an elementwise Node give a NaN or an infinity though its operands are finite?"""
    if not n.dtype.is_float or n.op not in MAKERS:
        return False
    if n.op is Op.CAST:
        (x,) = n.src
        narrows = x.dtype.is_float and x.dtype.itemsize > n.dtype.itemsize
        return narrows or (
            n.dtype is dt.float16 and x.dtype is not dt.float16 and x.dtype.itemsize > 1
        )
    return True


def regular(n: Node, infinities: bool) -> Node | None:
    """Where n is finite, or with infinities=False where it is no NaN; None where that is
    certain."""
    base = n
    while base.op in (Op.EXPAND, Op.RESHAPE) or (base.op is Op.CAST and not may_make(base)):
        base = base.src[0]
    if not base.dtype.is_float or (base.op is Op.CONST and base.arg - base.arg == 0):
        return None
    x = cast(n, dt.float32) if n.dtype.itemsize == 2 else n
    return node(Op.EQ, (node(Op.SUB, (x, x)), full(0, x.dtype, x.shape)) if infinities else (x, x))


def passed_on(n: Node) -> tuple[Node, ...]:
    """The operands of which n is not finite where they are not; no NaN where they are none,
    either."""
    return n.src[: RECORDS[n.op].passes_on] if n.op in RECORDS and n.dtype.is_float else ()


def negated(x: Node | None) -> Node:
    """Where a condition does not hold; a certain one holds everywhere."""
    assert x is not None
    return node(Op.XOR, (x, full(True, dt.bool_, x.shape)))


def both(conditions: Iterable[Node | None]) -> Node | None:
    """Where all of them hold; None where there are none."""
    return _joined(Op.AND, conditions)


def either(conditions: Iterable[Node | None]) -> Node | None:
    """Where one of them holds; None where there are none."""
    return _joined(Op.OR, conditions)


def _joined(op: Op, conditions: Iterable[Node | None]) -> Node | None:
    out = None
    for c in conditions:
        if c is not None:
            out = c if out is None else node(op, (out, c))
    return out
