"""Kernels of FFT: NumPy's values for lines in rows and in columns, the bits of any number of
threads, what is fused; routines that become such kernels."""

from __future__ import annotations

from math import prod

import graphs as g
import numpy as np
import pytest
from harness import TARGETS, check_close, leaf, normal_inputs, oracle, schedules
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.graph.routine import Routine
from weft.ir.graph.shapes import GraphError
from weft.ir.passes.transforms import LONGEST, radices, transforms_as_kernels

FLOATS = (dt.float32, dt.float64)
TOLERANCE = {dt.float32: 1e-6, dt.float64: 2e-15}


def fft(x: Node, axis: int, forward: bool = True, turns: int = 0) -> Node:
    return node(Op.FFT, (x,), (axis, forward, turns, x.shape))


def routine(name: str, x: Node, *params: int, pairs: bool, shape: tuple[int, ...]) -> Node:
    """A routine over pairs, as the pass for complex numbers leaves it."""
    spec = Routine(name, (1, *params), ((x.dtype, shape),), (pairs, name != "irfft"))
    return node(Op.ROUTINE, (x,), (spec, 0))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("d", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("n", [2, 3, 8, 14, 16, 32, 63, 100, 1024])
def test_lines_in_rows_and_in_columns(n: int, d: DType) -> None:
    rows, columns = leaf(21, n, 2, dtype=d), leaf(3, n, 17, 2, dtype=d)
    outputs = [fft(rows, 0 if n == 21 else 1), fft(columns, 1, forward=False)]
    env = normal_inputs(outputs)
    program = check_close(outputs, env, TOLERANCE[d], threads=(1, 2, 3))
    assert schedules(program) == ["fourier", "fourier"]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_vectors_of_any_size(target: object) -> None:
    x = leaf(40, 48, 2)
    turned = graph.permute(leaf(5, 32, 24, 2, dtype=dt.float64), (0, 2, 1, 3))
    outputs = [fft(x, 1), fft(turned, 1, turns=768)]
    check_close(outputs, normal_inputs(outputs), 1e-6, threads=(1, 2), target=target)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("forward", [True, False])
def test_elements_are_turned_before(forward: bool) -> None:
    x = graph.permute(leaf(3, 9, 12, 2, dtype=dt.float64), (0, 2, 1, 3))
    outputs = [fft(x, 1, forward, turns=108)]
    check_close(outputs, normal_inputs(outputs), 2e-15, threads=(1, 2))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(4096, 2), (2, 6000, 2), (3, 35, 5, 2), (2 * LONGEST, 3, 2)])
def test_long_lines_are_matrices(shape: tuple[int, ...]) -> None:
    x = leaf(*shape, dtype=dt.float64)
    axis = max(range(x.ndim), key=lambda a: shape[a])
    whole = routine("fft", x, 1, axis + 1 - x.ndim, pairs=True, shape=shape)
    (out,) = transforms_as_kernels([whole])
    env = normal_inputs([out])
    program = check_close([out], env, 2e-15, threads=(1, 2, 3))
    assert set(schedules(program)) == {"fourier"}
    want = np.fft.fft(env[x][..., 0] + 1j * env[x][..., 1], axis=axis)
    got = oracle([out], env)[0]
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, atol=1e-12 * len(want))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [2, 6, 64, 1000, 4096])
def test_real_lines_are_half_as_many_complex_numbers(n: int) -> None:
    x, z = leaf(5, n, dtype=dt.float64), leaf(5, n // 2 + 1, 2, dtype=dt.float64)
    roots = [
        routine("rfft", x, n, -1, pairs=False, shape=z.shape),
        routine("irfft", z, n, -1, pairs=True, shape=x.shape),
    ]
    outputs = transforms_as_kernels(roots)
    env = normal_inputs(outputs)
    check_close(outputs, env, 2e-15, threads=(1, 2))
    half, back = oracle(outputs, env)
    close = {"rtol": 0, "atol": 1e-13 * n}
    np.testing.assert_allclose(half[..., 0] + 1j * half[..., 1], np.fft.rfft(env[x]), **close)
    pairs = env[z][..., 0] + 1j * env[z][..., 1]
    np.testing.assert_allclose(back, np.fft.irfft(pairs, n, norm="forward"), **close)


def test_lengths_with_large_factors_stay_routines() -> None:
    x = leaf(4, 22, 2)
    whole = routine("fft", x, 1, -1, pairs=True, shape=x.shape)
    assert transforms_as_kernels([whole]) == [whole]
    for n in range(1, 400):
        assert prod(radices(n)) in (1, n) and max(radices(n), default=1) <= 16


def test_maps_before_a_transform_are_part_of_its_kernel() -> None:
    x, window = leaf(40, 64), leaf(64)
    windowed = graph.reshape(node(Op.MUL, (x, graph.expand(window, ((0, 40),)))), (40, 32, 2))
    outputs = [fft(windowed, 1)]
    program = check_close(outputs, normal_inputs(outputs), 1e-6, threads=(1, 2))
    assert schedules(program) == ["fourier"]
    outputs = [fft(windowed, 1), windowed]  # of which one is needed elsewhere
    assert len(schedules(check_close(outputs, normal_inputs(outputs), 1e-6))) == 2


@pytest.mark.slow
def test_nothing_is_written_in_place() -> None:
    x = leaf(64, 32, 2)
    outputs = [g.add(fft(fft(x, 1), 0), x)]
    check_close(outputs, normal_inputs(outputs), 1e-6, threads=(1, 2), donations={0: 0})


def test_shapes_and_dtypes_that_no_transform_has() -> None:
    for x, axis, turns in ((leaf(8, 2), 1, 0), (leaf(8, 3), 0, 0), (leaf(8, 2), 0, 8)):
        with pytest.raises(GraphError, match="fft"):
            fft(x, axis, turns=turns)
    with pytest.raises(GraphError, match="int64"):
        fft(leaf(8, 2, dtype=dt.int64), 0)
