"""The order of a sum: the same bits from every schedule that may add it up, whatever shares its
kernel and however its terms lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import weft as wf
from harness import FORCED, schedules
from weft import options
from weft.codegen.cpu import rows_and_maps
from weft.codegen.cpu.rows import RowLowering
from weft.codegen.kernels.schedule import Estimate, Refusal, Schedule
from weft.compiler.programs import on_disk
from weft.frontend.lazy import program_table
from weft.inspection.explain.explain import compiled_behind
from weft.ir.loops.loop import Alloc
from weft.ir.loops.walk import statements

SUMS: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "sum": lambda x: x.sum(axis=-1),
    "sum of columns": lambda x: x.sum(axis=0),
    "sum of both ends": lambda x: x.sum(axis=(0, -1)),
    "sum of products": lambda x: (x * x).sum(axis=-1),
    "variance": lambda x: x.var(axis=-1),
    "variance of columns": lambda x: x.var(axis=0),
    "softmax": lambda x: x.softmax(axis=-1),
    "product": lambda x: (1 + x * 1e-3).prod(axis=-1),
}
SHAPES = [(40, 9), (9, 40), (70, 3), (70, 4), (70, 5), (130, 33), (33, 130), (5, 7, 20), (30, 5000)]


def favoured(s: Schedule[Any]) -> Schedule[Any]:
    """Chosen wherever it does not refuse a kernel."""

    def estimate(k: RowLowering) -> Estimate | Refusal:
        answer = s.estimate(k)
        return replace(answer, cycles=-1.0) if isinstance(answer, Estimate) else answer

    return Schedule(s.name, estimate)


def bits(name: str, t: wf.Tensor, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Of a result, by the schedules of its kernels, each of those that can add it up."""
    found: dict[str, bytes] = {}
    listed = rows_and_maps.ROWS_AND_MAPS
    for s in listed:
        for opts in ({}, FORCED):
            monkeypatch.setattr(program_table, "_programs", program_table.Programs())
            by = tuple(favoured(other) if other is s else other for other in listed)
            with options.override(**opts), monkeypatch.context() as m:
                m.setattr(rows_and_maps, "ROWS_AND_MAPS", by)
                value = SUMS[name](t)
                program = compiled_behind("explain", [value], (), {})
                assert program is not None
                found[" ".join(schedules(program))] = value.numpy().tobytes()
    return found


@pytest.mark.parametrize("axis", [0, 1])
def test_what_shares_the_kernel_changes_no_bit(axis: int) -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal((33, 4)).astype(np.float32))
    costly = x.tanh()
    alone = costly.sum(axis=axis).numpy()
    together = wf.realize(costly.sum(axis=axis), costly, (costly * 3).sum(axis=axis))
    assert (alone == together[0].numpy()).all()


@pytest.mark.parametrize("shape", [(17, 12), (33, 100), (300, 100)], ids=str)
def test_a_product_is_multiplied_in_the_order_of_a_sum(shape: tuple[int, int]) -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32)) * 0.1 + 1
    alone = x.prod(0).numpy()
    together = wf.realize(x.prod(0), x.T * 2)
    assert (alone == together[0].numpy()).all()


@pytest.mark.parametrize("shape", [(3, 65), (30, 65), (9, 7)], ids=str)
def test_a_sum_of_a_matrix_is_walked_as_one_beside_its_shifted_rows(shape: tuple[int, int]) -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    y, rows = x * 1.5, wf.tensor(np.array([2, 0, 1]))
    alone = y.sum().numpy()
    together = wf.realize(y.sum(), wf.pad(y, ((1, 0), (0, 0)))[:-1][rows])
    assert alone == together[0].numpy()


@pytest.mark.parametrize("shape", [(70, 2, 5, 13), (64, 40, 9, 11), (90, 6, 5, 9)], ids=str)
def test_axes_of_a_sum_that_others_walk_apart_are_walked_as_one(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = wf.tensor(rng.standard_normal(shape).astype(np.float32))
    weight = wf.tensor(rng.standard_normal((shape[1], 1, 1)).astype(np.float32))

    def results() -> list[wf.Tensor]:
        costly = x.tanh()
        centred = costly - costly.mean(axis=(1, 2, 3), keepdims=True)
        return [centred.square().sum(axis=(1, 2, 3)), costly * weight, centred * weight]

    program = compiled_behind("explain", results(), (), {})
    assert program is not None and len(schedules(program)) == 1
    total, scaled, normal = (t.numpy() for t in wf.realize(*results()))
    assert (total == results()[0].numpy()).all()
    expected = np.tanh(x.numpy())
    assert np.allclose(scaled, expected * weight.numpy(), atol=1e-6)
    expected -= expected.mean(axis=(1, 2, 3), keepdims=True)
    assert np.allclose(normal, expected * weight.numpy(), atol=1e-6)
    assert np.allclose(total, np.square(expected).sum(axis=(1, 2, 3)), rtol=1e-5)


@pytest.mark.parametrize(("axis", "text"), [(0, "rows: lanes"), (1, "columns: lanes")])
def test_lanes_run_along_the_memory_of_a_transposed_matrix(axis: int, text: str) -> None:
    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    for y in (wf.tensor(x).T.sum(axis=axis), wf.tensor(x).T.var(axis=axis)):
        kernels = wf.explain(y).kernels
        assert [k.schedule.startswith(text) for k in kernels] == [True]
    assert np.allclose(wf.tensor(x).T.sum(axis=axis).numpy(), x.sum(axis=1 - axis), atol=1e-3)


def test_partial_sums_of_many_columns_leave_room_on_the_stack() -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal((500, 600))).T
    sums = [(x * float(i + 1)).tanh().sum(axis=1) for i in range(40)]
    program = compiled_behind("explain", sums, (), {})
    assert program is not None and schedules(program) == ["columns"]
    (kernel,) = program.lowered.kernels
    held = [s.buf for s in statements(kernel.lowered.loops.phases) if isinstance(s, Alloc)]
    taken = sum(b.size * b.dtype.itemsize for b in held)
    assert taken < 256 << 10, "half of the least stack that threads have"


@pytest.mark.thinned
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", SUMS)
def test_every_schedule_adds_up_in_the_same_order(
    name: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    monkeypatch.setattr(on_disk, "load_program", lambda key, symbols: None)
    for t in (wf.tensor(x), wf.tensor(np.ascontiguousarray(x.T)).T):
        found = bits(name, t, monkeypatch)
        assert len(set(found.values())) == 1, list(found)
