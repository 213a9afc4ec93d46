"""Functions of complex matrices. In: random matrices. Out: NumPy's values, and gradients that equal
central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf

Array = np.ndarray[Any, Any]
la = wf.linalg
RNG = np.random.default_rng(3)
BATCH = (2,)


def drawn(*shape: int) -> Array:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def positive(a: Any) -> Any:
    """A Hermitian positive definite matrix of any."""
    eye = np.eye(a.shape[-1])
    return a @ a.conj().mT + (eye if isinstance(a, np.ndarray) else wf.tensor(eye))


VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "solve": (
        lambda a: la.solve(a, a[..., :2].conj() * 1j),
        lambda a: np.linalg.solve(a, a[..., :2].conj() * 1j),
    ),
    "inv": (la.inv, np.linalg.inv),
    "pinv": (lambda a: la.pinv(a[..., :2]), lambda a: np.linalg.pinv(a[..., :2])),
    "det": (la.det, np.linalg.det),
    "slogdet": (la.slogdet, np.linalg.slogdet),
    "cholesky": (lambda a: la.cholesky(positive(a)), lambda a: np.linalg.cholesky(positive(a))),
    "eigvalsh": (lambda a: la.eigvalsh(positive(a)), lambda a: np.linalg.eigvalsh(positive(a))),
    "svdvals": (la.svdvals, lambda a: np.linalg.svd(a, compute_uv=False)),
    "matrix_rank": (la.matrix_rank, np.linalg.matrix_rank),
    "matrix_norm": (la.matrix_norm, lambda a: np.linalg.norm(a, axis=(-2, -1))),
    "nuclear": (
        lambda a: la.matrix_norm(a, ord="nuc"),
        lambda a: np.linalg.norm(a, "nuc", (-2, -1)),
    ),
    "matrix_power": (lambda a: la.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3)),
    "vecdot": (lambda a: la.vecdot(a, a * 1j), lambda a: np.linalg.vecdot(a, a * 1j)),
    "cross": (lambda a: la.cross(a, a * 1j + 1), lambda a: np.cross(a, a * 1j + 1)),
}


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name: str, dtype: str) -> None:
    a = drawn(*BATCH, 3, 3).astype(dtype)
    ours, numpys = VALUES[name]
    got, want = ours(wf.tensor(a)), numpys(a)
    rtol = 2e-4 if dtype == "complex64" else 1e-10
    if not isinstance(got, tuple):
        got, want = (got,), (want,)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype.name == np.asarray(w).dtype.name
        np.testing.assert_allclose(g.numpy(), w, rtol=rtol, atol=rtol)


@pytest.mark.slow
def test_factors_make_the_matrix_again() -> None:
    a = wf.tensor(drawn(3, 4, 4))
    q, r = la.qr(a)
    u, s, vh = la.svd(a[..., :2])
    w, v = la.eigh(positive(a))
    values, vectors = la.eig(a)
    assert s.dtype is w.dtype is wf.float64 and values.dtype is wf.complex128
    for got, want in (
        (q @ r, a),
        ((u[..., :2] * s[..., None, :]) @ vh, a[..., :2]),
        ((v * w[..., None, :]) @ v.conj().mT, positive(a)),
        (vectors * values[..., None, :], a @ vectors),
        (la.expm(a[0] * 0.1), la.expm(a * 0.1)[0]),
    ):
        np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-10)
    real = wf.tensor(RNG.normal(size=(5, 5)))
    np.testing.assert_allclose(
        np.sort_complex(la.eigvals(real).numpy()),
        np.sort_complex(np.linalg.eigvals(real.numpy())),
        atol=1e-10,
    )


# of vectors that are determined up to a factor of modulus 1, what does not depend on it
SMOOTH: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    **{name: VALUES[name][0] for name in ("solve", "inv", "pinv", "det", "eigvalsh", "svdvals")},
    **{name: VALUES[name][0] for name in ("cholesky", "matrix_norm", "nuclear", "matrix_power")},
    "sign of a determinant": lambda a: la.slogdet(a).sign,
    "log of a determinant": lambda a: la.slogdet(a).logabsdet,
    "qr": lambda a: la.qr(a).Q @ wf.tensor([[1.0, 2, 3], [2, 1j, 0], [1, 1, 1]]),
    "r": lambda a: la.qr(a).R,
    "eigh": lambda a: la.eigh(positive(a)).eigenvectors.abs(),
    "svd": lambda a: la.svd(a).U[..., :, :1] @ la.svd(a).Vh[..., :1, :],
    "eig": lambda a: la.eig(a).eigenvectors.abs().sum(-1),
    "eigvals": lambda a: la.eigvals(a) ** 2,
    "expm": lambda a: la.expm(a * 0.3),
    "triangle": lambda a: la.solve_triangular(a, a[..., :1] + 1, upper=False),
}


# one of each routine; what is composed of them is slow
TWICE = {"solve", "cholesky", "qr", "svd", "eig"}


def loss_of(name: str) -> Callable[[wf.Tensor], wf.Tensor]:
    weights = RNG.normal(size=2)

    def loss(a: wf.Tensor) -> wf.Tensor:
        y = SMOOTH[name](a)
        y = (y * complex(*weights)).real if y.dtype.is_complex else y
        return (y * wf.tensor(np.linspace(0.5, 1.5, y.size).reshape(y.shape))).sum()

    return loss


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    "name",
    [n if n in TWICE | {"triangle"} else pytest.param(n, marks=pytest.mark.slow) for n in SMOOTH],
)
def test_gradients_are_central_differences(name: str) -> None:
    a, step = drawn(*BATCH, 3, 3), 1e-6
    loss, direction = loss_of(name), drawn(*a.shape)
    at = wf.tensor(a)
    ahead, behind = (loss(wf.tensor(a + s * step * direction)).item() for s in (1, -1))
    want = (ahead - behind) / (2 * step)
    gradient = wf.grad(loss(at), at)
    got = (gradient.conj() * wf.tensor(direction)).real.sum().item()
    assert got == pytest.approx(want, rel=1e-5, abs=1e-6)
    _, pushed = wf.jvp(loss, (at,), (wf.tensor(direction),))
    assert pushed.item() == pytest.approx(got, rel=1e-8, abs=1e-9)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "name",
    [name if name in TWICE else pytest.param(name, marks=pytest.mark.slow) for name in SMOOTH],
)
def test_second_derivatives_are_central_differences(name: str) -> None:
    a, step = drawn(*BATCH, 3, 3), 1e-6
    loss, direction = loss_of(name), drawn(*a.shape)
    at = wf.tensor(a)
    slopes = wf.jvp(lambda x: wf.grad(loss(x), x), (at,), (wf.tensor(direction),))[1]
    ahead, behind = (
        wf.grad(loss(x := wf.tensor(a + s * step * direction)), x).numpy() for s in (1, -1)
    )
    second = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(slopes.numpy(), second, rtol=1e-4, atol=1e-5 * np.abs(second).max())


def test_programs_loops_and_batches_hold_complex_routines() -> None:
    a = wf.tensor(drawn(4, 3, 3))
    inverses = wf.vmap(la.inv)(a).numpy()
    np.testing.assert_allclose(inverses, np.linalg.inv(a.numpy()), rtol=1e-10)
    np.testing.assert_array_equal(wf.jit(la.inv)(a).numpy(), la.inv(a).numpy())
    last, _ = wf.scan(lambda c, m: (la.solve(m, c), None), wf.tensor(np.eye(3) + 0j), a)
    want = np.eye(3)
    for m in a.numpy():
        want = np.linalg.solve(m, want)
    np.testing.assert_allclose(last.numpy(), want, rtol=1e-9)
    with pytest.raises(wf.errors.LinAlgError, match=r"inv: matrix 1 of the batch is singular"):
        la.inv(wf.concat([a[:1], a[:1] * 0])).realize()
