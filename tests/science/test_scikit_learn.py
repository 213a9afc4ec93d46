"""scikit-learn on Tensors: estimators and metrics that dispatch give what they give for NumPy's
arrays."""

from __future__ import annotations

import pytest
from science_calls import DTYPES
from science_scikit import SCIKIT

sklearn = pytest.importorskip("sklearn", minversion="1.9")


@pytest.mark.thinned(by=SCIKIT.shown_by)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCIKIT.cases())
def test_an_estimator_or_metric_gives_what_it_gives_for_arrays(name: str, dtype: str) -> None:
    with sklearn.config_context(array_api_dispatch=True):
        SCIKIT.check(name, dtype)
