"""Graphs of contractions, and what schedules say of them. In: extents, a form. Out: Nodes; texts."""

from __future__ import annotations

from typing import Any

import graphs as g
from harness import leaf
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op


def texts(program: Compiled) -> list[str]:
    return [k.lowered.schedule for k in program.lowered.kernels]


def transposed(x: Node) -> Node:
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return node(Op.PERMUTE, (x,), axes)


def product(form: str, m: int, n: int, k: int, batch: tuple[int, ...] = (), dtype: Any = dt.float32) -> Node:
    """A product of matrices, of which t is transposed."""
    a = leaf(*batch, m, k, dtype=dtype) if form[0] == "n" else transposed(leaf(*batch, k, m, dtype=dtype))
    b = leaf(*batch, k, n, dtype=dtype) if form[1] == "n" else transposed(leaf(*batch, n, k, dtype=dtype))
    return g.matmul(a, b)
