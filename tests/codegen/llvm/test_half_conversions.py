"""float16 and bfloat16 in compiled code: conversions over all bit patterns, sums that round once,
no calls into a library."""

from __future__ import annotations

import re
from collections.abc import Sequence

import graphs as g
import numpy as np
import pytest
from harness import (
    TARGETS,
    assert_same_bits,
    check,
    check_close,
    compiled,
    execute,
    fused,
    leaf,
    normal_inputs,
)
from opspec import assert_matches
from optable import HALVES
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import bfloat16, graph
from weft.ir.graph import dtype as dt
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import LEAVES, VIEWS, Op
from weft.ir.passes.widen_halves import widen

PATTERNS = np.arange(1 << 16, dtype=np.uint16)
names = [d.name for d in HALVES]
of_each_half = pytest.mark.parametrize("half", HALVES, ids=names)
on_each_target = pytest.mark.parametrize("target", ["host", *TARGETS])


def converted(x: np.ndarray, source: DType, to: DType, target: str) -> np.ndarray:
    """x cast by compiled code."""
    argument = leaf(*x.shape, dtype=source)
    outputs = [node(Op.CAST, (argument,), to)]
    (result,) = execute(compiled(outputs, target=target), outputs, {argument: x})
    return result


def values_of(half: DType) -> np.ndarray:
    """The float64 value of every bit pattern."""
    narrow = bfloat16.values(PATTERNS) if half is dt.bfloat16 else PATTERNS.view(np.float16)
    with np.errstate(all="ignore"):
        return narrow.astype(np.float64)


def near_halfway(half: DType, dtype: type) -> np.ndarray:
    """All values of a 16-bit float, what lies between neighbours, and the numbers right beside
    those."""
    found = np.unique(values_of(half)[np.isfinite(values_of(half))])
    largest = found[-1] + (found[-1] - found[-2])
    edges = np.concatenate([[-largest], found, [largest]])
    middles = (edges[1:] + edges[:-1]) / 2
    exact = np.concatenate(
        [edges, middles, [np.inf, -np.inf, np.nan, -0.0, np.finfo(dtype).tiny, np.finfo(dtype).max]]
    )
    with np.errstate(all="ignore"):
        exact = exact.astype(dtype)
        return np.concatenate(
            [exact, np.nextafter(exact, dtype(np.inf)), np.nextafter(exact, dtype(-np.inf))]
        )


def nearest(x: np.ndarray, half: DType) -> np.ndarray:
    """x rounded once: by NumPy to float16, by search among all values to bfloat16."""
    if half is dt.float16:
        with np.errstate(all="ignore"):
            return x.astype(np.float16)
    return np.array([dt.rounded(v, half) for v in x.tolist()]).astype(half.numpy)


@pytest.mark.thinned
@on_each_target
@of_each_half
@pytest.mark.parametrize("to", [dt.float32, dt.float64], ids=lambda d: d.name)
def test_every_bit_pattern_widens_to_its_value(half: DType, to: DType, target: str) -> None:
    got = converted(PATTERNS.view(half.numpy), half, to, target)
    with np.errstate(all="ignore"):
        assert_matches(got, values_of(half).astype(to.numpy))


@pytest.mark.thinned(to=3)
@on_each_target
@of_each_half
def test_every_bit_pattern_survives_a_round_trip(half: DType, target: str) -> None:
    x = PATTERNS.view(half.numpy)
    wide = converted(x, half, dt.float32, target)
    assert_matches(converted(wide, dt.float32, half, target), x)


@pytest.mark.thinned(to=1)
@on_each_target
@of_each_half
@pytest.mark.parametrize("source", [dt.float32, dt.float64], ids=lambda d: d.name)
def test_rounds_to_nearest_even_in_one_step(half: DType, source: DType, target: str) -> None:
    x = near_halfway(half, source.numpy.type)
    assert_matches(converted(x, source, half, target), nearest(x, half))


@on_each_target
@of_each_half
def test_nan_stays_nan_whatever_its_payload(half: DType, target: str) -> None:
    bits = np.array(
        [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F808000], np.uint32
    )
    assert np.isnan(
        converted(bits.view(np.float32), dt.float32, half, target).astype(np.float32)
    ).all()


@pytest.mark.thinned(to=2)
@on_each_target
@of_each_half
@pytest.mark.parametrize(
    "source", [dt.int64, dt.uint64, dt.int32, dt.uint32, dt.int16, dt.uint8], ids=lambda d: d.name
)
def test_integers_round_once(half: DType, source: DType, target: str) -> None:
    rng = np.random.default_rng(0)
    whole = 1 << rng.integers(0, source.bits, 3000).astype(object)
    middles = [
        int(w) + (int(w) >> k) + e for w in whole for k in (8, 9, 11, 12) for e in (-1, 0, 1)
    ]
    info = np.iinfo(source.numpy)
    x = np.array(sorted({*(m for m in middles if m <= info.max), info.min, info.max}), source.numpy)
    if source.kind == "i":
        x = np.concatenate([x, -x])
    want = np.array([dt.rounded(v, half) for v in x.tolist()]).astype(half.numpy)
    assert_matches(converted(x, source, half, target), want)


@pytest.mark.thinned(to=1)
@on_each_target
@of_each_half
def test_to_integers_as_float32_does(half: DType, target: str) -> None:
    x = PATTERNS.view(half.numpy)
    with np.errstate(all="ignore"):
        wide = values_of(half).astype(np.float32)
    for to in (dt.int8, dt.uint16, dt.int32, dt.int64, dt.uint64):
        want = converted(wide, dt.float32, to, "host")
        assert_same_bits([converted(x, half, to, target)], [want])


@of_each_half
def test_constants_round_once_to_the_nearest(half: DType) -> None:
    x = near_halfway(half, np.float64)[::37]
    got = np.array([graph.const(v, half).arg for v in x.tolist()])
    assert_matches(got.astype(np.float32), nearest(x, half).astype(np.float32))
    assert graph.const(-(10**400), half).arg == -np.inf
    assert graph.const((1 << 60) + 1, half).arg == (
        np.inf if half is dt.float16 else float(1 << 60)
    )


@pytest.mark.thinned(to=1)
@of_each_half
def test_moving_values_keeps_their_bits(half: DType) -> None:
    x = leaf(256, 256, dtype=half)
    mask = leaf(256, 256, dtype=dt.bool_)
    outputs = [
        graph.permute(x, (1, 0)),
        node(Op.FLIP, (x,), (1,)),
        g.where(mask, x, node(Op.FLIP, (x,), (0,))),
    ]
    env = {
        x: PATTERNS.view(half.numpy).reshape(256, 256),
        mask: np.arange(65536).reshape(256, 256) % 3 == 0,
    }
    got = execute(compiled(outputs), outputs, env)
    bits = PATTERNS.reshape(256, 256)
    want = [bits.T, bits[:, ::-1], np.where(env[mask], bits, bits[::-1])]
    assert_same_bits(got, [np.ascontiguousarray(w) for w in want])


def test_the_oracle_rounds_float32_to_bfloat16_as_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = near_halfway(dt.bfloat16, np.float32)
    assert_matches(bfloat16.rounded(x), x.astype(ml_dtypes.bfloat16).astype(np.float32))


# ---------------------------------------------------------------- what is computed in float32


def float32_of(outputs: Sequence[Node], env: dict[Node, np.ndarray]) -> list[np.ndarray]:
    """The values of the same graph over float32 leaves."""
    wide = {n: leaf(*n.shape, dtype=dt.float32) if n.dtype.is_half else n for n in env}
    done: dict[Node, Node] = dict(wide)
    for n in graph.toposort(outputs):
        if n.op is Op.CONST and n.dtype.is_half:
            done[n] = graph.const(n.arg, dt.float32)
        elif n not in done:
            arg = dt.float32 if n.op is Op.CAST and n.dtype.is_half else n.arg
            done[n] = node(n.op, tuple(done[s] for s in n.src), arg) if n.src else n
    wide_env = {wide[n]: a.astype(np.float32) if n.dtype.is_half else a for n, a in env.items()}
    return execute(compiled([done[o] for o in outputs]), [done[o] for o in outputs], wide_env)


@pytest.mark.thinned(to=1)
@of_each_half
@pytest.mark.parametrize("shape", [(33, 70, 45), (64, 64, 64), (5, 700, 3)], ids=str)
def test_a_matrix_product_rounds_once(half: DType, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = leaf(m, k, dtype=half), leaf(k, n, dtype=half)
    outputs = [g.matmul(a, b)]
    env = normal_inputs(outputs)
    program = check(outputs, env, 1, magnitude=1.0, threads=(1, 2, 3))
    exact = (
        (env[a].astype(np.float64) @ env[b].astype(np.float64))
        .astype(np.float32)
        .astype(half.numpy)
    )
    (got,) = execute(program, outputs, env)
    assert (got == exact).mean() > 0.99
    assert len(fused(*outputs).kernels) == 1


@of_each_half
def test_a_long_sum_keeps_what_16_bits_would_lose(half: DType) -> None:
    x = leaf(70_000, dtype=half)
    total = graph.reduce("add", g.mul(x, g.like(2.0**-7, x)), (0,))
    (got,) = execute(compiled([total]), [total], {x: np.ones(70_000, half.numpy)})
    assert got.astype(np.float32) == nearest(np.array([70_000 / 128]), half).astype(np.float32)


@of_each_half
def test_an_explicit_rounding_of_a_product_stays(half: DType) -> None:
    x, y = leaf(40, 30), leaf(40, 30)
    rounded = graph.cast(g.mul(x, y), half)
    outputs = [
        graph.reduce("add", graph.cast(rounded, dt.float32), (1,)),
        graph.reduce("add", rounded, (1,)),
    ]
    env = normal_inputs(outputs)
    got = execute(compiled(outputs), outputs, env)
    with np.errstate(all="ignore"):
        terms = (env[x] * env[y]).astype(half.numpy).astype(np.float64)
    np.testing.assert_allclose(got[0], terms.sum(1), rtol=1e-5, atol=1e-5)
    assert_matches(got[1], terms.sum(1).astype(half.numpy), 1, 1.0)


@pytest.mark.thinned(to=1)
@of_each_half
@pytest.mark.parametrize(
    "build",
    [g.softmax, g.gelu, lambda x: graph.reduce("max", x, (1,)), lambda x: node(Op.SCAN, (x,), 1)],
)
def test_rows_and_their_gradients_follow_float32(half: DType, build) -> None:
    x = leaf(70, 96, dtype=half)
    y = build(x)
    outputs = [y, *(d for d in vjp([y], [leaf(*y.shape, dtype=half)], [x]) if d is not None)]
    env = normal_inputs(outputs)
    eps = 2.0 ** (1 - half.digits)
    check_close(outputs, env, 4 * eps, threads=(1, 2, 3))
    for got, want in zip(
        execute(compiled(outputs), outputs, env), float32_of(outputs, env), strict=True
    ):
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        assert error.max() <= 16 * eps * np.abs(want).max()


@of_each_half
def test_gradients_have_the_dtype_of_their_value(half: DType) -> None:
    x, w = leaf(8, 5, dtype=half), leaf(5, 3, dtype=half)
    y = g.matmul(x, w)
    assert [d.dtype for d in vjp([y], [leaf(8, 3, dtype=half)], [x, w]) if d is not None] == [
        half,
        half,
    ]


@of_each_half
def test_kernel_counts_are_those_of_float32(half: DType) -> None:
    def counts(d: DType) -> list[int]:
        x, w, b = leaf(70, 96, dtype=d), leaf(96, 64, dtype=d), leaf(64, dtype=d)
        y = g.softmax(x)
        layer = g.relu(g.add_row(g.matmul(x, w), b))
        norm = g.layer_norm(x, leaf(96, dtype=d), leaf(96, dtype=d))
        thin = g.matmul(x, leaf(96, 2, dtype=d))
        image = g.conv2d(leaf(2, 4, 9, 9, dtype=d), leaf(4, 4, 3, 3, dtype=d), 1, 1, 1, 1)
        gradients = [
            d for d in vjp([layer], [leaf(70, 64, dtype=x.dtype)], [x, w, b]) if d is not None
        ]
        of_rows = vjp([y], [leaf(70, 96, dtype=d)], [x])
        roots = [
            [y],
            [g.add_row(x, leaf(96, dtype=d))],
            [thin],
            of_rows,
            [layer],
            gradients,
            [norm],
            [image],
        ]
        return [len(fused(*[n for n in r if n is not None]).kernels) for r in roots]

    extra = [
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
    ]  # the rounded gradient that both products of a layer read is stored, not computed again
    assert [n - e for n, e in zip(counts(half), extra, strict=True)] == counts(dt.float32)


@pytest.mark.thinned(to=1)
@on_each_target
@of_each_half
def test_no_conversion_calls_a_library(half: DType, target: str) -> None:
    x, i, d = leaf(37, dtype=half), leaf(37, dtype=dt.int64), leaf(37, dtype=dt.float64)
    outputs = [
        g.exp(x),
        graph.cast(i, half),
        graph.cast(d, half),
        graph.cast(x, dt.float64),
        graph.cast(x, dt.int64),
    ]
    outputs.append(graph.reduce("add", x, (0,)))
    program = compiled(outputs, target=target)
    for k in program.lowered.kernels:
        assert re.findall(r"__\w*[hbsd]f2|__\w*hf\w*", program.texts(k)["s"]) == []


def test_a_graph_without_16_bit_floats_is_left_alone() -> None:
    y = g.softmax(leaf(3, 4))
    assert widen([y]) == [y]


@of_each_half
def test_only_moves_and_casts_of_16_bit_floats_are_left(half: DType) -> None:
    x = leaf(6, 5, dtype=half)
    y = g.layer_norm(x, leaf(5, dtype=half), leaf(5, dtype=half))
    order = node(Op.ARGSORT, (x,), (1, False))
    roots = widen([y, *vjp([y], [leaf(6, 5, dtype=half)], [x]), order])
    graph.verify(roots)
    allowed = VIEWS | LEAVES | {Op.CAST, Op.WHERE, Op.ARGSORT}
    assert {n.op for n in graph.toposort(roots) if any(s.dtype.is_half for s in n.src)} <= allowed
