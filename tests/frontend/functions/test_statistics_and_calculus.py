"""Statistics, interpolation, calculus and vectors of samples against NumPy and SciPy: values,
gradients, edges, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

E = wf.errors
RNG = np.random.default_rng(0)
F, G = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 6))
V, W = RNG.normal(size=(2, 1, 3)), RNG.normal(size=(5, 3))
AT = np.array([-1.0, 0.0, 0.3, 1.0, 2.5, 4.0, 4.5, np.nan])
XP, FP = np.array([0.0, 0.5, 1.0, 3.0, 4.0]), np.array([1.0, -1.0, 2.0, 2.0, 0.0])
TIMES = np.cumsum(RNG.uniform(0.1, 1, 6))
T = wf.tensor

CASES: dict[str, tuple[Any, Any]] = {
    "cov": (wf.cov(T(F)), np.cov(F)),
    "cov of a vector": (wf.cov(T(F[0]), correction=0), np.cov(F[0], ddof=0)),
    "cross": (wf.cross(T(V), T(W)), np.cross(V, W)),
    "cross along another axis": (T(W.T).cross(T(V[0].T), 0), np.cross(W.T, V[0].T, axis=0)),
    "kron": (wf.kron(T(F), T(W)), np.kron(F, W)),
    "kron of integers and a vector": (
        T([1, 2]).kron(T([[1, 3], [0, -1]])),
        np.kron([1, 2], [[1, 3], [0, -1]]),
    ),
    "vander": (wf.vander(T(F[0])), np.vander(F[0])),
    "vander, ascending": (
        wf.vander(T([2, 0, -3]), 4, increasing=True),
        np.vander([2, 0, -3], 4, increasing=True),
    ),
    "vander without columns": (wf.vander(T([2, 3]), 0), np.vander([2, 3], 0)),
    "interp": (wf.interp(T(AT), T(XP), T(FP)), np.interp(AT, XP, FP)),
    "interp with ends": (
        wf.interp(T(AT), T(XP), T(FP), -9.0, right=9),
        np.interp(AT, XP, FP, -9, 9),
    ),
    "interp with a period": (
        wf.interp(T(AT), T(XP[::-1]), T(FP), period=3.7),
        np.interp(AT, XP[::-1], FP, period=3.7),
    ),
    "interp of one point": (
        wf.interp(T(AT[:-1]), T([1.0]), T([5.0]), -1.0),
        np.interp(AT[:-1], [1.0], [5.0], -1.0),
    ),
    "interp with equal points": (
        wf.interp(T(AT), T([0.0, 1, 1, 4, 4]), T(FP)),
        np.interp(AT, [0, 1, 1, 4, 4], FP),
    ),
    "gradient": (wf.gradient(T(F)), np.gradient(F)),
    "gradient, two distances": (wf.gradient(T(F), 2.0, 0.5), np.gradient(F, 2.0, 0.5)),
    "gradient at coordinates": (wf.gradient(T(F), T(TIMES), axis=1), np.gradient(F, TIMES, axis=1)),
    "gradient of order 2": (
        wf.gradient(T(F), 0.1, edge_order=2, axis=0),
        np.gradient(F, 0.1, edge_order=2, axis=0),
    ),
    "gradient of order 2 at coordinates": (
        wf.gradient(T(F), T(TIMES), edge_order=2, axis=-1),
        np.gradient(F, TIMES, edge_order=2, axis=-1),
    ),
    "gradient of integers, axes in any order": (
        wf.gradient(T([[1, 2, 4], [3, 9, 2]]), axis=(1, 0))[1],
        np.gradient([[1, 2, 4], [3, 9, 2]], axis=(1, 0))[1].astype("float32"),
    ),
    "trapezoid": (wf.trapezoid(T(F), dx=0.5), np.trapezoid(F, dx=0.5)),
    "trapezoid at coordinates": (wf.trapezoid(T(F), T(TIMES)), np.trapezoid(F, TIMES)),
    "trapezoid, coordinates each": (wf.trapezoid(T(F), T(G), axis=0), np.trapezoid(F, G, axis=0)),
    "trapezoid of one sample": (wf.trapezoid(T(F[:, :1])), np.trapezoid(F[:, :1])),
    "logspace": (wf.logspace(0, 3, 4, dtype="float64"), np.logspace(0, 3, 4)),
    "logspace of another base": (
        wf.logspace(-1, 2, 5, base=2.0, endpoint=False, dtype="float64"),
        np.logspace(-1, 2, 5, base=2.0, endpoint=False),
    ),
    "logspace of integers": (
        wf.logspace(0, 6, 7, dtype="int64"),
        np.logspace(0, 6, 7, dtype="int64"),
    ),
    "fliplr": (T(F).fliplr(), np.fliplr(F)),
    "flipud": (T(F).flipud(), np.flipud(F)),
}


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("name", CASES)
def test_functions_equal_numpy(name: str) -> None:
    got, want = CASES[name]
    for g, w in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
        assert g.shape == w.shape and g.dtype.name == w.dtype.name
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("k", range(-1, 5))
def test_rot90_is_numpys(k: int) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(wf.rot90(T(x), k).numpy(), np.rot90(x, k))
    np.testing.assert_array_equal(T(x).rot90(k, (2, 0)).numpy(), np.rot90(x, k, (2, 0)))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("p", "name"), [(2.0, "euclidean"), (1, "cityblock"), (np.inf, "chebyshev"), (3.0, "minkowski")]
)
def test_distances_are_scipys(p: float, name: str) -> None:
    a, b = F[:, :3], np.vstack([G[:, :3], F[:1, :3]])
    np.testing.assert_allclose(
        wf.cdist(T(a), T(b), p).numpy(),
        cdist(a, b, name, **({"p": 3} if p == 3 else {})),
        rtol=1e-13,
    )
    x = wf.ones(1, 2, 3).requires_grad_()
    wf.cdist(x, wf.ones(4, 1, 3), p).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[0.0] * 3] * 2]
    near = wf.tensor([[1e4, 1.0]]) + wf.tensor([[0.0, 1e-3]])
    assert wf.cdist(near, wf.tensor([[1e4, 1.0]]), p).item() == pytest.approx(1e-3, rel=1e-4)


def test_lerp_is_exact_at_its_ends() -> None:
    a, b = wf.tensor([1e8, 0.1, -3.0]), wf.tensor([-1.0, 0.7, 1e8])
    assert (wf.lerp(a, b, 0.0) == a).all() and (a.lerp(b, 1.0) == b).all()
    found = wf.lerp(a, b, wf.tensor([0.25, 0.5, 0.75]))
    np.testing.assert_allclose(found.numpy(), [0.75e8 - 0.25, 0.4, 0.75e8 - 0.75], rtol=1e-6)
    assert wf.lerp(1, 2, 0.5).item() == 1.5 and wf.lerp(a.half(), b.half(), 0.5).dtype is wf.float16


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, *rarely(1)])
def test_interp_between_infinite_points_is_numpys(step: int) -> None:
    ends, at = (
        [-np.inf, -1.0, 2.0, np.inf, np.nan],
        np.array([-np.inf, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, np.inf]),
    )
    for xp in ([0.0, 1.0, 2.0], [-np.inf, 1.0, 2.0], [0.0, 1.0, np.inf], [0.0, 1.0, 1.0]):
        for fp in [*product(ends, repeat=3)][::step]:
            with np.errstate(all="ignore"):
                want = np.interp(at, xp, fp)
            np.testing.assert_allclose(
                wf.interp(T(at), T(np.array(xp)), T(np.array(fp))).numpy(),
                want,
                err_msg=f"{xp} {fp}",
            )


@pytest.mark.slow
def test_infinite_points_leave_the_gradients_of_others_finite() -> None:
    x, fp = (T(v, requires_grad=True) for v in ([0.5, 1.0, 1.5], [1.0, 2.0, np.inf, 5.0]))
    found = wf.interp(x, T([0.0, 1.0, 2.0, 3.0]), fp)
    assert found.tolist() == [1.5, 2.0, np.inf]
    found[:2].sum().backward()
    assert (
        x.grad is not None
        and x.grad[0].item() == 1.0
        and fp.grad is not None
        and fp.grad.tolist() == [0.5, 1.5, 0.0, 0.0]
    )


# ---------------------------------------------------------------- quantiles


METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("method", METHODS)
@examples(15)
@given(data=st.data())
def test_quantiles_are_numpys(data: st.DataObject, method: str) -> None:
    shape = data.draw(st.sampled_from([(1,), (2,), (9,), (4, 5), (3, 1, 6)]))
    x = data.draw(st.sampled_from([np.float32, np.float64, np.int64]))(
        np.random.default_rng(3).integers(-9, 9, shape) * 3
    )
    axis = data.draw(st.sampled_from([None, *range(len(shape)), tuple(range(len(shape)))]))
    q = data.draw(st.sampled_from([0.5, 0.0, 1.0, [0.1, 0.9], [[0.25], [1 / 3]]]))
    keepdims = data.draw(st.booleans())
    want = np.quantile(x.astype(np.float64), q, axis=axis, method=method, keepdims=keepdims)
    got = wf.quantile(T(x), q, axis, method, keepdims)
    assert got.shape == want.shape and got.dtype is (
        wf.float64 if x.dtype == np.float64 else wf.float32
    )
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-6)


def test_percentiles_and_levels_that_are_computed() -> None:
    levels = T(np.array([0.0, 0.25, 0.75]))
    np.testing.assert_array_equal(
        wf.quantile(T(F), levels, 0).numpy(), wf.quantile(T(F), [0, 0.25, 0.75], 0).numpy()
    )
    np.testing.assert_allclose(
        wf.percentile(T(F), [10, 62.5]).numpy(), np.percentile(F, [10, 62.5]), rtol=1e-14
    )
    np.testing.assert_array_equal(
        wf.percentile(T(F), levels * 100).numpy(), wf.quantile(T(F), levels).numpy()
    )


def test_quantiles_of_infinities_nans_and_nothing() -> None:
    x = np.array([[1.0, np.inf, np.inf], [np.nan, 1.0, 2.0], [-np.inf, 0.0, 1.0]])
    assert wf.quantile(T(x), 0.75, axis=1).tolist()[0] == np.inf
    assert (
        np.isnan(wf.quantile(T(x), [0.0, 0.5], axis=1).numpy()).tolist()
        == [[False, True, False]] * 2
    )
    assert np.isnan(wf.quantile(wf.zeros(0, 2), 0.5, axis=0).numpy()).tolist() == [True, True]
    assert wf.tensor([1.0, 2.0, 4.0], dtype="bfloat16").quantile(0.25).dtype is wf.bfloat16


# ---------------------------------------------------------------- histograms


@examples(30)
@given(data=st.data())
def test_histograms_are_numpys(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.choice(
        [rng.normal(size=50), rng.integers(-5, 6, 50), np.full(50, 3.0)], axis=0
    ).reshape(5, 10)
    bins = data.draw(st.sampled_from([1, 7, [-2.0, -1.0, 0.5, 0.5, 3.0], np.array([0, 2, 5])]))
    limits = data.draw(st.sampled_from([None, (-1, 2), (3, 3)]))
    density, weights = (
        data.draw(st.booleans()),
        data.draw(st.sampled_from([None, rng.random((5, 10))])),
    )
    if data.draw(st.booleans()):
        x = x.astype(np.int64)
    got = wf.histogram(T(x), bins, limits, density, None if weights is None else T(weights))
    with np.errstate(all="ignore"):
        want = np.histogram(x, bins, limits, density, weights)
    assert weights is not None or density or got[0].dtype is wf.int64
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=2e-6, atol=1e-6)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "x", [[0, 16777217], [123456789] * 3, [2**40, 2**40 + 1, 2**40 + 5]], ids=str
)
@pytest.mark.parametrize("bins", [2, 10, "edges"])
def test_integers_beyond_float32_are_counted(x: list[int], bins: Any) -> None:
    bins = np.unique([x[0] - 1, *x]) if bins == "edges" else bins
    for density in (False, True):
        got, want = (
            wf.histogram(T(x), T(bins), density=density),
            np.histogram(x, bins, density=density),
        )
        np.testing.assert_allclose(got[0].numpy(), want[0], rtol=1e-6)
        assert got[1].dtype is wf.float32
        np.testing.assert_array_equal(got[1].numpy(), want[1].astype(np.float32))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_range_of_a_histogram_is_that_of_the_finite_elements(dtype: str) -> None:
    finite = np.array([3.0, -1.0, 0.5, 2.0])
    want = np.histogram(finite, 4)
    for others in ([np.nan], [np.inf], [-np.inf, np.nan, np.inf]):
        got = wf.histogram(T(np.concatenate([finite, others]).astype(dtype)), 4)
        assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()
        counts, edges = wf.histogram(T(np.array(others, dtype)), 2)
        assert counts.tolist() == [0, 0] and edges.tolist() == [0.0, 0.5, 1.0]


def test_histograms_leave_out_nan_and_count_nothing() -> None:
    counts, edges = wf.histogram(T([np.nan, 1.0, 2.0]), 2, (1, 2))
    assert counts.tolist() == [1, 1] and edges.tolist() == [1.0, 1.5, 2.0]
    assert wf.histogram(wf.zeros(0), 2)[0].tolist() == [0, 0]
    jitted = wf.jit(lambda x: wf.histogram(x, 4))
    for x in (F, G):
        np.testing.assert_array_equal(jitted(x)[0].numpy(), np.histogram(x, 4)[0])


# ---------------------------------------------------------------- gradients, errors


SMOOTH: dict[str, tuple[Callable[..., wf.Tensor], tuple[Any, ...]]] = {
    "quantile": (lambda x: wf.quantile(x, [0.3, 0.8], axis=1), (F,)),
    "cov": (wf.cov, (F,)),
    "cross": (wf.cross, (V, W)),
    "kron": (wf.kron, (F[:2, :2], W[:2])),
    "cdist": (wf.cdist, (F[:, :3], W)),
    "cdist 1": (lambda a, b: wf.cdist(a, b, 1), (F[:, :3], W)),
    "vander": (wf.vander, (F[0, :3],)),
    "lerp": (wf.lerp, (F, G, RNG.random((4, 6)))),
    "interp": (wf.interp, (np.array([-1.0, 0.2, 0.7, 2.5, 9.0]), XP, FP)),
    "interp, period": (
        lambda x, fp: wf.interp(x, XP, fp, period=4.5),
        (np.array([0.2, 4.3, -3.0]), FP),
    ),
    "gradient": (lambda x, t: wf.gradient(x, t, axis=1, edge_order=2), (F, TIMES)),
    "trapezoid": (wf.trapezoid, (F, TIMES)),
    "histogram": (
        lambda w: wf.histogram(T(F), 3, density=True, weights=w)[0],
        (RNG.random((4, 6)),),
    ),
}


RARE = ["cdist 1", "interp, period"]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", [*(name for name in SMOOTH if name not in RARE), *rarely(*RARE)])
def test_gradients(name: str) -> None:
    f, inputs = SMOOTH[name]
    wf.check_grad(f, *inputs)


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: wf.quantile(F, 1.5), ValueError, "quantile: q must be from 0 to 1, not 1.5"),
    (
        lambda: wf.percentile(F, [50, -1]),
        ValueError,
        "percentile: q must be from 0 to 100, not [50, -1]",
    ),
    (lambda: wf.quantile(F, "a"), TypeError, "quantile: q must be a number or several, not 'a'"),
    (lambda: wf.quantile(F, T(1.5)).item(), IndexError, "index "),
    (
        lambda: wf.quantile(F, 0.5, method="cubic"),
        ValueError,
        "quantile: method must be 'linear', 'midpoint'",
    ),
    (lambda: wf.histogram(F, "auto"), TypeError, "histogram: bins must be an int, not 'auto'"),
    (lambda: wf.histogram(F, 0), ValueError, "histogram: bins must be at least 1, not 0"),
    (
        lambda: wf.histogram(F, [2.0, 1.0]),
        ValueError,
        "histogram: edges must ascend, not [2.0, 1.0]",
    ),
    (
        lambda: wf.histogram(F, range=(2, 1)),
        ValueError,
        "histogram: range must be two finite numbers that ascend, not (2, 1)",
    ),
    (
        lambda: wf.histogram(F, weights=wf.ones(3)),
        ValueError,
        "histogram: weights of shape (3,) do not fit x of shape (4, 6)",
    ),
    (
        lambda: wf.cov(wf.ones(2, 2, 2)),
        ValueError,
        "cov: expected a vector or a matrix, got shape (2, 2, 2)",
    ),
    (
        lambda: wf.cross(F, G),
        ValueError,
        "cross: vectors have three elements along axis -1, not shape (4, 6)",
    ),
    (
        lambda: wf.cdist(F, W),
        ValueError,
        "cdist: expected shapes (.., n, k) and (.., m, k), got (4, 6) and (5, 3)",
    ),
    (lambda: wf.cdist(F, F, -1), ValueError, "cdist: p must be at least 0, not -1"),
    (lambda: wf.vander(F), ValueError, "vander: expected a vector, got shape (4, 6)"),
    (
        lambda: wf.interp(F, XP, F[0]),
        ValueError,
        "interp: xp and fp must be vectors of equal size, not of shapes (5,) and (6,)",
    ),
    (lambda: wf.interp(F, XP, FP, period=0), ValueError, "interp: the period must not be 0"),
    (lambda: wf.gradient(F, 1.0, 1.0, 1.0), ValueError, "gradient: 3 spacings for 2 axes"),
    (
        lambda: wf.gradient(F, TIMES, axis=0),
        ValueError,
        "gradient: coordinates along axis 0 must be a vector of 4, not of",
    ),
    (
        lambda: wf.gradient(F[:2], edge_order=2),
        ValueError,
        "gradient: axis 0 of shape (2, 6) has too few samples",
    ),
    (
        lambda: wf.gradient(F, edge_order=3),
        ValueError,
        "gradient: edge_order must be 1 or 2, not 3",
    ),
    (
        lambda: wf.trapezoid(F, XP),
        ValueError,
        "trapezoid: 5 coordinates for 6 samples along axis 1 of shape (4, 6)",
    ),
    (lambda: wf.rot90(F, axes=(0,)), ValueError, "rot90: axes must be two ints, not (0,)"),
    (lambda: wf.fliplr(F[0]), IndexError, "flip: axis 1 is out of range for 1 axes"),
    (lambda: wf.logspace(0, 1, -1), ValueError, "linspace: shape (-1,) has a negative extent"),
]


@pytest.mark.thinned(to=13)
@pytest.mark.parametrize("case", WRONG, ids=[text for *_, text in WRONG])
def test_errors_name_function_and_argument(
    case: tuple[Callable[[], Any], type[Exception], str],
) -> None:
    call, kind, text = case
    with pytest.raises(kind, match=re.escape(text)):
        call()
