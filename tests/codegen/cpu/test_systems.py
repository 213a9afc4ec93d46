"""SOLVE and CHOLESKY of batches: the bits of the oracle, NumPy's values, bad pivots, any number of
threads."""

from __future__ import annotations

import json
import re

import graphs as g
import numpy as np
import pytest
from effort import rarely
from harness import (
    TARGETS,
    Array,
    check,
    compiled,
    execute,
    inputs_of,
    interpret,
    leaf,
    normal_inputs,
    oracle,
    schedules,
    values_of,
)
from weft.compiler.programs.interpreted import Interpreted
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import node
from weft.ir.graph.op import Op
from weft.ir.graph.shapes import GraphError
from weft.ir.ops.interp import BadPivot
from weft.ir.passes.bounds_checks import pivots_of
from weft.ir.regions.batch import batched
from weft.ir.regions.body import Carry, OpenLoop
from weft.runtime.failures import CheckFailed
from weft.runtime.image import packed_checks, unpacked_checks

FLOATS = (dt.float32, dt.float64)
ROWS = [
    1,
    2,
    *rarely(3),
    4,
    *rarely(5, 6, 7, 8),
    9,
    *rarely(10, 11, 12, 13, 14, 15),
    16,
    17,
    *rarely(32),
]
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


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("d", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("n", ROWS)
def test_solutions_are_those_of_the_oracle_and_of_numpy(n: int, d: DType) -> None:
    for count, m in ((5, 1), (37, 3), (19, n)):
        a, b = leaf(count, n, n, dtype=d), leaf(count, n, m, dtype=d)
        env = {a: systems(count, n, d), b: drawn(count, n, m, d)}
        x = node(Op.SOLVE, (a, b))
        program = check([x], env, threads=(1, 2, 3))
        assert schedules(program) == ["systems"]
        want = np.linalg.solve(env[a].astype(np.float64), env[b].astype(np.float64))
        np.testing.assert_allclose(oracle([x], env)[0], want, rtol=0, atol=TOLERANCE[d])


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("d", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("n", ROWS)
def test_factors_are_those_of_the_oracle_and_of_numpy(n: int, d: DType) -> None:
    a = leaf(37, n, n, dtype=d)
    env = {a: positive(37, n, d)}
    lower = node(Op.CHOLESKY, (a,))
    assert schedules(check([lower], env, threads=(1, 2, 3))) == ["systems"]
    want = np.linalg.cholesky(env[a].astype(np.float64))
    np.testing.assert_allclose(oracle([lower], env)[0], want, rtol=0, atol=TOLERANCE[d])


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("count", [1, 5, 1000])
def test_any_number_of_systems_gives_the_bits_of_the_oracle(count: int) -> None:
    a, b = leaf(count, 6, 6), leaf(count, 6, 2)
    env = {a: systems(count, 6, dt.float32), b: drawn(count, 6, 2, dt.float32)}
    x = node(Op.SOLVE, (a, b))
    check([x], env, threads=(1, 2, 3))
    check([x], env, threads=(1, 2, 3), strict=True)
    check([x], env, min_chunks=1, serial_threshold=None)  # as users run it
    for target in TARGETS:
        check([x], env, min_chunks=1, target=target)


def test_no_system_gives_no_solution() -> None:
    a, b = leaf(0, 3, 3), leaf(0, 3, 2)
    outputs = [
        node(Op.SOLVE, (a, b)),
        node(Op.CHOLESKY, (a,)),
        node(Op.SOLVE, [leaf(2, 0, 0)] * 2),
    ]
    check(outputs, {n: np.zeros(n.shape, np.float32) for n in inputs_of(outputs)})


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [2, 8, 12])
def test_nearly_singular_and_badly_scaled_systems_have_residues_like_those_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    env_a = rng.standard_normal((40, n, n))
    env_a[:, -1] = env_a[:, 0] + 1e-9 * rng.standard_normal((40, n))
    env_a *= 10.0 ** rng.integers(-12, 12, (40, n, 1))
    a, b = leaf(40, n, n, dtype=dt.float64), leaf(40, n, 1, dtype=dt.float64)
    env = {a: env_a, b: env_a @ rng.standard_normal((40, n, 1))}
    outputs = [node(Op.SOLVE, (a, b))]
    (x,) = execute(check(outputs, env), outputs, env)

    def residue(x: Array) -> float:
        return float((np.abs(env_a @ x - env[b]) / (np.abs(env_a) @ np.abs(x))).max())

    assert residue(x) < 10 * residue(np.linalg.solve(env_a, env[b])) + 1e-15


@pytest.mark.slow
def test_equal_columns_of_ones_and_permutations_are_solved_exactly() -> None:
    rows = np.stack([np.eye(7)[np.random.default_rng(k).permutation(7)] for k in range(20)])
    a, b = leaf(20, 7, 7, dtype=dt.float64), leaf(20, 7, 7, dtype=dt.float64)
    env = {a: rows, b: np.broadcast_to(np.eye(7), rows.shape).copy()}
    outputs = [node(Op.SOLVE, (a, b))]
    np.testing.assert_array_equal(
        execute(check(outputs, env), outputs, env)[0], rows.swapaxes(1, 2)
    )


# ---------------------------------------------------------------- bad pivots


def _failing(op: Op, x: Array, **opts: object) -> CheckFailed:
    a = leaf(*x.shape, dtype=dt.float64)
    src = (a, leaf(*x.shape[:-1], 1, dtype=dt.float64))[: 1 + (op is Op.SOLVE)]
    env = dict(zip(src, (x, np.ones((*x.shape[:-1], 1))), strict=False))
    outputs = [g.exp(node(op, src))]
    with pytest.raises(CheckFailed) as caught:
        execute(compiled(outputs, **opts), outputs, env, 2)
    with pytest.raises(BadPivot) as wanted:
        oracle(outputs, env)
    assert (caught.value.position, caught.value.value) == (
        wanted.value.position,
        wanted.value.value,
    )
    return caught.value


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_first_singular_system_is_named(n: int) -> None:
    x = systems(60, n, dt.float64).reshape(4, 15, n, n)
    x[2, 3, :, 1] = 0
    x[3, 14] = 0
    message = r"solve: matrix \(2, 3\) of the batch is singular"
    assert re.fullmatch(message, str(_failing(Op.SOLVE, x)))
    assert re.fullmatch(message, str(_failing(Op.SOLVE, x, debug_nans="inf")))
    assert str(_failing(Op.SOLVE, np.zeros((n, n)))) == "solve: the matrix is singular"


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_first_system_that_is_not_positive_definite_is_named(n: int) -> None:
    x = positive(60, n, dt.float64)
    x[17, 1, 1] = -1
    x[40, 0, 0] = 0
    assert str(_failing(Op.CHOLESKY, x)) == (
        "cholesky: matrix 17 of the batch is not positive definite"
    )
    assert _failing(Op.CHOLESKY, x[18:]).value == 1


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_nan_gives_nans_in_its_own_system_alone(n: int) -> None:
    x, s = systems(9, n, dt.float64), positive(9, n, dt.float64)
    x[4, 1, 0] = s[4, 1, 0] = np.nan
    a, b, c = (
        leaf(9, n, n, dtype=dt.float64),
        leaf(9, n, 1, dtype=dt.float64),
        leaf(9, n, n, dtype=dt.float64),
    )
    env = {a: x, b: drawn(9, n, 1, dt.float64), c: s}
    outputs = [node(Op.SOLVE, (a, b)), node(Op.CHOLESKY, (c,))]
    for result in execute(check(outputs, env), outputs, env):
        wrong = np.isnan(result).any((1, 2))
        assert wrong.tolist() == [k == 4 for k in range(9)]


def test_a_failing_system_in_a_loop_is_named_with_its_iteration() -> None:
    x, b = leaf(3, 4, 4, dtype=dt.float64), leaf(4, 1, dtype=dt.float64)
    one, carry = leaf(4, 4, dtype=dt.float64), leaf(4, 1, dtype=dt.float64)
    new = node(Op.SOLVE, (one, carry))
    outputs = OpenLoop([Carry(carry, b, new)], [(one, x)], [], 3).close()
    env = {x: systems(3, 4, dt.float64), b: np.ones((4, 1))}
    check(outputs, env)
    env[x][1] = 0
    with pytest.raises(CheckFailed) as caught:
        execute(compiled(outputs), outputs, env)
    assert caught.value.iterations == (1,) and caught.value.value == 1


def test_a_check_of_pivots_is_the_same_on_disk() -> None:
    checks = [pivots_of(node(Op.CHOLESKY, (leaf(*shape, 3, 3),))) for shape in ((), (2, 5))]
    packed = json.loads(json.dumps(packed_checks(checks, lambda _: 0)))
    assert list(unpacked_checks(packed, lambda _: checks[0].site)) == checks


def test_the_interpreter_names_the_same_system() -> None:
    x = positive(4, 3, dt.float64)
    x[2, 0, 0] = -1
    a = leaf(4, 3, 3, dtype=dt.float64)
    run = Interpreted([node(Op.CHOLESKY, (a,))], [a], values_of([a]), {})
    with pytest.raises(CheckFailed, match=r"cholesky: matrix 2 of the batch is not positive"):
        run.run([x.ctypes.data], [np.empty_like(x).ctypes.data])


# ---------------------------------------------------------------- programs


@pytest.mark.slow
def test_sources_may_be_views_and_computed_values() -> None:
    a, b = leaf(4, 5, 5), leaf(3, 4, 5, 1)
    turned = graph.expand(graph.permute(g.dominant(a), (0, 2, 1)), ((0, 3),))
    sides = node(Op.FLIP, (g.exp(b),), (1,))
    x = node(Op.SOLVE, (turned, sides))
    outputs = [g.exp(x), node(Op.SOLVE, (turned, x)), node(Op.CHOLESKY, (g.dominant(a),))]
    check(outputs, normal_inputs(outputs), ulp=2, threads=(1, 2))


def test_a_matrix_may_be_its_own_right_hand_side_and_inputs_may_be_strided() -> None:
    a = leaf(11, 6, 6)
    matrices = np.asfortranarray(systems(11, 6, dt.float32))
    outputs = [node(Op.SOLVE, (a, a))]
    check(outputs, {a: matrices})


@pytest.mark.slow
def test_equal_kernels_share_their_code_and_have_checks_of_their_own() -> None:
    pairs = [(leaf(9, 5, 5), leaf(9, 5, 1)) for _ in range(2)]
    outputs = [node(Op.SOLVE, pair) for pair in pairs]
    env = {n: systems(9, 5, dt.float32) for n, _ in pairs} | {
        n: drawn(9, 5, 1, dt.float32) for _, n in pairs
    }
    program = check(outputs, env)
    assert (
        len({k.step.same for k in program.lowered.kernels}) == 2
        and len(program.program.checks) == 2
    )
    assert compiled(outputs, donations={0: 1}).donations == {}  # of what may fail late
    assert interpret(program, outputs, env)


def test_batches_of_one_matrix_or_of_one_right_hand_side() -> None:
    a, b = leaf(3, 3), leaf(3, 2)
    roots = [node(Op.SOLVE, (g.dominant(a), b)), node(Op.CHOLESKY, (g.dominant(a),))]
    more_a, more_b = leaf(5, 3, 3), leaf(5, 3, 2)
    for stacks in ({a: more_a}, {b: more_b}, {a: more_a, b: more_b}):
        outputs = batched(roots, stacks, 5)
        env = normal_inputs([*outputs, *roots])
        for i in range(5):
            own = {
                leaf_: env[stacks[leaf_]][i] if leaf_ in stacks else env[leaf_] for leaf_ in (a, b)
            }
            for one, whole in zip(oracle(roots, own), oracle(outputs, env), strict=True):
                np.testing.assert_array_equal(one, whole[i])


@pytest.mark.parametrize(
    "shapes",
    [((3, 4), (3, 1)), ((3, 3), (4, 1)), ((2, 3, 3), (3, 3, 1)), ((3,), (3,)), ((3, 3), (3,))],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(GraphError, match="solve"):
        node(Op.SOLVE, [leaf(*shape) for shape in shapes])
