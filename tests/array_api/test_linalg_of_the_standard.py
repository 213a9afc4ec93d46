"""The extension linalg of the Array API standard 2024.12: names, signatures, names of results.

Source: https://data-apis.org/array-api/2024.12/extensions/linear_algebra_functions.html
"""

from __future__ import annotations

from inspect import Parameter, signature

import pytest
import weft as wf
from weft import array_api as xp

SIGNATURES = {
    "cholesky": "x / upper=False",
    "cross": "x1 x2 / axis=-1",
    "det": "x /",
    "diagonal": "x / offset=0",
    "eigh": "x /",
    "eigvalsh": "x /",
    "inv": "x /",
    "matmul": "x1 x2 /",
    "matrix_norm": "x / keepdims=False ord='fro'",
    "matrix_power": "x n /",
    "matrix_rank": "x / rtol=None",
    "matrix_transpose": "x /",
    "outer": "x1 x2 /",
    "pinv": "x / rtol=None",
    "qr": "x / mode='reduced'",
    "slogdet": "x /",
    "solve": "x1 x2 /",
    "svd": "x / full_matrices=True",
    "svdvals": "x /",
    "tensordot": "x1 x2 / axes=2",
    "trace": "x / offset=0 dtype=None",
    "vecdot": "x1 x2 / axis=-1",
    "vector_norm": "x / axis=None keepdims=False ord=2",
}


def shown(name: str) -> str:
    """Positional parameters, a slash, then those by name."""
    parameters = signature(getattr(xp.linalg, name)).parameters.values()
    places = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    named = [f"{p.name}={p.default!r}" for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    assert len(places) + len(named) == len(parameters)
    return " ".join([*places, "/", *named])


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_the_standards(name: str) -> None:
    assert shown(name) == SIGNATURES[name]
    assert getattr(wf.linalg, name) is getattr(xp.linalg, name)


def test_results_have_the_standards_names() -> None:
    x = xp.eye(2)
    assert xp.linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.qr(x)._fields == ("Q", "R")
    assert xp.linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert xp.linalg.svd(x)._fields == ("U", "S", "Vh")


def test_tolerances_may_be_arrays() -> None:
    x = xp.stack([xp.asarray([[1.0, 0.0], [0.0, 0.1]])] * 2)
    rtol = xp.asarray([0.01, 0.5])
    assert xp.linalg.matrix_rank(x, rtol=rtol).tolist() == [2, 1]
    assert xp.linalg.pinv(x, rtol=rtol)[:, 1, 1].tolist() == [10.0, 0.0]
