"""Graphs of contractions, and what schedules say of them. In: extents, a form. Out: Nodes;
texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphs as g
from harness import leaf
from weft.compiler.compile import Compiled
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op


def texts(program: Compiled) -> list[str]:
    return [k.lowered.schedule for k in program.lowered.kernels]


def transposed(x: Node) -> Node:
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return node(Op.PERMUTE, (x,), axes)


def product(
    form: str, m: int, n: int, k: int, batch: tuple[int, ...] = (), dtype: Any = dt.float32
) -> Node:
    """A product of matrices, of which t is transposed."""
    a = (
        leaf(*batch, m, k, dtype=dtype)
        if form[0] == "n"
        else transposed(leaf(*batch, k, m, dtype=dtype))
    )
    b = (
        leaf(*batch, k, n, dtype=dtype)
        if form[1] == "n"
        else transposed(leaf(*batch, n, k, dtype=dtype))
    )
    return g.matmul(a, b)


def conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    stride: int = 1,
    pad: int = 0,
    dilation: int = 1,
    groups: int = 1,
    dtype: DType = dt.float32,
) -> list[Node]:
    """A convolution with its three gradients."""
    a, b = leaf(*x, dtype=dtype), leaf(*w, dtype=dtype)
    y = g.conv2d(a, b, stride, pad, dilation, groups)
    return [y, *(d for d in vjp([y], [leaf(*y.shape, dtype=dtype)], [a, b]) if d is not None)]


def in_float32(f: Callable[..., Node], *operands: Node) -> Node:
    """A product whose result keeps the 32 bits of its sums."""
    return f(*(x if x.dtype is dt.float32 else node(Op.CAST, (x,), dt.float32) for x in operands))


def input_gradient(
    x: tuple[int, ...], w: tuple[int, ...], *how: int, dtype: DType = dt.float32
) -> Node:
    """The gradient of a convolution by x; `how`: stride, padding, dilation, groups."""
    a = leaf(*x, dtype=dtype)
    y = g.conv2d(a, leaf(*w, dtype=dtype), *how)
    (gradient,) = vjp([y], [leaf(*y.shape, dtype=dtype)], [a])
    assert gradient is not None
    return gradient
