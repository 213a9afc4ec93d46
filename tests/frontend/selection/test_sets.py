"""Values that decide shapes, against NumPy: nonzero, unique, bincount and sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sortable import DTYPES, SHAPES, drawn, same
from weft import errors
from weft.ir.graph import dtype as dt

SOME = [*SHAPES, (), (4, 1, 5)]


# ---------------------------------------------------------------- nonzero


@given(st.sampled_from(DTYPES), st.sampled_from([s for s in SOME if s]), st.integers(0, 99))
@examples(60)
def test_nonzero_and_argwhere_equal_numpy(d: dt.DType, shape: tuple[int, ...], seed: int) -> None:
    x = drawn(shape, d, seed)
    x = np.where(np.random.default_rng(seed).random(shape) < 0.4, np.zeros((), d.numpy), x)
    found = wf.nonzero(wf.tensor(x))
    assert isinstance(found, tuple) and len(found) == x.ndim
    for got, want in zip(found, np.nonzero(x), strict=True):
        same(got, want)
    same(wf.argwhere(wf.tensor(x)), np.argwhere(x))
    same(wf.flatnonzero(wf.tensor(x)), np.flatnonzero(x))


@pytest.mark.parametrize("value", [0.0, 2.0, np.nan])
def test_argwhere_of_a_number(value: float) -> None:
    same(wf.argwhere(wf.tensor(value)), np.argwhere(np.array(value)))


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize(
    "kwargs", [{}, {"axis": 0}, {"axis": (0, 2)}, {"axis": -1, "keepdims": True}], ids=str
)
@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
def test_count_nonzero_equals_numpy(d: dt.DType, kwargs: dict[str, Any]) -> None:
    x = drawn((4, 5, 6), d, 3)
    same(
        wf.count_nonzero(wf.tensor(x), **kwargs),
        np.asarray(np.count_nonzero(x, **kwargs), np.int64),
    )


# ---------------------------------------------------------------- unique


def standard(x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)


@given(st.sampled_from(DTYPES), st.sampled_from(SOME), st.integers(0, 99))
@examples(80)
def test_unique_all_equals_numpy(d: dt.DType, shape: tuple[int, ...], seed: int) -> None:
    x = drawn(shape, d, seed)
    t = wf.tensor(x)
    values, indices, inverse, counts = standard(x)
    found = wf.unique_all(t)
    same(found.indices, indices.astype(np.int64))
    same(found.inverse_indices, inverse.reshape(shape).astype(np.int64))
    same(found.counts, counts.astype(np.int64))
    np.testing.assert_array_equal(found.values.numpy(), values)
    np.testing.assert_array_equal(found.values.numpy(), x.reshape(-1)[indices])


def test_the_parts_of_unique_all_have_names() -> None:
    x = wf.tensor([2, 1, 2])
    assert wf.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert wf.unique_counts(x)._fields == ("values", "counts")
    assert wf.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert [v.tolist() for v in wf.unique_counts(x)] == [[1, 2], [1, 2]]
    assert [v.tolist() for v in wf.unique_inverse(x)] == [[1, 2], [1, 0, 1]]
    assert wf.unique_values(x).tolist() == [1, 2]


def test_each_nan_is_distinct_in_the_standard_functions_but_not_in_unique() -> None:
    x = wf.tensor([np.nan, 1.0, np.nan, -0.0, 0.0])
    assert wf.unique_values(x).shape == (4,) and wf.unique_counts(x).counts.tolist() == [2, 1, 1, 1]
    values, counts = wf.unique(x, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), [0, 1, np.nan])
    assert counts.tolist() == [2, 1, 2] and wf.unique(x, equal_nan=False).shape == (4,)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 40), (500,)], ids=str)
def test_unique_takes_numpys_arguments(shape: tuple[int, ...]) -> None:
    x = drawn(shape, dt.float32, 17)
    want = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    got = wf.unique(wf.tensor(x), return_index=True, return_inverse=True, return_counts=True)
    for a, b in zip(got, (want[0], want[1], want[2].reshape(shape), want[3]), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    np.testing.assert_array_equal(wf.tensor(x).unique().numpy(), want[0])


def test_unique_of_a_pending_value_and_the_value_of_its_parts() -> None:
    x = np.random.default_rng(0).integers(0, 9, (20, 30))
    t = wf.tensor(x) * 2 + 1
    values, inverse = wf.unique_inverse(t)
    same(values[inverse], x * 2 + 1)


# ---------------------------------------------------------------- bincount


def test_bincount_equals_numpy() -> None:
    x = np.random.default_rng(4).integers(0, 20, 300)
    weights = np.random.default_rng(5).integers(-5, 5, 300).astype(np.float64)
    same(wf.bincount(wf.tensor(x)), np.bincount(x))
    same(wf.bincount(wf.tensor(x.astype(np.uint8)), minlength=40), np.bincount(x, minlength=40))
    same(wf.bincount(wf.tensor(x), weights=wf.tensor(weights)), np.bincount(x, weights))
    same(
        wf.bincount(wf.tensor(np.zeros(0, np.int64)), minlength=3),
        np.bincount(np.zeros(0, np.int64), minlength=3),
    )


# ---------------------------------------------------------------- sets


@given(
    st.sampled_from(DTYPES),
    st.sampled_from([0, 1, 5, 16, 17, 60]),
    st.booleans(),
    st.integers(0, 99),
)
@examples(60)
def test_isin_equals_numpy(d: dt.DType, n: int, invert: bool, seed: int) -> None:
    x, test = drawn((4, 9), d, seed), drawn((n,), d, seed + 1)
    same(
        wf.isin(wf.tensor(x), wf.tensor(test), invert=invert),
        np.isin(x, test, invert=invert, kind="sort"),
    )


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (4, 0), (30, 25), (3, 200)], ids=str)
@pytest.mark.parametrize("d", [dt.int64, dt.uint8, dt.float32], ids=lambda d: d.name)
def test_sets_equal_numpy(name: str, sizes: tuple[int, int], d: dt.DType) -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.integers(0, 30, n).astype(d.numpy) for n in sizes)
    same(getattr(wf, name)(wf.tensor(a), wf.tensor(b)), getattr(np, name)(a, b))


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: wf.nonzero(wf.tensor(1.0)), errors.ShapeError, "nonzero: a 0-d tensor"),
        (
            lambda: wf.count_nonzero(wf.zeros(3), axis=1),
            errors.ShapeError,
            "count_nonzero: axis 1 is out of range",
        ),
        (
            lambda: wf.bincount(wf.zeros(3)),
            errors.DTypeError,
            "bincount: x must be of integers, not float32",
        ),
        (
            lambda: wf.bincount(wf.arange(4).reshape(2, 2)),
            errors.ShapeError,
            "bincount: x must be 1-d",
        ),
        (lambda: wf.bincount(wf.tensor([1, -2])), errors.IndexError, "bincount: -2 is negative"),
        (
            lambda: wf.bincount(wf.tensor([1 << 60])),
            errors.ShapeError,
            "bincount: shape .* has too many elements",
        ),
        (
            lambda: wf.bincount(wf.arange(3), minlength=-1),
            errors.ShapeError,
            "minlength must be 0 or more, not -1",
        ),
        (
            lambda: wf.bincount(wf.arange(3), weights=wf.ones(2)),
            errors.ShapeError,
            "weights of shape",
        ),
        (
            lambda: wf.bincount(wf.arange(3), weights=2),
            errors.DTypeError,
            "weights must be a tensor",
        ),
    ],
)
def test_errors_name_what_is_wrong(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert isinstance(caught.value, errors.WeftError)
