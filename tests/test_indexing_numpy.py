"""Indexing and assignment against NumPy, for keys that mix everything; their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_keys import cases, for_weft, is_refused

MANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
I = np.array  # noqa: E741


def values(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(1, np.prod(shape) + 1, dtype=np.float64).reshape(shape)


def outcome(f: Any) -> Any:
    """The value, or None where it raises; only errors of the package (and OverflowError) may come."""
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
    ((3, 4), range(2)),
    ((3, 4), ((0, 1), (1, 2))),
    ((3, 4), I([[True, False], [True, True]])),
)


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
    new = tuple(1 if data.draw(st.integers(0, 3)) == 0 else d for d in selected[len(selected) - kept :])
    if 0 not in new and data.draw(st.integers(0, 7)) == 0:  # NumPy lets empty values of too many axes through
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
