"""Reductions and matrix products of Tensors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf

RNG = np.random.default_rng(1)
X = RNG.standard_normal((3, 4, 5))
AXES = [None, 0, -1, (0, 2), (1,), (0, 1, 2), (-1, 0)]


def close(got: wf.Tensor, expected: np.ndarray, rtol: float = 1e-12) -> None:
    assert got.shape == expected.shape and got.numpy().dtype == expected.dtype
    np.testing.assert_allclose(got.numpy(), expected, rtol=rtol, atol=1e-12)


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std"])
def test_reductions(name: str, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    close(
        getattr(wf.tensor(X), name)(axis=axis, keepdims=keepdims),
        np.asarray(getattr(np, name)(X, axis=axis, keepdims=keepdims)),
    )


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all(name: str, axis: int | None) -> None:
    b = RNG.random((3, 4, 5)) < 0.3
    for x in (b, b.astype("int64"), b.astype("float32")):
        close(getattr(wf.tensor(x), name)(axis=axis), np.asarray(getattr(np, name)(x, axis=axis)))


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_extremes_take_the_first_and_nan_first_of_all(name: str, axis: int | None) -> None:
    x = RNG.integers(0, 3, (3, 4, 5)).astype("float32")
    ours, numpys = getattr(wf, name), getattr(np, name)
    assert ours(wf.tensor(x), axis=axis).numpy().tolist() == numpys(x, axis=axis).tolist()
    assert (
        ours(wf.tensor(x.astype("int64")), axis=axis).numpy().tolist()
        == numpys(x, axis=axis).tolist()
    )
    x[1, 2, 3] = x[1, 2, 4] = np.nan
    assert (
        ours(wf.tensor(x), axis=axis, keepdims=True).numpy().tolist()
        == numpys(x, axis=axis, keepdims=True).tolist()
    )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum"])
def test_integer_sums_accumulate_in_64_bits(name: str, dtype: str) -> None:
    x = np.array([[1, 1, 0], [1, 1, 1]] if dtype == "bool" else [[100, 3, 5], [7, 200, 2]]).astype(
        dtype
    )
    close(getattr(wf.tensor(x), name)(axis=1), getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("axis", [None, 0, -2])
def test_cumsum(axis: int | None) -> None:
    close(wf.tensor(X).cumsum(axis), np.cumsum(X, axis))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64"])
def test_extremes_propagate_nan_and_keep_the_dtype(dtype: str) -> None:
    x = np.array([[3, 1, 2], [9, 8, 7]]).astype(dtype)
    if dtype == "float64":
        x[0, 1] = np.nan
    close(wf.tensor(x).max(1), x.max(1))
    close(wf.tensor(x).min(1), x.min(1))


def test_empty_reductions() -> None:
    x = wf.zeros(0, 3)
    assert x.sum(0).tolist() == [0, 0, 0] and x.prod(0).tolist() == [1, 1, 1]
    assert np.isnan(x.mean(0).numpy()).all()
    assert x.sum(1).shape == (0,) and x.max(1).shape == (0,)
    with pytest.raises(wf.errors.ShapeError, match="no elements"):
        x.max(0)


def test_sample_variance() -> None:
    close(wf.tensor(X).var(axis=1, correction=1), X.var(axis=1, ddof=1))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("axis", [-1, 0, (0, 2)])
def test_exponential_families(axis: int | tuple[int, ...]) -> None:
    big = X * 100
    e = np.exp(big - big.max(axis, keepdims=True))
    close(wf.tensor(big).softmax(axis), e / e.sum(axis, keepdims=True))
    close(
        wf.tensor(big).log_softmax(axis), np.log(e / e.sum(axis, keepdims=True) + 1e-320), rtol=1e-6
    )
    close(wf.tensor(big).logsumexp(axis), np.log(e.sum(axis)) + big.max(axis))


def test_logsumexp_of_nothing_is_the_logarithm_of_0() -> None:
    assert (
        wf.zeros(2, 0).logsumexp(1).tolist() == [-np.inf] * 2
        and wf.zeros(0).logsumexp().item() == -np.inf
    )


def test_logsumexp_of_infinities() -> None:
    x = wf.tensor([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 2.0]])
    assert x.logsumexp(1).tolist() == [-np.inf, np.inf, 2.0]


MATMULS = [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
           ((2, 1, 3, 4), (6, 4, 5)), ((1, 3, 4), (6, 4, 1)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)),
           ((1, 1), (1, 1)),
           ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((1, 4), (4, 5))]  # fmt: skip


@pytest.mark.parametrize("shapes", MATMULS)
def test_matmul(shapes: tuple) -> None:
    a, b = (RNG.standard_normal(s) for s in shapes)
    close(wf.tensor(a) @ wf.tensor(b), np.asarray(a @ b))


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "float32"])
def test_matmul_dtypes(dtype: str) -> None:
    a, b = (RNG.integers(0, 2, s).astype(dtype) for s in ((3, 4), (4, 2)))
    close(wf.tensor(a) @ wf.tensor(b), a @ b)


def test_a_linear_layer_reads_its_weight_through_views_only() -> None:
    from weft.ir.graph.graph import toposort
    from weft.ir.graph.op import Op

    x, w = wf.tensor(np.ones((2, 3, 4), "float32")), wf.tensor(np.ones((5, 4), "float32"))
    assert {n.op for n in toposort([(x @ w.T).node])} == {Op.INPUT, Op.EXPAND, Op.MUL, Op.REDUCE}
