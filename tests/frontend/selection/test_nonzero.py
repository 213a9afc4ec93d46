"""positions, the number of Trues being a value: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft.frontend.selection.nonzero import positions
from weft.frontend.tensor.tensor import wrap


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (7,), (3, 0), (4, 5), (40, 30), (2, 3, 5)], ids=str
)
def test_positions_are_those_of_the_trues(shape: tuple[int, ...], share: float) -> None:
    mask = np.asarray(np.random.default_rng(1).random(shape) < share)
    got = wrap(positions(wf.tensor(mask).node))
    assert got.dtype is wf.int64 and got.shape == (int(mask.sum()),)
    np.testing.assert_array_equal(got.numpy(), np.flatnonzero(mask))


def test_positions_of_a_pending_mask() -> None:
    x = wf.tensor(np.random.default_rng(2).standard_normal((30, 40)))
    np.testing.assert_array_equal(
        wrap(positions((x > 0.5).node)).numpy(), np.flatnonzero(x.numpy() > 0.5)
    )
