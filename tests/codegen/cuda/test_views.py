"""Views as inputs of CUDA programs: memory that begins at any element, runs backwards or in steps,
on the emulated device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler

pytestmark = needs_compiler

VIEWS: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "inside": lambda x: x[1:65, 1:65],
    "shifted": lambda x: x.reshape(-1)[3 : 3 + 64 * 64].reshape(64, 64),
    "transposed": lambda x: x.T[2:66, 1:65],
    "stepped": lambda x: x[:128:2, 1:129:2],
}
DTYPES = (wf.float32, wf.bfloat16, wf.float16, wf.float64)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_products_maps_and_sums_of_views_equal_those_of_copies(dtype: wf.DType, view: str) -> None:
    device()
    rng = np.random.default_rng(0)
    x, y = (
        wf.tensor(rng.integers(-3, 4, (130, 132)), device="cuda").to(dtype).realize()
        for _ in range(2)
    )
    seen, other = (VIEWS[view](t) for t in (x, y))
    copied, copy = (
        wf.tensor(t.float().cpu().numpy(), device="cuda").to(dtype) for t in (seen, other)
    )
    results = [
        (seen @ other, copied @ copy),
        (seen * 2 + other, copied * 2 + copy),
        (seen.sum(axis=1), copied.sum(axis=1)),
    ]
    for got, want in results:  # whole numbers: no rounding
        np.testing.assert_array_equal(got.float().cpu().numpy(), want.float().cpu().numpy())
