"""Sums, means and variances: errors of a few units whatever the number of terms and the offset, in
every order of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from loopkit import (
    REG,
    Alloc,
    Buf,
    Index,
    Op,
    Reduce,
    Store,
    Var,
    argument,
    f32,
    interpreted,
    kernel,
    load,
    op,
)
from weft.codegen.kernels.cascade import cascade, cascade_groups, fold_one
from weft.nn import functional as F

UNITS = 8.0  # relative errors allowed, in units of the dtype's eps
OFFSETS = (0.0, 1e2, 1e4, 1e6, 1e8)
LAYOUTS = {"flat": None, "rows": 1, "columns": 0}


def samples(layout: str, n: int, offset: float, dtype: str) -> np.ndarray[Any, Any]:
    shape = {"flat": (n,), "rows": (3, n), "columns": (n, 5)}[layout]
    return (np.random.default_rng(n).standard_normal(shape) + offset).astype(dtype)


def units(found: wf.Tensor, exact: Any, scale: Any) -> float:
    """The largest error, in units of eps relative to the scale."""
    return float(np.max(np.abs(found.numpy().astype(np.longdouble) - exact) / scale)) / float(
        np.finfo(found.numpy().dtype).eps
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [100, 1000, 10_000, 300_000])
def test_errors_do_not_grow_with_terms_nor_offsets(layout: str, n: int, dtype: str) -> None:
    axis = LAYOUTS[layout]
    for offset in OFFSETS:
        x = samples(layout, n, offset, dtype)
        t, wide = wf.tensor(x), x.astype(np.longdouble)
        size, var = np.abs(wide).sum(axis), wide.var(axis)
        assert units(t.sum(axis=axis), wide.sum(axis), size) < UNITS
        assert units(t.mean(axis=axis), wide.mean(axis), size / n) < UNITS
        if np.all(var > 0):
            assert units(t.var(axis=axis), var, var) < UNITS
            assert units(t.std(axis=axis), np.sqrt(var), np.sqrt(var)) < UNITS


def test_nearly_equal_elements_have_their_variance() -> None:
    x = np.full((2, 70_000), 1e8, np.float32)
    x[:, 5::10_000] += 8.0  # the next float
    exact = x.astype(np.float64).var(axis=1)
    assert np.allclose(wf.tensor(x).var(axis=1).numpy(), exact, rtol=1e-5, atol=0)
    assert wf.tensor(np.full(1000, 0.1, np.float32)).var().item() < 1e-15  # nor is it negative
    assert wf.tensor(np.full(9, -3.3e38, np.float32)).var().item() == 0.0  # their sum is no float


@pytest.mark.parametrize("place", [0, 7])
def test_one_element_far_away_harms_no_variance(place: int) -> None:
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    x[place] = 1e7
    assert np.isclose(wf.tensor(x).var().item(), x.astype(np.float64).var(), rtol=1e-5)


def test_gradients_of_a_variance_around_a_large_mean() -> None:
    x = samples("rows", 500, 1e5, "float32")
    t = wf.tensor(x, requires_grad=True)
    (found,) = wf.grad(t.var(axis=1).sum(), [t])
    wide = x.astype(np.float64)
    assert np.allclose(found.numpy(), 2 * (wide - wide.mean(1, keepdims=True)) / 500, atol=1e-6)


CONVOLUTIONS = {
    "lanes over channels": ((1, 512, 7, 7), (40, 512, 3, 3)),
    "lanes over places": ((1, 512, 4, 32), (2, 512, 3, 3)),
    "input gradient": ((1, 40, 7, 7), (512, 40, 3, 3)),
    "weight gradient": ((19, 20, 14, 14), (40, 20, 3, 3)),
}


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", CONVOLUTIONS)
def test_errors_of_convolutions_do_not_grow_with_products(form: str) -> None:
    """One chain of 3724 to 4608 products is off by 8 units and more."""
    x, w = (np.random.default_rng(2).standard_normal(shape) for shape in CONVOLUTIONS[form])

    def result(dtype: str) -> np.ndarray[Any, Any]:
        a, b = (wf.tensor(v.astype("float32").astype(dtype), requires_grad=True) for v in (x, w))
        y = F.conv2d(a, b, padding=1)
        given = wf.tensor(
            np.random.default_rng(3).standard_normal(y.shape).astype("float32").astype(dtype)
        )
        if "gradient" not in form:
            return y.numpy()
        (found,) = wf.grad((y * given).sum(), [a if "input" in form else b])
        return found.numpy()

    exact = result("float64")
    error = np.linalg.norm(result("float32") - exact) / np.linalg.norm(exact)
    assert error < 3 * np.finfo(np.float32).eps


NORMS = {
    "layer": (lambda x: F.layer_norm(x, (64, 64), eps=0.0), (1, 2, 3)),
    "group": (lambda x: F.group_norm(x, 1, eps=0.0), (1, 2, 3)),
    "instance": (lambda x: F.instance_norm(x, eps=0.0), (2, 3)),
    "batch": (lambda x: F.batch_norm(x, None, None, training=True, eps=0.0), (0, 2, 3)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("norm", NORMS)
def test_norms_around_a_large_mean(norm: str) -> None:
    """Deviations are off by the rounding of the mean, what they are divided by far less."""
    call, axes = NORMS[norm]
    x = (np.random.default_rng(1).standard_normal((6, 1, 64, 64)) + 3e5).astype(np.float32)
    found, wide = call(wf.tensor(x)).numpy().astype(np.float64), x.astype(np.float64)
    expected = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    assert np.abs(found - expected).max() < 0.04  # 3e5 * 2**-24, twice
    assert np.abs((found - found.mean(axes, keepdims=True)).std(axes) - 1).max() < 3e-4


@pytest.mark.parametrize("n", [1000, 3_000_000])
def test_running_sums_of_float32_run_in_float64(n: int) -> None:
    x = np.full(n, 0.1, np.float32)
    exact = x.astype(np.float64).cumsum()
    assert np.allclose(wf.tensor(x).cumsum(0).numpy(), exact, rtol=2.0**-23, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reading_the_inner_sums_does_not_change_the_sum_of_them(dtype: str) -> None:
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((65, 31)).astype(dtype)
        together, apart = wf.tensor(x).sum(axis=1), wf.tensor(x).sum(axis=1)
        apart.numpy()
        assert together.sum().numpy().tobytes() == apart.sum().numpy().tobytes()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_beyond_all_floats_are_infinite(dtype: Any) -> None:
    """Deviations of 1e20 (1e160): their squares overflow, and so does what the rounding of the mean
    adds."""
    most = np.finfo(dtype).max
    big = np.sqrt(most) * dtype(7)
    rows = np.array(
        [[big, 0, big], [most, -most, 0], [0, most, most], [most, most, most], [big, big, big]],
        dtype,
    )
    wanted = [np.inf, np.inf, np.inf, 0, 0]
    np.testing.assert_array_equal(wf.var(wf.tensor(rows), axis=1).numpy(), wanted)
    np.testing.assert_array_equal(wf.std(wf.tensor(rows), axis=1).numpy(), wanted)


@pytest.mark.parametrize("kind", ["add", "mul"])
@pytest.mark.parametrize("n", [7, 8, 64, 67, 300, 585, 600, 1111, 4700])
def test_rows_one_by_one_and_several_at_once_are_added_up_in_one_order(n: int, kind: str) -> None:
    one, of_two = (0.0, Op.ADD) if kind == "add" else (1.0, Op.MUL)
    x, out, acc = argument("x", size=n), argument("out", size=1), Buf("acc", f32, 1, REG)
    axis = Var("c", n)

    def several(_axes: list[Var], steps: list[Index]) -> Reduce:
        total = load(x, steps[0])
        for step in steps[1:]:
            total = op(of_two, total, load(x, step))
        return Reduce(acc, Index(), kind, total)

    def added_up(body: list[Any]) -> list[bytes]:
        loops = kernel([x, out], Alloc(acc, one), *body, Store(out, Index(), load(acc)))
        runs = [interpreted(loops, [v, np.zeros(1, np.float32)])[0] for v in values]
        return [found.tobytes() for _, found in runs]

    values = np.random.default_rng(n).standard_normal((5, n)).astype(np.float32) * 0.01 + one
    one_by_one = cascade([axis], [Reduce(acc, Index(), kind, load(x, axis))])
    assert added_up(one_by_one) == added_up(cascade_groups(axis, several, fold_one, False))
