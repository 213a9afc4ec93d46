"""Convolutions and their gradients in the direct schedules: numbers, choices, determinism, machine
code."""

from __future__ import annotations

import re
from collections.abc import Callable

import graphs as g
import numpy as np
import pytest
from contractkit import conv
from effort import examples, rarely
from harness import (
    TARGETS,
    assert_close,
    assert_same_bits,
    check_close,
    compiled,
    execute,
    inputs_of,
    interpret,
    leaf,
    normal_inputs,
    with_caches,
)
from hypothesis import given
from hypothesis import strategies as st
from loopkit import LANES, UNROLL, For, Loops, Store, Var, argument, check_kernel, kernel, load, var
from weft.codegen.cpu.window.problem import sizes, tiles_of, tiles_of_line
from weft.codegen.kernels.loop_axes import balanced
from weft.compiler.compile import Compiled
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import Index
from weft.ir.graph.op import Op
from weft.ir.loops.interp import run
from weft.ir.ops.interp import run as oracle
from weft.ir.symbolic.questions import value_of
from weft.ir.symbolic.scope import Scope


def window_texts(program: Compiled) -> list[str]:
    return [
        k.lowered.schedule
        for k in program.lowered.kernels
        if k.lowered.schedule.startswith("windows")
    ]


# ---------------------------------------------------------------- choices


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("outputs", "lanes"),
    [
        (lambda: conv((8, 1, 28, 28), (6, 1, 5, 5), pad=2)[:1], "lanes over 28 places"),
        (lambda: conv((8, 6, 14, 14), (16, 6, 5, 5))[:1], "lanes over 16 channels"),
        (lambda: conv((8, 6, 14, 14), (16, 6, 5, 5))[1:2], "lanes over 14 places"),
        (lambda: conv((8, 6, 14, 14), (16, 6, 5, 5))[2:], "lanes over 16 channels"),
        (lambda: conv((8, 1, 28, 28), (6, 1, 5, 5), pad=2)[2:], "lanes over 28 terms"),
    ],
    ids=[
        "few channels",
        "many channels",
        "input gradient",
        "weight gradient",
        "weight gradient of few channels",
    ],
)
def test_lanes_run_over_the_axis_that_wastes_fewest(
    outputs: Callable[[], list[Node]], lanes: str
) -> None:
    (text,) = window_texts(compiled(outputs(), target="avx512", min_chunks=1))
    assert lanes in text


def test_a_source_without_padding_is_read_in_place() -> None:
    padded, bare = (
        window_texts(compiled(conv((4, 8, 16, 16), (16, 8, 3, 3), pad=p)[:1]))[0] for p in (1, 0)
    )
    assert "copied" in padded and "read in place" in bare


def test_a_weight_gradient_over_many_places_is_summed_in_parts() -> None:
    """One kernel for the parts, one for their sum; of one image there are no parts."""
    for images, kernels in ((32, 2), (2, 2), (1, 1)):
        program = compiled(conv((images, 2, 20, 20), (16, 2, 3, 3))[2:], min_chunks=1)
        assert len(program.lowered.kernels) == kernels


@pytest.mark.slow
def test_images_too_large_for_a_part_are_cut_along_their_lines_too() -> None:
    (text,) = window_texts(compiled(conv((2, 3, 100, 120), (16, 3, 3, 3))[2:], min_chunks=1))
    assert f"all {98 // 2 * 118} " in text  # 2 parts of an image


@pytest.mark.parametrize("gradient", [False, True])
def test_a_deep_convolution_with_few_results_is_one_kernel(gradient: bool) -> None:
    """Of 4608 products a result, which a weight gradient would sum in parts."""
    outputs = (
        conv((1, 32, 4, 4), (512, 32, 3, 3), pad=1)[1:2]
        if gradient
        else conv((1, 512, 4, 4), (32, 512, 3, 3), pad=1)[:1]
    )
    program = compiled(outputs, min_chunks=1)
    assert len(program.lowered.kernels) == 1
    assert "all 4608 steps" in window_texts(program)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channels", "steps"), [pytest.param(1000, 4500, marks=pytest.mark.slow), (999, 2997)]
)
def test_a_convolution_whose_panels_would_not_fit_is_summed_in_few_parts(
    channels: int, steps: int
) -> None:
    """Each in the schedule of windows."""
    program = close(
        conv((2, channels, 7, 7), (20, channels, 3, 3), pad=1)[:1], threads=(1, 2, 3), min_chunks=1
    )
    (text,) = window_texts(program)
    assert len(program.lowered.kernels) == 2 and f"all {steps} steps" in text


@pytest.mark.slow
def test_a_weight_gradient_of_many_channels_is_summed_in_parts_whose_panels_fit() -> None:
    """It has tasks enough, but 9216 places."""
    outputs = conv((36, 256, 16, 16), (256, 256, 3, 3), pad=1)[2:]
    (text,) = window_texts(compiled(outputs, min_chunks=1))
    assert "lanes over 256 channels" in text and "all 4608 steps" in text


@pytest.mark.parametrize(("target", "lanes"), [("avx2", "3 places"), ("sse2", "6 terms")])
def test_both_results_of_an_update_take_the_memory_of_what_they_replace(
    target: str, lanes: str
) -> None:
    """Each reads what the other overwrites, as with weight decay and momentum."""
    x, w, momentum = (
        leaf(*shape, dtype=dt.float64) for shape in ((1, 1, 50, 8), (8, 1, 3, 3), (8, 1, 3, 3))
    )
    y = g.conv2d(x, w, 1, 0, 1, 1)
    (gradient,) = vjp([y], [leaf(*y.shape, dtype=dt.float64)], [w])
    moved = g.add(g.mul(momentum, g.like(0.9, w)), g.add(gradient, w))
    outputs = [g.sub(w, moved), moved]
    leaves = inputs_of(outputs)
    wishes = {0: leaves.index(w), 1: leaves.index(momentum)}
    env = normal_inputs(outputs)
    program = compiled(outputs, env, wishes, target=target)
    (text,) = window_texts(program)
    assert program.donations == wishes and f"lanes over {lanes}" in text
    for got, want in zip(execute(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-12)


@pytest.mark.slow
def test_groups_keep_the_windows_of_a_weight_gradient() -> None:
    assert (
        len(window_texts(compiled(conv((4, 8, 20, 20), (16, 4, 3, 3), groups=2), min_chunks=1)))
        == 3
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("size", [3, 5, 7])
def test_a_depthwise_convolution_and_its_gradients_are_contractions_over_windows(
    size: int,
) -> None:
    outputs = conv((2, 12, 24, 24), (12, 1, size, size), pad=size // 2, groups=12)
    texts = window_texts(compiled(outputs, min_chunks=1, target="avx2"))
    assert len(texts) == 3
    assert "lanes over 24 places" in texts[0] and "lanes over 24 places" in texts[1]


@pytest.mark.parametrize("kept", [False, True])
def test_lanes_of_depthwise_places_in_other_orders(kept: bool) -> None:
    """Channels last, before and after: neither the weights nor a channel give lanes."""
    x = node(Op.PERMUTE, (leaf(2, 24, 24, 12),), (0, 3, 1, 2))
    y = node(Op.PERMUTE, (g.conv2d(x, leaf(12, 1, 5, 5), 1, 2, 1, 12),), (0, 2, 3, 1))
    (text,) = window_texts(close([node(Op.KEEP, (y,)) if kept else y], target="avx2"))
    assert "lanes over 24 places" in text


def test_places_two_elements_apart_are_lanes_where_there_is_one_channel() -> None:
    outputs = conv((2, 12, 24, 24), (12, 1, 3, 3), 2, 1, 1, 12)[:1]
    (text,) = window_texts(close(outputs, target="avx2"))
    assert "lanes over 12 places" in text


def embedded_conv() -> list[Node]:
    """A convolution over rows of a table, with both gradients."""
    table, ids, w = leaf(40, 6), leaf(8, 12, dtype=dt.int64), leaf(20, 6, 1, 3)
    rows = node(Op.GATHER, (table, ids), (0,))
    x = node(Op.PERMUTE, (graph.reshape(rows, (8, 12, 1, 6)),), (0, 3, 2, 1))
    y = g.conv2d(x, w, 1, 0, 1, 1)
    return [y, *(d for d in vjp([y], [leaf(*y.shape)], [table, w]) if d is not None)]


@pytest.mark.slow
def test_windows_over_gathered_rows_read_a_copy_of_them() -> None:
    outputs = embedded_conv()
    program = check_close(outputs, normal_inputs(outputs, extent=40), min_chunks=1)
    assert len(window_texts(program)) == 3
    assert len([k for k in program.lowered.kernels if k.kernel and k.kernel.kind == "map"]) == 1


def test_products_without_windows_are_left_to_other_schedules() -> None:
    assert not window_texts(compiled([g.matmul(leaf(40, 50), leaf(50, 60))]))
    assert not window_texts(compiled(conv((2, 16, 12, 12), (16, 16, 1, 1))))


@pytest.mark.slow
def test_a_value_whose_axis_is_split_by_a_view_has_windows_where_one_with_axes_has() -> None:
    """What a Linear gives to the first convolution of a generator, say."""
    images = graph.reshape(leaf(2 * 8 * 9 * 9), (2, 8, 9, 9))
    convolved = g.conv2d(images, leaf(16, 8, 3, 3), 1, 1, 1, 1)
    assert len(window_texts(close([convolved]))) == 1
    assert not window_texts(
        compiled([g.matmul(graph.reshape(leaf(288 * 72), (288, 72)), leaf(72, 60))])
    )


def upsampled(x: Node) -> Node:
    """Each place as 2 x 2."""
    n, c, h, w = x.shape
    repeated = node(Op.EXPAND, (x,), ((3, 2), (5, 2)))
    return graph.reshape(repeated, (n, c, 2 * h, 2 * w))


@pytest.mark.slow
@pytest.mark.parametrize("gradient", [False, True])
def test_windows_over_repeated_places_read_a_copy_of_them(gradient: bool) -> None:
    x, w = leaf(2, 8, 6, 6), leaf(16, 8, 3, 3)
    y = g.conv2d(upsampled(x), w, 1, 1, 1, 1)
    outputs = [d for d in vjp([y], [leaf(*y.shape)], [w]) if d] if gradient else [y]
    (text,) = window_texts(close(outputs))
    assert "copied" in text


@pytest.mark.slow
def test_a_view_that_joins_channels_and_splits_places_has_windows() -> None:
    """As the result of a group norm, (groups, channels of one, places)."""
    images = graph.reshape(g.relu(leaf(2, 4, 2, 81)), (2, 8, 9, 9))
    (text,) = window_texts(close([g.conv2d(images, leaf(16, 8, 3, 3), 1, 1, 1, 1)]))
    assert "copied" in text


# ---------------------------------------------------------------- numbers


def close(
    outputs: list[Node], tolerance: float = 1e-5, threads: tuple[int, ...] = (1,), **opts: object
) -> Compiled:
    return check_close(outputs, normal_inputs(outputs), tolerance, threads, **opts)


SHAPES = [
    ((3, 5, 13, 17), (21, 5, 3, 2), 1, 1, 1, 1),
    ((2, 4, 9, 40), (5, 4, 3, 3), 1, 1, 1, 1),
    ((2, 3, 12, 70), (3, 3, 2, 5), 1, 2, 1, 1),
    ((3, 6, 13, 17), (40, 3, 3, 2), 2, 1, 2, 2),
    ((1, 2, 30, 5), (33, 2, 7, 3), 1, 0, 1, 1),
    ((2, 20, 6, 6), (20, 20, 3, 3), 3, 2, 1, 1),
    ((40, 1, 6, 20), (7, 1, 2, 3), 1, 1, 1, 1),
    ((3, 6, 11, 19), (6, 1, 5, 3), 1, 2, 1, 6),
    ((2, 8, 13, 18), (8, 1, 3, 3), 2, 1, 1, 8),
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_target_gives_the_numbers_of_the_oracle(
    shape: tuple[tuple[int, ...], tuple[int, ...], int, int, int, int], target: str
) -> None:
    assert window_texts(close(conv(*shape), target=target))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "dtype", [dt.float64, dt.int32, dt.float16, dt.bfloat16], ids=lambda d: d.name
)
def test_every_dtype(dtype: DType) -> None:
    outputs = conv((3, 5, 11, 18), (18, 5, 3, 3), pad=1, dtype=dtype)
    tolerance = {dt.float64: 1e-13, dt.float16: 2e-3, dt.bfloat16: 2e-2}.get(dtype, 0.0)
    assert window_texts(close(outputs, tolerance))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "shape", [SHAPES[0], *rarely(*SHAPES[1:3]), SHAPES[3], *rarely(SHAPES[4])], ids=str
)
def test_results_are_the_same_bits_on_any_number_of_threads(
    shape: tuple[tuple[int, ...], tuple[int, ...], int, int, int, int],
) -> None:
    assert window_texts(close(conv(*shape), threads=(1, 2, 3)))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_made_before_have_the_bits_of_those_that_each_task_makes(
    shape: tuple[tuple[int, ...], tuple[int, ...], int, int, int, int],
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = conv(*shape)
    env = normal_inputs(outputs)
    found: list[list[np.ndarray]] = []
    for blocks in (10**9, 1):
        monkeypatch.setattr("weft.codegen.cpu.window.task.MANY_BLOCKS", blocks)
        program = compiled(outputs, env, target=target)
        copied = [t for t in window_texts(program) if "copied by" in t]
        assert copied or not shape[3]
        assert all((" before" in t) == (blocks == 1) for t in copied)
        found += [execute(program, outputs, env, threads) for threads in (1, 3)]
    for other in found[1:]:
        assert_same_bits(found[0], other)


@pytest.mark.slow
def test_many_blocks_of_channels_share_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prologue is computed once for each element, not once for each block of channels."""
    with_caches(monkeypatch, l2=1 << 19)
    x, w = leaf(2, 96, 6, 6), leaf(512, 96, 3, 3)
    program = close([g.conv2d(g.relu(x), w, 1, 1, 1, 1)], threads=(1, 2), target="avx2")
    (text,) = window_texts(program)
    assert re.search(r"source copied by \d lines before", text), text


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", ["avx512", "avx2", "sse2"])
@pytest.mark.parametrize(
    "shape",
    [((1, 2, 5, 18), (17, 2, 2, 3)), ((2, 1, 5, 19), (5, 1, 2, 2)), ((3, 1, 8, 9), (4, 1, 3, 3))],
    ids=str,
)
def test_loops_interpreted_equal_the_oracle(
    shape: tuple[tuple[int, ...], ...], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.compiler.backends.cpu.KernelBuilder.want", lambda *_: None
    )  # loops are enough here
    monkeypatch.setattr("weft.compiler.backends.cpu.CpuBackend.link", lambda *_: None)
    outputs = conv(*shape, pad=1)
    env = normal_inputs(outputs)
    program = compiled(outputs, env, target=target)
    assert window_texts(program)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-5)


@examples(60, quick=3)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    def one(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    groups, stride, pad, dilation = one(1, 2), one(1, 3), one(0, 2), one(1, 2)
    depthwise = data.draw(st.booleans())
    kernel_size = one(1, 4), one(1, 4)
    rows, columns = (one(max(1, (k - 1) * dilation + 1 - 2 * pad), 20) for k in kernel_size)
    channels, outs = one(1, 9) * groups, one(1, 20) * groups
    if depthwise:
        groups, outs = channels, channels * one(1, 2)
    x, w = (one(1, 5), channels, rows, columns), (outs, channels // groups, *kernel_size)
    dtype = data.draw(st.sampled_from((dt.float32, dt.float64)))
    close(
        conv(x, w, stride, pad, dilation, groups, dtype),
        2e-5,
        threads=(1, 2, 3),
        target=data.draw(st.sampled_from(["host", *TARGETS])),
    )


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [3, 20])
def test_prologue_and_epilogue_are_part_of_the_kernel(outs: int) -> None:
    x, w, residual = leaf(2, 4, 12, 20), leaf(outs, 4, 3, 3), leaf(2, outs, 12, 20)
    bias = graph.expand(leaf(outs), ((0, 2), (2, 12), (3, 20)))
    y = g.conv2d(g.relu(x), w, 1, 1, 1, 1)
    for last in (g.relu(g.add(y, bias)), g.gelu(g.add(y, bias)), g.add(y, residual)):
        assert len(window_texts(close([last]))) == 1


@pytest.mark.slow
def test_several_outputs_of_one_kernel() -> None:
    y = g.conv2d(leaf(2, 4, 12, 20), leaf(20, 4, 3, 3), 1, 1, 1, 1)
    assert len(close([y, g.relu(y), g.gelu(y)]).lowered.kernels) == 1


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("outs", [4, 16])
@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_a_special_value_reaches_only_the_windows_that_hold_it(outs: int, special: float) -> None:
    """Lanes behind the end of a line, and zeros around the source, must not mix with it."""
    outputs = conv((2, 2, 7, 21), (outs, 2, 3, 3))
    env = normal_inputs(outputs)
    x = next(n for n in env if n.shape == (2, 2, 7, 21))
    env[x][1, 0, 3, 20] = env[x][0, 1, 6, 2] = special
    program = compiled(outputs, env)
    want = oracle(outputs, env)
    for got, right in zip(execute(program, outputs, env), want, strict=True):
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(np.asarray(right)))


@pytest.mark.slow
def test_flipped_and_strided_inputs() -> None:
    x, w = leaf(2, 3, 11, 20), leaf(18, 3, 3, 3)
    flipped = node(Op.FLIP, (x,), (2, 3))
    turned = graph.permute(leaf(2, 20, 11, 3), (0, 3, 2, 1))
    assert window_texts(close([g.conv2d(flipped, w, 1, 1, 1, 1), g.conv2d(turned, w, 1, 1, 1, 1)]))


# ---------------------------------------------------------------- code


@pytest.mark.skipif("avx512" not in TARGETS, reason="needs AVX-512")
@pytest.mark.parametrize(
    ("x", "w", "pad"),
    [
        ((8, 64, 28, 28), (64, 64, 3, 3), 1),
        ((16, 1, 28, 28), (6, 1, 5, 5), 2),
        ((16, 6, 14, 14), (16, 6, 5, 5), 0),
    ],
)
def test_no_loop_of_products_spills(x: tuple[int, ...], w: tuple[int, ...], pad: int) -> None:
    program = compiled(conv(x, w, pad=pad), target="avx512", min_chunks=1)
    for k in program.lowered.kernels:
        if k.lowered.schedule.startswith("windows"):
            loops = [
                body for body in innermost_loops(program.texts(k)["s"]) if body.count("vfmadd") >= 8
            ]
            assert loops and not any(
                "%rsp" in line for body in loops for line in body.splitlines() if "mm" in line
            )


def innermost_loops(assembly: str) -> list[str]:
    """What stands between a label and a jump back to it, without another label."""
    blocks = re.findall(r"^\.(LBB\w+):(.*?)(?=^\.L|\Z)", assembly, re.DOTALL | re.MULTILINE)
    return [
        body.split(back[0])[0]
        for label, body in blocks
        if (back := re.search(rf"\tj\w+\t\.{label}\b", body))
    ]


def square(rows: int, lanes: int, total: int | None = None) -> Loops:
    x, y, i, k = argument("x"), argument("y"), Var("i", rows), Var("k", lanes)
    store = Store(y, var(k) * 40 + var(i), load(x, var(i) * 50 + var(k)))
    inner = For(k, lanes, LANES, [store], total=total)
    return kernel([x, y], For(i, rows, UNROLL, [inner]))


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("rows", "lanes"), [(16, 16), (16, 9), (7, 16), (3, 5), (2, 2), (8, 8), (8, 3), (4, 4), (4, 3)]
)
def test_corners_of_squares_are_transposed(rows: int, lanes: int, target: str) -> None:
    x, y = np.arange(800, dtype=np.float32), np.full(640, -1, np.float32)
    want = y.copy()
    for i in range(rows):
        want[40 * np.arange(lanes) + i] = x[50 * i + np.arange(lanes)]
    check_kernel(square(rows, lanes), [x, y], [x, want], target)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("total", [0, 3, 8])
def test_a_square_is_cut_where_its_lanes_end(total: int, target: str) -> None:
    x, y = np.arange(800, dtype=np.float32), np.full(640, -1, np.float32)
    want = y.copy()
    for i in range(4):
        want[40 * np.arange(total) + i] = x[50 * i + np.arange(total)]
    check_kernel(square(4, 8, total), [x, y], [x, want], target)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "lanes"), [(8, 8), (3, 5)])
def test_two_results_of_a_square_are_transposed(rows: int, lanes: int, target: str) -> None:
    """A value and its mask, as of a convolution with relu that is trained."""
    x, y, positive = argument("x"), argument("y"), argument("positive", dt.bool_)
    i, k = Var("i", rows), Var("k", lanes)
    value, at = load(x, var(i) * 50 + var(k)), var(k) * 40 + var(i)
    above = node(Op.LT, (graph.const(0.0, dt.float32), value))
    stores = [Store(positive, at, above), Store(y, at, value)]
    loops = kernel([x, y, positive], For(i, rows, UNROLL, [For(k, lanes, LANES, [*stores])]))
    given = np.arange(800, dtype=np.float32) - 100
    values, signs = np.full(640, -1, np.float32), np.zeros(640, np.bool_)
    want = values.copy(), signs.copy()
    for row in range(rows):
        there = 40 * np.arange(lanes) + row
        want[0][there] = line = given[50 * row + np.arange(lanes)]
        want[1][there] = line > 0
    check_kernel(loops, [given, values, signs], [given, *want], target)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
def test_both_results_of_a_convolution_are_stored_in_whole_vectors(target: str) -> None:
    """A text's convolution over channels last, with relu, and where it was positive."""
    x, w = leaf(4, 52, 50), leaf(96, 50, 1, 5)
    channels_first = graph.reshape(graph.permute(x, (0, 2, 1)), (4, 50, 1, 52))
    y = g.conv2d(channels_first, w, 1, 0, 1, 1)
    positive = node(Op.LT, (g.like(0.0, y), y))
    results = [positive, node(Op.WHERE, (positive, y, g.like(0.0, y)))]
    program = close(results, target=target, min_chunks=1)
    (lowered,) = program.lowered.kernels
    assert "lanes over 96 channels" in lowered.lowered.schedule
    assert "masked.scatter" not in program.texts(lowered)["ll"]


# ---------------------------------------------------------------- tiles


@pytest.mark.parametrize(
    ("total", "block", "size"),
    [(10, 10, 3), (14, 6, 3), (14, 9, 3), (64, 64, 6), (5, 3, 3), (7, 8, 8), (9, 4, 2), (6, 6, 6)],
)
def test_tiles_of_all_blocks_cover_everything_once(total: int, block: int, size: int) -> None:
    y, part, first = argument("y", size=total), Var("g", -(-total // block)), Var("i", size)

    def tile(at: Index, n: int) -> list[For]:
        one = Var("i", n)
        value = graph.scalar_node(
            Op.ADD,
            (load(y, var(part) * block + at + var(one)), graph.const(1, dt.float32)),
            None,
            dt.float32,
        )
        return [For(one, n, UNROLL, [Store(y, var(part) * block + at + var(one), value)])]

    assert first.extent == size
    loops = kernel([y], *tiles_of(total, block, size, var(part), tile), chunk=part)
    counts = np.zeros(total, np.float32)
    run(loops, [counts])
    np.testing.assert_array_equal(counts, 1)


@pytest.mark.parametrize("most", [1, 3, 8])
def test_balanced_tiles_and_sizes_cover_everything(most: int) -> None:
    for n in range(1, 30):
        assert (
            sum(size * count for size, _, count in balanced(n, most)) == n
            and max(s for s, _, _ in balanced(n, most)) <= most
        )
        assert sum(size * count for size, count in sizes(n, most)) == n


@pytest.mark.parametrize("places", range(2, 9))
def test_tiles_of_two_sizes_cover_a_line_of_any_length(places: int) -> None:
    scope = Scope()
    cells = tiles_of_line(scope.symbol("n", places), places, again=True)
    for length in range(places, 90):
        with scope.at([length]):
            numbers = [tuple(map(value_of, cell)) for cell in cells]
        spans = [(first + i * size, size) for size, first, count in numbers for i in range(count)]
        assert {x for first, size in spans for x in range(first, first + size)} == {*range(length)}
        assert len(spans) == -(-length // places), "as few as possible"
        if length >= places * (places - 1):
            assert sum(size for _, size in spans) == length, "nothing is computed twice"
