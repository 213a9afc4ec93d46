"""Statistical and utility functions: the standard's signatures and dtypes, values against NumPy,
empty input, special values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from weft.ir.graph import dtype as dt

E = wf.errors
DTYPES = [d.name for d in dt.ALL if d.name != "bfloat16" and not d.is_complex]  # which NumPy lacks
FLOATS = [d for d in DTYPES if d.startswith("float")]
RNG = np.random.default_rng(11)


def drawn(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype in FLOATS:
        return RNG.uniform(-2, 2, shape).astype(dtype)
    return RNG.integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype)


def close(got: wf.Tensor, want: Any, eps: float = 50) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name, (
        got.shape,
        want.shape,
        got.dtype,
        want.dtype,
    )
    if want.dtype.kind == "f":
        error = eps * float(np.finfo(want.dtype).eps)
        np.testing.assert_allclose(got.numpy(), want, rtol=error, atol=error)
    else:
        np.testing.assert_array_equal(got.numpy(), want)


SIGNATURES = {
    "all": "x axis=None keepdims=False",
    "any": "x axis=None keepdims=False",
    "cumulative_prod": "x axis=None dtype=None include_initial=False",
    "cumulative_sum": "x axis=None dtype=None include_initial=False",
    "diff": "x axis=-1 n=1 prepend=None append=None",
    "max": "x axis=None keepdims=False",
    "mean": "x axis=None keepdims=False",
    "min": "x axis=None keepdims=False",
    "prod": "x axis=None dtype=None keepdims=False",
    "std": "x axis=None correction=0 keepdims=False",
    "sum": "x axis=None dtype=None keepdims=False",
    "var": "x axis=None correction=0 keepdims=False",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_have_the_names_and_defaults_of_the_standard(name: str) -> None:
    found = inspect.signature(getattr(wf, name)).parameters
    for item in SIGNATURES[name].split():
        parameter, _, default = item.partition("=")
        assert not default or str(found[parameter].default) == default
    assert found["x"].kind is inspect.Parameter.POSITIONAL_ONLY


# ---------------------------------------------------------------- reductions

SHAPES = [(3, 4, 2), (5,), (), (1, 3)]


def axes_of(ndim: int) -> list[Any]:
    return [None, (), *range(-min(ndim, 1), ndim), *([(0, -1)] if ndim > 1 else [])]


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reductions(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = drawn(shape, dtype)
    for axis in axes_of(len(shape)):
        for keepdims in (False, True):
            want = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
            close(getattr(wf, name)(x, axis=axis, keepdims=keepdims), want)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("axis", axes_of(3), ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments(name: str, dtype: str, axis: Any) -> None:
    x = drawn((3, 4, 2), dtype)
    out = dtype if dtype in FLOATS else "float32"
    want = np.asarray(getattr(np, name)(x.astype("float64"), axis=axis)).astype(out)
    close(getattr(wf, name)(x, axis=axis), want, 500)


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dtype_of_a_mean(dtype: str) -> None:
    x = drawn((3, 4, 2), dtype)
    close(wf.mean(x, dtype="float64"), np.mean(x, dtype="float64"))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_sums_and_products_in_the_dtype_asked_for(dtype: str, target: str) -> None:
    x = np.abs(drawn((2, 3), dtype))
    for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
        if "cumulative" in name and target == "bool":
            continue
        close(
            getattr(wf, name)(x, axis=1, dtype=target),
            getattr(np, name)(x.astype(target), axis=1, dtype=target),
        )


def test_sums_in_bool_are_any_and_all() -> None:
    x = wf.tensor([[0, 2, 3], [0, 0, 0]])
    assert x.sum(1, dtype=bool).tolist() == [True, False] and x.prod(1, dtype=bool).tolist() == [
        False,
        False,
    ]
    assert wf.cumulative_sum(x, axis=1, dtype="bool").tolist() == [[False, True, True], [False] * 3]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_of_nothing(dtype: str) -> None:
    x = wf.zeros((0, 3), dtype=dtype)
    n = np.zeros((0, 3), dtype)
    for name in ("sum", "prod", "any", "all"):
        close(getattr(wf, name)(x, axis=0), getattr(np, name)(n, axis=0))
        close(getattr(wf, name)(x, axis=1), getattr(np, name)(n, axis=1))
        close(getattr(wf, name)(x), getattr(np, name)(n))
    for name in ("max", "min", "argmax", "argmin"):
        assert getattr(wf, name)(x, axis=1).shape == (0,)
        with pytest.raises(
            E.ShapeError, match=rf"{name}: shape \(0, 3\) has no elements along axes \(0,\)"
        ):
            getattr(wf, name)(x, axis=0)
    assert np.isnan(x.mean().numpy()) and np.isnan(x.var().numpy())


def test_special_values() -> None:
    x = wf.tensor([[np.nan, 1.0, np.inf], [-np.inf, 2.0, np.inf], [1.0, -0.0, 0.0]])
    np.testing.assert_array_equal(x.max(1).numpy(), [np.nan, np.inf, 1])
    np.testing.assert_array_equal(x.min(1).numpy(), [np.nan, -np.inf, 0])
    np.testing.assert_array_equal(x.sum(1).numpy(), [np.nan, np.nan, 1])
    np.testing.assert_array_equal(x.mean(1).numpy()[:2], [np.nan, np.nan])
    assert x.any(1).tolist() == [True] * 3 and x.all(1).tolist() == [True, True, False]


@pytest.mark.slow
@examples(40)
@given(st.integers(1, 6), st.floats(0, 8) | st.integers(0, 8))
def test_the_divisor_of_a_variance_is_never_negative(count: int, correction: float) -> None:
    x = drawn((count,), "float64")
    divisor = max(count - correction, 0)
    with np.errstate(all="ignore"):
        want = np.float64(((x - x.mean()) ** 2).sum()) / np.float64(divisor)
    if divisor or count > 1:
        close(wf.var(x, correction=correction), want, 500)
        close(wf.std(x, correction=correction), np.sqrt(want), 500)


# ---------------------------------------------------------------- running sums and products

SCANS = [
    ((5,), None),
    ((3, 4), 0),
    ((3, 4), -1),
    ((2, 3, 4), 1),
    ((1,), None),
    ((0,), None),
    ((2, 0), 0),
    ((2, 0), 1),
    ((1, 1), 0),
]


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("scan", SCANS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums_and_products(
    name: str, dtype: str, scan: tuple[tuple[int, ...], int | None]
) -> None:
    shape, axis = scan
    x = drawn(shape, dtype)
    for initial in (False, True):
        want = getattr(np, name)(x, axis=axis, include_initial=initial)
        close(getattr(wf, name)(x, axis=axis, include_initial=initial), want)


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums_and_products_by_their_short_names(name: str, dtype: str) -> None:
    x = drawn((2, 3), dtype)
    short = name.replace("ulative_", "")
    close(getattr(wf.tensor(x), short)(), getattr(np, short)(x))
    close(getattr(wf, short)(x, 1), getattr(np, short)(x, 1))


def test_a_running_product_keeps_its_zeros() -> None:
    x = np.array([0.0, 1e30, 1e30, np.inf, 2.0], "float32")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wf.cumprod(x).numpy(), np.cumprod(x))
    x = np.array([-0.0, -0.0, 1.0])
    assert (
        np.signbit(wf.cumsum(x).numpy()).tolist()
        == np.signbit(np.cumsum(x)).tolist()
        == [True, True, False]
    )


def test_the_axis_of_a_matrix_must_be_named() -> None:
    for f in (wf.cumulative_sum, wf.cumulative_prod):
        with pytest.raises(E.ShapeError, match=r"shape \(2, 3\) has several axes"):
            f(wf.ones(2, 3))
        assert f(wf.tensor(3)).tolist() == [3]


# ---------------------------------------------------------------- differences


@examples(60)
@given(st.data())
def test_diff_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    dtype = data.draw(st.sampled_from(["bool", "uint8", "int32", "int64", "float64"]))
    axis, n = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.integers(0, 5))
    x = drawn(shape, dtype)
    edges: dict[str, Any] = {}
    for side in ("prepend", "append"):
        if data.draw(st.booleans()):
            extents = list(shape)
            extents[axis] = data.draw(st.integers(0, 2))
            edges[side] = drawn(tuple(extents), dtype)
    close(wf.diff(x, axis=axis, n=n, **edges), np.diff(x, n=n, axis=axis, **edges))


def test_diff_with_numbers_at_the_edges_and_its_errors() -> None:
    close(
        wf.diff(np.array([1, 4, 9]), prepend=0, append=16), np.diff([1, 4, 9], prepend=0, append=16)
    )
    close(wf.tensor(np.array([1, 4, 9])).diff(2), np.diff([1, 4, 9], 2))
    for args, kind, text in (
        ({"n": -1}, E.ShapeError, "negative number of times"),
        ({"axis": 1}, E.AxisError, "diff: axis 1"),
        ({"prepend": wf.ones((2, 2))}, E.ShapeError, "concat"),
        ({"prepend": "a"}, E.DTypeError, "diff"),
        ({"n": 1.5}, E.DTypeError, "diff: n must be an int"),
    ):
        with pytest.raises(kind, match=text):
            wf.diff(wf.ones(3), **args)
    with pytest.raises(E.AxisError):
        wf.diff(wf.tensor(1.0))
    assert wf.diff(wf.ones(3), n=10**12).shape == (0,)


# ---------------------------------------------------------------- norms


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
@pytest.mark.parametrize("order", [2, 1, 0, 3, 0.5, np.inf, -np.inf, -1])
def test_norms(order: float, axis: Any) -> None:
    x = drawn((3, 4, 2), "float64")
    rows = {None: 24, 0: 3, (0, 2): 6}[axis]
    moved = (x if axis is None else np.moveaxis(x, axis, range(rows // 3))).reshape(rows, -1)
    want = np.linalg.norm(moved, order, axis=0)
    got = wf.norm(x, order, axis=axis)
    np.testing.assert_allclose(got.numpy().reshape(-1), np.asarray(want).reshape(-1), rtol=1e-12)
    assert wf.tensor(x).norm(order, axis, True).ndim == 3


def test_a_norm_of_zeros_has_a_gradient_of_zeros() -> None:
    x = wf.zeros(3, requires_grad=True)
    x.norm().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0]


SMOOTH: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "cumprod": lambda x: wf.cumprod(x, 1),
    "cumprod_zeros": lambda x: (
        wf.cumprod(x * (wf.arange(4) != 1), 0) + wf.cumprod(x * (wf.arange(4) != 1), 1)
    ),
    "cumulative_sum": lambda x: wf.cumulative_sum(x, axis=0, include_initial=True),
    "diff": lambda x: wf.diff(x, n=2, prepend=x[:, :1] * 2),
    "norm": lambda x: wf.norm(x, axis=1),
    "norm3": lambda x: wf.norm(x, 3, axis=1),
    "var": lambda x: wf.var(x, axis=0, correction=1),
    "std": lambda x: wf.std(x, axis=(0, 1)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    x = wf.tensor(RNG.uniform(0.5, 2, (3, 4)))
    wf.check_grad(lambda t: (SMOOTH[name](t) ** 2).sum(), x)


def test_the_gradient_of_a_running_product_of_float32_is_float32() -> None:
    x = wf.tensor([[1.0, 0.0, 3.0]], requires_grad=True)
    wf.cumprod(x, 1).sum().backward()
    assert (
        x.grad is not None and x.grad.dtype is wf.float32 and x.grad.tolist() == [[1.0, 4.0, 0.0]]
    )
