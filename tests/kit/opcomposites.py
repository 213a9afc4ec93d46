"""Rows of the op table for composites: layers, convolutions, pooling, losses. In: a dtype. Out:
Rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import graphs as g
import numpy as np
from opspec import Array, Row, Spec
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op

erf = np.vectorize(math.erf, otypes=[np.float64])


def _numpy_softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _numpy_layer_norm(x: Array, w: Array, b: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + b


def numpy_conv2d(
    x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int
) -> Array:
    """Convolution by direct loops over the output."""
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    n, c, h, wide = x.shape
    o, _, kh, kw = w.shape
    oh, ow = (
        (h - (kh - 1) * dilation - 1) // stride + 1,
        (wide - (kw - 1) * dilation - 1) // stride + 1,
    )
    out = np.zeros((n, o, oh, ow))
    per, outs = c // groups, o // groups
    for k, i, j in np.ndindex(o, oh, ow):
        first = k // outs * per
        rows = slice(i * stride, i * stride + (kh - 1) * dilation + 1, dilation)
        cols = slice(j * stride, j * stride + (kw - 1) * dilation + 1, dilation)
        out[:, k, i, j] = (x[:, first : first + per, rows, cols] * w[k]).sum((1, 2, 3))
    return out


def _numpy_pool(x: Array, size: int, stride: int) -> Array:
    h, w = ((e - size) // stride + 1 for e in x.shape[2:])
    out = np.empty((*x.shape[:2], h, w))
    for i, j in np.ndindex(h, w):
        out[:, :, i, j] = x[
            :, :, i * stride : i * stride + size, j * stride : j * stride + size
        ].max((2, 3))
    return out


def _numpy_cross_entropy(x: Array, labels: Array) -> Any:
    shifted = x - x.max(1, keepdims=True)
    return -(shifted[np.arange(len(x)), labels] - np.log(np.exp(shifted).sum(1))).mean()


def composite_rows(d: DType) -> list[Row]:
    rows = []

    def row(
        name: str, build: Callable[..., Node], f: Any, *inputs: Spec, magnitude: float = 1.0
    ) -> None:
        rows.append(
            Row(
                f"{name}-{d.name}",
                build,
                _in_double(f),
                inputs,
                True,
                64,
                magnitude,
                specials=False,
            )
        )

    row("softmax", g.softmax, _numpy_softmax, Spec((3, 7), d))
    row(
        "layernorm",
        g.layer_norm,
        _numpy_layer_norm,
        Spec((4, 9), d),
        Spec((9,), d),
        Spec((9,), d),
        magnitude=8.0,
    )
    row("matmul", g.matmul, np.matmul, Spec((5, 7), d), Spec((7, 3), d), magnitude=32.0)
    row(
        "matmul-batched",
        g.matmul,
        np.matmul,
        Spec((2, 5, 4), d),
        Spec((2, 4, 3), d),
        magnitude=32.0,
    )
    row(
        "gram",
        lambda x: g.matmul(x, graph.permute(x, (1, 0))),
        lambda x: x @ x.T,
        Spec((4, 6), d),
        magnitude=32.0,
    )
    row("gelu", g.gelu, lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), Spec((3, 7), d))
    row("relu", g.relu, lambda x: np.maximum(x, 0), Spec((3, 7), d, "away"))
    layer = Spec((4, 5), d), Spec((5, 6), d), Spec((6,), d)
    row(
        "linear-relu",
        _linear_relu,
        lambda x, w, b: np.maximum(x @ w + b, 0),
        *layer,
        magnitude=32.0,
    )
    for how in ((1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 0, 1, 1), (2, 1, 2, 4)):
        image, kernel = Spec((2, 4, 7, 8), d), Spec((4, 4 // how[3], 3, 3), d)
        row(
            f"conv2d-{''.join(map(str, how))}",
            _with(g.conv2d, *how),
            _with(numpy_conv2d, *how),
            image,
            kernel,
            magnitude=64.0,
        )
    image, kernel = Spec((2, 2, 6, 6), d), Spec((3, 2, 3, 3), d)
    row(
        "patches",
        _with(g.conv2d, 3, 0, 1, 1),
        _with(numpy_conv2d, 3, 0, 1, 1),
        image,
        kernel,
        magnitude=64.0,
    )
    for how in ((2, 2), (3, 2), (3, 1)):
        row(
            f"maxpool-{how[0]}{how[1]}",
            _with(g.max_pool, *how),
            _with(_numpy_pool, *how),
            Spec((2, 2, 6, 7), d, "spread"),
        )
    labelled = Spec((6, 5), d), Spec((6,), dt.int64, "index", 5)
    row("crossentropy", g.cross_entropy, _numpy_cross_entropy, *labelled)
    row(
        "prod-zeros", _product, lambda x: x.prod((0, 2)), Spec((2, 3, 3), d, "zeros"), magnitude=8.0
    )
    row("cumsum-tanh", _tanh_of_sums, lambda x: np.tanh(np.cumsum(x, 1)), Spec((3, 6), d))
    return rows


def _in_double(f: Callable[..., Any]) -> Callable[..., Any]:
    """f of the float inputs in float64, rounded to the dtype of the first."""
    return lambda *xs: np.asarray(
        f(*(x.astype(np.float64) if x.dtype.kind == "f" else x for x in xs))
    ).astype(xs[0].dtype)


def _with(f: Callable[..., Any], *how: int) -> Callable[..., Any]:
    return lambda *xs: f(*xs, *how)


def _linear_relu(x: Node, w: Node, b: Node) -> Node:
    return g.relu(g.add_row(g.matmul(x, w), b))


def _product(x: Node) -> Node:
    return node(Op.REDUCE, (x,), ("mul", (0, 2)))


def _tanh_of_sums(x: Node) -> Node:
    return node(Op.TANH, (node(Op.SCAN, (x,), 1),))
