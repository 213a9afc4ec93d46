"""Every op, compiled, against the oracle: values, special values, odd shapes, gradients, bounds
checks."""

from __future__ import annotations

import zlib

import graphs as g
import numpy as np
import pytest
from effort import rarely
from harness import check, check_close, compiled, execute, inputs_of, leaf, normal_inputs, schedules
from optable import ROWS, Row, assert_matches, leaves, shown, values
from weft.ir.gradient.gradient import grad, vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run as oracle
from weft.runtime.failures import CheckFailed

EPS = {dt.float32: 1.2e-7, dt.float64: 2.3e-16}
FLOATS = [dt.float32, dt.float64]
names = [d.name for d in FLOATS]


def _shown(row: Row) -> list[object]:
    """Its variant of the op, in one of the kinds of dtypes; each op of floats in both widths, each
    conversion between kinds."""
    (variant,), ((op, kinds),) = shown(row)
    alone = op in ("cast", "bitcast") or kinds in (("float32",), ("float64",))
    return [variant, *kinds, *([(op, kinds)] if alone else [])]


@pytest.mark.thinned(by=_shown, to=90)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_row_equals_the_oracle(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments = leaves(row)
    outputs = [row.build(*arguments)]
    program = compiled(outputs)
    ordered = not (
        outputs[0].op is Op.REDUCE and outputs[0].arg[0] == "mul"
    )  # where a product overflows depends on its order
    for specials in (False, True)[: 1 + ordered]:
        env = dict(zip(arguments, values(row, rng, specials), strict=True))
        (got,), (want,) = execute(program, outputs, env), oracle(outputs, env)
        assert_matches(got, np.asarray(want), row.ulp, row.magnitude)


@pytest.mark.thinned(by=lambda row: [row.name.split("-")[0]], to=24)
@pytest.mark.parametrize(
    "row",
    [r for r in ROWS if r.differentiable and r.name.endswith("float32")],
    ids=lambda r: r.name,
)
def test_gradient_of_row_equals_the_oracle(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments = leaves(row)
    output = row.build(*arguments)
    seed = leaf(*output.shape, dtype=output.dtype)
    gradients = [
        d
        for d in vjp([output], [seed], [a for a in arguments if a.dtype.is_float])
        if d is not None
    ]
    env = dict(zip(arguments, values(row, rng), strict=True)) | {
        seed: rng.standard_normal(output.shape).astype(np.float32)
    }
    check_close(gradients, env, 1e-4, threads=(1, 2))


# ---------------------------------------------------------------- elementwise over odd shapes


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("d", FLOATS, ids=names)
@pytest.mark.parametrize(
    "shape",
    [(), (1,), (5,), (64,), (1000,), (7, 33), (1, 40), (40, 1), (3, 1, 17), (0,), (4, 0, 3)],
    ids=str,
)
def test_arithmetic_equals_numpy_bit_for_bit_on_any_shape(
    shape: tuple[int, ...], d: dt.DType
) -> None:
    x, y = leaf(*shape, dtype=d), leaf(*shape, dtype=d)
    z = g.div(g.sub(g.mul(x, y), node(Op.SQRT, (g.mul(x, x),))), g.add(y, g.like(0.1, y)))
    check([z, g.where(node(Op.LT, (x, y)), z, x)], normal_inputs([z]), threads=(1, 2))


def test_maps_of_many_shapes_share_a_program() -> None:
    x, row, column = leaf(30, 50), leaf(50), leaf(30)
    y = g.add_row(g.mul(x, graph.expand(column, ((1, 50),))), row)
    check(
        [y, g.exp(row), g.log(g.mul(column, column)), graph.permute(y, (1, 0))],
        normal_inputs([y]),
        ulp=2,
        threads=(1, 2, 3),
    )


def test_outputs_that_are_inputs_constants_or_each_other() -> None:
    x = leaf(5, 3)
    outputs = [
        x,
        graph.full(2.5, dt.float32, (4,)),
        graph.permute(x, (1, 0)),
        graph.reshape(g.add(x, g.like(0, x)), (15,)),
        node(Op.IOTA, arg=7),
    ]
    check(outputs, normal_inputs(outputs))


@pytest.mark.parametrize("axis", [0, *rarely(1), 2])
def test_chunks_of_a_scatter_walk_their_own_indices_where_one_counts(axis: int) -> None:
    x, seed = leaf(6, 20, 7), leaf(6, 20, 7)
    order = node(Op.ARGSORT, (x,), (axis, False))
    others = [tuple((i, e) for i, e in enumerate(x.shape) if i != a) for a in range(3)]
    places = [graph.expand(node(Op.IOTA, arg=d), o) for d, o in zip(x.shape, others, strict=True)]
    places[axis] = order
    outputs = [node(Op.SCATTER, (seed, *places), ((0, 1, 2), x.shape))]
    outputs += vjp([node(Op.GATHER, (x, *places), (0, 1, 2))], [seed], [x])
    program = check(outputs[:1], normal_inputs(outputs), threads=(1, 2, 3))
    assert (
        "walks its indices" in program.lowered.kernels[-1].lowered.schedule
        and outputs[0] is outputs[1]
    )


def test_computed_indices_seen_through_a_slice_are_checked() -> None:
    x, index = leaf(9), leaf(6, dtype=dt.int64)
    running = node(Op.SLICE, (node(Op.SCAN, (index,), 0),), ((1, 5, 1),))
    outputs = [node(Op.GATHER, (x, running), (0,))]
    env = normal_inputs(outputs, extent=2)
    check(outputs, env)
    env[index][3] = 40
    with pytest.raises(CheckFailed):
        execute(compiled(outputs, env), outputs, env)


def test_what_only_empty_values_need_is_not_computed() -> None:
    x, index = leaf(5, 3), leaf(4, dtype=dt.int64)
    rows = [
        node(Op.SCAN, (x,), 1),
        node(Op.ARGSORT, (x,), (1, False)),
        node(Op.SCATTER, (leaf(4, 3), index), ((0,), (6, 3))),
    ]
    outputs = [node(Op.SLICE, (r,), ((0, 0, 1), (0, 3, 1))) for r in rows]
    assert not check(outputs, normal_inputs(outputs)).lowered.kernels


@pytest.mark.slow
def test_a_long_chain_compiles_without_recursion() -> None:
    x = leaf(33)
    y = x
    for _ in range(550):
        y = g.add(g.scale(y, 0.5), x)
    check([y], normal_inputs([y]))


# ---------------------------------------------------------------- reductions and rows


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("kind", ["add", "max", "mul"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("shape", [(3, 17, 40), (1, 5, 1), (66, 3, 2), (2, 1, 4099)], ids=str)
def test_reductions_of_any_axes(shape: tuple[int, ...], axes: tuple[int, ...], kind: str) -> None:
    x = leaf(*shape)
    y = graph.reduce(kind, g.add(g.scale(x, 0.01), g.like(1, x)) if kind == "mul" else x, axes)
    check_close([y], normal_inputs([y]), 1e-4, threads=(1, 2))


@pytest.mark.parametrize(
    "shape", [(1 << 17,), (3, 50_001), (40_000, 3), *rarely((130, 16, 65))], ids=str
)
def test_long_reductions_through_partials(shape: tuple[int, ...]) -> None:
    x = leaf(*shape)
    outputs = [
        graph.reduce(kind, x, range(1 if shape[0] == 3 else 0, x.ndim)) for kind in ("add", "max")
    ]
    outputs.append(graph.reduce("add", x, (0,)))
    check_close(outputs, normal_inputs(outputs), 1e-4, threads=(1, 2, 3))


def test_max_propagates_nan_and_knows_infinities() -> None:
    x = leaf(6, 37)
    rng = np.random.default_rng(0)
    array = rng.standard_normal(x.shape).astype(np.float32)
    array[1, 5], array[2, :], array[3, 8], array[4, 36] = np.nan, -np.inf, np.inf, np.nan
    check(
        [
            graph.reduce("max", x, (1,)),
            graph.reduce("max", x, (0,)),
            graph.reduce("max", x, (0, 1)),
        ],
        {x: array},
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("d", FLOATS, ids=names)
@pytest.mark.parametrize("shape", [(70, 10), (70, 1000), (3, 7), (1, 1), (2, 20_000)], ids=str)
def test_row_kernels(shape: tuple[int, int], d: dt.DType) -> None:
    x = leaf(*shape, dtype=d)
    y = g.softmax(x)
    seed = leaf(*shape, dtype=d)
    outputs = [y, *vjp([y], [seed], [x])]
    check_close(outputs, normal_inputs(outputs), 100 * EPS[d], threads=(1, 2))


def test_layer_norm_and_its_gradients() -> None:
    wrt = [leaf(70, 96), leaf(96), leaf(96)]
    y = g.layer_norm(*wrt)
    outputs = [y, *vjp([y], [leaf(70, 96)], wrt)]
    check_close(outputs, normal_inputs(outputs), 1e-5, threads=(1, 2, 3))


# ---------------------------------------------------------------- contractions

MATMULS = [
    (16, 16, 16),
    (37, 53, 71),
    (128, 96, 256),
    (1, 700, 40),
    (40, 700, 1),
    (1, 64, 1),
    (33, 1, 65),
    (70, 2, 70),
    (5, 1100, 64),
    (130, 2053, 33),
    (1300, 8, 40),
    (8, 40, 1300),
    (64, 64, 15),
    (13, 100, 5),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("how", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("shape", MATMULS, ids=str)
def test_matmul(shape: tuple[int, int, int], how: str) -> None:
    m, k, n = shape
    a = leaf(m, k) if how[0] == "n" else graph.permute(leaf(k, m), (1, 0))
    b = leaf(k, n) if how[1] == "n" else graph.permute(leaf(n, k), (1, 0))
    y = g.matmul(a, b)
    check_close([y], normal_inputs([y]), 2e-5, threads=(1, 2))


@pytest.mark.slow
@pytest.mark.thinned
@pytest.mark.parametrize("shape", [(37, 53, 71), (64, 1500, 32), (12, 40, 12)], ids=str)
@pytest.mark.parametrize("how", ["nn", "nt", "tn"])
def test_matmul_in_double(shape: tuple[int, int, int], how: str) -> None:
    m, k, n = shape
    a = (
        leaf(m, k, dtype=dt.float64)
        if how[0] == "n"
        else graph.permute(leaf(k, m, dtype=dt.float64), (1, 0))
    )
    b = (
        leaf(k, n, dtype=dt.float64)
        if how[1] == "n"
        else graph.permute(leaf(n, k, dtype=dt.float64), (1, 0))
    )
    y = g.matmul(a, b)
    check_close([y], normal_inputs([y]), 1e-13, threads=(1, 2))


def test_integer_matmul_is_exact() -> None:
    y = g.matmul(leaf(30, 50, dtype=dt.int32), leaf(50, 40, dtype=dt.int32))
    check([y], normal_inputs([y]))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(3, 40, 53, 71), (7, 16, 16, 16), (2, 5, 300, 9)], ids=str)
def test_batched_matmul(shape: tuple[int, ...]) -> None:
    batch, m, k, n = shape
    y = g.matmul(leaf(batch, m, k), leaf(batch, k, n))
    check_close([y], normal_inputs([y]), threads=(1, 2))


@pytest.mark.slow
def test_matmul_with_broadcast_batch() -> None:
    x, w = leaf(6, 20, 30), leaf(30, 40)
    y = g.matmul(x, graph.expand(w, ((0, 6),)))
    check_close([y], normal_inputs([y]), threads=(1, 2))
    outputs = list(vjp([y], [leaf(6, 20, 40)], [x, w]))
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


@pytest.mark.slow
def test_matmul_with_prologue_and_epilogue() -> None:
    x, w, b, r = leaf(70, 130), leaf(130, 90), leaf(90), leaf(70, 90)
    y = g.add(g.gelu(g.add_row(g.matmul(g.relu(x), w), b)), r)
    program = check_close([y], normal_inputs([y]), threads=(1, 2, 3))
    assert schedules(program) == ["packed"]


@pytest.mark.slow
def test_gradients_of_a_linear_layer() -> None:
    wrt = [leaf(70, 130), leaf(130, 90), leaf(90)]
    y = g.relu(g.add_row(g.matmul(wrt[0], wrt[1]), wrt[2]))
    outputs = [y, *vjp([y], [leaf(70, 90)], wrt)]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


@pytest.mark.slow
def test_gram_matrix_and_attention() -> None:
    y = leaf(40, 64)
    check_close([g.matmul(y, graph.permute(y, (1, 0)))], normal_inputs([y]), threads=(1, 2))
    q, k, v = (leaf(2, 3, 33, 20) for _ in range(3))
    out = g.matmul(g.softmax(g.scale(g.matmul(q, graph.permute(k, (0, 1, 3, 2))), 0.2)), v)
    outputs = [out, *vjp([out], [leaf(*out.shape)], [q, k, v])]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


def test_infinities_and_nans_pass_through_a_contraction_like_in_numpy() -> None:
    a, b = leaf(20, 40), leaf(40, 30)
    env = normal_inputs([g.matmul(a, b)])
    env[a][3, 7], env[b][5, 11] = np.inf, np.nan
    (got,) = execute(compiled([g.matmul(a, b)]), [g.matmul(a, b)], env)
    with np.errstate(all="ignore"):
        want = env[a] @ env[b]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])


# ---------------------------------------------------------------- convolution and pooling

CONVOLUTIONS = [
    (s, p, d, c) for s in (1, 2) for p in (0, 1, 2) for d in (1, 2) for c in ("one", "each")
]


def convolution(
    stride: int, padding: int, dilation: int, groups: str, channels: int = 6, size: int = 9
) -> tuple[Node, Node, Node]:
    count = 1 if groups == "one" else channels
    x, w = leaf(3, channels, size, size + 2), leaf(2 * channels, channels // count, 3, 3)
    return g.conv2d(x, w, stride, padding, dilation, count), x, w


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("how", CONVOLUTIONS, ids=str)
def test_convolution_and_both_gradients(how: tuple[int, int, int, str]) -> None:
    y, x, w = convolution(*how)
    outputs = [y, *vjp([y], [leaf(*y.shape)], [x, w])]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [*rarely((1, 1, 1, "one"), (2, 1, 1, "one"), (1, 2, 2, "one")), (2, 0, 1, "each")],
    ids=str,
)
def test_second_derivatives_of_a_convolution(how: tuple[int, int, int, str]) -> None:
    y, x, w = convolution(*how, channels=3, size=7)
    loss = graph.reduce("add", node(Op.TANH, (g.mul(y, y),)), range(4))
    first = grad(loss, [x, w])
    inner = g.add(
        graph.reduce("add", g.mul(first[0], leaf(*x.shape)), range(4)),
        graph.reduce("add", g.mul(first[1], leaf(*w.shape)), range(4)),
    )
    outputs = [loss, *first, *grad(inner, [x, w])]
    env = {n: 0.3 * a for n, a in normal_inputs(outputs).items()}
    check_close(outputs, env, 1e-4, threads=(1, 2))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "shape",
    [
        *rarely((1, 3, 32, 32, 8, 5), (4, 1, 28, 28, 6, 5), (2, 4, 64, 3, 4, 3)),
        (2, 16, 14, 14, 32, 3),
        (1, 8, 5, 5, 4, 1),
    ],
    ids=str,
)
def test_convolutions_of_networks(shape: tuple[int, ...]) -> None:
    n, c, h, wide, o, k = shape
    x, w = leaf(n, c, h, wide), leaf(o, c, k, k)
    y = g.conv2d(g.relu(x), w, 1, k // 2, 1, 1)
    outputs = [g.relu(y), *vjp([y], [leaf(*y.shape)], [x, w])]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("pool", [(2, 2), (3, 2), (1, 2), *rarely((3, 1), (2, 1), (3, 3))], ids=str)
def test_pooling_and_its_gradient(pool: tuple[int, int]) -> None:
    x = leaf(2, 3, 12, 13)
    y = g.max_pool(g.relu(x), *pool)
    mean = graph.reduce("add", g.window(g.window(x, 2, *pool), 4, *pool), (3, 5))
    outputs = [y, mean, *vjp([y], [leaf(*y.shape)], [x]), *vjp([mean], [leaf(*mean.shape)], [x])]
    check_close(outputs, normal_inputs(outputs), 1e-6, threads=(1, 2))


# ---------------------------------------------------------------- scan, gather, scatter


@pytest.mark.parametrize("axis", [0, *rarely(1), 2])
def test_scan_between_maps_and_reductions(axis: int) -> None:
    x = leaf(5, 33, 17)
    y = node(Op.SCAN, (g.exp(g.scale(x, 0.1)),), axis)
    z = node(Op.SCAN, (node(Op.FLIP, (y,), (axis,)),), axis)
    outputs = [y, graph.reduce("max", g.log(y), (2,)), z, *vjp([y], [leaf(*y.shape)], [x])]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2, 3))


def lookup(rows: int, columns: int, count: int) -> tuple[Node, Node, Node]:
    table, where = leaf(rows, columns), leaf(count, dtype=dt.int64)
    return table, where, node(Op.GATHER, (table, where), (0,))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [1, 8, 33])
def test_embedding_and_its_gradient(columns: int) -> None:
    table, _, y = lookup(50, columns, 200)
    z = g.softmax(g.add(y, g.like(1, y)))
    outputs = [y, z, *vjp([z], [leaf(200, columns)], [table])]
    check_close(outputs, normal_inputs(outputs, extent=50), 1e-5, threads=(1, 2, 3))


def test_a_gather_of_a_computed_value_by_a_computed_index() -> None:
    table, where = leaf(20, 30), leaf(40, dtype=dt.int64)
    index = node(
        Op.MOD, (g.add(where, graph.full(3, dt.int64, (40,))), graph.full(20, dt.int64, (40,)))
    )
    y = node(Op.GATHER, (g.exp(table), index), (0,))
    outputs = [graph.reduce("add", y, (0,)), *vjp([y], [leaf(40, 30)], [table])]
    check_close(outputs, normal_inputs(outputs, extent=1000), threads=(1, 2))


def test_cross_entropy_and_its_gradient() -> None:
    x, labels = leaf(70, 10), leaf(70, dtype=dt.int64)
    loss = g.cross_entropy(x, labels)
    outputs = [loss, *grad(loss, [x])]
    check_close(outputs, normal_inputs(outputs, extent=10), 1e-5, threads=(1, 2))


# ---------------------------------------------------------------- checks


def run_with_bad_index(
    outputs: list[Node], env: dict[Node, np.ndarray]
) -> tuple[CheckFailed, list[np.ndarray]]:
    """The failure, and the outputs as they were left."""
    program = compiled(outputs)
    arrays = [env[n] for n in inputs_of(outputs)]
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    with pytest.raises(CheckFailed) as failure:
        program.run([a.ctypes.data for a in arrays], [r.ctypes.data for r in results])
    return failure.value, results


@pytest.mark.parametrize("bad", [-1, 50, 1 << 40])
def test_a_bad_index_from_outside_is_found_before_anything_is_written(bad: int) -> None:
    table, where, y = lookup(50, 8, 30)
    outputs = [y, g.exp(table)]
    env = normal_inputs(outputs)
    env[where][11] = env[where][20] = bad
    failure, results = run_with_bad_index(outputs, env)
    assert (failure.position, failure.value, failure.site.axis, failure.site.extent) == (
        11,
        bad,
        0,
        50,
    )
    assert all((r == 7).all() for r in results)


def test_a_bad_computed_index_is_found_and_reads_nothing_foreign() -> None:
    table, x = leaf(50, 8), leaf(6, 30)
    index = graph.cast(graph.reduce("max", x, (0,)), dt.int64)
    y = node(Op.GATHER, (table, index), (0,))
    env = normal_inputs([y])
    env[x][2, 4] = 99
    failure, (result,) = run_with_bad_index([y], env)
    assert (failure.position, failure.value, failure.site.extent) == (4, 99, 50)
    assert (result[4] == env[table][49]).all() or (result[4] == 7).all()


def test_a_bad_gathered_index_is_found() -> None:
    table, first, second = leaf(50, 8), leaf(40, dtype=dt.int64), leaf(30, dtype=dt.int64)
    y = node(Op.GATHER, (table, node(Op.GATHER, (first, second), (0,))), (0,))
    env = normal_inputs([y])
    check([y], env)
    env[first][3], env[second][7] = -1, 3
    failure, _ = run_with_bad_index([y], env)
    assert (failure.value, failure.site.extent) == (-1, 50)


def test_a_bad_scatter_index_is_found() -> None:
    where = leaf(30, dtype=dt.int64)
    y = node(Op.SCATTER, (leaf(30, 8), where), ((0,), (50, 8)))
    env = normal_inputs([y])
    env[where][29] = 50
    failure, (result,) = run_with_bad_index([y], env)
    assert (failure.position, failure.value) == (29, 50)
    assert (result == 7).all()


def test_a_program_runs_again_after_a_failed_check() -> None:
    _, where, y = lookup(50, 8, 30)
    env = normal_inputs([y])
    program = compiled([y])
    bad = env | {where: np.full(30, 60, np.int64)}
    with pytest.raises(CheckFailed):
        execute(program, [y], bad)
    (got,) = execute(program, [y], env)
    np.testing.assert_array_equal(got, oracle([y], env)[0])
