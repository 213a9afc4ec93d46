"""Lazy loops that read in every turn: programs repeat, no value is computed more than twice, memory
stays."""

from __future__ import annotations

import gc
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from commandkit import python
from effort import examples, rarely
from fuzz_turns import check, random_loop
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from weft.errors import GrowthWarning
from weft.frontend.lazy import carried, computed, growth, program_table, realize, state
from weft.frontend.lazy.program_table import statistics
from weft.ir.graph import graph

F = wf.nn.functional
TURNS = 12
Loop = Callable[[int, bool], Iterator[float]]  # turns; does each end with wf.realize of its state


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process, and growth is an error."""
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    monkeypatch.setattr(growth, "_warned", set())
    monkeypatch.setattr(growth.Seen, "repeated", 0)
    monkeypatch.setattr(growth.Seen, "repeating", 0)


def random_matrix(*shape: int) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(0).standard_normal(shape))


# ---------------------------------------------------------------- the loops


def power_iteration(turns: int, realized: bool) -> Iterator[float]:
    a, v = random_matrix(30, 30), wf.ones(30, dtype=wf.float64)
    for _ in range(turns):
        w = a @ v
        size = w.norm()
        v = w / size
        if realized:
            wf.realize(v, size)
        yield size.item()


def k_means(turns: int, realized: bool) -> Iterator[float]:
    points = random_matrix(200, 3)
    centres = points[:4]
    for _ in range(turns):
        squares = ((points[:, None] - centres) ** 2).sum(axis=-1)
        nearest = squares.argmin(axis=1)
        total = squares.min(axis=1).sum()
        chosen = (nearest[:, None] == wf.arange(4)).astype(wf.float64)
        new = (chosen.T @ points) / chosen.sum(axis=0)[:, None]
        if realized:
            wf.realize(new, total)
        yield total.item()
        centres = new


def state_of_the_last_turn(turns: int, realized: bool) -> Iterator[float]:
    x, m = wf.ones(20, dtype=wf.float64), random_matrix(20, 20)
    for _ in range(turns):
        old = x
        x = (m @ x / 10).tanh() + 0.1
        if realized:
            wf.realize(x)
        yield (x - old).abs().max().item()


def scalar_state(turns: int, realized: bool) -> Iterator[float]:
    x = wf.tensor(0.3, dtype=wf.float64)
    for _ in range(turns):
        x = x - (x.cos() - x) / (-x.sin() - 1.0)
        if realized:
            wf.realize(x)
        yield (x.cos() - x).abs().item()


def descent(turns: int, realized: bool) -> Iterator[float]:
    m, w = random_matrix(30, 5), wf.zeros(5, dtype=wf.float64)
    for _ in range(turns):
        w = w.detach().requires_grad_()
        loss = ((m @ w - 1) ** 2).mean()
        w = w - 0.1 * wf.grad(loss, w)
        if realized:
            wf.realize(w, loss)
        yield loss.item()


def observed_as_a_whole(turns: int, realized: bool) -> Iterator[float]:
    y = wf.arange(10.0)
    for _ in range(turns):
        y = (y * 1.5).sin()
        if bool((y > 0.5).any()):
            y = y * 0.5
        if realized:
            wf.realize(y)
        yield float(y.sum().item())


LOOPS: list[Loop] = [
    power_iteration,
    k_means,
    state_of_the_last_turn,
    scalar_state,
    descent,
    observed_as_a_whole,
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_no_program_is_new_after_a_few_turns(loop: Loop) -> None:
    expected = list(loop(TURNS, True))
    found, built = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in loop(TURNS, False):
            found.append(value)
            built.append(statistics["built"] + statistics["generalised"])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert built[-1] == built[5], f"programs after each turn: {built}"


@pytest.mark.thinned(to=1)
@pytest.mark.usefixtures("young_objects")
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_loop_keeps_no_more_the_longer_it_runs(loop: Loop) -> None:
    alive = []
    for _ in loop(40, False):
        gc.collect()
        alive.append(len(graph.interned))
    assert max(alive[30:]) <= max(alive[10:20])


@pytest.mark.slow
@examples(40)
@given(st.data())
def test_random_loops_agree_with_numpy_and_settle(data: DataObject) -> None:
    check(random_loop(lambda n: data.draw(st.integers(0, n - 1))))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(4), *rarely(range(4, 40))])
def test_seeded_loops_agree_with_numpy_and_settle(seeds: range) -> None:
    for seed in seeds:
        check(random_loop(random.Random(seed).randrange))


# ---------------------------------------------------------------- what is kept, and when


def outputs_of_runs(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[int, ...]]]:
    """The shapes of what each program from now on stores."""
    shapes: list[list[tuple[int, ...]]] = []
    found = realize.find

    def find(key: object, capture: object) -> object:
        program = found(key, capture)  # type: ignore[arg-type]
        shapes.append([n.shape for n in program.outputs])
        return program

    monkeypatch.setattr(realize, "find", find)
    return shapes


def test_a_value_that_is_read_twice_is_stored_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = outputs_of_runs(monkeypatch)
    y = random_matrix(6, 6).softmax(axis=0)
    sums = y.sum().item(), y.max().item(), y.min().item()
    assert stored == [[()], [(), (6, 6)], [()]]
    np.testing.assert_allclose(sums, (6.0, y.numpy().max(), y.numpy().min()))


def test_what_nobody_waits_for_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = outputs_of_runs(monkeypatch)
    x = random_matrix(6, 6)
    for _ in range(4):
        x.softmax(axis=0).max().item()
    assert stored == [[()]] * 4


def test_the_smaller_value_behind_a_broadcast_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = outputs_of_runs(monkeypatch)
    x = random_matrix(8).cumsum()
    differences = x[:, None] - x[None, :]
    for _ in range(3):
        (differences**2).sum().item()
    assert stored == [[()], [(), (8,)], [()]]


def test_of_large_scores_the_factors_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed, "LARGE", 1000)
    stored = outputs_of_runs(monkeypatch)
    rows, columns = random_matrix(40, 4).cumsum(axis=0), random_matrix(50, 4).cumsum(axis=0)
    scores = rows @ columns.T
    weights = (scores - scores.max(axis=1, keepdims=True)).exp()
    for _ in range(3):
        weights.sum().item()
    assert [sorted(shapes) for shapes in stored] == [[()], [(), (40,), (40, 4), (50, 4)], [()]]


def test_masks_of_counters_are_computed_where_they_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = outputs_of_runs(monkeypatch)
    mask, x = wf.arange(8)[:, None] >= wf.arange(8), random_matrix(8, 8)
    for k in range(4):
        wf.where(mask, x, float(k)).sum().item()
    assert stored == [[()]] * 4


def test_numbers_that_programs_fold_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, w = outputs_of_runs(monkeypatch), random_matrix(6, 5).requires_grad_()
    for _ in range(4):
        loss = ((random_matrix(8, 6) @ w) ** 2).mean(1).mean()  # alive in the next turn
        (slope,) = wf.grad(loss, [w])
        loss.item(), slope.numpy()
    assert stored == [[()], [(6, 5)]] * 4


def test_a_gradient_of_what_was_kept_still_flows_to_its_leaf() -> None:
    p = wf.tensor(np.linspace(0.1, 1.0, 5), requires_grad=True)
    h = (p * 2).exp()
    total = wf.tensor(0.0, dtype=wf.float64)
    for k in range(4):
        total = total + (h * float(k)).sum()
        total.item()
    total.backward()
    np.testing.assert_allclose(p.grad.numpy(), 2 * np.exp(2 * np.linspace(0.1, 1.0, 5)) * 6)


@pytest.mark.slow
def test_a_tensor_that_a_gradient_is_asked_by_stays_the_same() -> None:
    layer = wf.nn.Linear(4, 1)
    x = wf.rand(3, 4) + wf.rand(3, 4)
    scores = layer(x).tanh()
    for _ in range(3):
        (scores * 2).sum().item()
        (x * 3).sum().item()
    assert wf.grad(scores.sum(), x).shape == (3, 4)


def test_an_index_out_of_range_in_a_loop_changes_nothing() -> None:
    x, table = wf.arange(4.0), wf.tensor([1.0, 2.0, 3.0])
    kept = (x.cumsum() * 2).sin()
    kept.sum().item()
    with pytest.raises(IndexError, match="out of range"):
        (kept.sum() + table[wf.tensor([5])].sum() + kept.max()).item()
    np.testing.assert_allclose(kept.numpy(), np.sin(np.cumsum(np.arange(4.0)) * 2), rtol=1e-6)
    assert kept.sum().item() == pytest.approx(float(kept.numpy().sum()))


def test_what_is_kept_is_never_overwritten_by_an_update() -> None:
    p = wf.tensor(np.ones(4), requires_grad=True)
    h = p.exp()
    w = (wf.zeros(4, dtype=wf.float64) + 1).cumsum()
    seen = []
    for _ in range(5):
        seen.append(((h * w).sum().item(), (w + 1).sum().item()))
        w += 0.0
    assert len({round(a, 9) for a, _ in seen}) == 1 and len({b for _, b in seen}) == 1


def test_a_constant_that_a_loop_reads_stays_one() -> None:
    x, nothing = random_matrix(5, 5), []
    for _ in range(4):
        x = x.cumsum(axis=0)
        nothing.append(wf.zeros((), dtype=wf.float64))
        wf.realize(x.sum(), nothing[-1])
    assert wf.zeros(2, 3, dtype=wf.float64).strides == (3, 1)


def test_a_loop_beside_much_that_waits_looks_at_little_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(carried, "MOST_SEEN", 100)
    waiting = [random_matrix(3, 3).cumsum(axis=0) for _ in range(500)]
    seen, walk = [], carried._walk

    def walked(*args: Any) -> float:
        left = walk(*args)
        seen.append(len(args[2]))
        return left

    monkeypatch.setattr(carried, "_walk", walked)
    numbers = [*power_iteration(8, False)]
    assert 50 <= max(seen) <= 200 and numbers == pytest.approx([*power_iteration(8, True)])
    assert waiting[0].sum().item() == pytest.approx(
        random_matrix(3, 3).numpy().cumsum(axis=0).sum()
    )


def test_growth_that_nothing_stops_warns_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed, "LARGE", -1)
    monkeypatch.setattr(state, "lazy_tensors", lambda all_tensors: [])
    with pytest.warns(GrowthWarning, match=r"wf\.realize") as caught:
        list(power_iteration(6, False))
    assert [w.lineno for w in caught] == [power_iteration.__code__.co_firstlineno + 3]


def test_data_that_every_program_reads_make_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = outputs_of_runs(monkeypatch)
    x = random_matrix(5, 5).cumsum(axis=0)
    for k in range(5):
        z = (x * float(k)).exp()
        z.sum().item()
    assert stored == [[()], [(), (5, 5), (5, 5)], [()], [()], [()]]


@pytest.mark.slow
def test_a_loop_has_the_same_programs_whatever_other_threads_there_are() -> None:
    code = """
import sys, threading
import numpy as np, weft as wf
from weft.frontend.lazy.program_table import statistics
over, ready, kept = threading.Event(), threading.Event(), []
def work():
    kept.extend((wf.ones(7) * k).cumsum(axis=0) for k in range(5))
    kept[0].sum().item()
    ready.set()
    over.wait()
if sys.argv[1] == "beside":
    other = threading.Thread(target=work)
    other.start()
    ready.wait()
before = statistics["built"]
a, v = wf.tensor(np.random.default_rng(0).standard_normal((30, 30))), wf.ones(30, dtype=wf.float64)
for _ in range(6):
    w = a @ v
    v = w / w.norm()
    v.sum().item()
print(statistics["built"] - before, v.numpy().tobytes().hex())
over.set()
assert all(t._stored() is None for t in kept[1:])
"""
    alone, beside = (python(Path(), "-c", code, how) for how in ("alone", "beside"))
    assert alone.stdout and alone.stdout == beside.stdout, beside.stderr
