"""Indexing and assignment against NumPy, for keys that mix everything; their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from index_keys import cases, for_weft, is_refused

MANY = examples(250)
I = np.array  # noqa: E741


def values(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(1, np.prod(shape) + 1, dtype=np.float64).reshape(shape)


def outcome(f: Any) -> Any:
    """The value, or None where it raises; only errors of the package (and OverflowError) may
    come."""
    try:
        return np.asarray(f())
    except (IndexError, ValueError, TypeError, OverflowError):
        return None


KNOWN = (
    ((3, 4, 5), (I([0, 1]), slice(None), I([1, 2]))),
    ((3, 4, 5), (0, slice(None), I([1, 2]))),
    ((3, 4, 5), (I([0, 1]), ..., I([1, 2]), slice(None))),
    ((3, 4), (I([0]), ..., I([1]))),
    ((3, 4, 5), (slice(None), I([[0], [1]]), I([1, 2, 3]))),
    ((3, 4), (True, I([1, 2]))),
    ((3, 4), False),
    ((), True),
    ((), ()),
    ((), ...),
    ((3, 4), (None, I([2]), None)),
    ((3, 4), I([[True, False, True, False]] * 3)),
    ((3, 4, 2), (I([[True, False, True, False]] * 3), 1)),
    ((3, 4), (slice(None), I([True, False, True, False]))),
    ((3, 4), (I([True, False, True]), I([1, 2]))),
    ((3, 4), (I([True, False, True]), I([1, 2, 3]))),
    ((0, 4), I([], np.int64)),
    ((3, 4), I([])),
    ((3, 4), []),
    ((3, 4), [[]]),
    ((3, 4), (I([], np.int64), I([[9]]))),
    ((3, 0), I([9])),
    ((2, 1), (False, ..., I(1, np.int8))),
    ((2, 3), (False, ..., I(1, np.int8))),
    ((3, 4), range(2)),
    ((3, 4), ((0, 1), (1, 2))),
    ((3, 4), I([[True, False], [True, True]])),
)


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("case", KNOWN, ids=[str(i) for i in range(len(KNOWN))])
def test_known_keys(case: tuple[tuple[int, ...], Any]) -> None:
    check_get(case, True)
    check_get(case, False)
    check_set(case, True, np.float64(7.0))


@MANY
@given(cases(), st.booleans())
def test_reading_as_numpy(case: tuple[tuple[int, ...], Any], as_tensors: bool) -> None:
    check_get(case, as_tensors)


def check_get(case: tuple[tuple[int, ...], Any], as_tensors: bool) -> None:
    shape, key = case
    x = values(shape)
    expected = outcome(lambda: x[key])
    t = wf.tensor(x)
    got = outcome(lambda: np.asarray(t[for_weft(key, as_tensors)]))
    if got is not None or not is_refused(key):
        same(got, expected)


def same(got: Any, expected: Any) -> None:
    assert (got is None) == (expected is None), (got, expected)
    if expected is not None:
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@MANY
@given(cases(), st.booleans(), st.data())
def test_assigning_as_numpy(case: tuple[tuple[int, ...], Any], as_tensors: bool, data: Any) -> None:
    shape, key = case
    found = outcome(lambda: values(shape)[key])
    selected = (2,) if found is None else found.shape
    kept = data.draw(st.integers(0, len(selected)))
    new = tuple(
        1 if data.draw(st.integers(0, 3)) == 0 else d for d in selected[len(selected) - kept :]
    )
    if (
        0 not in new and data.draw(st.integers(0, 7)) == 0
    ):  # NumPy lets empty values of too many axes through
        new = (2, *new)
    check_set(case, as_tensors, -values(new))


def check_set(case: tuple[tuple[int, ...], Any], as_tensors: bool, new: Any) -> None:
    shape, key = case
    x = values(shape)
    t = wf.tensor(x)

    def numpys() -> Any:
        x[key] = new
        return x

    def wefts() -> Any:
        t[for_weft(key, as_tensors)] = wf.tensor(new) if as_tensors else new
        return t.numpy()

    expected, got = outcome(numpys), outcome(wefts)
    if got is not None or not is_refused(key):
        same(got, expected)


# ---------------------------------------------------------------- assignment: dtypes, order,
# threads, views of the past

CASTS = [
    ("float32", 2**25 + 1),
    ("int32", 1.9),
    ("int8", np.int64(300)),
    ("bool", 3),
    ("uint8", np.float64(7.5)),
    ("float64", True),
]


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize(("dtype", "value"), CASTS, ids=[d for d, _ in CASTS])
@pytest.mark.parametrize(
    "key",
    [1, slice(None, 2), I([0, 2]), I([True, False, True])],
    ids=["int", "slice", "array", "mask"],
)
def test_values_are_cast_to_the_dtype_of_the_whole(dtype: str, value: Any, key: Any) -> None:
    x = np.ones(3, dtype)
    t = wf.tensor(x)
    x[key] = np.asarray(value).astype(dtype)
    t[key] = value
    same(t.numpy(), x)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [(50,), (50, 3), (7, 9)])
def test_the_last_of_equal_places_wins(threads: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x, key = values(shape), tuple(rng.integers(-d, d, 30_000) for d in shape[:1])
    new = rng.normal(size=(30_000, *shape[1:]))
    t = wf.tensor(x)
    with wf.options.override(num_threads=threads, serial_threshold=0, min_chunks=5):
        t[tuple(map(wf.tensor, key))] = wf.tensor(new)
        t.realize()
    x[key] = new
    same(t.numpy(), x)


def test_adding_in_place_counts_equal_places_once() -> None:
    x, key = values((5, 2)), I([1, 3, 1])
    t = wf.tensor(x)
    t[wf.tensor(key)] += 10.0
    t[wf.tensor(key), 0] *= 2.0
    x[key] += 10.0
    x[key, 0] *= 2.0
    same(t.numpy(), x)


def test_expressions_of_the_old_value_keep_it() -> None:
    t = wf.tensor(values((4,)))
    doubled, part = t * 2.0, t[1:3]
    t[wf.tensor([0, 1])] = 0.0
    t[t > 3.5] = -1.0
    assert doubled.tolist() == [2.0, 4.0, 6.0, 8.0] and part.tolist() == [2.0, 3.0]
    assert t.tolist() == [0.0, 0.0, 3.0, -1.0]


def test_a_mask_with_one_value_computes_nothing() -> None:
    t = wf.tensor(values((4, 3))) * 1.0
    t[t > 5.0] = 0.0
    t[:, wf.tensor([True, False, True])] = wf.tensor([[1.0], [2.0], [3.0], [4.0]])
    assert "lazy" in repr(t)
    assert t.tolist() == [[1.0, 2.0, 1.0], [2.0, 5.0, 2.0], [3.0, 0.0, 3.0], [4.0, 0.0, 4.0]]


def test_errors_of_shapes_name_both() -> None:
    t = wf.zeros(3, 4)
    for key, new, text in (
        (
            I([0, 1]),
            (3, 4),
            r"could not broadcast a value of shape \(3, 4\) into the selected shape \(2, 4\)",
        ),
        (
            (slice(1, 3), 0),
            (3,),
            r"could not broadcast a value of shape \(3,\) into the selected shape \(2,\)",
        ),
        (
            I([True, False, True]),
            (5, 4),
            r"could not broadcast a value of shape \(5, 4\) into the selected shape \(2, 4\)",
        ),
        (
            I([True, False, True]),
            (1, 5),
            r"could not broadcast a value of shape \(1, 5\) into the selected shape \(Trues, 4\)",
        ),
    ):
        with pytest.raises(wf.errors.ShapeError, match=text):
            t[key] = np.zeros(new)
    with pytest.raises(
        wf.errors.IndexError,
        match=r"index: shapes \(2,\) and \(3,\) could not be broadcast together",
    ):
        t[I([0, 1]), I([0, 1, 2])]
    with pytest.raises(
        wf.errors.IndexError,
        match=r"a mask of shape \(4,\) does not fit extents \(3,\) of the axes from 0 on",
    ):
        t[np.zeros(4, bool)]
    with pytest.raises(
        wf.errors.IndexError, match=r"a mask of shape \(3, 3\) does not fit shape \(3, 4\)"
    ):
        t[np.zeros((3, 3), bool)]


def test_keys_that_are_not_indices() -> None:
    t = wf.zeros(3, 4)
    for key in (1.5, "a", object(), slice(0.5), 1j, np.float32(1), np.zeros(2), [0.5], {0}):
        with pytest.raises((wf.errors.DTypeError, wf.errors.IndexError)):
            t[key]
    for key in ([[0], [1, 2]], slice(None, None, 0)):
        with pytest.raises(wf.errors.ShapeError):
            t[key]
    for new in (None, "x", [object()], [[1], [1, 2]]):
        with pytest.raises(wf.errors.WeftError):
            t[0] = new


def test_indices_that_are_tensors_count_as_ints() -> None:
    t, i = wf.tensor(values((3, 4))), wf.tensor([1, 2]).sum() - 1
    assert t[i, 0].tolist() == 9.0 and t[:i].shape == (2, 4)
    assert t[[wf.tensor(0), i]].tolist() == values((3, 4))[[0, 2]].tolist()


# ---------------------------------------------------------------- functions


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_along_an_axis_as_numpy(axis: int | None) -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    i = np.argsort(x, axis) if axis is not None else np.argsort(x, None)
    same(
        wf.take_along_axis(wf.tensor(x), wf.tensor(i), axis).numpy(), np.take_along_axis(x, i, axis)
    )
    if axis is not None:
        first = np.take(i, [0, -1], axis)
        for new in (
            np.float64(7.0),
            np.random.default_rng(1).normal(size=first.shape),
            np.arange(first.shape[1]) * 1.0,
        ):
            y = x.copy()
            np.put_along_axis(y, first, new, axis)
            same(
                wf.put_along_axis(
                    wf.tensor(x),
                    wf.tensor(first),
                    new.item() if not new.shape else wf.tensor(new),
                    axis,
                ).numpy(),
                y,
            )


def test_along_an_axis_broadcasts() -> None:
    x, i = values((1, 5, 2)), I([[[0], [-1]], [[2], [2]], [[4], [0]]])
    same(wf.take_along_axis(wf.tensor(x), wf.tensor(i), 1).numpy(), np.take_along_axis(x, i, 1))
    with pytest.raises(wf.errors.ShapeError, match=r"take_along_axis: indices of shape \(3,\)"):
        wf.take_along_axis(wf.tensor(x), wf.tensor([0, 1, 2]), 1)


def test_indices_of_functions_may_be_lists_and_ints() -> None:
    x = values((3, 4))
    same(wf.take(wf.tensor(x), [2, -1], 0).numpy(), x[[2, -1]])
    same(wf.take(wf.tensor(x), 1, axis=1).numpy(), x[:, 1])
    same(wf.take(wf.tensor(x), [], axis=1).numpy(), x[:, :0])
    for wrong in ([0.5], True, 1.5, "a", None):
        with pytest.raises(wf.errors.DTypeError):
            wf.take(wf.tensor(x), wrong, axis=0)


def test_masked_fill() -> None:
    t, m = wf.tensor([[1, 2], [3, 4]]), wf.tensor([True, False])
    assert t.masked_fill(m, 9).tolist() == [[9, 2], [9, 4]]
    assert wf.masked_fill(t, t > 2, wf.tensor(0.9)).tolist() == [[1, 2], [0, 0]]
    with pytest.raises(wf.errors.DTypeError, match="masked_fill: expected a bool mask"):
        t.masked_fill(t, 0)


# ---------------------------------------------------------------- gradients

D = np.random.default_rng(5).normal(size=(3, 4, 2))
MASK = I([[True, False, True, True], [False] * 4, [True] * 4])
READS: dict[str, Any] = {
    "arrays": (I([0, 2, 0]), I([1, -1, 1])),
    "apart": (I([0, 2]), slice(None, None, -2), I([1, 0])),
    "mask": (MASK,),
    "mask_and_int": (slice(1, None), I([True, True, False, True]), 0),
    "none": (MASK & False,),
    "scalar_mask": (True, 1),
    "reversed": (slice(None, None, -1), None, slice(3, 0, -2)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", READS)
def test_gradients_of_reading(name: str) -> None:
    wf.check_grad(lambda x: x[READS[name]] ** 2, D)


def _assign(key: Any) -> Any:
    def f(x: wf.Tensor, v: wf.Tensor) -> wf.Tensor:
        y = x * 1.0
        y[key] = v
        return y * y * x

    return f


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("is_scalar", [False, True])
def test_gradients_of_assigning(name: str, is_scalar: bool) -> None:
    new = (
        np.asarray(0.7) if is_scalar else np.random.default_rng(6).normal(size=D[READS[name]].shape)
    )
    wf.check_grad(_assign(READS[name]), D, new)


@pytest.mark.slow
def test_gradients_of_the_functions() -> None:
    i = wf.tensor([[[0], [3]], [[1], [1]], [[2], [0]]])
    wf.check_grad(lambda x: wf.take_along_axis(x, i, 1) ** 2, D)
    wf.check_grad(lambda x, v: wf.put_along_axis(x, i, v, 1) ** 2, D, D[:, :2, :1])
    wf.check_grad(lambda x: x.take([[1, 0], [1, 1]], 1) ** 2, D)
    wf.check_grad(lambda x: x.masked_fill(wf.tensor(MASK[:, :, None]), 2.0) ** 2, D)


def test_what_is_overwritten_has_no_gradient_whatever_its_slope() -> None:
    x = wf.tensor([0.0, 4.0, 0.0], requires_grad=True)
    v = wf.tensor([1.0, 2.0], requires_grad=True)
    y = x.sqrt()
    y[wf.tensor([0, 2])] = v
    y[wf.tensor([0])] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.25, 0.0] and v.grad.tolist() == [0.0, 1.0]


def test_only_the_last_of_equal_places_has_a_gradient() -> None:
    v = wf.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = wf.zeros(2)
    y[wf.tensor([1, 1, 1])] = v
    (y * 7.0).sum().backward()
    assert v.grad.tolist() == [0.0, 0.0, 7.0]
