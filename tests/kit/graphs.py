"""Composites at Graph level, for tests: Nodes in, a Node out."""

from __future__ import annotations

from math import sqrt

from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op


def add(a: Node, b: Node) -> Node:
    return node(Op.ADD, (a, b))


def sub(a: Node, b: Node) -> Node:
    return node(Op.SUB, (a, b))


def mul(a: Node, b: Node) -> Node:
    return node(Op.MUL, (a, b))


def div(a: Node, b: Node) -> Node:
    return node(Op.DIV, (a, b))


def exp(a: Node) -> Node:
    return node(Op.EXP, (a,))


def log(a: Node) -> Node:
    return node(Op.LOG, (a,))


def where(c: Node, a: Node, b: Node) -> Node:
    return node(Op.WHERE, (c, a, b))


def like(value: float, x: Node) -> Node:
    return graph.full(value, x.dtype, x.shape)


def scale(x: Node, by: float) -> Node:
    return mul(x, like(by, x))


def over_last(kind: str, x: Node) -> Node:
    """The reduction of the last axis, repeated over it."""
    last = x.ndim - 1
    return graph.expand(graph.reduce(kind, x, (last,)), ((last, x.shape[last]),))


def softmax(x: Node) -> Node:
    e = exp(sub(x, over_last("max", x)))
    return div(e, over_last("add", e))


def add_row(x: Node, row: Node) -> Node:
    return add(x, graph.expand(row, ((0, x.shape[0]),)))


def layer_norm(x: Node, weight: Node, bias: Node) -> Node:
    rows, columns = x.shape
    centred = sub(x, scale(over_last("add", x), 1 / columns))
    variance = scale(over_last("add", mul(centred, centred)), 1 / columns)
    normal = div(centred, node(Op.SQRT, (add(variance, like(1e-5, x)),)))
    return add_row(mul(normal, graph.expand(weight, ((0, rows),))), bias)


def matmul(a: Node, b: Node) -> Node:
    """[.., m, k] @ [.., k, n]."""
    r = a.ndim
    swapped = graph.permute(b, (*range(r - 2), r - 1, r - 2))
    left = graph.expand(a, ((r - 1, b.shape[-1]),))
    right = graph.expand(swapped, ((r - 2, a.shape[-2]),))
    return graph.reduce("add", mul(left, right), (r,))


def relu(x: Node) -> Node:
    positive = node(Op.LT, (graph.zeros_like(x), x))
    is_nan = node(Op.XOR, (node(Op.EQ, (x, x)), graph.full(True, dt.bool_, x.shape)))
    return where(node(Op.OR, (positive, is_nan)), x, graph.zeros_like(x))


def gelu(x: Node) -> Node:
    return mul(scale(x, 0.5), add(node(Op.ERF, (scale(x, 1 / sqrt(2)),)), like(1, x)))


def window(x: Node, axis: int, size: int, stride: int, dilation: int = 1) -> Node:
    """Windows of an axis; the place inside the window becomes the next axis."""
    x = node(Op.SKEW, (graph.expand(x, ((axis + 1, size),)),), (axis, axis + 1, dilation))
    return node(
        Op.SLICE, (x,), tuple((0, d, stride if a == axis else 1) for a, d in enumerate(x.shape))
    )


def pad(x: Node, margins: dict[int, tuple[int, int, int]]) -> Node:
    return node(Op.PAD, (x,), tuple(margins.get(a, (0, 0, 0)) for a in range(x.ndim)))


def conv2d(x: Node, w: Node, stride: int, padding: int, dilation: int, groups: int) -> Node:
    """NCHW by OIHW."""
    n = x.shape[0]
    o, per, kh, kw = w.shape
    if padding:
        x = pad(x, {2: (padding, padding, 0), 3: (padding, padding, 0)})
    x = window(window(x, 2, kh, stride, dilation), 4, kw, stride, dilation)
    oh, ow = x.shape[2], x.shape[4]
    x = graph.permute(x, (0, 2, 4, 1, 3, 5))
    x = graph.reshape(x, (n, oh, ow, groups, per, kh, kw))
    x = graph.permute(x, (0, 3, 1, 2, 4, 5, 6))
    x = graph.expand(x, ((2, o // groups),))
    weight = graph.expand(
        graph.reshape(w, (groups, o // groups, per, kh, kw)), ((0, n), (3, oh), (4, ow))
    )
    return graph.reshape(graph.reduce("add", mul(x, weight), (5, 6, 7)), (n, o, oh, ow))


def max_pool(x: Node, size: int, stride: int) -> Node:
    return graph.reduce("max", window(window(x, 2, size, stride), 4, size, stride), (3, 5))


def pick(x: Node, labels: Node) -> Node:
    """x[i, labels[i]] for each row i."""
    return node(Op.GATHER, (x, node(Op.IOTA, arg=x.shape[0]), labels), (0, 1))


def cross_entropy(x: Node, labels: Node) -> Node:
    shifted = sub(x, over_last("max", x))
    score = sub(pick(shifted, labels), log(graph.reduce("add", exp(shifted), (1,))))
    return scale(graph.reduce("add", node(Op.NEG, (score,)), (0,)), 1 / x.shape[0])


def dominant(a: Node) -> Node:
    """A matrix plus twice as many on its diagonal as it has rows: no pivot is small."""
    n = a.shape[-1]
    row, column = (graph.expand(node(Op.IOTA, arg=n), ((i, n),)) for i in (1, 0))
    eye = graph.cast(node(Op.EQ, (row, column)), a.dtype)
    eye = graph.expand(eye, tuple(enumerate(a.shape[:-2])))
    return add(a, mul(eye, like(2 * n, eye)))
