"""Records of what works on bits, and of conversions between dtypes."""

from __future__ import annotations

import numpy as np

from ..graph.graph import cast
from ..graph.op import Op
from .record import Derivative, Record, infix
from .values import convert, plain

BITWISE = (
    infix(Op.OR, "|", 2, plain(np.bitwise_or)),
    infix(Op.XOR, "^", 3, plain(np.bitwise_xor)),
    infix(Op.AND, "&", 4, plain(np.bitwise_and)),
    infix(Op.SHL, "<<", 5, plain(np.left_shift)),
    infix(Op.SHR, ">>", 5, plain(np.right_shift)),
)
CONVERSIONS = (
    Record(
        Op.CAST, lambda n, x: convert(x, n.arg),
        (Derivative(lambda n, g: cast(g, n.src[0].dtype), "passed on", "{g} in the dtype of {a}"),),
        lambda n: "{a}.to(" + n.arg.name + ")", passes_on=1,
    ),
    Record(
        Op.BITCAST, lambda n, x: x.copy().view(n.arg.numpy), (),
        lambda n: "bits of {a} as " + n.arg.name,
        cost=0, keeps_finite=True,  # an integer's bits are no result of arithmetic
    ),
)  # fmt: skip
RECORDS = (*BITWISE, *CONVERSIONS)
