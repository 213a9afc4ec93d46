"""einops on Tensors: its functions for arrays of any library give what they give for NumPy's."""

from __future__ import annotations

import pytest
from science_calls import DTYPES
from science_einops import EINOPS

pytest.importorskip("einops")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EINOPS.cases())
def test_a_function_gives_what_it_gives_for_arrays(name: str, dtype: str) -> None:
    EINOPS.check(name, dtype)
