"""A metric that is summed up and never read warns once, at its line; deep graphs that are built at
once do not."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.errors import GrowthWarning
from weft.frontend.lazy import growth, new_tensor
from weft.ir.graph import graph

F = wf.nn.functional
Loop = Callable[[int], object]
COUNT = 600
SOME_PROGRAMS = (growth.LOOKS + 2) * growth.PERIOD


class Young(dict[Any, Any]):
    """The Nodes made since; what other tests have left alive does not count."""

    def __init__(self) -> None:
        self.before = {*graph.interned}

    def __len__(self) -> int:
        return max(0, len(graph.interned) - len(self.before))

    def values(self) -> Any:
        return [entry for key, entry in graph.interned.items() if key not in self.before]


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    young = Young()
    monkeypatch.setattr(growth, "graph", SimpleNamespace(interned=young))
    monkeypatch.setattr(new_tensor, "interned", young)
    monkeypatch.setattr(growth, "_warned", set())
    monkeypatch.setattr(growth.Seen, "limit", growth.MOST_ALIVE)
    monkeypatch.setattr(growth.Seen, "after_programs", 0)
    monkeypatch.setattr(growth.Seen, "rises", 0)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorter chains count."""
    monkeypatch.setattr(growth, "LINKS", COUNT // 4)
    monkeypatch.setattr(growth.Seen, "limit", COUNT // 4)


def warned(loop: Loop, count: int) -> list[tuple[str, int, str]]:
    """(file, line within the loop's source, text) of each warning."""
    start = inspect.getsourcelines(loop)[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loop(count)
    assert all(w.category is GrowthWarning for w in caught)
    return [(w.filename, w.lineno - start, str(w.message)) for w in caught]


def summed_in_place(count: int) -> object:
    total = wf.zeros(3)
    for _ in range(count):
        total += wf.tensor([1.0, 2.0, 3.0])
    return total


def summed(count: int) -> object:
    total = wf.tensor(0)
    for _ in range(count):
        total = total + (wf.tensor([1.0, 2.0]) > 1).sum()
    return total


def summed_in_a_dict(count: int) -> object:
    metrics = {"loss": 0.0, "seen": 0}
    for _ in range(count):
        metrics["loss"] += wf.tensor([1.0, 2.0]).sum() * 2
        metrics["seen"] += 2
    return metrics


def widest(count: int) -> object:
    most = wf.zeros(2)
    for k in range(count):
        most = wf.maximum(most, wf.tensor([float(k), 0.0]))
    return most


LOOPS: list[tuple[Loop, int]] = [
    (summed_in_place, 3),
    (summed, 3),
    (summed_in_a_dict, 3),
    (widest, 3),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("loop", "line"), LOOPS, ids=[loop.__name__ for loop, _ in LOOPS])
@pytest.mark.usefixtures("soon")
def test_a_metric_that_is_never_read_warns_once_at_its_line(loop: Loop, line: int) -> None:
    found = warned(loop, COUNT)
    assert [(file, at) for file, at, _ in found] == [(__file__, line)]
    assert ".item()" in found[0][2] and "wf.realize" in found[0][2] and "detach()" in found[0][2]


def test_programs_that_run_meanwhile_make_it_warn_early() -> None:
    def training(count: int) -> object:
        correct = wf.zeros(2)
        for k in range(count):
            (wf.tensor([1.0, 2.0]) * k).realize()
            correct += wf.tensor([1.0, 2.0])
        return correct

    found = warned(training, SOME_PROGRAMS)
    assert [(file, at) for file, at, _ in found] == [(__file__, 4)]


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_two_lines_warn_once_each() -> None:
    def evaluation(count: int) -> object:
        right, seen = wf.tensor(0), wf.zeros(2)
        for _ in range(count):
            right += (wf.tensor([1.0, 2.0]) > 1).sum()
            seen += wf.tensor([1.0, 2.0])
        return right, seen

    assert sorted(line for _, line, _ in warned(evaluation, COUNT)) == [3, 4]
    assert not warned(evaluation, COUNT)


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_a_metric_that_is_read_does_not_warn() -> None:
    def evaluation(count: int) -> object:
        total = wf.tensor(0.0)
        for k in range(count):
            total += wf.tensor([1.0, 2.0]).sum()
            if k % 100 == 0:
                total.item()
        return total

    assert not warned(evaluation, COUNT)


@pytest.mark.slow
def test_losses_summed_beside_an_optimiser_are_computed_along_and_keep_no_history() -> None:
    alive = []

    def training(count: int) -> object:
        w = wf.tensor([1.0, 2.0], requires_grad=True)
        optimizer = wf.nn.optim.SGD([w], lr=1e-3)
        total = wf.tensor(0.0)
        for _ in range(count):
            optimizer.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            optimizer.step()
            total += loss
            alive.append(len(graph.interned))
        with pytest.raises(wf.errors.GradientError, match="retain_graph"):
            total.realize().backward()
        return total

    assert not warned(training, SOME_PROGRAMS)
    assert alive[-1] <= alive[2] + 4


def test_a_network_of_a_thousand_layers_does_not_warn() -> None:
    def network(count: int) -> object:
        x = start = wf.tensor(np.ones((2, 4), "float32"), requires_grad=True)
        for k in range(count):
            x = x + (x @ wf.full((4, 4), 1e-3 * k)).relu()
        x.sum().backward()
        return start.grad

    assert not warned(network, 1000)


@pytest.mark.slow
def test_a_sequence_of_500_steps_in_one_graph_does_not_warn() -> None:
    def sequence(count: int) -> object:
        w = wf.tensor(np.eye(4, dtype="float32"), requires_grad=True)
        h, loss = wf.zeros((2, 4)), wf.tensor(0.0)
        for k in range(count):
            h = (h @ w + wf.full((2, 4), float(k))).tanh()
            loss = loss + F.mse_loss(h, wf.full((2, 4), 0.5))
        loss.backward()
        return w.grad

    assert not warned(sequence, 500)


@pytest.mark.slow
def test_a_network_built_while_programs_run_does_not_warn() -> None:
    def network(count: int) -> object:
        x = wf.tensor(np.ones((2, 4), "float32"))
        for k in range(count):
            x = (x * (wf.tensor([0.5]) * k).item() + 1.0).tanh()
        return x

    assert not warned(network, 1000)


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_a_loop_that_is_traced_does_not_warn() -> None:
    def tracing(count: int) -> object:
        def traced(x: wf.Tensor) -> wf.Tensor:
            total = x
            for k in range(count):
                total = total + x * k
            growth.Seen.limit = 1 << 30  # nobody looks once it is traced
            return total

        return wf.jit(traced)(wf.ones(2))

    assert not warned(tracing, COUNT)


@pytest.mark.slow
def test_a_thousand_additions_do_not_warn() -> None:
    assert not warned(summed, 1000)


@pytest.mark.slow
def test_the_true_limit_is_thousands_of_additions() -> None:
    assert warned(summed, 2 * growth.LINKS)
