"""Gradients of wf.linalg beside central differences in float64, first and second; forward mode
beside reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st

la = wf.linalg
Array = np.ndarray[Any, Any]
Function = Callable[[wf.Tensor], wf.Tensor]


def sym(x: wf.Tensor) -> wf.Tensor:
    return (x + x.mT) / 2


def slope(f: Function, x: wf.Tensor) -> wf.Tensor:
    return wf.grad(f(x).sum(), x)


def positive(x: wf.Tensor) -> wf.Tensor:
    return x @ x.mT + wf.eye(x.shape[-1], dtype=wf.float64)


def projector(v: wf.Tensor) -> wf.Tensor:
    """What does not depend on the signs of vectors."""
    return v @ wf.arange(1, v.shape[-1] + 1).astype(wf.float64).diag() @ v.mT


def of_svd(x: wf.Tensor) -> wf.Tensor:
    u, s, vh = la.svd(x, full_matrices=False)
    return u @ (s.sin()[..., None] * vh) + u[..., :1] @ vh[..., :1, :]


def of_eigh(x: wf.Tensor) -> wf.Tensor:
    w, v = la.eigh(sym(x))
    return projector(v) * w.sin()[..., None]


def of_qr(x: wf.Tensor, mode: str = "reduced") -> wf.Tensor:
    q, r = la.qr(x, mode=mode)
    return (q.sin() @ r.cos()) + q[..., :1] * r[..., :1, :]


def of_lu(x: wf.Tensor) -> wf.Tensor:
    p, low, up = la.lu(x)
    return (p @ low).sin() @ up.cos()


B = np.random.default_rng(7).normal(size=(2, 4, 3))
SQUARE: dict[str, Function] = {
    "cholesky": lambda x: la.cholesky(positive(x)).sin(),
    "cholesky upper": lambda x: la.cholesky(positive(x), upper=True).sin(),
    "solve": lambda x: la.solve(x, wf.tensor(B)).sin(),
    "solve right side": lambda x: la.solve(x + 3, x[..., :2].sin()),
    "solve vector": lambda x: la.solve(x, x.reshape(-1)[:4]),
    "triangular": lambda x: la.solve_triangular(x, x.cos(), upper=True),
    "triangular right": lambda x: la.solve_triangular(x, x.cos(), upper=False, left=False),
    "triangular unit": lambda x: la.solve_triangular(x, x.cos(), upper=False, unit_diagonal=True),
    "inv": lambda x: la.inv(x).sin(),
    "det": lambda x: la.det(x).sin(),
    "slogdet": lambda x: la.slogdet(x).logabsdet.sin(),
    "eigvalsh": lambda x: la.eigvalsh(sym(x)).sin(),
    "eigh": of_eigh,
    "qr complete": lambda x: of_qr(x, "complete"),
    "lu": of_lu,
    "matrix_power": lambda x: la.matrix_power(x, -3).sin(),
    "expm": lambda x: la.expm(x).sin(),
    "cond": lambda x: la.cond(x, 1),
}
ANY: dict[str, Function] = {
    "svd": of_svd,
    "svdvals": lambda x: la.svdvals(x).sin(),
    "qr": of_qr,
    "pinv": lambda x: la.pinv(x).sin(),
    "lstsq": lambda x: la.lstsq(x, x.cos()[..., :1]).solution,
    "nuc": lambda x: la.matrix_norm(x, ord="nuc"),
    "norm 2": lambda x: la.matrix_norm(x, ord=2),
}


# By default one of each routine and case of its rule, not what is composed of them.
DERIVED = (
    "cholesky upper", "solve right side", "triangular right", "triangular unit", "det", "inv",
    "eigvalsh", "qr complete", "matrix_power", "expm", "cond", "svdvals", "pinv", "nuc", "norm 2",
)  # fmt: skip


def mostly(names: Iterable[str]) -> list[Any]:
    return [*(n for n in names if n not in DERIVED), *rarely(*(n for n in names if n in DERIVED))]


def draw(seed: int, *shape: int) -> Array:
    """Well away from what is singular: matrices of these shapes, by their singular values."""
    rng = np.random.default_rng(seed)
    u, _, vh = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    s = 1 + np.arange(u.shape[-1]) + rng.uniform(0, 0.5, u.shape[-1])
    return (u * s) @ vh


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", mostly(SQUARE))
@examples(3, quick=1)
@given(seed=st.integers(0, 1000), batched=st.booleans())
def test_gradients_of_square_matrices(name: str, seed: int, batched: bool) -> None:
    wf.check_grad(SQUARE[name], draw(seed, *(2,) * batched, 4, 4), max_elements=8)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", mostly(ANY))
@examples(3, quick=1)
@given(seed=st.integers(0, 1000), shape=st.sampled_from([(4, 4), (5, 3), (3, 5), (2, 4, 3)]))
def test_gradients_of_matrices(name: str, seed: int, shape: tuple[int, ...]) -> None:
    wf.check_grad(ANY[name], draw(seed, *shape), max_elements=8)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", mostly(SQUARE | ANY))
def test_second_derivatives(name: str) -> None:
    f = (SQUARE | ANY)[name]

    wf.check_grad(lambda x: slope(f, x), draw(3, 4, 4), max_elements=6, rtol=1e-4, atol=1e-6)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", mostly(SQUARE | ANY))
def test_forward_mode_is_reverse_mode(name: str) -> None:
    f = (SQUARE | ANY)[name]
    x, t = (wf.tensor(draw(seed, 4, 4)) for seed in (5, 6))
    value, tangent = wf.jvp(f, (x,), (t,))
    gradient = slope(f, x)
    np.testing.assert_allclose(value.numpy(), f(x).numpy())
    np.testing.assert_allclose(tangent.sum().item(), (gradient * t).sum().item(), rtol=1e-9)


@pytest.mark.parametrize("rank", [2, 1, 3])
def test_the_gradient_of_a_singular_determinant_is_its_cofactors(rank: int) -> None:
    u, _, vh = np.linalg.svd(draw(1, 3, 3))
    x = u @ np.diag(np.arange(3) < rank) * 1.5 @ vh
    wf.check_grad(la.det, x, atol=1e-6)


def test_cofactors_of_a_matrix_do_not_depend_on_the_others_of_its_batch() -> None:
    x = draw(4, 3, 3, 3)
    x[1, 0, 0] = np.nan
    found = slope(la.det, wf.tensor(x)).numpy()
    want = np.linalg.det(x[2]) * np.linalg.inv(x[2]).T
    np.testing.assert_allclose(found[2], want, rtol=1e-12)
    assert np.isnan(found[1]).all()


def test_the_hessian_of_a_determinant_at_the_identity() -> None:
    hessian = wf.hessian(la.det)(wf.eye(2, dtype=wf.float64)).numpy()
    want = np.zeros((2, 2, 2, 2))
    want[0, 0, 1, 1] = want[1, 1, 0, 0] = 1
    want[0, 1, 1, 0] = want[1, 0, 0, 1] = -1
    np.testing.assert_allclose(hessian, want, atol=1e-12)


@pytest.mark.slow
@examples(10)
@given(gap=st.sampled_from([1e-2, 1e-4, 1e-6]), seed=st.integers(0, 100))
def test_near_eigenvalues_keep_the_derivatives_of_functions_of_a_matrix(
    gap: float, seed: int
) -> None:
    """V f(w) V.mT is smooth, whatever the gaps are; what is divided by them loses digits."""
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    x = q @ np.diag([1, 1 + gap, 2]) @ q.T
    x = (x + x.T) / 2

    def cube(x: wf.Tensor) -> wf.Tensor:
        w, v = la.eigh(sym(x))
        return (v * w**3) @ v.mT

    t = wf.tensor(np.random.default_rng(1).normal(size=(3, 3)))
    got = slope(lambda y: cube(y) * t, wf.tensor(x))
    want = slope(lambda y: sym(y) @ sym(y) @ sym(y) * t, wf.tensor(x))
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-13 / gap)


def test_equal_eigenvalues_have_a_gradient_but_not_equal_vectors() -> None:
    x = wf.eye(3, dtype=wf.float64)
    by_values = slope(lambda y: la.eigh(y).eigenvalues, x)
    np.testing.assert_allclose(by_values.numpy(), np.eye(3), atol=1e-15)
    by_vectors = slope(lambda y: la.eigh(y).eigenvectors, x)
    assert not np.isfinite(by_vectors.numpy()).all()
    np.testing.assert_allclose(slope(la.svdvals, x).numpy(), np.eye(3))


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: la.svd(x).U.sum(), "full_matrices=False"),
        (lambda x: la.qr(x, mode="complete").Q.sum(), "mode='complete'"),
        (lambda x: la.lu(x).U.sum(), "only square matrices"),
    ],
)
def test_what_has_no_gradient_says_so(f: Function, text: str) -> None:
    with pytest.raises(wf.errors.GradientError, match=text):
        slope(f, wf.tensor(draw(0, 4, 3)))


def test_singular_values_of_full_matrices_have_a_gradient() -> None:
    wf.check_grad(lambda x: la.svd(x).S.sin(), draw(0, 4, 3))
