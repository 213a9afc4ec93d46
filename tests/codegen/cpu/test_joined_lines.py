"""Choices by position: a line of a join, or a range of its lanes, reads one of the parts, and the
values stay those of NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import weft as wf
from weft.inspection.explain.explain import compiled_behind
from weft.ir.graph.op import Op
from weft.ir.loops.loop import LANES, For, If, Stmt
from weft.ir.loops.walk import all_roots, postorder, statements

random = np.random.default_rng(0)


def lane_loops(y: wf.Tensor) -> list[For]:
    """Of the kernel that gives y."""
    found = compiled_behind("explain", [y], (), {})
    assert found is not None
    *_, last = found.in_order()
    return [s for s in statements(last.step.loops.phases) if isinstance(s, For) and s.kind == LANES]


def choices(loop: For) -> Iterator[object]:
    yield from (n for n in postorder(all_roots(loop.body)) if n.op is Op.WHERE)
    yield from (n for n in postorder(all_roots(loop.body)) if n.op is Op.LOAD and n.arg[2])


def tensors(*shapes: tuple[int, ...]) -> list[wf.Tensor]:
    return [wf.tensor(random.standard_normal(shape, dtype=np.float32)) for shape in shapes]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("count", [2, 5, 32])
def test_each_line_of_a_join_is_copied(count: int) -> None:
    parts = tensors(*((1 + i % 3, 40, 70) for i in range(count)))
    y = wf.concat(parts, 0)
    loops = lane_loops(y)
    assert len(loops) >= count and not any(any(choices(loop)) for loop in loops)
    np.testing.assert_array_equal(y.numpy(), np.concatenate([p.numpy() for p in parts], 0))


def test_positions_that_stand_in_memory_change_no_loop() -> None:
    positions = wf.arange(3)
    wf.realize(positions)
    loops = lane_loops(wf.concat(tensors((1, 40, 70), (2, 40, 70)), 0))
    assert len(loops) >= 2 and not any(any(choices(loop)) for loop in loops)
    np.testing.assert_array_equal(positions.numpy(), np.arange(3))


def test_a_join_of_inner_axes_is_chosen_by_the_row_within_its_block() -> None:
    parts = tensors((6, 3, 400), (6, 5, 400), (6, 1, 400))
    y = wf.concat(parts, 1)
    assert not any(any(choices(loop)) for loop in lane_loops(y))
    np.testing.assert_array_equal(y.numpy(), np.concatenate([p.numpy() for p in parts], 1))


@pytest.mark.parametrize("widths", [(300, 1, 77), (5, 5)], ids=str)
def test_a_join_along_lanes_has_a_loop_for_each_part(widths: tuple[int, ...]) -> None:
    parts = tensors(*((500, width) for width in widths))
    y = wf.concat(parts, 1)
    loops = lane_loops(y)
    assert [loop.extent for loop in loops] == [*widths] and not any(map(any, map(choices, loops)))
    np.testing.assert_array_equal(y.numpy(), np.concatenate([p.numpy() for p in parts], 1))


def test_a_join_along_lines_and_lanes_has_a_loop_for_each_block() -> None:
    a, b, c, d = tensors((20, 50), (20, 9), (30, 50), (30, 9))
    y = wf.concat([wf.concat([a, b], 1), wf.concat([c, d], 1)], 0)
    assert not any(any(choices(loop)) for loop in lane_loops(y))
    np.testing.assert_array_equal(
        y.numpy(), np.block([[a.numpy(), b.numpy()], [c.numpy(), d.numpy()]])
    )


def test_what_is_computed_of_a_join_is_in_every_loop() -> None:
    parts = tensors((7, 900), (2, 900), (3, 900))
    y = wf.concat(parts, 0) * 2 + 1
    assert len(lane_loops(y)) >= 3
    np.testing.assert_array_equal(
        y.numpy(), np.concatenate([p.numpy() for p in parts], 0) * np.float32(2) + np.float32(1)
    )


def test_long_code_is_not_repeated() -> None:
    parts = tensors(*[(4, 900)] * 32)
    y = wf.concat(parts, 0).sin().exp().tanh()
    assert len(lane_loops(y)) == 1
    np.testing.assert_allclose(
        y.numpy(), np.tanh(np.exp(np.sin(np.concatenate([p.numpy() for p in parts], 0)))), atol=1e-6
    )


def test_parts_with_gaps_between_are_zeros_there() -> None:
    (x,) = tensors((24, 30, 50))
    g = wf.grad(sum((x[t] ** 3).sum() for t in range(1, 24, 3)), x)
    loops = lane_loops(g)
    assert not any(any(choices(loop)) for loop in loops)
    expected = np.zeros((24, 30, 50), np.float32)
    expected[1::3] = 3 * x.numpy()[1::3] ** 2
    np.testing.assert_allclose(g.numpy(), expected, rtol=1e-6)


def test_conditions_on_two_axes_and_on_lanes_are_kept_where_they_must_be() -> None:
    (x,) = tensors((12, 70))
    i, j = wf.arange(12).reshape(12, 1), wf.arange(70)
    y = wf.where(
        (i >= 4) & (i < 9) & (j < 33), x, wf.where(i < 2, -x, wf.where(j > 60, 2.0, x * x))
    )
    v, (r, c) = x.numpy(), np.indices((12, 70))
    want = np.where(
        (r >= 4) & (r < 9) & (c < 33),
        v,
        np.where(r < 2, -v, np.where(c > 60, np.float32(2), v * v)),
    )
    np.testing.assert_array_equal(y.numpy(), want)


def nested(body: list[Stmt]) -> int:
    """How many Ifs stand inside each other."""
    return max(
        (nested(s.body) + isinstance(s, If) for s in body if isinstance(s, For | If)), default=0
    )


@pytest.mark.slow
def test_the_ifs_are_a_tree() -> None:
    found = compiled_behind("explain", [wf.concat(tensors(*[(1, 50, 70)] * 32), 0)], (), {})
    assert found is not None
    assert nested(found.in_order()[-1].step.loops.phases) <= 6
