"""The extensions linalg and fft of the Array API standard 2024.12: names, signatures, dtypes and
names of results, values as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import standard
import standard_extension_cases as cases
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from standard_extensions import EXTENSIONS
from weft import array_api as xp

NAMES = [f"{extension}.{name}" for extension, table in EXTENSIONS.items() for name in table]


def test_names_signatures_and_results_are_the_standards() -> None:
    assert list(standard.missing_names_of_extensions(xp)) == []
    assert list(standard.signature_deviations_of_extensions(xp)) == []
    assert list(standard.result_deviations_of_extensions(xp)) == []


@pytest.mark.parametrize("name", NAMES)
def test_both_namespaces_have_the_same_functions(name: str) -> None:
    extension, function = name.split(".")
    spaces = [getattr(space, extension) for space in (xp, wf)]
    assert getattr(spaces[0], function) is getattr(spaces[1], function)


def test_tolerances_may_be_arrays() -> None:
    x = xp.stack([xp.asarray([[1.0, 0.0], [0.0, 0.1]])] * 2)
    rtol = xp.asarray([0.01, 0.5])
    assert xp.linalg.matrix_rank(x, rtol=rtol).tolist() == [2, 1]
    assert xp.linalg.pinv(x, rtol=rtol)[:, 1, 1].tolist() == [10.0, 0.0]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", sorted(set(NAMES) - cases.ELSEWHERE))
@given(data=st.data())
@examples(10, quick=3)
def test_values_are_numpys(name: str, data: st.DataObject) -> None:
    args, kwargs = data.draw(cases.calls(name))
    extension, function = name.split(".")
    tensors = [wf.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    found = getattr(getattr(xp, extension), function)(*tensors, **kwargs)
    wanted: Any = getattr(getattr(np, extension), function)(*args, **kwargs)
    results = found if isinstance(found, tuple) else (found,)
    values = wanted if isinstance(wanted, tuple) else (wanted,)
    for f, w in zip(results, map(np.asarray, values), strict=True):
        assert f.shape == w.shape
        if cases.is_exact(w):
            np.testing.assert_array_equal(f.numpy(), w)
        else:
            eps = float(np.finfo(f.dtype.numpy).eps)
            scale = float(np.abs(w).max(initial=1.0))
            np.testing.assert_allclose(f.numpy(), w, rtol=500 * eps, atol=500 * eps * scale)
