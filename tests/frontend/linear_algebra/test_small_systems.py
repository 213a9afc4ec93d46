"""Batches of small systems. In: stacks of matrices. Out: kernels of our own, which give
what LAPACK gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely

Array = np.ndarray[Any, Any]
la = wf.linalg
RNG = np.random.default_rng(12)


def drawn(batch: tuple[int, ...], n: int, dtype: str = "float64") -> Array:
    a = RNG.normal(size=(*batch, n, n))
    return (a @ a.swapaxes(-1, -2) + np.eye(n)).astype(dtype)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "solve": (lambda a: la.solve(a, a[..., :2] + 1), lambda a: np.linalg.solve(a, a[..., :2] + 1)),
    "inv": (la.inv, np.linalg.inv),
    "cholesky": (la.cholesky, np.linalg.cholesky),
    "lower": (
        lambda a: la.solve_triangular(a, a[..., :1], upper=False),
        lambda a: np.linalg.solve(np.tril(a), a[..., :1]),
    ),
    "upper, ones": (
        lambda a: la.solve_triangular(a, a[..., :1], upper=True, unit_diagonal=True),
        lambda a: np.linalg.solve(np.triu(a, 1) + np.eye(a.shape[-1]), a[..., :1]),
    ),
}


def kinds(x: wf.Tensor) -> set[str]:
    return {k.kind for k in wf.explain(x).kernels}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_give_what_lapack_gives(name: str, dtype: str) -> None:
    ours, numpys = FUNCTIONS[name]
    for batch, n in (((16,), 1), ((4, 5), 3), ((50,), 16)):
        a = drawn(batch, n, dtype)
        got = ours(wf.tensor(a))
        assert "systems" in kinds(got) and "routine" not in kinds(got)
        rtol = 2e-3 if dtype == "float32" else 1e-8
        np.testing.assert_allclose(got.numpy(), numpys(a), rtol=rtol, atol=rtol)


def test_few_or_large_systems_are_lapacks() -> None:
    for batch, n in (((), 4), ((15,), 4), ((16,), 17)):
        assert "routine" in kinds(la.inv(wf.tensor(drawn(batch, n))))
    assert "routine" in kinds(la.inv(wf.tensor(drawn((20,), 3) + 1j)))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", ["solve", "cholesky", "lower", *rarely("inv", "upper, ones")])
def test_gradients_are_those_of_lapacks(name: str) -> None:
    ours, _ = FUNCTIONS[name]
    a = wf.tensor(drawn((16,), 4))
    got = wf.grad(ours(a).sin().sum(), a)
    assert "routine" not in kinds(got)
    for i in (0, 15):
        one = a[i].detach().realize()
        want = wf.grad(ours(one).sin().sum(), one)
        assert "routine" in kinds(want)
        np.testing.assert_allclose(got[i].numpy(), want.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_vmap_makes_a_batch_of_single_systems() -> None:
    a = wf.tensor(drawn((32,), 3))
    got = wf.vmap(la.inv)(a)
    assert kinds(got) == {"systems"}
    np.testing.assert_allclose(got.numpy(), np.linalg.inv(a.numpy()), rtol=1e-9)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "lower"])
def test_a_bad_system_is_named(name: str) -> None:
    a = np.ones((4, 5, 1, 1)) * np.eye(3)
    a[2, 3] = 0
    function = {"lower": "solve_triangular"}.get(name, name)
    with pytest.raises(
        wf.errors.LinAlgError, match=rf"{function}: matrix \(2, 3\) of the batch is"
    ):
        FUNCTIONS[name][0](wf.tensor(a)).realize()
