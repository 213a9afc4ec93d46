"""sort, argsort, topk, median, searchsorted, argmax against NumPy: order, stability, special
values, layouts, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sortable import DTYPES, SHAPES, Array, drawn, same
from weft import errors, options
from weft.ir.graph import dtype as dt


def places(x: Array, axis: int, descending: bool) -> Array:
    """The stable order, by Python's sort."""

    def line(values: Array) -> Array:
        keys = [(bool(v != v), 0 if v != v else v) for v in values.tolist()]
        return np.array(
            sorted(range(len(keys)), key=keys.__getitem__, reverse=descending), np.int64
        )

    return np.apply_along_axis(line, axis, x) if x.size else np.zeros(x.shape, np.int64)


# ---------------------------------------------------------------- order


@given(
    st.sampled_from(DTYPES),
    st.sampled_from(SHAPES),
    st.booleans(),
    st.integers(-3, 2),
    st.integers(0, 1 << 16),
)
@examples(120, quick=15)
def test_sort_and_argsort_are_stable_in_both_directions(
    d: dt.DType, shape: tuple[int, ...], descending: bool, axis: int, seed: int
) -> None:
    axis = axis % len(shape) if axis >= 0 else -1 - (-1 - axis) % len(shape)
    x = drawn(shape, d, seed)
    want = places(x, axis, descending)
    same(wf.argsort(wf.tensor(x), axis=axis, descending=descending), want)
    same(wf.sort(wf.tensor(x), axis=axis, descending=descending), np.take_along_axis(x, want, axis))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(40,), (200,), (3, 150)], ids=str)
def test_sort_of_every_dtype_equals_numpy(d: dt.DType, shape: tuple[int, ...]) -> None:
    x = drawn(shape, d, 5)
    np.testing.assert_array_equal(wf.sort(wf.tensor(x)).numpy(), np.sort(x, kind="stable"))


LAYOUTS: dict[str, tuple[Callable[[wf.Tensor], wf.Tensor], Callable[[Array], Array]]] = {
    "turned": (lambda t: t.T, lambda x: x.T),
    "every third": (lambda t: t[:, ::3], lambda x: x[:, ::3]),
    "flipped": (wf.flip, np.flip),
    "a part": (lambda t: t[::2, 1:-1], lambda x: x[::2, 1:-1]),
    "pending": (lambda t: t - 1, lambda x: x - 1),
    "repeated": (
        lambda t: wf.broadcast_to(t[0], (3, *t[0].shape)),
        lambda x: np.broadcast_to(x[0], (3, *x[0].shape)),
    ),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [33, 260])
@pytest.mark.parametrize("name", LAYOUTS)
def test_views_and_layouts_sort_as_their_values(name: str, n: int) -> None:
    x = drawn((6, n), dt.float32, 7)
    ours, numpys = LAYOUTS[name]
    for axis in (0, 1):
        same(wf.argsort(ours(wf.tensor(x).realize()), axis=axis), places(numpys(x), axis, False))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("d", [dt.float16, dt.bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(30,), (4, 200), (700,)], ids=str)
def test_16_bit_floats_sort_as_the_same_values_in_float32(
    d: dt.DType, shape: tuple[int, ...]
) -> None:
    half = wf.tensor(drawn(shape, dt.float32, 19)).astype(d).realize()
    for descending in (False, True):
        want = places(half.float().numpy(), -1, descending)
        same(wf.argsort(half, descending=descending), want)
        same(
            wf.sort(half, descending=descending).float(),
            np.take_along_axis(half.float().numpy(), want, -1),
        )
    assert wf.sort(half).dtype is d
    same(
        wf.unique_counts(half).counts,
        np.unique(half.float().numpy(), return_counts=True, equal_nan=False)[1],
    )


def test_no_axis_sorts_all_elements() -> None:
    x = drawn((4, 9), dt.int32, 3)
    same(wf.sort(wf.tensor(x), axis=None), np.sort(x, axis=None))
    same(wf.tensor(x).argsort(axis=None), np.argsort(x, axis=None, kind="stable"))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("shape", [(70_000,), (3, 70_000), (500, 20), (40, 300)], ids=str)
def test_any_number_of_threads_gives_the_same_bits(shape: tuple[int, ...]) -> None:
    x = drawn(shape, dt.float32, 11)
    want = np.argsort(x, kind="stable")
    for threads in (1, 2, 3):
        with options.override(num_threads=threads, serial_threshold=0):
            same(wf.argsort(wf.tensor(x)), want)


@pytest.mark.slow
def test_a_long_line() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 1_000_000)
    same(wf.argsort(wf.tensor(x)), np.argsort(x, kind="stable"))


def test_explain_names_the_schedule() -> None:
    kernels = wf.explain(wf.argsort(wf.rand(5, 300))).kernels
    assert kernels[-1].kind == "sort" and kernels[-1].schedule.startswith("sort: radix")


# ---------------------------------------------------------------- topk and median


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 4, 9])
def test_topk_gives_values_and_places(k: int, largest: bool) -> None:
    x = drawn((5, 9), dt.float32, 13)
    for axis, xs in ((-1, x), (0, x.T.copy())):
        values, found = wf.tensor(xs).topk(k, axis=axis, largest=largest)
        want = np.take(places(xs, axis, largest), range(k), axis)
        same(found, want)
        same(values, np.take_along_axis(xs, want, axis))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 200])
@pytest.mark.parametrize("d", [dt.float32, dt.float64, dt.int16, dt.bool_], ids=lambda d: d.name)
def test_median_equals_numpy(n: int, d: dt.DType) -> None:
    x = np.random.default_rng(n).integers(0, 2 if d.kind == "b" else 50, (3, n)).astype(d.numpy)
    want = d.numpy if d.is_float else np.float32
    t = wf.tensor(x)
    for kwargs in ({}, {"axis": 1}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"keepdims": True}):
        same(wf.median(t, **kwargs), np.asarray(np.median(x.astype(want), **kwargs)).astype(want))  # type: ignore[arg-type]


def test_median_of_large_halves_is_finite() -> None:
    assert (
        wf.median(wf.tensor([60000.0, 62000.0], dtype="float16")).item()
        == np.median(np.float16([60000, 62000]))
        == 60992
    )


def test_median_of_nan_and_of_nothing_is_nan() -> None:
    x = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)
    same(wf.median(wf.tensor(x), axis=1), np.array([np.nan, 5], np.float32))
    assert np.isnan(wf.median(wf.zeros(0)).item())
    assert wf.median(wf.zeros(0, 3), axis=0).shape == (3,)


# ---------------------------------------------------------------- gradients


def test_gradient_of_sort_goes_back_to_where_the_values_were() -> None:
    x = np.random.default_rng(1).permutation(60).reshape(4, 15).astype(np.float64)
    for axis in (0, 1):
        for descending in (False, True):
            wf.check_grad(
                lambda t, axis=axis, d=descending: wf.sort(t, axis, d) ** 2 * _weights(t),
                wf.tensor(x),
            )


def _weights(t: Any) -> Any:
    return wf.reshape(wf.arange(t.size, dtype=wf.float64), t.shape)


def test_gradient_of_topk_and_median() -> None:
    x = np.random.default_rng(2).permutation(40).reshape(4, 10).astype(np.float64)
    wf.check_grad(lambda t: wf.topk(t, 3)[0] ** 2, wf.tensor(x))
    wf.check_grad(lambda t: wf.median(t, axis=0), wf.tensor(x))
    t = wf.tensor(x, requires_grad=True)
    values, order = t.topk(2, axis=0)
    assert values.requires_grad and not order.requires_grad


# ---------------------------------------------------------------- searchsorted


@given(
    st.sampled_from(DTYPES),
    st.sampled_from([0, 1, 2, 3, 8, 13, 100]),
    st.sampled_from(["left", "right"]),
    st.integers(0, 99),
)
@examples(80)
def test_searchsorted_equals_numpy(d: dt.DType, n: int, side: str, seed: int) -> None:
    x1, x2 = np.sort(drawn((n,), d, seed)), drawn((4, 7), d, seed + 1)
    same(
        wf.searchsorted(wf.tensor(x1), wf.tensor(x2), side=side), np.searchsorted(x1, x2, side=side)
    )  # type: ignore[call-overload]


@pytest.mark.slow
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 99))
@examples(30, quick=3)
def test_complex_numbers_are_sorted_and_found_as_numpys(n: int, m: int, seed: int) -> None:
    rng, nan = np.random.default_rng(seed), np.nan
    parts = [0.0, 1.0, -1.0, 2.0, np.inf, nan]
    some = np.array([complex(a, b) for a in parts for b in parts])
    x, y = (rng.choice(some, k) for k in (n, m))
    s, t = wf.tensor(x), wf.tensor(y)
    same(wf.argsort(s), np.argsort(x, kind="stable"))
    same(wf.searchsorted(np.sort(x), t), np.searchsorted(np.sort(x), y))
    same(
        wf.searchsorted(s, t, "right", sorter=wf.argsort(s)),
        np.searchsorted(np.sort(x), y, "right"),
    )
    same(wf.isin(s, t), np.isin(x, y))


def test_searchsorted_through_a_sorter_and_of_odd_shapes() -> None:
    x1, x2 = drawn((50,), dt.float64, 1), drawn((3, 0, 2), dt.float64, 2)
    sorter = np.argsort(x1)
    same(
        wf.searchsorted(wf.tensor(x1), wf.tensor(x1), sorter=wf.tensor(sorter)),
        np.searchsorted(x1, x1, sorter=sorter),
    )
    assert wf.searchsorted(wf.tensor(x1), wf.tensor(x2)).shape == (3, 0, 2)
    assert wf.searchsorted(wf.tensor([1.0, 2.0]), 1.5).item() == 1
    same(wf.searchsorted(wf.tensor([1, 3]), wf.tensor([0.5, 1.5, 3.5])), np.array([0, 1, 2]))


def test_searchsorted_in_what_is_not_sorted_stays_in_range() -> None:
    x = np.random.default_rng(3).standard_normal(77).astype(np.float32)
    found = wf.searchsorted(wf.tensor(x), wf.tensor(x)).numpy()
    assert (found >= 0).all() and (found <= 77).all()


# ---------------------------------------------------------------- argmax and argmin


@given(
    st.sampled_from(DTYPES),
    st.sampled_from([(5,), (3, 7), (2, 3, 4)]),
    st.integers(-1, 2),
    st.booleans(),
    st.integers(0, 99),
)
@examples(60)
def test_argmax_and_argmin_take_the_first_extreme_or_nan(
    d: dt.DType, shape: tuple[int, ...], axis: int, keepdims: bool, seed: int
) -> None:
    x = drawn(shape, d, seed)
    place = axis if 0 <= axis < len(shape) else None
    same(
        wf.argmax(wf.tensor(x), axis=place, keepdims=keepdims),
        np.argmax(x, axis=place, keepdims=keepdims),
    )
    same(
        wf.argmin(wf.tensor(x), axis=place, keepdims=keepdims),
        np.argmin(x, axis=place, keepdims=keepdims),
    )


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: wf.sort(x, axis=2),
            errors.ShapeError,
            "sort: axis 2 is out of range for 2 axes",
        ),
        (lambda x: wf.argsort(x, axis=-3), errors.ShapeError, "argsort: axis -3 is out of range"),
        (lambda x: wf.sort(x, axis=0.5), errors.DTypeError, "sort: an axis must be an int"),
        (lambda x: wf.sort(wf.tensor(1.0)), errors.ShapeError, "sort: a 0-d tensor has no axis"),
        (
            lambda x: wf.topk(x, 5),
            errors.ShapeError,
            r"topk: k = 5 is not in 0 .. 4, axis 1 of shape \(3, 4\)",
        ),
        (lambda x: wf.topk(x, -1), errors.ShapeError, "topk: k = -1 is not in 0 .. 4"),
        (lambda x: wf.topk(x, 1.0), errors.DTypeError, "topk: k must be an int, not 1.0"),
        (lambda x: wf.topk(wf.tensor(1.0), 1), errors.ShapeError, "topk: a 0-d tensor"),
        (lambda x: wf.median(x, axis=7), errors.ShapeError, "median: axis 7 is out of range"),
        (
            lambda x: wf.searchsorted(x, x),
            errors.ShapeError,
            r"searchsorted: x1 must be 1-d, not of shape \(3, 4\)",
        ),
        (
            lambda x: wf.searchsorted(x[0], x, side="middle"),
            ValueError,
            "side must be 'left' or 'right', not 'middle'",
        ),
        (
            lambda x: wf.searchsorted(x[0], x, sorter=x[0]),
            errors.DTypeError,
            "sorter must be a tensor of integers",
        ),
        (
            lambda x: wf.searchsorted(x[0], x, sorter=wf.arange(3)),
            errors.ShapeError,
            r"sorter of shape \(3,\) does not fit",
        ),
        (lambda x: wf.argmax(wf.zeros(0)), errors.ShapeError, "argmax"),
    ],
)
def test_errors_name_what_is_wrong(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call(wf.zeros(3, 4))
    assert isinstance(caught.value, errors.WeftError)


def test_a_sorter_out_of_range_raises_when_computed() -> None:
    with pytest.raises(errors.IndexError, match="index 9"):
        wf.searchsorted(wf.tensor([1.0, 2.0]), wf.tensor([1.5]), sorter=wf.tensor([0, 9])).numpy()


# ---------------------------------------------------------------- kernels


@pytest.mark.slow
def test_places_of_a_sort_and_of_a_search_need_no_bounds_check() -> None:
    x = wf.rand(40, 30).realize()
    table, wanted = wf.sort(wf.rand(50)).realize(), wf.rand(60).realize()
    for lazy in (
        wf.sort(x),
        list(wf.topk(x, 3)),
        wf.searchsorted(table, wanted),
        wf.isin(wanted, table),
        wf.median(x, axis=0),
    ):
        assert "check" not in {k.kind for k in wf.explain(lazy).kernels}
    assert len(wf.explain(wf.searchsorted(table, wanted)).kernels) == 1
    assert len(wf.explain(wf.sort(x)).kernels) == 2


def test_other_numbers_of_trues_and_groups_need_no_new_kernels() -> None:
    from weft.runtime.code import known

    def compute(groups: int) -> None:
        x = np.arange(4000) % groups
        wf.unique_all(wf.tensor(x))
        wf.realize(wf.nonzero(wf.tensor(x > groups // 2)))

    for groups in (3000, 2900):  # the second has the kernels of any size
        compute(groups)
    before = len(known)
    for groups in (2600, 3300):
        compute(groups)
    assert len(known) == before
