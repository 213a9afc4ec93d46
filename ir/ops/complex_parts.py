"""Records of complex numbers and their parts.

A cotangent of a complex value is dL/dx + i dL/dy of a real L, as PyTorch has it, so that a step
against it is a step downhill. JAX has its conjugate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.graph import Node, node, zeros_like
from ..graph.op import Op
from .nodes import imag, real
from .record import Derivative, Record, unary
from .values import Array, plain


def _of_parts(n: Node, re: Array, im: Array) -> Any:
    out = np.empty(re.shape, n.dtype.numpy)
    out.real, out.imag = re, im
    return out


RECORDS = (
    Record(Op.COMPLEX, _of_parts, (
        Derivative(lambda n, g: real(g), "d (a + bi)/da = 1", "real({g})"),
        Derivative(lambda n, g: imag(g), "d (a + bi)/db = i", "imag({g})"),
    ), "complex({a}, {b})", 2, keeps_finite=True, passes_on=2),
    unary(Op.REAL, plain(np.real), lambda n, g: node(Op.COMPLEX, (g, zeros_like(g))),
        slope="1", gives="complex({g}, 0)", keeps_finite=True),
    unary(Op.IMAG, plain(np.imag), lambda n, g: node(Op.COMPLEX, (zeros_like(g), g)),
        slope="-i", gives="complex(0, {g})", keeps_finite=True),
)  # fmt: skip
