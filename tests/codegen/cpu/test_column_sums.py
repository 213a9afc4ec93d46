"""Sums over the rows of a kernel of rows: when they join it, and what they give."""

from __future__ import annotations

from collections.abc import Callable

import graphs as g
import numpy as np
import pytest
import weft as wf
import weft.nn.functional as F
from effort import examples
from harness import (
    check_close,
    compiled,
    execute,
    fused,
    interpret,
    leaf,
    normal_inputs,
    oracle,
    schedules,
)
from hypothesis import given
from hypothesis import strategies as st
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op

SHAPES = [(1, 1), (1, 37), (5, 1), (3, 4), (64, 8), (129, 65), (1000, 200), (65, 4096), (777, 64)]


def over_rows(x: Node, kind: str = "add") -> Node:
    return graph.reduce(kind, x, range(x.ndim - 1))


def layer_norm(rows: int, columns: int, dtype: DType = dt.float32) -> list[Node]:
    """Value and gradients."""
    wrt = [leaf(rows, columns, dtype=dtype), leaf(columns, dtype=dtype), leaf(columns, dtype=dtype)]
    y = g.layer_norm(*wrt)
    return [y, *vjp([y], [leaf(rows, columns, dtype=dtype)], wrt)]


def softmax_gradient(rows: int, columns: int) -> list[Node]:
    """The gradient of logits + bias through a softmax."""
    x, bias = leaf(rows, columns), leaf(columns)
    y = g.softmax(g.add_row(x, bias))
    return [y, *vjp([y], [leaf(rows, columns)], [x, bias])]


def norm_update(rows: int, columns: int) -> list[Node]:
    """A step of gradient descent for the weight of a norm of rows."""
    x, w, up = leaf(rows, columns), leaf(columns), leaf(rows, columns)
    square = g.scale(g.over_last("add", g.mul(x, x)), 1 / columns)
    normal = g.div(x, node(Op.SQRT, (g.add(square, g.like(1e-5, x)),)))
    y = g.mul(normal, graph.expand(w, ((0, rows),)))
    return [y, g.sub(w, g.scale(over_rows(g.mul(up, normal)), 0.1))]


GRAPHS: dict[str, Callable[[int, int], list[Node]]] = {
    "layer norm": layer_norm,
    "softmax": softmax_gradient,
    "norm update": norm_update,
}


# ---------------------------------------------------------------- kernels


@pytest.mark.parametrize("columns", [64, 1000, 20_000])
@pytest.mark.parametrize("name", GRAPHS)
def test_sums_over_the_rows_share_the_kernel_of_the_rows(name: str, columns: int) -> None:
    assert len(fused(*GRAPHS[name](512, columns)).kernels) == 1


@pytest.mark.parametrize("shape", [(4096, 1024), (20_000, 32), (1000, 37)], ids=str)
def test_sums_of_much_memory_and_of_few_columns_join_it_whole(shape: tuple[int, int]) -> None:
    assert len(fused(*layer_norm(*shape)).kernels) == 1


def test_many_rows_of_few_columns_are_summed_in_chunks_of_rows() -> None:
    def schedule(rows: int, columns: int) -> list[str]:
        factors = g.mul(leaf(rows, columns), graph.expand(leaf(rows), ((1, columns),)))
        outputs = [over_rows(factors)]
        return schedules(compiled(outputs, normal_inputs(outputs)))

    assert schedule(2000, 200) == ["summed"]
    assert schedule(511, 200) == schedule(600, 1024) == ["columns"]


def test_each_of_several_shapes_of_sums_has_a_last_phase() -> None:
    x = leaf(256, 96)
    y = g.softmax(x)
    outputs = [y, over_rows(y), over_rows(graph.reshape(y, (256, 8, 12)), "max")]
    outputs[2] = graph.reduce("max", graph.reshape(y, (256, 8, 12)), (0,))
    program = compiled(outputs, normal_inputs(outputs))
    assert schedules(program) == ["summed"]
    assert len(program.lowered.kernels[0].step.loops.phases) == 3


def refused(*outputs: Node) -> list[str]:
    return [str(b.reason) for b in fused(*outputs).boundaries]


def test_few_rows_keep_their_tasks() -> None:
    y = g.softmax(leaf(32, 2000))
    assert "parallelism: 32 rows are too few for partial sums" in refused(y, over_rows(y))


def test_few_columns_keep_their_lanes() -> None:
    y = g.softmax(leaf(8192, 3))
    assert "column sums: fewer than 8 columns would leave lanes idle" in refused(y, over_rows(y))


def test_sums_beyond_the_caches_stay_out() -> None:
    y = g.softmax(leaf(64, 100_000))
    assert refused(y, over_rows(y)) == ["column sums: 400000 bytes of sums for each chunk of rows"]


def test_a_map_of_the_sums_and_of_the_rows_stays_out() -> None:
    y = g.softmax(leaf(256, 96))
    z = g.sub(y, graph.expand(over_rows(y), ((0, 256),)))
    assert len(fused(y, z).kernels) == 2


def test_explain_tells_of_the_partial_sums() -> None:
    y = wf.tensor(np.ones((256, 96), np.float32)).softmax(axis=-1)
    (kernel,) = wf.explain([y, y.sum(axis=0)]).kernels
    assert "32 chunks of 8, partial sums over the rows of each; then short" in kernel.schedule


# ---------------------------------------------------------------- values


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_values_are_right_and_the_same_on_any_number_of_threads(
    name: str, shape: tuple[int, int]
) -> None:
    outputs = GRAPHS[name](*shape)
    check_close(
        outputs, normal_inputs(outputs), 1e-4, threads=(1, 2, 3), min_chunks=3, serial_threshold=0
    )
    check_close(outputs, normal_inputs(outputs), 1e-4)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [dt.float64, dt.bfloat16, dt.float16], ids=lambda d: d.name)
def test_values_of_other_floats_are_right(dtype: DType) -> None:
    outputs = layer_norm(130, 72, dtype)
    program = check_close(
        outputs, normal_inputs(outputs), 1e-12 if dtype is dt.float64 else 0.02, threads=(1, 2, 3)
    )
    assert schedules(program) == ["summed"]


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("kind", ["add", "max", "mul"])
@pytest.mark.parametrize("dtype", [dt.float32, dt.int64], ids=lambda d: d.name)
def test_every_reduction_may_run_over_rows(kind: str, dtype: DType) -> None:
    x = leaf(100, 17, dtype=dtype)
    outputs = [graph.reduce("max", x, (1,)), over_rows(x, kind)]
    program = check_close(outputs, normal_inputs(outputs, extent=2), threads=(1, 2))
    assert len(program.lowered.kernels) == 1


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 3), (70, 33)])
def test_the_loop_interpreter_agrees(shape: tuple[int, int]) -> None:
    outputs = layer_norm(*shape)
    env = normal_inputs(outputs)
    program = compiled(outputs, env, min_chunks=3)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_empty_rows_and_columns() -> None:
    for shape in ((0, 5), (5, 0)):
        x = wf.zeros(*shape)
        y = x + x.sum(axis=-1, keepdims=True)
        assert y.sum(axis=0).numpy().tolist() == [0.0] * shape[1]


def test_a_weight_is_updated_in_place_behind_the_rows_that_read_it() -> None:
    outputs = norm_update(256, 96)
    env = normal_inputs(outputs)
    weight = next(i for i, n in enumerate(env) if n.shape == (96,))
    program = compiled(outputs, env, {1: weight})
    assert program.donations == {1: weight} and schedules(program) == ["summed"]
    for got, want in zip(execute(program, outputs, env, 2), oracle(outputs, env), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_sums_of_many_rows_stay_accurate() -> None:
    x = wf.tensor(np.random.default_rng(0).random((100_000, 64), np.float32))
    y, total = x - x.mean(axis=-1, keepdims=True), x.sum(axis=0)
    assert len(wf.explain([y, total]).kernels) == 1
    wf.realize(y, total)
    exact = x.numpy().astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(total.numpy(), exact, rtol=2e-6)


@pytest.mark.slow
def test_gradients_of_a_norm_hold() -> None:
    x, w, b = (
        wf.randn(70, 12, dtype="float64"),
        wf.randn(12, dtype="float64"),
        wf.randn(12, dtype="float64"),
    )
    wf.check_grad(lambda *a: F.layer_norm(a[0], 12, a[1], a[2]), x, w, b)


@examples(25)
@given(st.integers(1, 200), st.integers(1, 90), st.sampled_from(sorted(GRAPHS)), st.integers(1, 5))
def test_any_shape_has_the_bits_of_one_thread(
    rows: int, columns: int, name: str, chunks: int
) -> None:
    outputs = GRAPHS[name](rows, columns)
    check_close(
        outputs, normal_inputs(outputs), 2e-4, threads=(1, 3), min_chunks=chunks, serial_threshold=0
    )
