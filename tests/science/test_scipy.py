"""SciPy on Tensors: functions that dispatch give what they give for NumPy's arrays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import weft as wf
from science_calls import DTYPES
from science_scipy import SCIPY

pytest.importorskip("scipy", minversion="1.17")


@pytest.fixture(autouse=True)
def float64_by_default() -> Iterator[None]:
    """What SciPy expects of a namespace: its constants would lose digits otherwise."""
    before = wf.get_default_dtype()
    wf.set_default_dtype(wf.float64)
    yield
    wf.set_default_dtype(before)


@pytest.mark.thinned(by=SCIPY.shown_by)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCIPY.cases())
def test_a_function_gives_what_it_gives_for_arrays(name: str, dtype: str) -> None:
    SCIPY.check(name, dtype)
