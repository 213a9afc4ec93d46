"""array-api-extra on Tensors: its functions give what they give for NumPy's."""

from __future__ import annotations

import pytest
from science_calls import DTYPES
from science_extra import EXTRA

pytest.importorskip("array_api_extra")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXTRA.cases())
def test_a_function_gives_what_it_gives_for_arrays(name: str, dtype: str) -> None:
    EXTRA.check(name, dtype)
