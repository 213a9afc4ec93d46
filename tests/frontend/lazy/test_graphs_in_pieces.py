"""Long graphs that repeat are computed in pieces: few programs, the same values, nothing of it
where it would cost time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from fuzz_turns import check_unread, random_loop
from weft.frontend.lazy import pieces, program_table, realize
from weft.frontend.lazy.program_table import statistics

Built = Callable[[], int]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Built:
    """How many programs have been made since the test began, as in a new process."""
    (wf.zeros(1) + 1).realize()  # what other tests have left pending
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    before = statistics["built"] + statistics["generalised"]
    return lambda: statistics["built"] + statistics["generalised"] - before


def test_a_history_of_500_turns_is_a_few_short_programs(built: Built) -> None:
    x, want = wf.tensor(0.3, dtype=wf.float64), [0.3]
    history = []
    for _ in range(500):
        x = 3.7 * x * (1 - x)
        history.append(x)
        want.append(3.7 * want[-1] * (1 - want[-1]))
    found = wf.stack(history).numpy()
    np.testing.assert_allclose(
        found[:60], want[1:61], rtol=1e-9
    )  # later turns amplify every rounding
    assert built() <= 4


@pytest.mark.slow
def test_values_that_were_read_on_the_way_are_those_of_the_history() -> None:
    x = wf.tensor(0.3)
    history = [x := 3.7 * x * (1 - x) for _ in range(150)]
    whole = wf.stack(history).numpy()
    x = wf.tensor(0.3)
    for k in range(150):
        x = 3.7 * x * (1 - x)
        assert x.item() == whole[k]


@pytest.mark.slow
def test_equal_expressions_of_300_scalars_are_a_few_programs(built: Built) -> None:
    values = np.linspace(-3, 3, 300)
    found = wf.stack([(wf.tensor(v) * 2).sin() for v in values]).numpy()
    np.testing.assert_allclose(found, np.sin(values * 2), rtol=1e-13, atol=1e-15)
    assert built() <= 4


@pytest.mark.slow
def test_copies_that_share_values_are_told_apart(built: Built) -> None:
    table = np.random.default_rng(0).standard_normal(20)
    x = wf.tensor(table)
    rows = []
    for k in range(20):
        total = wf.tensor(0.0, dtype=wf.float64)
        for j in range(20):
            total = total + x[j] * wf.cos(wf.tensor(2 * np.pi * j * k / 20, dtype=wf.float64))
        rows.append(total)
    np.testing.assert_allclose(wf.stack(rows).numpy(), np.fft.fft(table).real, atol=1e-12)
    assert built() <= 6


def test_batches_that_only_a_buffer_waits_for_are_one_program_each(built: Built) -> None:
    layer = wf.nn.BatchNorm1d(5)
    batches = np.random.default_rng(0).standard_normal((40, 8, 5)).astype("float32")
    mean = np.zeros(5, "float32")
    for batch in batches:
        layer(wf.tensor(batch))
        mean = 0.9 * mean + 0.1 * batch.mean(axis=0)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5, atol=1e-6)
    assert built() <= 10


@pytest.mark.slow
def test_gradients_through_many_turns() -> None:
    w = wf.tensor(np.array([0.5, -0.3, 0.8]), requires_grad=True)
    h, total, turns = wf.ones(3, dtype=wf.float64), wf.tensor(0.0, dtype=wf.float64), 60

    def by_numpy(w: np.ndarray) -> float:
        h, total = np.ones(3), 0.0
        for _ in range(turns):
            h = np.tanh(h * w + 0.1)
            total += (h * h).sum()
        return total

    for _ in range(turns):
        h = (h * w + 0.1).tanh()
        total = total + (h * h).sum()
    total.backward()
    steps = np.eye(3) * 1e-6
    want = [(by_numpy(w.numpy() + s) - by_numpy(w.numpy() - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(w.grad.numpy(), want, rtol=1e-6)
    assert total.item() == pytest.approx(by_numpy(w.numpy()), rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1, *rarely(*range(2, 12))])
def test_random_loops_that_nobody_reads_agree_with_numpy(seed: int) -> None:
    check_unread(random_loop(random.Random(seed).randrange))


def test_an_index_out_of_range_in_a_piece_is_told_at_its_line_and_changes_nothing() -> None:
    table, x = wf.tensor(np.arange(5.0)), wf.tensor(0.0, dtype=wf.float64)
    counter = wf.tensor(0.0, dtype=wf.float64)
    for k in range(200):
        x = x * 0.5 + table[wf.tensor([k if k == 150 else k % 5])].sum()
    counter.assign(x)
    with pytest.raises(
        IndexError, match=r"150 is out of range for axis 0 of extent 5.*test_graphs_in_pieces\.py"
    ):
        counter.item()
    assert counter.item() == 0.0


@pytest.mark.slow
def test_layers_that_take_time_to_run_stay_one_program(built: Built) -> None:
    x = wf.ones((64, 256))
    w = wf.full((256, 256), 1 / 256).realize()
    before = statistics["runs"]
    for _ in range(90):
        x = (x @ w).relu() + 1.0
    assert x[0, 0].item() == pytest.approx(91.0)
    assert statistics["runs"] - before <= 2


def test_a_training_step_stays_one_program_however_many_layers_it_has(built: Built) -> None:
    layers = wf.nn.Sequential(*[wf.nn.Linear(4, 4) for _ in range(24)])
    optimizer = wf.nn.optim.Adam(wf.realize([*layers.parameters()]))
    x = wf.ones((3, 4)).realize()
    before = statistics["runs"]
    for _ in range(3):
        optimizer.zero_grad()
        (layers(x) ** 2).mean().backward()
        optimizer.step()
    assert statistics["runs"] - before == 3


@pytest.mark.slow
def test_parameters_of_many_layers_are_drawn_by_few_programs(built: Built) -> None:
    wf.manual_seed(0)  # of which no two draws are equal
    layers = wf.nn.Sequential(*[wf.nn.Linear(6, 6) for _ in range(40)])
    drawn = np.concatenate([p.numpy().ravel() for p in wf.realize([*layers.parameters()])])
    assert len(np.unique(drawn)) == drawn.size and np.abs(drawn).max() <= 1 / np.sqrt(6)
    assert built() <= 6


def test_a_few_layers_stay_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cut(Exception):
        """Nothing is compiled."""

    def cut(*args: Any) -> None:
        raise Cut(pieces.pieces(*args))

    monkeypatch.setattr(realize, "pieces", cut)
    layers = wf.nn.Sequential(
        *[wf.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) for _ in range(2)]
    )
    with pytest.raises(Cut) as found:
        layers(wf.ones((2, 8, 16))).realize()
    assert found.value.args == ([],)


# ---------------------------------------------------------------- assignments in a loop


@pytest.mark.slow
def test_assignments_to_one_position_after_the_other_are_few_programs(built: Built) -> None:
    x, want = wf.zeros((20, 15), dtype=wf.float64), np.zeros((20, 15))
    for k in range(300):
        i, j = divmod(k, 15)
        x[i, j] = want[i, j] = k * 0.5
    np.testing.assert_array_equal(x.numpy(), want)
    assert built() <= 6
    for k in range(20):
        x[:, k % 15] = want[:, k % 15] = k
        x[-k - 1] = want[-k - 1] = np.arange(15) + k
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.slow
def test_assignments_that_are_read_in_each_turn_are_two_programs(built: Built) -> None:
    x = wf.zeros(50)
    for k in range(50):
        x[k] = float(k)
        x.realize()
    assert x.tolist() == [float(k) for k in range(50)] and built() <= 4


def test_an_assigned_value_gets_its_gradient() -> None:
    values = [wf.tensor(float(k), requires_grad=True) for k in range(6)]
    x = wf.zeros(6)
    for k, v in enumerate(values):
        x[5 - k] = v * v
    (x * wf.arange(6.0)).sum().backward()
    assert [v.grad.item() for v in values] == [2.0 * k * (5 - k) for k in range(6)]


# ---------------------------------------------------------------- masks


def test_one_mask_is_looked_through_once() -> None:
    x, y = wf.arange(6.0), wf.arange(6.0) * 10
    mask = x > 2.5
    before = statistics["runs"]
    assert x[mask].tolist() == [3, 4, 5] and y[mask].tolist() == [30, 40, 50]
    y[mask] = x[mask] + 1
    assert y.tolist() == [0, 10, 20, 4, 5, 6]
    assert statistics["runs"] - before <= 6
