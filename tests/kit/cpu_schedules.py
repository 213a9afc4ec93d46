"""Small graphs that reach each schedule of the CPU. In: nothing. Out: functions that give the
outputs of a Graph."""

from __future__ import annotations

from collections.abc import Callable

import graphs as g
from harness import leaf
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op

Graph = Callable[[], list[Node]]


def flat() -> list[Node]:
    x = leaf(7, 11)
    return [g.add(g.exp(x), x)]


def lines() -> list[Node]:
    x = leaf(6, 20)
    return [g.add_row(x, leaf(20)), graph.permute(x, (1, 0))]


def rows() -> list[Node]:
    return [g.softmax(leaf(9, 21))]


def columns() -> list[Node]:
    x = leaf(37, 19)
    return [graph.reduce("add", x, (0,)), graph.reduce("max", x, (0,))]


def short() -> list[Node]:
    x = graph.reshape(leaf(6, 2, 38), (6, 2, 19, 2))
    return [graph.reduce("add", x, (1, 3)), graph.reduce("max", x, (1, 3))]


def nearest() -> list[Node]:
    """Every element twice along both axes, times values of that size."""
    x = graph.expand(leaf(24, 30), ((1, 2), (3, 2)))
    return [node(Op.MUL, (graph.reshape(x, (48, 60)), leaf(48, 60)))]


def row_of_axes() -> list[Node]:
    return [graph.reduce("max", leaf(5, 3, 8), (1, 2))]


def scan() -> list[Node]:
    return [node(Op.SCAN, (leaf(4, 9),), 1)]


def scatter() -> list[Node]:
    return [node(Op.SCATTER, (leaf(12, 5), leaf(12, dtype=dt.int64)), ((0,), (6, 5)))]


def put() -> list[Node]:
    return [node(Op.PUT, (leaf(6, 5), leaf(5), leaf(dtype=dt.int64)), (0,))]


def sort_short() -> list[Node]:
    return [
        node(Op.ARGSORT, (leaf(4, 9),), (0, False)),
        node(Op.ARGSORT, (leaf(7, 20, dtype=dt.int64),), (1, True)),
    ]


def sort_long() -> list[Node]:
    return [
        node(Op.ARGSORT, (leaf(5, 140),), (1, False)),
        node(Op.ARGSORT, (leaf(131, 3, dtype=dt.float64),), (0, True)),
    ]


def sort_blocks() -> list[Node]:
    return [
        node(Op.ARGSORT, (leaf(2, 140),), (1, True)),
        node(Op.ARGSORT, (leaf(150, dtype=dt.int64),), (0, False)),
    ]


def systems_of_equations() -> list[Node]:
    a = g.dominant(leaf(2, 3, 9, 9))
    return [
        node(Op.SOLVE, (a, leaf(2, 3, 9, 4))),
        node(Op.SOLVE, (g.dominant(leaf(5, 3, 3)), leaf(5, 3, 1))),
        node(Op.SOLVE, (g.dominant(leaf(6, 6)), leaf(6, 33))),
        node(Op.CHOLESKY, (a,)),
        node(Op.CHOLESKY, (g.dominant(leaf(7, 2, 2)),)),
    ]


def fourier() -> list[Node]:
    x, y = leaf(20, 32, 2), graph.permute(leaf(12, 10, 2), (1, 0, 2))
    return [
        node(Op.FFT, (x,), (1, True, 0, x.shape)),
        node(Op.FFT, (y,), (0, False, 120, (120, 2))),
    ]


def gather() -> list[Node]:
    return [node(Op.GATHER, (g.exp(leaf(6, 5)), leaf(9, dtype=dt.int64)), (0,))]


def packed(m: int = 13, k: int = 20, n: int = 37) -> list[Node]:
    return [g.relu(g.add_row(g.matmul(leaf(m, k), leaf(k, n)), leaf(n)))]


def packed_parts() -> list[Node]:
    return packed(4, 1030, 4)


def packed_rows() -> list[Node]:
    return packed(65, 9, 16)


def dot() -> list[Node]:
    return [g.matmul(leaf(13, 33), graph.permute(leaf(14, 33), (1, 0)))]


def convolution() -> list[Node]:
    x, w = leaf(1, 3, 6, 7), leaf(4, 3, 3, 3)
    y = g.conv2d(g.relu(x), w, 2, 1, 1, 1)
    return [y, *vjp([y], [leaf(*y.shape)], [w])]


def padded() -> list[Node]:
    return [g.softmax(g.pad(g.exp(leaf(5, 9)), {1: (2, 1, 1)}))]


CASES: list[Graph] = [
    flat,
    lines,
    rows,
    columns,
    row_of_axes,
    scan,
    scatter,
    sort_short,
    sort_long,
    sort_blocks,
    systems_of_equations,
    gather,
    packed,
    packed_rows,
    dot,
    convolution,
    padded,
]
