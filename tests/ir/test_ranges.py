"""Value ranges hold for every value, and are narrow enough that indices in range by construction
need no check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from fuzz import random_case, seeded
from weft.frontend.lazy import realize
from weft.ir.analysis.ranges import ranges
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import node, toposort
from weft.ir.graph.op import REGIONAL, Op
from weft.ir.ops.interp import EVALUATORS, run, run_regions
from weft.ir.passes.bounds_checks import find_checks
from weft.ir.passes.fold_empty import fold_empty
from weft.ir.passes.merge_sums import merge_sums
from weft.ir.passes.simplify import simplify
from weft.ir.passes.split_reductions import split_reductions


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_every_value_of_random_graphs_lies_in_its_range(first: int) -> None:
    for seed in range(first, first + 100):
        case = random_case(seeded(seed), exact=seed % 2 == 0)
        order = toposort(case.outputs)
        known, values = ranges(order), dict(case.env)
        for n in order:
            if n not in values:
                sources = [values[s] for s in n.src]
                if n.op in REGIONAL:
                    values[n] = run_regions(n, sources, run)[n.arg[1]]
                    continue
                with np.errstate(all="ignore"):
                    values[n] = np.asarray(EVALUATORS[n.op](n, *sources))
            lo, hi = known[n]
            wrong = (values[n] < lo) | (values[n] > hi)
            assert not wrong.any(), (seed, n, lo, hi, values[n][wrong])


def leaf(dtype: dt.DType, *shape: int) -> graph.Node:
    return graph.leaf(object(), dtype, shape)


def range_of(n: graph.Node) -> tuple[float, float]:
    return ranges(toposort([n]))[n]


def test_what_may_wrap_has_the_range_of_its_dtype() -> None:
    x = leaf(dt.int8, 3)
    assert range_of(x) == (-128, 127)
    assert range_of(node(Op.ADD, (x, graph.full(1, dt.int8, (3,))))) == (-128, 127)
    wide = graph.cast(x, dt.int32)
    assert range_of(node(Op.ADD, (wide, graph.full(1, dt.int32, (3,))))) == (-127, 128)
    assert range_of(graph.cast(wide, dt.uint8)) == (0, 255)


def test_a_nan_becomes_zero() -> None:
    five, x = graph.full(5, dt.float32, (3,)), leaf(dt.float32, 3)
    above = node(Op.WHERE, (node(Op.LT, (x, five)), five, x))
    assert range_of(above) == (5, float("inf"))
    assert range_of(graph.cast(above, dt.int32)) == (0, 2**31 - 1)


X = wf.tensor(np.arange(20.0).reshape(10, 2))
I = wf.tensor([3, -200, 70])  # noqa: E741
F = wf.tensor([0.5, np.nan, 1e30])

CERTAIN: list[Callable[[], wf.Tensor]] = [
    lambda: X[wf.arange(10)],
    lambda: X[wf.arange(10) - 10],
    lambda: X[I % 10],
    lambda: X[I.clip(0, 9)],
    lambda: X[I.clip(-10, 9)],
    lambda: X[wf.minimum(wf.maximum(I, 0), 9)],
    lambda: X[I & 7],
    lambda: X[(I % 100) // 10],
    lambda: X[F.clip(0, 9).astype(wf.int64)],
    lambda: X[(I > 0).astype(wf.int64)],
    lambda: X[X.argmax(0)],
    lambda: X[X.argmin(0, keepdims=True)],
    lambda: X[wf.argsort(X[:, 0])],
    lambda: X[(I > 0).sum()],
    lambda: wf.take_along_axis(X, X.argmax(0, keepdims=True), 0),
    lambda: X[X[:, 0] > 3.0],
    lambda: wf.gather(X, I % 10),
    lambda: wf.zeros(256)[I.astype(wf.uint8)],
    lambda: wf.tril(wf.ones(3, 3))[I % 3, I % 2],
]


@pytest.mark.thinned(to=10)
@pytest.mark.parametrize("number", range(len(CERTAIN)))
def test_indices_in_range_by_construction_have_no_check(number: int) -> None:
    t = CERTAIN[number]()
    assert not sites(t)
    t.numpy()


def sites(t: wf.Tensor) -> list[object]:
    outputs = realize.graph_of(t)[0]
    return list(find_checks(split_reductions(fold_empty(merge_sums(simplify(outputs))))).sites)


def test_others_are_checked_once_each() -> None:
    assert len(sites(X[I] + X[I, None].sum(1))) == 1
    assert len(sites(X[I % 11])) == 1
    assert len(sites(X[I, I])) == 2
    assert len(sites(X[I[:, None], wf.tensor([0, 1])])) == 2
    assert len(sites(X[F.astype(wf.int64)])) == 1
