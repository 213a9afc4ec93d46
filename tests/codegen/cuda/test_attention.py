"""Attention on CUDA: which chains become kernels there, and what these compute."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import weft as wf
from cuda_lowered import NoCode
from cudakit import compiled, execute, in_order, leaf_tensors, needs_compiler
from effort import examples, rarely
from harness import Env, inputs_of, interpret, normal_inputs
from hypothesis import given
from hypothesis import strategies as st
from weft import options
from weft.codegen.cuda.emit.emit import emit, shared_bytes
from weft.codegen.cuda.settings import CudaSettings
from weft.codegen.cuda.target import CudaTarget
from weft.codegen.cuda.toolchain import nvcc, nvrtc
from weft.codegen.cuda.toolchain.build import compile_text
from weft.codegen.kernels.lower_program import LoweredProgram
from weft.compiler import compile as compiler
from weft.compiler.backends.cpu import CpuBackend
from weft.compiler.backends.cuda import CudaBackend
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node
from weft.ir.graph.index import row_major_strides
from weft.ir.kernels.groups import Policy
from weft.ir.loops.loop import Copy, Loops
from weft.ir.loops.walk import statements
from weft.ir.ops.interp import run as oracle
from weft.ir.program.program import ValueLayout
from weft.nn import functional as F

pytestmark = needs_compiler
random = np.random.default_rng(0)


def normal(*shape: int) -> wf.Tensor:
    return wf.tensor(random.standard_normal(shape).astype("f4"))


# ---------------------------------------------------------------- chains that need no more than a
# block of their space


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CpuBackend, "policy", Policy(chains="blocks"))


def kinds(*tensors: wf.Tensor) -> list[str]:
    return [k.kind for k in wf.explain(list(tensors)).kernels]


def attention(causal: bool = False) -> tuple[list[wf.Tensor], wf.Tensor]:
    leaves = [normal(2, 4, 64, 16), normal(2, 4, 70, 16), normal(2, 4, 70, 16)]
    return leaves, F.scaled_dot_product_attention(*leaves, is_causal=causal)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_blocks_is_one_kernel(in_blocks: None, causal: bool) -> None:
    assert kinds(attention(causal)[1]) == ["chain"]


@pytest.mark.slow
@pytest.mark.parametrize("causal", [*rarely(False), True])
def test_gradients_in_blocks_are_a_kernel_for_each_side(in_blocks: None, causal: bool) -> None:
    leaves, out = attention(causal)
    gradients = wf.grad((out * normal(*out.shape)).sum(), leaves)
    assert kinds(out, *gradients) == ["chain", "rows", "chain", "chain"]


def test_what_needs_whole_rows_of_weights_stores_them(in_blocks: None) -> None:
    q, k, v = attention()[0]
    weights = wf.where(normal(2, 4, 64, 1) > 0, (q @ k.transpose(-1, -2)).softmax(axis=-1), 0.0)
    assert kinds(weights @ v) == ["contraction", "rows", "contraction"]


@pytest.mark.slow
def test_blocks_change_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with options.override(cache_dir=None):
        leaves, out = attention(causal=True)
        want = [t.numpy() for t in (out, *wf.grad((out * out).sum(), leaves))]
        monkeypatch.setattr(CpuBackend, "policy", Policy(chains="blocks"))
        again = [wf.tensor(t.numpy()) for t in leaves]
        out = F.scaled_dot_product_attention(*again, is_causal=True)
        got = [out, *wf.grad((out * out).sum(), again)]
        wf.realize(*got)  # together, which is another program
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_factors_beyond_the_smallest_shared_memory_are_no_chain(in_blocks: None) -> None:
    leaves = [normal(8, 300, 256) for _ in range(3)]
    out = F.scaled_dot_product_attention(*leaves)
    assert kinds(out) == ["chain"]
    assert "chain" not in kinds(*wf.grad((out * out).sum(), leaves))


# ---------------------------------------------------------------- what the loops compute

SMALL = CudaTarget("sm_75", multiprocessors=1, shared_limit=5 << 10)  # blocks of 16 x 16


def check(
    *tensors: wf.Tensor,
    env: Env | None = None,
    target: CudaTarget | None = None,
    tolerance: float = 5e-6,
) -> Compiled:
    """Kernels == oracle in any order of threads, NaN where it has NaN; gives the program."""
    outputs = [t.node for t in tensors]
    env = env or normal_inputs(outputs)
    program = compiled(outputs, env, target=target)
    with in_order("random", seed=1):
        found = execute(program, outputs, env)
    for got, want in zip(found, oracle(outputs, env), strict=True):
        wanted = np.asarray(want).astype("f8")
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-30)
        np.testing.assert_allclose(
            got.astype("f8") / scale, wanted / scale, rtol=tolerance, atol=tolerance
        )
    return program


def chained(program: Compiled) -> Compiled:
    """The program, which is one chain."""
    assert [k.kernel.kind for k in program.lowered.kernels if k.kernel] == ["chain"]
    return program


SHAPES = [  # batch, queries, keys, head, value
    pytest.param((2,), 16, 64, 16, 16, marks=pytest.mark.slow),
    ((2,), 17, 70, 5, 3),
    pytest.param((), 140, 33, 3, 20, marks=pytest.mark.slow),
    ((1, 3), 3, 90, 33, 70),
    pytest.param((2, 3), 70, 130, 64, 64, marks=pytest.mark.slow),
    ((), 70, 75, 256, 256),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("batch", "rows", "columns", "head", "width"), SHAPES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_any_shape(
    batch: tuple[int, ...], rows: int, columns: int, head: int, width: int, causal: bool
) -> None:
    q, k, v = leaf_tensors((*batch, rows, head), (*batch, columns, head), (*batch, columns, width))
    chained(check(F.scaled_dot_product_attention(q, k, v, is_causal=causal)))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "target",
    [
        SMALL,
        CudaTarget("sm_80", 1, 20 << 10),
        CudaTarget("sm_90a", 1),
        *rarely(CudaTarget("sm_90a")),
    ],
)
def test_any_size_of_blocks(target: CudaTarget) -> None:
    q, k, v = leaf_tensors((200, 8), (140, 8), (140, 8))
    chained(check(F.scaled_dot_product_attention(q, k, v), target=target))


@pytest.mark.slow
def test_the_loops_interpret_to_what_they_compute() -> None:
    q, k, v = leaf_tensors((17, 15), (18, 15), (18, 15))
    outputs = [F.scaled_dot_product_attention(q, k, v).node]
    env = normal_inputs(outputs)
    program = chained(compiled(outputs, env, target=SMALL))
    np.testing.assert_allclose(
        interpret(program, outputs, env)[0],
        np.asarray(oracle(outputs, env)[0]),
        rtol=5e-6,
        atol=5e-6,
    )


def test_float64_stays_float64() -> None:
    q, k, v = leaf_tensors((40, 6), (30, 6), (30, 6), dtype=dt.float64)
    chained(check(F.scaled_dot_product_attention(q, k, v), tolerance=1e-14))


HALVES = [(dt.float16, 2e-3), (dt.bfloat16, 1e-2)]
HALF_SHAPES = [  # batch, queries, keys, head, value
    pytest.param((), 70, 60, 16, 16, marks=pytest.mark.slow),
    ((), 40, 30, 16, 6),
    ((2,), 130, 170, 40, 64),
    pytest.param((2, 3), 64, 64, 64, 32, marks=pytest.mark.slow),
    pytest.param((), 33, 70, 128, 128, marks=pytest.mark.slow),
    ((), 20, 40, 250, 256),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("dtype", "tolerance"), HALVES)
@pytest.mark.parametrize(("batch", "rows", "columns", "head", "width"), HALF_SHAPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_tensor_cores_take_half_inputs_of_any_shape(
    dtype: DType,
    tolerance: float,
    batch: tuple[int, ...],
    rows: int,
    columns: int,
    head: int,
    width: int,
    is_causal: bool,
) -> None:
    q, k, v = leaf_tensors(
        (*batch, rows, head), (*batch, columns, head), (*batch, columns, width), dtype=dtype
    )
    program = chained(
        check(F.scaled_dot_product_attention(q, k, v, is_causal=is_causal), tolerance=tolerance)
    )
    assert "tensor cores" in program.lowered.kernels[0].lowered.schedule


@pytest.mark.slow
def test_weights_and_results_are_rounded_once_each() -> None:
    """Half a unit in the last of 8 places for each weight, and for the result: 2**-8 of the sum of
    all magnitudes."""
    q, k, v = leaf_tensors((2, 70, 32), (2, 90, 32), (2, 90, 32), dtype=dt.bfloat16)
    out = F.scaled_dot_product_attention(q, k, v)
    env = normal_inputs([out.node])
    (got,) = execute(compiled([out.node], env), [out.node], env)
    x, y, values = (env[t.node].astype("f8") for t in (q, k, v))
    e = np.exp(x @ y.transpose(0, 2, 1) / np.sqrt(32))
    p = e / e.sum(-1, keepdims=True)
    assert (np.abs(got.astype("f8") - p @ values) <= 2**-8 * (p @ np.abs(values))).all()


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("head", "copies"), [(8, 4), (12, 0)])
def test_the_next_columns_arrive_by_themselves_where_they_lie_in_pieces_of_16_bytes(
    head: int, copies: int
) -> None:
    (x,) = leaf_tensors((2, 90, 3 * 2 * head), dtype=dt.bfloat16)
    q, k, v = x.reshape(2, 90, 3, 2, head).permute(2, 0, 3, 1, 4)
    program = chained(
        check(F.scaled_dot_product_attention(q, k, v, is_causal=True), tolerance=1e-2)
    )
    body = statements(program.lowered.kernels[0].step.loops.phases[-1].body)
    assert sum(isinstance(s, Copy) for s in body) == copies


@pytest.mark.slow
def test_older_devices_multiply_half_inputs_as_float32() -> None:
    q, k, v = leaf_tensors((40, 16), (30, 16), (30, 6), dtype=dt.float16)
    program = chained(
        check(
            F.scaled_dot_product_attention(q, k, v),
            target=CudaTarget("sm_75", 1, 64 << 10),
            tolerance=1e-3,
        )
    )
    assert "tensor cores" not in program.lowered.kernels[0].lowered.schedule


@pytest.mark.slow
def test_float32_on_tensor_cores_is_asked_for() -> None:
    q, k, v = leaf_tensors((40, 20), (90, 20), (90, 20))
    out = F.scaled_dot_product_attention(q, k, v)
    program = chained(check(out, target=CudaTarget("sm_80", 1, matmul="tf32"), tolerance=3e-3))
    assert "tensor cores" in program.lowered.kernels[0].lowered.schedule


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [HALVES[0], pytest.param(*HALVES[1], marks=pytest.mark.slow)]
)
def test_gradients_of_half_inputs(dtype: DType, tolerance: float) -> None:
    tensors = leaf_tensors((2, 70, 16), (2, 100, 16), (2, 100, 16), dtype=dtype)
    out = F.scaled_dot_product_attention(*tensors, is_causal=True)
    program = check(out, *wf.grad((out * out).sum(), tensors), tolerance=2 * tolerance)
    assert [
        k.lowered.schedule.count("tensor cores") for k in program.lowered.kernels if k.kernel
    ] == [1, 0, 1, 1]


@pytest.mark.slow
def test_masks_and_biases_stay_inside() -> None:
    q, k, v, bias = leaf_tensors((2, 38, 14), (2, 70, 14), (2, 70, 14), (38, 70))
    (mask,) = leaf_tensors((2, 1, 70), dtype=dt.bool_)
    chained(check(F.scaled_dot_product_attention(q, k, v, mask)))
    chained(check(F.scaled_dot_product_attention(q, k, v, bias)))


@pytest.mark.slow
def test_a_row_without_keys_is_nan() -> None:
    q, k, v = leaf_tensors((18, 9), (34, 9), (34, 9))
    (mask,) = leaf_tensors((18, 34), dtype=dt.bool_)
    out = F.scaled_dot_product_attention(q, k, v, mask)
    env = normal_inputs([out.node])
    env[mask.node][3], env[mask.node][5, :20] = False, False
    chained(check(out, env=env, target=SMALL))
    assert np.isnan(np.asarray(oracle([out.node], env)[0])[3]).all()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_values_that_are_not_finite_spread_as_in_the_oracle(which: int, value: float) -> None:
    tensors = leaf_tensors((18, 9), (34, 9), (34, 9))
    out = F.scaled_dot_product_attention(*tensors)
    env = normal_inputs([out.node])
    env[tensors[which].node][7, 3] = value
    program = compiled([out.node], env, target=SMALL)
    (got,), (want,) = execute(program, [out.node], env), oracle([out.node], env)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(np.asarray(want)))


@pytest.mark.slow
def test_maps_of_a_result_follow_it() -> None:
    q, k, v, more = leaf_tensors((2, 38, 14), (2, 40, 14), (2, 40, 17), (2, 38, 17))
    chained(check((F.scaled_dot_product_attention(q, k, v) + more) * 2.0))


@pytest.mark.slow
def test_heads_that_share_keys_and_lie_apart_in_memory() -> None:
    (x,) = leaf_tensors((2, 38, 3 * 2 * 13))
    t = x.reshape(2, 38, 3, 2, 13).permute(2, 0, 3, 1, 4)
    chained(
        check(
            F.scaled_dot_product_attention(t[0], t[1, :, :1], t[2, :, :1])
            .permute(0, 2, 1, 3)
            .flatten(2)
        )
    )


@pytest.mark.parametrize("causal", [*rarely(False), True])
def test_gradients_are_a_kernel_for_each_side(causal: bool) -> None:
    tensors = leaf_tensors((64, 13), (100, 13), (100, 13))
    out = F.scaled_dot_product_attention(*tensors, is_causal=causal)
    (weight,) = leaf_tensors(out.shape)
    program = check(out, *wf.grad((out * out * weight).sum(), tensors), tolerance=2e-5)
    assert [k.kernel.kind for k in program.lowered.kernels if k.kernel] == [
        "chain",
        "rows",
        "chain",
        "chain",
    ]


def skipping(program: Compiled) -> int:
    """Kernels that leave blocks of columns out."""
    return sum("skipped" in k.lowered.schedule for k in program.lowered.kernels)


def causal(rows: int, columns: int) -> tuple[list[wf.Tensor], wf.Tensor]:
    tensors = leaf_tensors((rows, 3), (columns, 3), (columns, 3))
    return tensors, F.scaled_dot_product_attention(*tensors, is_causal=True)


@pytest.mark.slow
def test_what_a_causal_mask_rules_out_is_skipped_in_every_chain() -> None:
    tensors, out = causal(40, 74)
    assert (
        skipping(check(out, *wf.grad((out * out).sum(), tensors), target=SMALL, tolerance=2e-5))
        == 3
    )
    assert skipping(check(F.scaled_dot_product_attention(*tensors), target=SMALL)) == 0


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(("row", "value"), [(0, np.nan), (39, np.inf)])
def test_skipping_changes_no_value(which: int, row: int, value: float) -> None:
    tensors, out = causal(40, 74)
    outputs = [t.node for t in (out, *wf.grad((out * out).sum(), tensors))]
    env = normal_inputs(outputs)
    env[tensors[which].node][row if which == 0 else row + 34, 1] = value
    program = compiled(outputs, env, target=SMALL)
    assert skipping(program) == 3
    for got, want in zip(execute(program, outputs, env), oracle(outputs, env), strict=True):
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(np.asarray(want)))


TOLERANCES = {dt.float32: 2e-5, dt.float64: 1e-12, dt.float16: 6e-3, dt.bfloat16: 3e-2}
TARGETS = [
    None,
    CudaTarget("sm_80", 1, 163 << 10),
    CudaTarget("sm_80", 1, 99 << 10),
    CudaTarget("sm_75", 1, 64 << 10),
]
extent = st.integers(1, 90)


@pytest.mark.slow
@examples(12, quick=2)
@given(
    extent,
    extent,
    extent,
    st.sampled_from([*TOLERANCES]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(TARGETS),
)
def test_random_shapes(
    rows: int,
    columns: int,
    head: int,
    dtype: DType,
    is_causal: bool,
    with_gradients: bool,
    target: CudaTarget | None,
) -> None:
    tensors = leaf_tensors((2, rows, head), (2, columns, head), (2, columns, head), dtype=dtype)
    out = F.scaled_dot_product_attention(*tensors, is_causal=is_causal)
    gradients = wf.grad((out * out).sum(), tensors) if with_gradients else []
    check(out, *gradients, target=target, tolerance=TOLERANCES[dtype])


# ---------------------------------------------------------------- machine code


def lowered(outputs: list[Node], target: CudaTarget) -> LoweredProgram:
    """Kernels of dense inputs, without code."""
    backend = CudaBackend(CudaSettings(target))
    without = SimpleNamespace(
        strict=False,
        policy=backend.policy,
        lowering=backend.lowering,
        last_cache=backend.last_cache,
        builder=NoCode,
        link=lambda *_: None,
    )
    values = [ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in inputs_of(outputs)]
    return compiler.build(outputs, inputs_of(outputs), values, {}, without).lowered


@pytest.mark.slow
@pytest.mark.skipif(nvrtc.find() is None and nvcc.find() is None, reason="no CUDA compiler")
@pytest.mark.parametrize(
    "target", [CudaTarget("sm_80", 108, 163 << 10), CudaTarget("sm_90a")], ids=lambda t: t.arch
)
def test_sums_stay_in_registers(target: CudaTarget) -> None:
    loops: list[Loops] = []
    for dtype in (dt.float32, dt.bfloat16):
        for head in (64, 128):
            tensors = leaf_tensors(
                (2, 16, 512, head), (2, 16, 512, head), (2, 16, 512, head), dtype=dtype
            )
            out = F.scaled_dot_product_attention(*tensors, is_causal=True)
            outputs = [t.node for t in (out, *wf.grad((out * out).sum(), tensors))]
            loops += [
                k.step.loops
                for k in lowered(outputs, target).kernels
                if k.kernel and k.kernel.kind == "chain"
            ]
    text = "\n".join(emit(replace(each, name=f"k{i}"), target) for i, each in enumerate(loops))
    usage = compile_text(text, target.arch).report
    assert (
        len(loops) == 12
        and {s: u for s, u in usage.items() if u.spill_stores or u.spill_loads or u.local} == {}
    )
    for each in loops:
        assert max(shared_bytes(each, i) for i in range(len(each.phases))) <= target.shared_limit
