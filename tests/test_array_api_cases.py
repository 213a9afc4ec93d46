"""Corners of the Array API standard that went wrong once. In: small arrays. Out: what the standard and NumPy say."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
import weft.array_api as xp

EMPTY_MASKS = [((3,), (0,)), ((2, 3), (0,)), ((2, 3), (2, 0)), ((2, 3), (0, 3)), ((2, 3), (0, 0)), ((0, 3), (0, 0))]


@pytest.mark.parametrize(("shape", "mask"), EMPTY_MASKS)
def test_a_mask_of_extent_zero_selects_nothing(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    x, key = wf.tensor(values), xp.zeros(mask, dtype=xp.bool)
    assert x[key].shape == values[np.zeros(mask, dtype=bool)].shape == (0, *shape[len(mask) :])
    x[key] = 5.0
    np.testing.assert_array_equal(x.numpy(), values)


@pytest.mark.parametrize(("shape", "mask"), [((2, 3), (0, 2)), ((2, 3), (1, 0)), ((0, 3), (1,))])
def test_an_empty_mask_must_fit_where_it_is_not_empty(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match="does not fit"):
        xp.ones(shape)[xp.zeros(mask, dtype=xp.bool)]
