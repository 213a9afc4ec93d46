"""SOLVE and CHOLESKY of batches: the bits of the oracle, NumPy's values, bad pivots, any number of
threads."""

from __future__ import annotations

import numpy as np
import pytest
from effort import rarely
from harness import Array, check, leaf, oracle, schedules
from weft.ir.graph import dtype as dt
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import node
from weft.ir.graph.op import Op

FLOATS = (dt.float32, dt.float64)
TOLERANCE = {dt.float32: 1e-3, dt.float64: 1e-10}


def systems(count: int, n: int, dtype: DType, seed: int = 0) -> Array:
    """Well-conditioned matrices whose rows are in no order: elimination must exchange them."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((count, n, n)) + 3 * np.sqrt(n) * np.eye(n)
    rows = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return np.take_along_axis(a, rows[:, :, None], 1).astype(dtype.numpy)


def positive(count: int, n: int, dtype: DType) -> Array:
    """Symmetric positive definite matrices, with garbage above the diagonal."""
    x = np.random.default_rng(1).standard_normal((count, n, n))
    a = x @ x.transpose(0, 2, 1) + n * np.eye(n)
    return (np.tril(a) + np.triu(np.full_like(a, np.nan), 1)).astype(dtype.numpy)


def drawn(count: int, n: int, m: int, dtype: DType) -> Array:
    return np.random.default_rng(2).standard_normal((count, n, m)).astype(dtype.numpy)


@pytest.mark.parametrize("d", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, *rarely(5, 6, 7), 8, 9, *rarely(10, 11, 12), 13, *rarely(14, 15), 16, 17, 32]
)
def test_solutions_are_those_of_the_oracle_and_of_numpy(n: int, d: DType) -> None:
    for count, m in ((5, 1), (37, 3), (19, n)):
        a, b = leaf(count, n, n, dtype=d), leaf(count, n, m, dtype=d)
        env = {a: systems(count, n, d), b: drawn(count, n, m, d)}
        x = node(Op.SOLVE, (a, b))
        program = check([x], env, threads=(1, 2, 3))
        assert schedules(program) == ["systems"]
        want = np.linalg.solve(env[a].astype(np.float64), env[b].astype(np.float64))
        np.testing.assert_allclose(oracle([x], env)[0], want, rtol=0, atol=TOLERANCE[d])


@pytest.mark.parametrize("d", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, *rarely(5, 6, 7), 8, 9, *rarely(10, 11, 12), 13, *rarely(14, 15), 16, 17, 32]
)
def test_factors_are_those_of_the_oracle_and_of_numpy(n: int, d: DType) -> None:
    a = leaf(37, n, n, dtype=d)
    env = {a: positive(37, n, d)}
    lower = node(Op.CHOLESKY, (a,))
    assert schedules(check([lower], env, threads=(1, 2, 3))) == ["systems"]
    want = np.linalg.cholesky(env[a].astype(np.float64))
    np.testing.assert_allclose(oracle([lower], env)[0], want, rtol=0, atol=TOLERANCE[d])
