"""erfinv, lgamma, digamma and polygamma of Tensors: special values, values beside the references,
dtypes, gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from scipy import special
from weft import options

INF, NAN = math.inf, math.nan
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-INF, NAN), (NAN, NAN)],
    "lgamma": [
        (0.0, INF),
        (-0.0, INF),
        (1, 0.0),
        (2, 0.0),
        (-1, INF),
        (-2e16, INF),
        (INF, INF),
        (-INF, INF),
        (NAN, NAN),
    ],
    "digamma": [
        (0.0, -INF),
        (-0.0, INF),
        (-1, NAN),
        (-3, NAN),
        (INF, INF),
        (-INF, NAN),
        (NAN, NAN),
    ],
}


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, dtype: str, interpret: bool) -> None:
    x, want = (np.array(column, dtype) for column in zip(*SPECIAL[name], strict=True))
    with options.override(interpret=interpret):
        got = getattr(wf, name)(wf.tensor(x)).numpy()
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[want == 0]))


NEGATIVE = -np.random.default_rng(0).uniform(0, 30, 2000)
POSITIVE = np.exp(np.random.default_rng(1).uniform(-30, 30, 2000))


def reflected(x: np.ndarray) -> np.ndarray:
    """digamma, where x is negative by cot(pi x) of what x is away from a whole number: SciPy's
    loses digits near its poles."""
    y = np.where(x < 0, 1 - x, x)
    cotangent = 1 / np.tan(np.pi * np.where(x < 0, x - np.round(x), 0.5))
    return special.digamma(y) - np.where(x < 0, np.pi * cotangent, 0)


DERIVATIVES: dict[
    str, tuple[Callable[[wf.Tensor], wf.Tensor], Callable[[np.ndarray], np.ndarray]]
] = {
    "lgamma": (wf.lgamma, special.gammaln),
    "digamma": (wf.digamma, reflected),
    "polygamma1": (lambda x: wf.polygamma(1, x), lambda x: special.polygamma(1, x)),
    "polygamma4": (lambda x: wf.polygamma(4, x), lambda x: special.polygamma(4, x)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_the_gamma_functions_are_scipys(name: str, dtype: str) -> None:
    f, reference = DERIVATIVES[name]
    x = np.concatenate([POSITIVE, NEGATIVE] if name[-1] not in "4" else [POSITIVE]).astype(dtype)
    want = reference(x.astype(np.float64))
    want = np.where(np.abs(want) > np.finfo(dtype).max, np.sign(want) * INF, want)
    got = f(wf.tensor(x)).numpy().astype(np.float64)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    error = np.abs(got[finite] - want[finite]) / np.maximum(np.abs(want[finite]), 1.0)
    assert error.max() <= (16 if dtype == "float64" else 1) * np.finfo(dtype).eps


def test_erfinv_inverts_erf() -> None:
    x = np.linspace(-3, 3, 1001)
    np.testing.assert_allclose(wf.erfinv(wf.erf(wf.tensor(x))).numpy(), x, rtol=1e-11, atol=1e-15)
    y = np.array([0.3, -1e-300, 1 - 2**-53, -(1 - 2**-30)])
    np.testing.assert_allclose(wf.tensor(y).erfinv().numpy(), special.erfinv(y), rtol=4e-16)


@pytest.mark.parametrize("name", SPECIAL)
def test_of_integers_and_16_bit_floats(name: str) -> None:
    f, reference = (
        getattr(wf, name),
        {"erfinv": special.erfinv, "lgamma": special.gammaln, "digamma": special.digamma}[name],
    )
    assert f(wf.tensor([0, 1])).dtype is wf.float32
    half = np.array([0.25, 0.5, 0.75], np.float16)
    found = f(wf.tensor(half))
    assert found.dtype is wf.float16
    np.testing.assert_array_equal(
        found.numpy(), reference(half.astype(np.float64)).astype(np.float16)
    )


def test_gradients_of_any_order() -> None:
    wf.check_grad(wf.erfinv, np.array([0.0, 0.3, -0.9, 0.999]))
    wf.check_grad(wf.lgamma, np.array([0.2, 1.0, 1.5, 2.0, 30.0, -0.5, -3.3]))
    wf.check_grad(wf.digamma, np.array([0.2, 1.46, 30.0, -0.5, -3.3]), rtol=1e-4)
    x = wf.tensor(2.5, dtype="float64")
    second = wf.hessian_vector_product(wf.lgamma, x, wf.tensor(1.0, dtype="float64"))
    assert second.item() == pytest.approx(special.polygamma(1, 2.5), rel=1e-14)
    ends = wf.tensor([1.0, 0.0], requires_grad=True)
    wf.erfinv(ends).sum().backward()
    assert ends.grad is not None and ends.grad.tolist() == [
        INF,
        pytest.approx(math.sqrt(math.pi) / 2),
    ]


def test_constants_are_folded_alike() -> None:
    compiled = wf.polygamma(2, wf.tensor([1.25], dtype="float64")).item()
    assert wf.full((), 1.25, dtype="float64").digamma().item() == pytest.approx(
        special.digamma(1.25), abs=1e-15
    )
    assert wf.polygamma(2, 1.25).item() == pytest.approx(compiled, rel=1e-6)


@pytest.mark.parametrize("n", [-1, 31])
def test_the_order_of_a_derivative_is_bounded(n: int) -> None:
    with pytest.raises(ValueError, match="polygamma: n"):
        wf.polygamma(n, wf.ones(2))
    with pytest.raises(TypeError, match=r"polygamma: n must be an int, not 1\.5"):
        wf.polygamma(1.5, wf.ones(2))  # type: ignore[arg-type]
