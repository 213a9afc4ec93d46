"""Values of wf.linalg beside NumPy's and SciPy's: batches, dtypes, empty matrices, shapes that do
not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import numpy as np
import pytest
import weft as wf

la = wf.linalg
Array = np.ndarray[Any, Any]
Call = Callable[..., Any]


def spd(x: Array) -> Array:
    """Positive definite ones."""
    return x @ x.swapaxes(-1, -2) + np.eye(x.shape[-1], dtype=x.dtype)


def of_scipy(name: str, x: Array) -> Any:
    """A function of one matrix, of each of a batch."""
    function = getattr(pytest.importorskip("scipy.linalg"), name)
    made = [function(m) for m in x.reshape(-1, *x.shape[-2:])]
    return np.stack(made).reshape(*x.shape[:-2], *made[0].shape).astype(x.dtype)


SQUARE: dict[str, tuple[Call, Call]] = {
    "cholesky": (lambda x: la.cholesky(spd(x)), lambda x: np.linalg.cholesky(spd(x))),
    "cholesky upper": (
        lambda x: la.cholesky(spd(x), upper=True),
        lambda x: np.linalg.cholesky(spd(x)).swapaxes(-1, -2),
    ),
    "inv": (la.inv, np.linalg.inv),
    "det": (la.det, np.linalg.det),
    "slogdet": (la.slogdet, np.linalg.slogdet),
    "eigh": (lambda x: la.eigh(spd(x)), lambda x: np.linalg.eigh(spd(x))),
    "eigvalsh": (lambda x: la.eigvalsh(spd(x)), lambda x: np.linalg.eigvalsh(spd(x))),
    "matrix_power": (lambda x: la.matrix_power(x, 5), lambda x: np.linalg.matrix_power(x, 5)),
    "power 0": (lambda x: la.matrix_power(x, 0), lambda x: np.linalg.matrix_power(x, 0)),
    "power -3": (lambda x: la.matrix_power(x, -3), lambda x: np.linalg.matrix_power(x, -3)),
    "expm": (la.expm, lambda x: of_scipy("expm", x)),
    "expm of large ones": (lambda x: la.expm(x * 9), lambda x: of_scipy("expm", x * 9)),
    "solve": (
        lambda x: la.solve(x, x[..., :2] * 2),
        lambda x: np.linalg.solve(x, x[..., :2] * 2),
    ),
    "solve of a vector": (
        lambda x: la.solve(x, x[..., 0].reshape(-1)[:4]),
        lambda x: np.linalg.solve(x, x[..., 0].reshape(-1)[:4]),
    ),
    "upper": (
        lambda x: la.solve_triangular(x, x[..., :2], upper=True),
        lambda x: np.linalg.solve(np.triu(x), x[..., :2]),
    ),
    "lower": (
        lambda x: la.solve_triangular(x, x[..., :2], upper=False),
        lambda x: np.linalg.solve(np.tril(x), x[..., :2]),
    ),
    "unit": (
        lambda x: la.solve_triangular(x, x, upper=False, unit_diagonal=True),
        lambda x: np.linalg.solve(np.tril(x, -1) + np.eye(4, dtype=x.dtype), x),
    ),
    "from the right": (
        lambda x: la.solve_triangular(x, x[..., :2, :], upper=True, left=False),
        lambda x: x[..., :2, :] @ np.linalg.inv(np.triu(x)),
    ),
} | {
    f"cond {p}": (lambda x, p=p: la.cond(x, p), lambda x, p=p: np.linalg.cond(x, p))
    for p in (None, "fro", "nuc", 1, -1, 2, -2, inf)
}
ANY: dict[str, tuple[Call, Call]] = {
    "svd": (la.svd, np.linalg.svd),
    "reduced svd": (
        lambda x: la.svd(x, full_matrices=False),
        lambda x: np.linalg.svd(x, full_matrices=False),
    ),
    "svdvals": (la.svdvals, lambda x: np.linalg.svd(x, compute_uv=False)),
    "qr": (la.qr, np.linalg.qr),
    "complete qr": (
        lambda x: la.qr(x, mode="complete"),
        lambda x: np.linalg.qr(x, mode="complete"),
    ),
    "pinv": (la.pinv, np.linalg.pinv),
    "pinv of rank 1": (lambda x: la.pinv(x, rtol=0.9), lambda x: np.linalg.pinv(x, 0.9)),
    "rank": (la.matrix_rank, np.linalg.matrix_rank),
    "trace": (lambda x: la.trace(x, offset=1), lambda x: np.trace(x, 1, -2, -1)),
    "diagonal": (lambda x: la.diagonal(x, offset=-1), lambda x: np.diagonal(x, -1, -2, -1)),
    "transpose": (la.matrix_transpose, lambda x: x.swapaxes(-1, -2)),
    "vector_norm": (
        lambda x: la.vector_norm(x, axis=-1, ord=3),
        lambda x: np.linalg.norm(x, 3, axis=-1),
    ),
    "norm": (la.norm, np.linalg.norm),
    "norm along an axis": (
        lambda x: la.norm(x, inf, axis=0),
        lambda x: np.linalg.norm(x, inf, axis=0),
    ),
    "norm along others": (
        lambda x: la.norm(x, 1, axis=(-1, 0), keepdims=True),
        lambda x: np.linalg.norm(x, 1, axis=(-1, 0), keepdims=True),
    ),
    "lu": (la.lu, lambda x: pytest.importorskip("scipy.linalg").lu(x)),
} | {
    f"matrix_norm {ord}": (
        lambda x, ord=ord: la.matrix_norm(x, ord=ord, keepdims=True),
        lambda x, ord=ord: np.linalg.norm(x, ord, axis=(-2, -1), keepdims=True),
    )
    for ord in ("fro", "nuc", 1, -1, 2, -2, inf, -inf)
}


def several(x: Any) -> Iterable[Any]:
    return x if isinstance(x, tuple) else (x,)


def require_equal(got: Any, want: Any, tolerance: float) -> None:
    for a, b in zip(several(got), map(np.asarray, several(want)), strict=True):
        assert (a.shape, a.dtype.name) == (b.shape, b.dtype.name)
        scale = max(1.0, np.abs(b).max(initial=0))
        np.testing.assert_allclose(a.numpy() / scale, b / scale, atol=tolerance)


TOLERANCE = {"float32": 2e-4, "float64": 1e-11}


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("name", SQUARE)
def test_functions_of_square_matrices(name: str, batch: tuple[int, ...], dtype: str) -> None:
    f, want = SQUARE[name]
    x = np.random.default_rng(1).normal(size=(*batch, 4, 4)) + 3 * np.eye(4)
    require_equal(f(x.astype(dtype)), want(x.astype(dtype)), TOLERANCE[dtype])


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 5, 3), (2, 2, 4, 4)])
@pytest.mark.parametrize("name", ANY)
def test_functions_of_any_matrices(name: str, shape: tuple[int, ...], dtype: str) -> None:
    f, want = ANY[name]
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    require_equal(f(x), want(x), TOLERANCE[dtype])


EMPTY = ["det", "inv", "slogdet", "eigvalsh", "eigh", "svd", "qr", "pinv", "svdvals", "rank"]


@pytest.mark.thinned(to=15)
@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 2, 2)])
@pytest.mark.parametrize("name", EMPTY)
def test_empty_square_matrices(name: str, shape: tuple[int, ...]) -> None:
    f, want = (SQUARE | ANY)[name]
    x = np.zeros(shape)
    if name == "rank" and not shape[-1]:
        return require_equal(f(x), np.zeros(shape[:-2], np.int64), 0)
    return require_equal(f(x), want(x), 0)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 3, 0)])
@pytest.mark.parametrize("name", ["svd", "qr", "complete qr", "pinv", "svdvals"])
def test_matrices_without_rows_or_columns(name: str, shape: tuple[int, ...]) -> None:
    f, want = ANY[name]
    require_equal(f(np.zeros(shape)), want(np.zeros(shape)), 0)


def test_batches_broadcast() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(4, 3, 2))
    require_equal(la.solve(a, b), np.linalg.solve(a, b), 1e-12)
    vector = rng.normal(size=3)
    require_equal(la.solve(a, vector), np.linalg.solve(a, vector), 1e-12)
    require_equal(la.solve(np.zeros((0, 0)), np.zeros((0, 2))), np.zeros((0, 2)), 0)


def test_least_squares() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    found, want = la.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None)
    require_equal(
        tuple(found), tuple(map(np.asarray, (*want[:2], np.int64(want[2]), want[3]))), 1e-12
    )
    short = la.lstsq(a.T, b[:3, 0])  # the shortest of all solutions
    require_equal(short.solution, np.linalg.lstsq(a.T, b[:3, 0], rcond=None)[0], 1e-12)


def test_chains_of_products() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=s) for s in ((9, 2), (2, 7), (7, 1), (1, 5))]
    require_equal(la.multi_dot(parts), np.linalg.multi_dot(parts), 1e-12)
    parts[0], parts[-1] = parts[0][0], parts[-1][0][:1]
    require_equal(la.multi_dot(parts), np.linalg.multi_dot(parts), 1e-12)


def test_dtypes() -> None:
    """Integers become the default float; 16-bit floats are computed in float32 and rounded once."""
    assert la.inv([[2, 0], [0, 4]]).tolist() == [[0.5, 0], [0, 0.25]]
    assert la.det(wf.eye(2, dtype=wf.int64)).dtype is wf.float32
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float16)
    for f in (la.inv, la.svdvals, la.expm, lambda x: la.matrix_power(x, 3)):
        got = f(wf.tensor(x))
        assert got.dtype is wf.float16
        assert (got.numpy() == f(wf.tensor(x.astype(np.float32))).numpy().astype(np.float16)).all()
    product = la.multi_dot([wf.tensor(x)] * 3)
    once = np.linalg.multi_dot([x.astype(np.float32)] * 3).astype(np.float16)
    np.testing.assert_allclose(product.numpy(), once, rtol=1e-3)
    assert {t.dtype for t in la.qr(wf.tensor(x).astype(wf.bfloat16))} == {wf.bfloat16}


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda: la.inv(wf.ones(2, 3)), r"inv: expected square matrices, not shape \(2, 3\)"),
        (
            lambda: la.svd(wf.ones(3)),
            r"svd: expected a matrix or a stack of them, not shape \(3,\)",
        ),
        (lambda: la.solve(wf.eye(2), wf.ones(3)), r"solve: shapes \(2, 2\) and \(3,\) do not fit"),
        (lambda: la.solve(wf.eye(2), wf.tensor(1.0)), "solve: shapes"),
        (lambda: la.solve(wf.ones(3, 2, 2), wf.ones(4, 2, 2)), "solve: "),
        (lambda: la.lstsq(wf.ones(3, 2), wf.ones(2)), "lstsq: shapes"),
        (lambda: la.multi_dot([wf.ones(2)]), "multi_dot: expected two matrices or more"),
        (lambda: la.norm(wf.ones(2, 2, 2), 1), "norm: an order needs one axis or two, not 3"),
        (lambda: la.outer(wf.ones(2, 2), wf.ones(2)), "outer: expected vectors"),
    ],
)
def test_shapes_that_do_not_fit_are_errors_of_the_call(f: Call, text: str) -> None:
    with pytest.raises(wf.errors.ShapeError, match=text):
        f()


def test_lu_without_scipy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(wf.errors.MissingPackageError, match=r"lu: .* pip install 'weft\[linalg\]'"):
        la.lu(wf.eye(2))


def test_arguments_that_are_not_allowed() -> None:
    with pytest.raises(wf.errors.ArgumentError, match="matrix_norm: ord must be 'fro', 'nuc'"):
        la.matrix_norm(wf.eye(2), ord=3)
    with pytest.raises(wf.errors.ArgumentError, match="qr: mode must be 'reduced' or 'complete'"):
        la.qr(wf.eye(2), mode="raw")
    with pytest.raises(wf.errors.DTypeError, match="matrix_power: n must be an int"):
        la.matrix_power(wf.eye(2), 1.5)
    with pytest.raises(wf.errors.DTypeError, match=r"matrix_power: n must be an int, not \[1\]"):
        la.matrix_power(wf.eye(2), [1])
    with pytest.raises(wf.errors.ShapeError, match="cond: p must be one number"):
        la.cond(wf.eye(2), np.array([2, 2]))
    with pytest.raises(wf.errors.DTypeError, match="lstsq: rcond must be a real number"):
        la.lstsq(wf.eye(2), wf.ones(2), rcond=[1])
    with pytest.raises(wf.errors.ShapeError, match="matrix_norm: ord must be one number"):
        la.matrix_norm(wf.eye(2), ord=np.array([2, 2]))
    with pytest.raises(wf.errors.ShapeError, match=r"pinv: shapes \(3,\) and \(2,\) could not"):
        la.pinv(wf.ones(2, 2, 2), rtol=wf.ones(3))
    with pytest.raises(wf.errors.ShapeError, match=r"pinv: rtol of shape \(2,\) for a batch \(\)"):
        la.pinv(wf.eye(2), rtol=wf.ones(2))
    with pytest.raises(wf.errors.AttributeError, match=r"wf\.linalg\.inv"):
        _ = wf.inv
