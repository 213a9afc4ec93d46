"""Expressions as people write them. In: a Node, the texts of its operands. Out: infix text, and how
tightly it binds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.op import Op
from ..ops.table import RECORDS

Text = tuple[str, int]  # a greater number binds tighter, as in Python
ATOM = 10

_PREFIX = 8


def number(value: float | int | bool, dtype: DType) -> str:
    """A constant in as few digits as its dtype needs."""
    if dtype.is_float:
        return str(np.float32(value) if dtype.bits <= 32 else np.float64(value))
    return str(bool(value) if dtype.kind == "b" else int(value))


def infix(n: Node, operands: Sequence[Text]) -> Text:
    """The text of an op over operands; the types of operands do not show, casts do."""
    match n.op, operands:
        case Op.NEG, [x]:
            return f"-{inside(x, _PREFIX)}", _PREFIX
        case Op.XOR, [x, (("True", _) | ("-1", _))]:
            return f"~{inside(x, _PREFIX)}", _PREFIX
        case ((Op.CAST | Op.BITCAST), [(text, _)]):
            return f"{'bits as ' if n.op is Op.BITCAST else ''}{n.dtype.name}({text})", ATOM
    record = RECORDS.get(n.op)
    if record and record.infix:
        sign, level = record.infix
        left, right = operands
        return f"{inside(left, level + (level == 1))} {sign} {inside(right, level + 1)}", level
    texts = [text for text, _ in operands] + ([str(n.arg)] if n.arg is not None else [])
    return f"{n.op.value}({', '.join(texts)})", ATOM


def inside(text: Text, level: int) -> str:
    """An operand, in parentheses where it binds less tightly than what is around it."""
    return text[0] if text[1] >= level else f"({text[0]})"
