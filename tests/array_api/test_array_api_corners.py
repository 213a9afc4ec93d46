"""Corners of the Array API standard that went wrong once. In: small arrays. Out: what the standard
and NumPy say."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
import weft.array_api as xp

EMPTY_MASKS = [
    ((3,), (0,)),
    ((2, 3), (0,)),
    ((2, 3), (2, 0)),
    ((2, 3), (0, 3)),
    ((2, 3), (0, 0)),
    ((0, 3), (0, 0)),
]


@pytest.mark.parametrize(("shape", "mask"), EMPTY_MASKS)
def test_a_mask_of_extent_zero_selects_nothing(
    shape: tuple[int, ...], mask: tuple[int, ...]
) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    x, key = wf.tensor(values), xp.zeros(mask, dtype=xp.bool)
    assert x[key].shape == values[np.zeros(mask, dtype=bool)].shape == (0, *shape[len(mask) :])
    x[key] = 5.0
    np.testing.assert_array_equal(x.numpy(), values)


@pytest.mark.parametrize(("shape", "mask"), [((2, 3), (0, 2)), ((2, 3), (1, 0)), ((0, 3), (1,))])
def test_an_empty_mask_must_fit_where_it_is_not_empty(
    shape: tuple[int, ...], mask: tuple[int, ...]
) -> None:
    with pytest.raises(IndexError, match="does not fit"):
        xp.ones(shape)[xp.zeros(mask, dtype=xp.bool)]


@pytest.mark.parametrize("values", [[2**63, 0], [0, 2**64 - 1], [[2**63 + 1], [1]], [True, 2**63]])
def test_integers_beyond_int64_stay_exact_beside_small_ones(values: list[int]) -> None:
    wanted = np.asarray(values, dtype=np.uint64)
    for x in (xp.asarray(values, dtype=xp.uint64), xp.asarray(values)):
        assert x.dtype is xp.uint64 and x.tolist() == wanted.tolist()
    for dtype in (xp.float32, xp.float64):
        np.testing.assert_array_equal(
            xp.asarray(values, dtype=dtype).numpy(), wanted.astype(dtype.name)
        )


TOO_WIDE = [([2**63, -1], None), ([2**64], None), ([2**63, 0], "int64"), ([10**400], "float64")]


@pytest.mark.parametrize(("values", "name"), TOO_WIDE)
def test_integers_that_no_dtype_holds_are_refused(values: list[int], name: str | None) -> None:
    with pytest.raises(wf.errors.OverflowError):
        xp.asarray(values, dtype=None if name is None else getattr(xp, name))
