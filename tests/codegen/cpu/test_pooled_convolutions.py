"""Pools of the results of convolutions, in the convolution's kernel: how many kernels there are,
their numbers, refusals."""

from __future__ import annotations

import graphs as g
import numpy as np
import pytest
from effort import examples
from harness import (
    TARGETS,
    assert_close,
    check_close,
    compiled,
    execute,
    fused,
    interpret,
    leaf,
    normal_inputs,
)
from hypothesis import given
from hypothesis import strategies as st
from weft.compiler.compile import Compiled
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run as oracle

Window = tuple[int, int]


def pool(y: Node, kind: str, window: Window) -> Node:
    """The greatest or the sum of each window; lines and places behind the last whole window are
    left out."""
    high, wide = window
    return graph.reduce(kind, g.window(g.window(y, 2, high, high), 4, wide, wide), (3, 5))


def layer(
    x: tuple[int, ...],
    w: tuple[int, ...],
    pad: int = 0,
    window: Window = (2, 2),
    kind: str = "max",
    dtype: DType = dt.float32,
) -> Node:
    """Convolution, bias, relu, pool."""
    y = g.conv2d(leaf(*x, dtype=dtype), leaf(*w, dtype=dtype), 1, pad, 1, x[1] // w[1])
    n, outs, rows, columns = y.shape
    bias = graph.expand(leaf(outs, dtype=dtype), ((0, n), (2, rows), (3, columns)))
    return pool(g.relu(g.add(y, bias)), kind, window)


def close(
    outputs: list[Node], tolerance: float = 1e-5, threads: tuple[int, ...] = (1,), **opts: object
) -> Compiled:
    return check_close(outputs, normal_inputs(outputs), tolerance, threads, **opts)


def is_pooled(program: Compiled) -> bool:
    return [" pooled by " in k.lowered.schedule for k in program.lowered.kernels] == [True]


# ---------------------------------------------------------------- kernels


LAYERS = [
    ((3, 1, 28, 28), (6, 1, 5, 5), 2, (2, 2)),
    ((3, 6, 14, 14), (16, 6, 5, 5), 0, (2, 2)),
    ((2, 3, 18, 39), (5, 3, 3, 3), 1, (2, 3)),
    ((2, 3, 20, 40), (35, 3, 3, 3), 1, (4, 4)),
    ((2, 4, 12, 19), (20, 2, 3, 2), 1, (3, 1)),
    ((3, 2, 9, 36), (7, 2, 2, 3), 0, (1, 2)),
    ((2, 2, 9, 80), (18, 2, 3, 3), 1, (1, 16)),
    ((1, 5, 4, 20), (9, 5, 3, 3), 1, (2, 4)),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("kind", ["max", "add"])
@pytest.mark.parametrize("shape", LAYERS, ids=str)
def test_a_layer_with_its_pool_is_one_kernel(
    shape: tuple[tuple[int, ...], tuple[int, ...], int, Window], kind: str
) -> None:
    assert is_pooled(close([layer(*shape, kind)], threads=(1, 2, 3)))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", LAYERS, ids=str)
def test_every_target_pools(
    shape: tuple[tuple[int, ...], tuple[int, ...], int, Window], target: str
) -> None:
    assert is_pooled(close([layer(*shape)], target=target))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [3, 20])
@pytest.mark.parametrize(
    "dtype", [dt.float64, dt.int32, dt.float16, dt.bfloat16], ids=lambda d: d.name
)
def test_every_dtype(dtype: DType, outs: int) -> None:
    y = layer((3, 5, 12, 18), (outs, 5, 3, 3), 1, dtype=dtype)
    tolerance = {dt.float64: 1e-13, dt.float16: 2e-3, dt.bfloat16: 2e-2}.get(dtype, 0.0)
    assert is_pooled(close([y], tolerance))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [3, 20])
def test_prologue_residual_and_maps_of_the_pool_are_part_of_the_kernel(outs: int) -> None:
    x, w, residual = leaf(2, 4, 12, 20), leaf(outs, 4, 3, 3), leaf(2, outs, 12, 20)
    y = pool(g.add(g.conv2d(g.relu(x), w, 1, 1, 1, 1), residual), "max", (2, 2))
    assert is_pooled(close([g.gelu(y)]))
    assert is_pooled(close([y, g.gelu(y)]))


@pytest.mark.slow
def test_several_reductions_of_a_window() -> None:
    """How many of a window are its greatest: the second reduction waits for the first."""
    y = graph.reshape(
        g.conv2d(leaf(2, 4, 12, 20), leaf(20, 4, 3, 3), 1, 1, 1, 1), (2, 20, 6, 2, 10, 2)
    )
    most = graph.reduce("max", y, (3, 5))
    equal = node(Op.EQ, (y, graph.expand(most, ((3, 2), (5, 2)))))
    ties = graph.reduce("add", node(Op.CAST, (equal,), dt.float32), (3, 5))
    assert is_pooled(close([most, ties]))


def test_a_line_pools_in_one_dimension() -> None:
    assert is_pooled(close([layer((5, 3, 1, 50), (20, 3, 1, 3), window=(1, 2))]))
    assert is_pooled(close([layer((1, 3, 1, 50), (20, 3, 1, 3), window=(1, 3))]))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [3, 17])
@pytest.mark.parametrize("target", ["avx512", "avx2", "sse2"])
def test_loops_interpreted_equal_the_oracle(
    target: str, outs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.compiler.backends.cpu.KernelBuilder.want", lambda *_: None
    )  # loops are enough here
    monkeypatch.setattr("weft.compiler.backends.cpu.CpuBackend.link", lambda *_: None)
    outputs = [layer((1, 3, 5, 18), (outs, 3, 2, 3), 1)]
    env = normal_inputs(outputs)
    program = compiled(outputs, env, target=target)
    assert is_pooled(program)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-5)


@examples(60, quick=5)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    def one(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    groups, pad, window = one(1, 2), one(0, 2), (one(1, 5), one(1, 5))
    kernel_size = one(1, 4), one(1, 4)
    rows, columns = (one(k + p, 30) for k, p in zip(kernel_size, window, strict=True))
    channels, outs = one(1, 6) * groups, one(1, 20) * groups
    x, w = (one(1, 4), channels, rows, columns), (outs, channels // groups, *kernel_size)
    dtype = data.draw(st.sampled_from((dt.float32, dt.float64)))
    y = layer(x, w, pad, window, data.draw(st.sampled_from(("max", "add"))), dtype)
    close([y], 2e-5, threads=(1, 2, 3), target=data.draw(st.sampled_from(["host", *TARGETS])))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [4, 16])
def test_a_special_value_reaches_only_the_windows_that_hold_it(outs: int) -> None:
    outputs = [layer((2, 2, 9, 23), (outs, 2, 3, 3), kind="add")]
    env = normal_inputs(outputs)
    x = next(n for n in env if n.shape == (2, 2, 9, 23))
    env[x][1, 0, 3, 22] = env[x][0, 1, 6, 2] = np.inf
    want = oracle(outputs, env)
    for got, right in zip(execute(compiled(outputs, env), outputs, env), want, strict=True):
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(np.asarray(right)))


@pytest.mark.slow
@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("window", [(2, 2), (3, 4), (1, 2), (5, 1)], ids=str)
def test_lines_and_places_behind_the_last_whole_window_do_not_matter(window: Window) -> None:
    close([layer((2, 3, 17, 23), (20, 3, 3, 3), 1, window)], threads=(1, 2, 3))


# ---------------------------------------------------------------- refusals


def reasons(*outputs: Node) -> str:
    f = fused(*outputs)
    assert len(f.kernels) > 1
    return " | ".join(str(b.reason) for b in f.boundaries)


def test_results_that_are_needed_before_the_pool_keep_it_apart() -> None:
    y = g.relu(g.conv2d(leaf(2, 4, 12, 20), leaf(20, 4, 3, 3), 1, 1, 1, 1))
    assert "needed elsewhere too" in reasons(y, pool(y, "max", (2, 2)))


@pytest.mark.parametrize("window", [(8, 2), (2, 10), (12, 1)], ids=str)
def test_large_windows_are_kernels_of_their_own(window: Window) -> None:
    assert "epilogue" in reasons(layer((2, 4, 24, 40), (20, 4, 3, 3), 1, window))


def test_products_and_strided_convolutions_are_not_pooled() -> None:
    product = g.matmul(leaf(64, 40), leaf(40, 64))
    pairs = graph.reduce("max", graph.reshape(product, (64, 32, 2)), (2,))
    strided = g.conv2d(leaf(2, 4, 32, 32), leaf(20, 4, 3, 3), 2, 1, 1, 1)
    for y in (pairs, pool(strided, "max", (1, 2))):
        assert "windows along its lines" in reasons(y)
        close([y])


@pytest.mark.slow
def test_overlapping_windows_are_not_pooled() -> None:
    y = g.conv2d(leaf(2, 4, 17, 17), leaf(20, 4, 3, 3), 1, 1, 1, 1)
    assert len(close([g.max_pool(y, 3, 2)]).lowered.kernels) == 2


@pytest.mark.slow
def test_the_gradient_of_a_pooled_layer() -> None:
    y = layer((2, 3, 12, 14), (6, 3, 3, 3), 1)
    grads = [
        d
        for d in vjp([y], [leaf(*y.shape)], [n for n in graph.toposort([y]) if n.op is Op.INPUT])
        if d is not None
    ]
    close([y, *grads], 2e-5, threads=(1, 2, 3))
