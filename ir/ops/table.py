"""All records by op, and the values of elementwise ops. In: the themes. Out: RECORDS, and tables
that several stages read."""

from __future__ import annotations

import numpy as np

from ..graph import dtype as dt
from ..graph.graph import Node
from ..graph.op import Op
from . import (
    arithmetic,
    bits,
    choice,
    complex_parts,
    exponential,
    hyperbolic,
    special,
    trigonometric,
)
from .record import Record
from .values import with_halves

THEMES = (arithmetic, complex_parts, exponential, trigonometric, hyperbolic, special, choice, bits)
RECORDS: dict[Op, Record] = {r.op: r for theme in THEMES for r in theme.RECORDS}
TRANSCENDENTAL = frozenset(r.op for r in RECORDS.values() if r.expanded)
VALUES = {op: with_halves(r.value) for op, r in RECORDS.items()}


def scalar(n: Node, *operands: bool | float) -> bool | float:
    """The value of an elementwise Node over scalar operands of its sources' dtypes."""
    if n.op is Op.CAST and n.dtype.is_half:
        return dt.rounded(operands[0], n.dtype)
    # bfloat16 itself may be missing
    exact = (np.float32 if s.dtype is dt.bfloat16 else s.dtype.numpy for s in n.src)
    arrays = [np.asarray(v, d) for v, d in zip(operands, exact, strict=True)]
    with np.errstate(all="ignore"):
        return np.asarray(VALUES[n.op](n, *arrays)).item()  # type: ignore[no-any-return]
