"""Reductions in two steps: what is cut, what is fused with it, and that the values stay right."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.inspection.explain.explain import compiled_behind
from weft.ir.passes.centred import RESIDENT_ROWS
from weft.ir.passes.split import LARGE

random = np.random.default_rng(0)


def schedules(*outputs: wf.Tensor) -> list[tuple[tuple[int, ...], str]]:
    """(outer extents, schedule) of each kernel."""
    found = compiled_behind("explain", list(outputs), (), {})
    assert found is not None
    return [(k.kernel.extents, k.lowered.schedule) for k in found.in_order() if k.kernel]


def normal(*shape: int) -> np.ndarray:
    return random.standard_normal(shape, dtype=np.float32)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((262144, 8), (0,)),  # narrow rows: several side by side fill vectors
        pytest.param((209715, 3), (0,), marks=pytest.mark.slow),
        pytest.param((4096, 640), (0,), marks=pytest.mark.slow),
        pytest.param((32768, 64), (0,), marks=pytest.mark.slow),
        ((16, 42, 64, 3), (0, 1, 3)),  # few places around channels
        pytest.param((16, 128, 64, 16), (0, 1, 3), marks=pytest.mark.slow),
        ((724, 724), (0, 1)),  # no divisor near the number of parts wanted
        ((65537,), (0,)),  # no divisor at all
        pytest.param((65537, 2), (0, 1), marks=pytest.mark.slow),
        pytest.param((1009, 1009), (0, 1), marks=pytest.mark.slow),
        ((2, 300001), (0,)),
    ],
    ids=str,
)
def test_long_reductions_of_any_shape_and_kind(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = normal(*shape)
    small = random.integers(-100, 100, shape, dtype=np.int8)
    t, i, exact = wf.tensor(x), wf.tensor(small), x.astype(np.float64)
    with options.override(num_threads=3):
        assert np.allclose(t.sum(axis=axes).numpy(), exact.sum(axis=axes), rtol=1e-5, atol=1e-2)
        assert np.allclose((t * t).sum(axis=axes).numpy(), (exact**2).sum(axis=axes), rtol=1e-5)
        assert np.allclose(
            (t + 1).exp().sum(axis=axes).numpy(), np.exp(exact + 1).sum(axis=axes), rtol=1e-5
        )
        assert (t.max(axis=axes).numpy() == x.max(axis=axes)).all()
        assert ((t + 3).min(axis=axes).numpy() == (x + np.float32(3)).min(axis=axes)).all()
        assert ((t * 0 + 1).prod(axis=axes).numpy() == 1).all()
        assert (i.sum(axis=axes).numpy() == small.sum(axis=axes, dtype=np.int64)).all()
        assert ((t > 4.4).any(axis=axes).numpy() == (x > 4.4).any(axis=axes)).all()


def test_maps_are_part_of_a_sum_whose_extent_has_no_divisors() -> None:
    x = wf.tensor(np.zeros(65537, np.int8))
    assert len(schedules(x.sum())) == 2  # partial sums of the 64-bit values, and their sum


def test_narrow_columns_fill_vectors() -> None:
    with options.override(target="avx512"):
        (extents, schedule), *_ = schedules(
            wf.tensor(np.zeros((262144, 8), np.float32)).sum(axis=0)
        )
    assert extents[-2:] == (8, 8) and "blocks of 64" in schedule and "registers" in schedule


def test_a_transposed_array_is_summed_in_its_order() -> None:
    x = wf.tensor(normal(640, 1024))
    assert [e for e, _ in schedules(x.T.sum())] == [e for e, _ in schedules(x.sum())]
    assert np.allclose(x.T.sum().numpy(), x.numpy().sum(dtype=np.float64), atol=1e-2)


@pytest.mark.slow
@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((LARGE // 640, 640), (0,)),
        ((LARGE + 4096,), (0,)),
        ((3, LARGE // 2), (1,)),
        ((64, 64, LARGE // 4096), (0, 1)),
    ],
    ids=str,
)
def test_mean_and_variance_read_memory_once(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = normal(*shape)
    found = compiled_behind(
        "explain", [(t := wf.tensor(x)).mean(axis=axes), t.var(axis=axes)], (), {}
    )
    assert found is not None
    readers = [
        k for k in found.in_order() if k.kernel and any(n.size == x.size for n in k.kernel.inputs)
    ]
    assert len(readers) == 1
    assert np.allclose(t.mean(axis=axes).numpy(), x.mean(axis=axes, dtype=np.float64), atol=1e-6)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((LARGE // 512, 512), (0,)), ((LARGE,), (0,)), ((3, LARGE // 2 + 3), (1,))],
    ids=str,
)
def test_variance_in_parts_is_stable(
    shape: tuple[int, ...], axes: tuple[int, ...], offset: float
) -> None:
    x = normal(*shape) + np.float32(offset)
    exact = x.astype(np.float64).var(axis=axes)
    tolerance = 1e-6 + offset * 2.0**-24  # means are off by half a unit
    assert np.allclose(wf.tensor(x).var(axis=axes).numpy(), exact, rtol=tolerance, atol=0)


def test_gradients_go_through_a_variance_in_parts() -> None:
    x = normal(LARGE // 512, 512)
    t = wf.tensor(x, requires_grad=True)
    (found,) = wf.grad(t.var(axis=0).sum(), [t])
    expected = 2 * (x - x.mean(axis=0, dtype=np.float64)) / len(x)
    assert np.allclose(found.numpy(), expected, rtol=1e-4, atol=1e-9)


def test_few_rows_are_not_worth_a_second_kernel() -> None:
    assert len(schedules(wf.tensor(np.zeros((RESIDENT_ROWS, 512), np.float32)).var(axis=0))) == 1
    assert len(schedules(wf.tensor(np.zeros((1024, 256), np.float32)).sum(axis=0))) == 1
