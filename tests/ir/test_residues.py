"""Residue classes: they cover every index once, leave out only products that are 0, and give the
gradients of strided windows."""

from __future__ import annotations

from itertools import product
from math import prod

import graphs as g
import numpy as np
import pytest
from contractkit import input_gradient
from effort import examples, rarely
from harness import check_close, compiled, interpret, leaf, normal_inputs
from hypothesis import given
from hypothesis import strategies as st
from weft.codegen.kernels.contraction import analyse, groups_extent
from weft.codegen.kernels.residues import Residues, classes
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph.index import Index, Mask, Range, Var, mask_of, var
from weft.ir.ops.interp import run as oracle

# ---------------------------------------------------------------- indices and masks


def values(at: list[Index], axes: list[Var]) -> list[tuple[int, ...]]:
    """What the indices are at every place of the axes."""
    places = product(*(range(v.extent) for v in axes))
    by = [dict(zip(axes, (Index(const=i) for i in place), strict=True)) for place in places]
    return [tuple(e.substitute(b).const for e in at) for b in by]


def holds(mask: Mask, axes: list[Var], place: tuple[int, ...]) -> bool:
    by = {v: Index(const=i) for v, i in zip(axes, place, strict=True)}
    return all(r.lo <= r.index.substitute(by).const < r.hi for r in mask)


def covered(
    found: list[Residues], kept: list[Var], reduced: list[Var]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Every index of a result that the classes write, and every term that they sum."""
    results, terms = [], []
    for c in found:
        results += values([c.at[v] for v in kept], c.kept)
        if c.reduced is not None:
            terms += values([c.at[v] for v in [*kept, *reduced]], [*c.kept, *c.reduced])
    return results, terms


@examples(150)
@given(st.data())
def test_classes_cover_each_result_once_and_every_term_under_the_mask(data: st.DataObject) -> None:
    small = st.integers(1, 5)
    kept, reduced = (
        [Var(name, data.draw(st.integers(2, 7))) for name in names]
        for names in (("i", "j"), ("k", "l"))
    )
    tests = []
    for v, w in zip(kept, reduced, strict=True):
        e = var(v) - var(w) * data.draw(small) + data.draw(st.integers(-3, 9))
        tests.append(Range(e % data.draw(small), 0, 1))
    mask = mask_of(tests)
    results, terms = covered(classes(kept, reduced, mask), kept, reduced)
    assert sorted(results) == sorted(values([var(v) for v in kept], kept))
    assert len(set(terms)) == len(terms)
    axes = [*kept, *reduced]
    needed = {place for place in values([var(v) for v in axes], axes) if holds(mask, axes, place)}
    assert needed <= set(terms)


def test_no_term_outside_of_the_mask_is_left_where_the_dilation_has_an_inverse() -> None:
    kept, reduced = [Var("i", 11)], [Var("k", 7)]
    for stride, dilation in ((2, 1), (3, 2), (4, 3), (4, 2), (6, 4)):
        mask = mask_of([Range((var(kept[0]) - var(reduced[0]) * dilation + 3) % stride, 0, 1)])
        _, terms = covered(classes(kept, reduced, mask), kept, reduced)
        assert all(holds(mask, [*kept, *reduced], place) for place in terms)


def test_residues_in_step_are_one_class() -> None:
    i, k = Var("i", 224), Var("k", 8)
    (wrapped, straight) = classes([i], [k], mask_of([Range((var(i) - var(k) + 1) % 4, 0, 1)]))
    assert sorted(prod(v.extent for v in c.kept) for c in (wrapped, straight)) == [56, 168]
    assert [[v.extent for v in c.reduced or []] for c in (wrapped, straight)] == [[2], [2]]


def test_without_congruences_the_axes_stay() -> None:
    kept, reduced = [Var("i", 5)], [Var("k", 3)]
    (only,) = classes(kept, reduced, mask_of([Range(var(kept[0]) - var(reduced[0]), 0, 4)]))
    assert (
        only.kept == kept
        and only.reduced == reduced
        and only.at == {v: var(v) for v in [*kept, *reduced]}
    )


@examples(200)
@given(st.data())
def test_a_mask_keeps_its_meaning(data: st.DataObject) -> None:
    axes = [Var("i", 6), Var("k", 4)]
    number = st.integers(-6, 6)
    ranges = []
    for _ in range(3):
        e = var(axes[0]) * data.draw(number) + var(axes[1]) * data.draw(number) + data.draw(number)
        lo = data.draw(number)
        ranges.append(Range(e, lo, lo + data.draw(st.integers(1, 9))))
    mask = mask_of(ranges)
    assert len({r.index.terms for r in mask}) == len(mask)
    for place in product(range(6), range(4)):
        assert holds(mask, axes, place) == holds(tuple(ranges), axes, place)


# ---------------------------------------------------------------- gradients of windows

GRADIENTS = {
    "even": ((2, 8, 12, 12), (16, 8, 3, 3), 2, 1, 1, 1),
    "odd": ((2, 6, 13, 11), (9, 6, 3, 3), 2, 1, 1, 1),
    "cut": ((1, 8, 12, 15), (16, 8, 3, 2), 3, 0, 1, 1),  # the last windows do not reach the end
    "five": ((1, 3, 17, 16), (20, 3, 5, 5), 2, 2, 1, 1),
    "in step": ((2, 5, 16, 16), (12, 5, 4, 4), 4, 0, 1, 1),
    "steps and one": ((1, 5, 16, 17), (12, 5, 6, 5), 4, 1, 1, 1),
    "dilated": ((1, 8, 16, 19), (8, 8, 3, 3), 2, 2, 3, 1),
    "dilated evenly": ((1, 8, 16, 19), (8, 8, 3, 3), 2, 2, 2, 1),
    "gaps": ((2, 8, 9, 9), (16, 8, 1, 1), 2, 0, 1, 1),
    "wide gaps": ((2, 8, 11, 11), (16, 8, 2, 1), 4, 0, 1, 1),
    "groups": ((2, 8, 12, 12), (16, 4, 3, 3), 2, 1, 1, 2),
    "depthwise": ((2, 6, 12, 12), (6, 1, 3, 3), 2, 1, 1, 6),
    "depthwise in step": ((2, 6, 12, 16), (6, 1, 4, 4), 2, 0, 1, 6),
    "depthwise with gaps": ((2, 6, 13, 13), (6, 1, 2, 2), 3, 0, 1, 6),
    "line": ((2, 8, 1, 40), (8, 8, 1, 5), 4, 2, 1, 1),
    "wider than the image": ((4, 16, 3, 3), (16, 16, 3, 3), 4, 1, 1, 1),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("target", ["host", "avx2", "sse2"])
def test_input_gradients(name: str, target: str) -> None:
    outputs = [input_gradient(*GRADIENTS[name])]
    env = normal_inputs(outputs)
    program = check_close(outputs, env, threads=(1, 2, 3), target=target)
    windows_overlap = all(d > GRADIENTS[name][2] for d in GRADIENTS[name][1][2:])
    assert not windows_overlap or len(program.lowered.kernels) == 1


INTERPRETED = ["odd", "dilated", "gaps", "groups", "depthwise with gaps"]


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "name", [*INTERPRETED, *rarely(*(name for name in GRADIENTS if name not in INTERPRETED))]
)
def test_loops_of_input_gradients(name: str) -> None:
    outputs = [input_gradient(*GRADIENTS[name])]
    env = normal_inputs(outputs)
    (got,) = interpret(compiled(outputs, env), outputs, env)
    np.testing.assert_allclose(got, np.asarray(oracle(outputs, env)[0]), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [dt.float64, dt.float16, dt.bfloat16])
def test_dtypes(dtype: dt.DType) -> None:
    outputs = [input_gradient((1, 8, 11, 12), (12, 8, 3, 3), 2, 1, 1, 1, dtype=dtype)]
    tolerance = {dt.float16: 1e-3, dt.bfloat16: 8e-3}.get(dtype, 1e-12)
    check_close(outputs, normal_inputs(outputs), tolerance, threads=(1, 3))


@examples(60, quick=6)
@given(st.data())
def test_any_strided_gradient(data: st.DataObject) -> None:
    kernel = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    stride, padding, dilation = (
        data.draw(st.integers(1, 5)),
        data.draw(st.integers(0, 3)),
        data.draw(st.integers(1, 3)),
    )
    reach = (max(kernel) - 1) * dilation + 1
    size = [data.draw(st.integers(max(1, reach - 2 * padding), reach + 12)) for _ in range(2)]
    channels, out, groups = (
        data.draw(st.integers(1, 9)),
        data.draw(st.integers(1, 17)),
        data.draw(st.integers(1, 2)),
    )
    x = (data.draw(st.integers(1, 2)), channels * groups, *size)
    outputs = [
        input_gradient(x, (out * groups, channels, *kernel), stride, padding, dilation, groups)
    ]
    check_close(outputs, normal_inputs(outputs), threads=(1, 2))


@pytest.mark.slow
def test_epilogue_and_prologue_stay_in_the_kernel() -> None:
    """A rectified result before the convolution, and the sum with another gradient behind it."""
    x, w = leaf(2, 8, 12, 12), leaf(16, 8, 3, 3)
    y = g.relu(g.conv2d(x, w, 2, 1, 1, 1))
    (gradient,) = vjp([y], [leaf(*y.shape)], [x])
    assert gradient is not None
    outputs = [g.add(gradient, leaf(2, 8, 12, 12))]
    program = check_close(outputs, normal_inputs(outputs), threads=(1, 3))
    assert "residue classes" in program.lowered.kernels[-1].lowered.schedule


def test_a_depthwise_gradient_is_split_as_well() -> None:
    program = compiled([input_gradient(*GRADIENTS["depthwise"])])
    (kernel,) = program.lowered.kernels
    assert kernel.lowered.schedule.startswith("4 residue classes")


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("how", [(3, 2), (3, 1), (2, 3), (4, 3)])
def test_gradients_of_pools(how: tuple[int, int]) -> None:
    x = leaf(2, 3, 17, 19)
    y = g.max_pool(x, *how)
    (gradient,) = vjp([y], [leaf(*y.shape)], [x])
    assert gradient is not None
    check_close([gradient], normal_inputs([gradient]), threads=(1, 3))


def test_no_product_with_a_zero_between_strides_is_computed() -> None:
    program = compiled([input_gradient((2, 8, 16, 16), (16, 8, 4, 4), 2, 0, 1, 1)])
    (kernel,) = (k.kernel for k in program.lowered.kernels)
    assert kernel is not None
    problems = analyse(kernel, {}, program.backend.target)
    assert (
        sum(groups_extent(p.batch) * p.m * p.n * p.k for p in problems)
        == 2 * 16 * 8 * 16 * 16 * 2 * 2
    )
