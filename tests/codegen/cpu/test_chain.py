"""Chained contractions: attention as one kernel, in numbers, in counts and on every target."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from harness import TARGETS, fused
from hypothesis import given
from hypothesis import strategies as st
from weft import options
from weft.codegen.cpu import lowering
from weft.codegen.cpu.chain.chain import lower_chain
from weft.codegen.kernels.schedule import Schedule, always
from weft.codegen.llvm.target import host
from weft.compiler import compile
from weft.frontend.lazy import realize
from weft.ir.kernels import chain
from weft.ir.ops.interp import run as oracle
from weft.nn import functional as F

random = np.random.default_rng(0)


def normal(*shape, dtype="f4"):
    return random.standard_normal(shape).astype(dtype)


def reference(q, k, v, bias=None):
    """In float64; `bias` is added to the scores."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    with np.errstate(invalid="ignore"):
        p = np.exp(scores - scores.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ v


def no_future(rows, columns):
    return np.where(np.arange(columns) <= np.arange(rows)[:, None], 0.0, -np.inf)


def one_kernel(t):
    (k,) = wf.explain(t).kernels
    assert k.kind == "chain"
    return t


def close(got, want, tolerance=3e-6):
    got = got.numpy() if isinstance(got, wf.Tensor) else got
    np.testing.assert_allclose(
        got.astype("f8"),
        want,
        rtol=tolerance,
        atol=tolerance * np.nanmax(np.abs(want), initial=1.0),
    )


def tensors(*arrays):
    return [wf.tensor(a) for a in arrays]


SHAPES = [  # batch, queries, keys, head, value
    pytest.param((2, 3), 64, 64, 32, 32, marks=pytest.mark.slow),
    ((4,), 70, 45, 16, 24),
    pytest.param((2, 2), 33, 129, 8, 128, marks=pytest.mark.slow),
    ((), 257, 100, 40, 40),
    ((1, 2), 100, 1300, 128, 7),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("batch", "rows", "columns", "head", "width"), SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_attention_of_any_shape(batch, rows, columns, head, width, dtype):
    q, k, v = (
        normal(*batch, n, d, dtype=dtype)
        for n, d in ((rows, head), (columns, head), (columns, width))
    )
    tolerance = 3e-6 if dtype == "f4" else 1e-14
    close(
        one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v))), reference(q, k, v), tolerance
    )
    causal = one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v), is_causal=True))
    close(causal, reference(q, k, v, no_future(rows, columns)), tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [slice(0, 5), slice(1, None, 3)])
def test_what_is_cut_off_the_values_is_no_part_of_the_kernel(cut):
    q, k, v = normal(70, 16), normal(300, 16), normal(300, 24)
    close(
        one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v))[:, cut]),
        reference(q, k, v)[:, cut],
    )
    x, a, b = normal(33, 7), normal(7, 10), normal(10, 24)  # whose space is stored
    q, k, v = tensors(x, a, b)
    close(((q @ k) @ v)[:, cut], (x.astype("f8") @ a @ b)[:, cut])


def test_scores_that_are_gathered_are_no_part_of_the_kernel():
    q, k, v = normal(1, 63, 31), normal(1, 31, 33), normal(3, 33, 16)
    scores = wf.tensor(q) @ wf.tensor(k)
    got = scores[wf.tensor(np.zeros(3, "i8")).realize()] @ wf.tensor(v)
    close(got, (q.astype("f8") @ k)[np.zeros(3, int)] @ v)


def test_a_sum_of_a_row_seen_through_views_is_that_of_its_row():
    q, k, v = normal(70, 16), normal(300, 16), normal(300, 24)
    queries, keys, values = tensors(q, k, v)
    scores = queries @ keys.T / 4.0
    powers = (scores - scores.max(axis=-1, keepdims=True)).exp()
    total = powers.sum(axis=-1, keepdims=True).expand(70, 310).T[:300].T
    close(one_kernel((powers / total) @ values), reference(q, k, v))


@pytest.mark.parametrize("dtype", [wf.float16, *rarely(wf.bfloat16)])
def test_half_inputs_are_summed_in_float32(dtype):
    q, k, v = (wf.tensor(normal(2, 4, 80, 32)).to(dtype) for _ in range(3))
    got = one_kernel(F.scaled_dot_product_attention(q, k, v))
    want = reference(*(t.to(wf.float64).numpy() for t in (q, k, v)))
    assert got.dtype is dtype
    close(got.to(wf.float32), want, 2e-3 if dtype is wf.float16 else 1e-2)


@pytest.mark.slow
def test_rounded_scores_stay_rounded():
    q, k, v = (wf.tensor(normal(2, 4, 80, 32)).to(wf.float16) for _ in range(3))
    p = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    got, want = one_kernel(p @ v), p.numpy().astype("f8") @ v.numpy().astype("f8")
    close(got.to(wf.float32), want, 1e-3)


@pytest.mark.slow
def test_masks_and_biases():
    q, k, v = normal(2, 4, 50, 16), normal(2, 4, 60, 16), normal(2, 4, 60, 16)
    mask = random.random((50, 60)) < 0.5
    mask[7] = False
    bias = normal(2, 1, 50, 60)
    close(
        one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v, mask))),
        reference(q, k, v, np.where(mask, 0, -np.inf)),
    )
    close(
        one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v, bias))),
        reference(q, k, v, bias),
    )
    padding = random.random((2, 1, 1, 60)) < 0.7
    got = one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v), wf.tensor(padding)))
    close(got, reference(q, k, v, np.where(padding, 0, -np.inf)))


def test_a_row_without_keys_is_nan():
    q, k, v = (normal(2, 64, 16) for _ in range(3))
    mask = np.ones((64, 64), bool)
    mask[5] = False
    got = F.scaled_dot_product_attention(*tensors(q, k, v), wf.tensor(mask)).numpy()
    assert np.isnan(got[:, 5]).all() and np.isfinite(np.delete(got, 5, axis=1)).all()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_values_that_are_not_finite_spread_as_in_numpy(value, which):
    arrays = [normal(2, 40, 16), normal(2, 700, 16), normal(2, 700, 16)]
    arrays[which][1, 7, 3] = value
    with np.errstate(invalid="ignore"):
        want = reference(*arrays)
    got = F.scaled_dot_product_attention(*tensors(*arrays)).numpy()
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.slow
def test_attention_as_a_user_writes_it():
    q, k, v = normal(2, 3, 40, 16), normal(2, 3, 50, 16), normal(2, 3, 50, 24)
    a, b, c = tensors(q, k, v)

    def weights():  # anew each time: what is named, and read twice, is stored
        scores = (a @ b.transpose(-1, -2)) * 0.25
        p = (scores - scores.max(axis=-1, keepdims=True)).exp()
        return p, p.sum(axis=-1, keepdims=True)

    p, total = weights()
    close(one_kernel((p / total) @ c), reference(q, k, v))
    p, total = weights()
    close(one_kernel((p @ c) / total), reference(q, k, v))
    p, total = weights()
    close(one_kernel((p @ c) / total + a[..., :1]), reference(q, k, v) + q[..., :1])


@pytest.mark.slow
@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "columns"), [(64, 64), (197, 197), (40, 300), (50, 1024)])
def test_keys_and_values_that_lie_along_the_columns_are_turned_round(target, rows, columns):
    q, k, v = normal(2, rows, 64), normal(2, 64, columns), normal(2, 64, columns)
    queries, keys, values = tensors(q, k, v)
    with options.override(target=target):
        t = F.scaled_dot_product_attention(
            queries, keys.transpose(-1, -2), values.transpose(-1, -2)
        )
        close(one_kernel(t), reference(q, np.swapaxes(k, -1, -2), np.swapaxes(v, -1, -2)))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (65, 80),
        pytest.param(197, 112, marks=pytest.mark.slow),
        pytest.param(256, 64, marks=pytest.mark.slow),
        (1100, 112),
    ],
)
def test_few_rows_of_the_last_block_are_empty(rows, size):
    """The gradients have blocks of 16 rows at any size: they sum over rows, and the order of such a
    sum follows from the blocks."""
    q, k, v, weights = (
        normal(16, rows, 32),
        normal(16, 32, 32),
        normal(16, 32, 32),
        wf.tensor(normal(16, rows, 32)),
    )
    with options.override(target="avx512"):
        inputs = tensors(q, k, v)
        out = F.scaled_dot_product_attention(*inputs)
        (forward,), (both,) = (
            wf.explain(out).kernels,
            wf.explain(wf.grad((out * weights).sum(), inputs)).kernels,
        )
    assert f"blocks of {size} rows" in forward.schedule
    assert "blocks of 16 rows" in both.schedule


@pytest.mark.slow
def test_heads_that_share_keys_and_values():
    q, k, v = normal(2, 6, 40, 16), normal(2, 1, 50, 16), normal(2, 1, 50, 16)
    close(one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v))), reference(q, k, v))
    q, k, v = normal(2, 3, 2, 40, 16), normal(2, 3, 1, 50, 16), normal(2, 3, 1, 50, 16)
    close(one_kernel(F.scaled_dot_product_attention(*tensors(q, k, v))), reference(q, k, v))


def test_heads_split_from_one_projection():
    x = normal(2, 48, 3 * 4 * 16)
    t = wf.tensor(x).reshape(2, 48, 3, 4, 16).permute(2, 0, 3, 1, 4)
    q, k, v = (np.ascontiguousarray(a) for a in x.reshape(2, 48, 3, 4, 16).transpose(2, 0, 3, 1, 4))
    out = F.scaled_dot_product_attention(t[0], t[1], t[2]).permute(0, 2, 1, 3).flatten(2)
    close(one_kernel(out), reference(q, k, v).transpose(0, 2, 1, 3).reshape(2, 48, 64))


@pytest.mark.slow
def test_dropout_of_the_weights_stays_inside():
    q, k, v = tensors(*(normal(2, 4, 64, 16) for _ in range(3)))
    keep = wf.tensor(random.random((2, 4, 64, 64)) < 0.8)
    p = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    got = one_kernel(wf.where(keep, p, 0.0) / 0.8 @ v)
    want = (keep.numpy() * p.numpy() / 0.8).astype("f8") @ v.numpy()
    close(got, want)


def test_weights_that_are_wanted_too_are_stored():
    q, k, v = tensors(*(normal(2, 4, 64, 16) for _ in range(3)))
    p = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    report = wf.explain([p, p @ v])
    assert [k.kind for k in report.kernels] == ["contraction", "rows", "contraction"]


@pytest.mark.slow
def test_columns_in_blocks_give_what_whole_rows_give(monkeypatch):
    """With a small cache the maximum and the sum are rescaled from block to block; masked blocks
    change nothing."""
    q, k, v = normal(3, 50, 16), normal(3, 900, 16), normal(3, 900, 16)
    mask = random.random((50, 900)) < 0.5
    mask[3] = False
    mask[4, :600] = False
    small = replace(host(), l2=1 << 16)
    chain = Schedule(
        "chain",
        always(lambda kernel, strides, _, tuning: lower_chain(kernel, strides, small, tuning)),
    )
    monkeypatch.setattr(lowering, "CHAIN", chain)
    with options.override(cache_dir=None):
        t = F.scaled_dot_product_attention(*tensors(q, k, v), wf.tensor(mask))
        assert "rescaled" in wf.explain(t).kernels[0].schedule
        close(t, reference(q, k, v, np.where(mask, 0, -np.inf)))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target):
    q, k, v = normal(2, 2, 70, 20), normal(2, 2, 90, 20), normal(2, 2, 90, 20)
    with options.override(target=target):
        close(
            F.scaled_dot_product_attention(*tensors(q, k, v), is_causal=True),
            reference(q, k, v, no_future(70, 90)),
        )


@pytest.mark.slow
@pytest.mark.parametrize(("target", "register"), [("avx512", "%zmm"), ("avx2", "%ymm")])
def test_register_tiles_do_not_spill(tmp_path, target, register):
    if target not in TARGETS:
        pytest.skip("needs AVX-512" if target == "avx512" else "needs AVX2")
    arrays = [normal(2, 4, 64, 32) for _ in range(4)]
    with options.override(target=target):
        wf.dump(with_gradients(*arrays), tmp_path)
    (assembly,) = (f.read_text() for f in (tmp_path / "kernels").glob("*.s"))
    loops = [block.split("\n\tj")[0] for block in re.split(r"\n\.L", assembly)]
    tiles = [block for block in loops if block.count("vfmadd") >= 8 and "vmul" not in block]
    assert len(tiles) >= 6
    for block in tiles:
        assert register in block and not re.search(rf"vmov\w+\s+{register}\d+, .*%rsp", block)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits():
    q, k, v = tensors(normal(2, 4, 100, 32), normal(2, 4, 1500, 32), normal(2, 4, 1500, 32))
    found = []
    for threads in (1, 2, 3):
        with options.override(num_threads=threads):
            found.append(F.scaled_dot_product_attention(q, k, v).numpy().tobytes())
    assert len(set(found)) == 1


extent = st.integers(4, 70)


@pytest.mark.slow
@examples(25)
@given(
    st.integers(1, 3),
    extent,
    extent,
    st.integers(1, 40),
    st.integers(4, 40),
    st.booleans(),
    st.sampled_from(["f4", "f8"]),
)
def test_random_shapes(batch, rows, columns, head, width, causal, dtype):
    q, k, v = (
        normal(batch, n, d, dtype=dtype)
        for n, d in ((rows, head), (columns, head), (columns, width))
    )
    got = F.scaled_dot_product_attention(*tensors(q, k, v), is_causal=causal)
    close(
        got,
        reference(q, k, v, no_future(rows, columns) if causal else None),
        5e-6 if dtype == "f4" else 1e-13,
    )


def test_the_loops_interpret_to_what_they_compute():
    q, k, v = tensors(normal(2, 20, 16), normal(2, 30, 16), normal(2, 30, 16))
    with options.override(verify=True, min_chunks=3, serial_threshold=0):
        close(F.scaled_dot_product_attention(q, k, v), reference(q.numpy(), k.numpy(), v.numpy()))


def test_softmax_is_found_by_structure():
    import graphs as g
    from harness import leaf
    from weft.ir.graph import graph

    q, k, v = leaf(4, 64, 32), leaf(4, 64, 32), leaf(4, 64, 32)
    (kernel,) = fused(g.matmul(g.softmax(g.matmul(q, graph.permute(k, (0, 2, 1)))), v)).kernels
    assert kernel.chain is not None and chain.is_online(kernel.chain)
    assert [
        len(axes) for axes in (kernel.chain.batch, kernel.chain.rows, kernel.chain.columns)
    ] == [1, 1, 1]


def test_asking_whether_maps_may_follow_a_chain_changes_nothing():
    import graphs as g
    from harness import leaf
    from weft.ir.graph import graph
    from weft.ir.kernels.groups import Fusion
    from weft.ir.kernels.rules import legal
    from weft.ir.kernels.units import collect

    q, k, v = leaf(4, 64, 32), leaf(4, 64, 32), leaf(4, 64, 32)
    out = g.exp(g.matmul(g.softmax(g.matmul(q, graph.permute(k, (0, 2, 1)))), v))
    f = Fusion(collect([out]))
    after = f.group[f.units.of[out]]
    before = f.group[f.units.of[out.src[0]]]
    form = legal(f, before, after)
    assert list(form.owner) == after.units and before.chain.owner == {}
    f.merge(before, after, form)
    assert before.chain.owner == form.owner


# ---------------------------------------------------------------- gradients


def reference_gradients(q, k, v, cotangent, bias=0.0):
    """(result, gradients of q, k, v) in float64."""
    q, k, v, cotangent = (x.astype("f8") for x in (q, k, v, cotangent))
    scale = 1 / np.sqrt(q.shape[-1])
    p = np.exp(q @ np.swapaxes(k, -1, -2) * scale + bias)
    p /= p.sum(-1, keepdims=True)
    dp = cotangent @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return p @ v, ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ cotangent


def with_gradients(q, k, v, cotangent, **more):
    leaves = tensors(q, k, v)
    out = F.scaled_dot_product_attention(*leaves, **more)
    return [out, *wf.grad((out * wf.tensor(cotangent)).sum(), leaves)]


GRADIENT_SHAPES = [
    pytest.param((2, 4), 64, 64, 32, 32, marks=pytest.mark.slow),
    ((3, 3), 33, 70, 8, 24),
    ((8,), 100, 45, 40, 16),
    pytest.param((2,), 20, 24, 5, 9, marks=pytest.mark.slow),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("batch", "rows", "columns", "head", "width"), GRADIENT_SHAPES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradients_are_one_kernel(batch, rows, columns, head, width, causal):
    shapes = ((rows, head), (columns, head), (columns, width), (rows, width))
    arrays = [normal(*batch, *shape) for shape in shapes]
    got = with_gradients(*arrays, is_causal=causal)
    assert [k.kind for k in wf.explain(got).kernels] == ["chain"]
    wf.realize(*got)
    for x, want in zip(
        got, reference_gradients(*arrays, no_future(rows, columns) if causal else 0.0), strict=True
    ):
        close(x, want)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
def test_gradients_on_every_target(target):
    arrays = [normal(2, 4, 40, 16) for _ in range(4)]
    with options.override(target=target):
        for x, want in zip(with_gradients(*arrays), reference_gradients(*arrays), strict=True):
            close(x, want)


def test_gradients_have_the_same_bits_on_any_number_of_threads():
    arrays = [normal(2, 4, 70, 16) for _ in range(4)]
    found = []
    for threads in (1, 2, 3):
        with options.override(num_threads=threads):
            got = with_gradients(*arrays)
            wf.realize(*got)
            found.append([x.numpy().tobytes() for x in got])
    assert found[0] == found[1] == found[2]


def trained(arrays, weight, **more):
    """A loss that needs the result of an attention, and its gradients: (result, gradients), their
    reference."""
    leaves = tensors(*arrays)
    out = F.scaled_dot_product_attention(*leaves, **more)
    got = [out, *wf.grad((out * out * wf.tensor(weight)).sum(), leaves)]
    bias = no_future(arrays[0].shape[-2], arrays[1].shape[-2]) if more.get("is_causal") else 0.0
    result = reference_gradients(*arrays, weight, bias)[0]
    return got, reference_gradients(*arrays, 2 * result * weight, bias)


def summed_to(x, shape):
    return x.sum(
        tuple(a for a, (m, n) in enumerate(zip(x.shape, shape, strict=True)) if m != n),
        keepdims=True,
    )


TRAINED = [  # batch of queries, of keys; queries, keys, head; kernels
    pytest.param((2, 4), (2, 4), 64, 64, 32, ["chain", "chain"], marks=pytest.mark.slow),
    ((2, 6), (2, 1), 70, 60, 16, ["chain", "chain"]),
    ((), (), 600, 600, 32, ["chain", "rows", "chain", "chain"]),
    pytest.param(
        (2,), (2,), 300, 5000, 16, ["chain", "rows", "chain", "chain"], marks=pytest.mark.slow
    ),
]


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("batch", "shared", "rows", "columns", "head", "kinds"), TRAINED)
def test_gradients_after_a_loss_store_no_scores(batch, shared, rows, columns, head, kinds):
    arrays = [
        normal(*batch, rows, head),
        normal(*shared, columns, head),
        normal(*shared, columns, head),
    ]
    got, wanted = trained(arrays, normal(*batch, rows, head), is_causal=True)
    report = wf.explain(got)
    assert [k.kind for k in report.kernels] == kinds
    stored = math.prod((*batch, rows, columns)) * 4
    assert report.arena_bytes < stored or rows < 100
    wf.realize(*got)
    for x, want in zip(got, wanted, strict=True):
        close(x, summed_to(want, x.shape), 1e-5)


@pytest.mark.slow
@examples(15)
@given(st.sampled_from([(), (3,), (2, 4)]), extent, extent, st.integers(1, 40), st.booleans())
def test_gradients_of_random_shapes(batch, rows, columns, head, causal):
    arrays = [
        normal(*batch, rows, head),
        normal(*batch, columns, head),
        normal(*batch, columns, head),
    ]
    got, wanted = trained(arrays, normal(*batch, rows, head), is_causal=causal)
    wf.realize(*got)
    for x, want in zip(got, wanted, strict=True):
        close(x, want, 2e-5)


@pytest.mark.slow
def test_two_layers_of_attention_are_two_chains_each_way():
    x = wf.tensor(normal(2, 8, 64, 16))
    h = F.scaled_dot_product_attention(x, x, x)
    y = F.scaled_dot_product_attention(h, h, h)
    (g,) = wf.grad((y * y).sum(), [x])
    kinds = [k.kind for k in wf.explain([y, g]).kernels]
    assert kinds.count("chain") == 4 and "contraction" not in kinds


# ---------------------------------------------------------------- what a mask rules out


def masked_reference(q, k, v, cotangent, live):
    """(result, gradients) of where(live, scores, -inf), as the graph has them: a masked score has
    gradient 0."""
    q, k, v, cotangent = (x.astype("f8") for x in (q, k, v, cotangent))
    scale = 1 / np.sqrt(q.shape[-1])
    with np.errstate(invalid="ignore", over="ignore"):
        scores = np.where(live, q @ np.swapaxes(k, -1, -2) * scale, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        total = e.sum(-1, keepdims=True)
        p = e / total
        dp = cotangent @ np.swapaxes(v, -1, -2)
        ds = np.where(live, p * (dp - (dp * p).sum(-1, keepdims=True)) * scale, 0.0)
        return p @ v, ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ cotangent


CAUSAL = np.arange(300) <= np.arange(200)[:, None]


def test_what_a_causal_mask_rules_out_is_skipped():
    q, k, v = tensors(normal(8, 200, 16), normal(8, 300, 16), normal(8, 300, 16))
    assert (
        "skipped"
        in wf.explain(F.scaled_dot_product_attention(q, k, v, is_causal=True)).kernels[0].schedule
    )
    assert "skipped" not in wf.explain(F.scaled_dot_product_attention(q, k, v)).kernels[0].schedule


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("which", [None, 0, *rarely(1), 2, *rarely(3)])
@pytest.mark.parametrize(("row", "value"), [(0, np.nan), (150, np.inf), (199, np.nan)])
@pytest.mark.parametrize("loss", [False, True])
@pytest.mark.parametrize("batch", [1, 8])
def test_skipping_changes_no_value(which, row, value, loss, batch):
    arrays = [
        normal(batch, 200, 16),
        normal(batch, 300, 16),
        normal(batch, 300, 16),
        normal(batch, 200, 16),
    ]
    if which is not None:
        arrays[which][0, row, 5] = value
    *leaves, c = tensors(*arrays)
    out = F.scaled_dot_product_attention(*leaves, is_causal=True)
    cotangent = out * c if loss else c
    got = [out, *wf.grad((out * cotangent.detach()).sum(), leaves)]
    wf.realize(*got)
    used = masked_reference(*arrays, CAUSAL)[0] * arrays[3] if loss else arrays[3]
    for x, want in zip(got, masked_reference(*arrays[:3], used, CAUSAL), strict=True):
        finite = np.isfinite(
            want
        )  # which of inf and NaN an overflowing sum is depends on its order
        np.testing.assert_array_equal(np.isfinite(x.numpy()), finite)
        np.testing.assert_allclose(x.numpy()[finite], want[finite], rtol=2e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "is_masked",
    [
        *rarely(lambda i, j: j > i),
        lambda i, j: j < i,
        lambda i, j: (j > i) | (j < i - 9),
    ],
    ids=["later", "earlier", "outside of a window"],
)
def test_masks_in_the_other_direction_and_windows(is_masked):
    q, k, v = normal(8, 200, 16), normal(8, 300, 16), normal(8, 300, 16)
    masked = is_masked(wf.arange(200).unsqueeze(1), wf.arange(300))
    live = ~is_masked(np.arange(200)[:, None], np.arange(300))
    scores = (wf.tensor(q) @ wf.tensor(k).transpose(-1, -2)) * 0.25
    got = one_kernel(wf.where(masked, float("-inf"), scores).softmax(axis=-1) @ wf.tensor(v))
    close(got, masked_reference(q, k, v, normal(8, 200, 16), live)[0])


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("classes", [*rarely(2, 10), 3, 40])
def test_a_loss_has_the_same_value_with_and_without_its_gradients(classes: int) -> None:
    rng = np.random.default_rng(classes)
    x = wf.tensor(rng.standard_normal((128, 16), dtype=np.float32))
    labels = wf.tensor(rng.integers(0, classes, 128))
    w = wf.tensor(rng.standard_normal((classes, 16), dtype=np.float32), requires_grad=True)

    def loss() -> wf.Tensor:
        return F.cross_entropy(F.linear(x, w), labels)

    alone = loss().item()
    together = loss()
    (grad,) = wf.grad(together, [w])
    wf.realize(together, grad)
    scores = x.numpy().astype(np.float64) @ w.detach().numpy().T
    want = np.log(np.exp(scores).sum(1)) - scores[np.arange(128), labels.numpy()]
    np.testing.assert_allclose([alone, together.item()], want.mean(), rtol=1e-6)


def test_values_read_at_other_places_keep_a_chain_apart():
    """A shifted row maximum, or one score of a row picked by a label, is not a value of the space
    in its place."""
    q, k, v = normal(4, 64, 16), normal(4, 64, 16), normal(4, 64, 16)
    a, b, c = tensors(q, k, v)
    scores = a @ b.transpose(-1, -2)
    m = scores.max(axis=-1)
    shifted = wf.concat([m[:, 1:], m[:, :1]], axis=1).unsqueeze(-1)
    e = (scores - shifted).exp()
    got = (e / e.sum(axis=-1, keepdims=True)) @ c
    s = q.astype("f8") @ np.swapaxes(k, -1, -2)
    w = np.exp(s - np.roll(s.max(-1), -1, axis=1)[..., None])
    close(got, w / w.sum(-1, keepdims=True) @ v, 2e-5)


@pytest.mark.slow
def test_a_space_added_to_its_transpose_is_none():
    q, k, v = normal(4, 48, 16), normal(4, 48, 16), normal(4, 48, 16)
    a, b, c = tensors(q, k, v)
    scores = (a @ b.transpose(-1, -2)) * 0.25
    got = (scores + scores.transpose(-1, -2)).softmax(axis=-1) @ c
    s = q.astype("f8") @ np.swapaxes(k, -1, -2) * 0.25
    w = np.exp(s + np.swapaxes(s, -1, -2))
    close(got, w / w.sum(-1, keepdims=True) @ v, 2e-5)


def test_scores_of_another_dtype_than_the_results_are_stored() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((64, 32)) for _ in range(3))
    single = [wf.tensor(x.astype(np.float32)) for x in (q, k)]
    got = (single[0] @ single[1].T).softmax(axis=-1).to(dtype=wf.float64) @ wf.tensor(v)
    scores = np.exp(q @ k.T - (q @ k.T).max(1, keepdims=True))
    np.testing.assert_allclose(
        got.numpy(), scores / scores.sum(1, keepdims=True) @ v, rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
def test_a_chain_with_gradients_has_one_text():
    """Another process must find its code on disk: no order may depend on where objects lie in
    memory."""
    keys, held = set(), []
    for _ in range(4):
        held.append(
            [object() for _ in range(random.integers(1, 200))]
        )  # moves what is allocated behind
        q, k, v = (wf.tensor(normal(2, 48, 16), requires_grad=True) for _ in range(3))
        out, g = F.scaled_dot_product_attention(q, k, v), wf.tensor(normal(2, 48, 16))
        keys.add(
            tuple(
                compile.build(
                    *realize.graph_of(out, *wf.grad((out * g).sum(), [q, k, v]))
                ).kernel_keys
            )
        )
    assert len(keys) == 1 and len(next(iter(keys))) == 1


def test_a_costly_mask_of_the_scores_that_two_stages_use() -> None:
    """The rectified gradient of a norm between two products looks like this; masks are not stored
    in the space."""
    q, k, v = normal(40, 8), normal(50, 8), normal(50, 6)

    def masked(q, k, v, m):
        s = m.matmul(q, k.T)
        positive = m.exp(m.tanh(s) * 0.5) > 1.0
        total = m.where(positive, s, 0.0).sum(1, keepdims=True)
        return m.matmul(m.where(positive, s - total, 0.0), v)

    out = one_kernel(masked(*tensors(q, k, v), wf))
    close(out, masked(*(x.astype("f8") for x in (q, k, v)), np), 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 600])
def test_what_is_chosen_instead_of_a_quotient_stays_in_rows_without_columns(columns: int) -> None:
    """A row that is masked as a whole has NaN for its softmax; where() puts zeros there, before the
    product."""
    q, k, v = normal(64, 16), normal(columns, 16), normal(columns, 8)
    mask = np.arange(64 * columns).reshape(64, columns) % 3 != 0
    mask[3] = False

    def safe(q, k, v, mask, m):
        scores = m.where(mask, m.matmul(q, k.T), -np.inf)
        powers = m.exp(scores - scores.max(1, keepdims=True))
        return m.matmul(m.where(mask, powers / powers.sum(1, keepdims=True), 0.0), v)

    found = one_kernel(safe(*tensors(q, k, v), wf.tensor(mask), wf))
    with np.errstate(invalid="ignore"):
        close(found, safe(*(x.astype("f8") for x in (q, k, v)), mask, np), 2e-5)
    assert not found.numpy()[3].any()


@pytest.mark.slow
def test_a_contraction_belongs_to_one_chain() -> None:
    """Three 1 x 1 convolutions with norms between them: the second could end the first chain or
    begin the next one."""
    shapes = (4, 8, 9, 9), (16, 8, 1, 1), (16, 16, 1, 1), (8, 16, 1, 1), (4, 8, 9, 9)
    arrays = [normal(*shape) for shape in shapes]

    def gradients(x, u, v, w, g) -> list[wf.Tensor]:
        y = F.batch_norm(F.conv2d(x, u), None, None, training=True)
        y = F.conv2d(F.batch_norm(F.conv2d(y, v), None, None, training=True), w)
        return wf.grad(y, [x, u, v, w], g)

    wide = tensors(*(a.astype("f8") for a in arrays))
    env = {t.node: a.astype("f8") for t, a in zip(wide, arrays, strict=True)}
    wanted = oracle([t.node for t in gradients(*wide)], env)
    for got, want in zip(gradients(*tensors(*arrays)), wanted, strict=True):
        close(got, want, 1e-4)
