"""Building and realizing from several Python threads at once: right values, nothing lost, no
crash."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.runtime.memory import weak_table

THREADS = 6


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], object], count: int = THREADS) -> None:
    """Runs work(0), work(1), .. in threads that start at the same moment; raises what one of them
    raised."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(i: int) -> None:
        barrier.wait()
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


# ---------------------------------------------------------------- what the threads do; `until` is
# when to stop

Work = Callable[[int, float], object]


def same_graph(i: int, until: float, shared: wf.Tensor) -> None:
    """Equal expressions of a shared Tensor, and of pending ones."""
    x = shared.numpy()
    k = 0
    while time.monotonic() < until:
        k += 1
        a = (shared * 2 + 1).exp()
        b = a.sum(0) * (k % 7)
        np.testing.assert_allclose(b.numpy(), np.exp(x * 2 + 1).sum(0) * (k % 7), rtol=1e-5)
        np.testing.assert_allclose(a[1].numpy(), np.exp(x[1] * 2 + 1), rtol=1e-5)


def own_graphs(i: int, until: float) -> None:
    """Graphs that no other thread has: new programs all the time."""
    rng = np.random.default_rng(i)
    while time.monotonic() < until:
        shape = tuple(int(n) for n in rng.integers(1, 6, size=rng.integers(0, 4)))
        array = rng.integers(-50, 50, size=shape)
        x = wf.tensor(array)
        y = (x * (i + 2) - 7).sum() + x.size
        z = (x - x) + wf.tensor(3)
        assert y.item() == (array * (i + 2) - 7).sum() + array.size
        assert z.tolist() == np.full(shape, 3).tolist()


def training(i: int, until: float) -> None:
    """A model of its own: updates in place, scalars that are held, gradients."""
    rng = np.random.default_rng(i)
    data, target = rng.normal(size=(16, 8)), rng.normal(size=(16, 1))
    while time.monotonic() < until:
        weight = np.zeros((8, 1))
        w = wf.tensor(weight, requires_grad=True)
        optimizer = wf.nn.optim.SGD([w], lr=0.05)
        x, y = wf.tensor(data), wf.tensor(target)
        for _ in range(5):
            loss = ((x @ w - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            error = data @ weight - target
            assert abs(loss.item() - (error**2).mean()) < 1e-9
            weight = weight - 0.05 * (2 / 16) * (data.T @ error)
            np.testing.assert_allclose(w.numpy(), weight, rtol=1e-9, atol=1e-12)


def pending_together(i: int, until: float, slots: list[wf.Tensor]) -> None:
    """Realizing a Tensor that another thread may be realizing or replacing right now; slot k holds
    multiples of k + 1."""
    k = 0
    while time.monotonic() < until:
        k = (k + 1) % len(slots)
        t = slots[k]
        values = (t + 0).numpy() if i % 2 else t.numpy()
        assert (values == values[0]).all() and values[0] % (k + 1) == 0, (k, values)
        slots[k] = t - t + wf.tensor(np.full(3, (i + 1) * (k + 1)))


def wrong_indices(i: int, until: float) -> None:
    x = wf.arange(10) + 0
    while time.monotonic() < until:
        y = x[wf.tensor([1, 10 + i])] * 2
        with pytest.raises(wf.errors.IndexError, match=f"index {10 + i} is out of range"):
            y.numpy()
        assert (x[wf.tensor([1, 9])] * 2).tolist() == [2, 18]


def exchange(i: int, until: float) -> None:
    while time.monotonic() < until:
        x = wf.arange(200) * (i + 1)
        array = np.from_dlpack(x)
        back = wf.from_dlpack(array)
        del x, array
        assert (back + 1).sum().item() == 19900 * (i + 1) + 200


def switching_gradients_off(
    i: int, until: float, evaluate: Callable[[wf.Tensor], wf.Tensor]
) -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    while time.monotonic() < until:
        assert not evaluate(x).requires_grad
        assert (x * 2).requires_grad


def all_work() -> list[Work]:
    @wf.no_grad()
    def evaluate(x: wf.Tensor) -> wf.Tensor:
        return (x * 2).realize()

    shared = wf.tensor(np.linspace(0, 1, 12).reshape(3, 4))
    slots = [wf.tensor([k + 1] * 3) * 1 for k in range(5)]
    return [
        partial(same_graph, shared=shared),
        own_graphs,
        training,
        partial(pending_together, slots=slots),
        wrong_indices,
        exchange,
        partial(switching_gradients_off, evaluate=evaluate),
    ]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("kind", range(7))
def test_each_kind_of_work_alone(kind: int) -> None:
    until = time.monotonic() + 0.2
    together(lambda i: all_work_of(kind)(i, until))


_shared: dict[int, Work] = {}


def all_work_of(kind: int) -> Work:
    return _shared.setdefault(kind, all_work()[kind])


def stress(seconds: float) -> None:
    work = all_work()
    until = time.monotonic() + seconds
    together(lambda i: work[i % len(work)](i, until), 2 * len(work))


def test_all_kinds_of_work_at_once() -> None:
    stress(0.5)


@pytest.mark.slow
def test_all_kinds_of_work_at_once_for_long() -> None:
    stress(10.0)


# ---------------------------------------------------------------- sums that show what is lost


def test_gradients_of_shared_leaves_add_up() -> None:
    w = wf.tensor(np.zeros(4), requires_grad=True)
    together(lambda i: [(w * float(i + 1)).sum().backward() for _ in range(50)])
    assert w.grad.tolist() == [50.0 * sum(range(1, THREADS + 1))] * 4


@pytest.mark.slow
def test_every_draw_is_another() -> None:
    drawn: list[float] = []
    together(lambda i: drawn.extend(float(wf.rand(1, dtype=wf.float64).item()) for _ in range(30)))
    assert len(set(drawn)) == 30 * THREADS


def test_a_value_read_while_it_is_updated_is_one_of_its_versions() -> None:
    w = (wf.zeros(5000) + 1).realize()
    stop = threading.Event()

    def work(i: int) -> None:
        if i == 0:
            for _ in range(300):
                w.assign(w + 1)
                w.realize()
            stop.set()
        while not stop.is_set():
            for values in (w.numpy(), np.array(w.tolist()), np.from_dlpack(w), (w * 1).numpy()):
                assert values.min() == values.max()

    together(work, 4)
    assert w.tolist() == [301.0] * 5000


def test_tensors_made_in_a_thread_that_has_ended() -> None:
    made: list[wf.Tensor] = []
    parameter = wf.tensor([1.0], requires_grad=True)

    def work(i: int) -> None:
        made.append((wf.arange(3) + i).sum())
        if i == 0:
            with wf.no_grad():
                parameter.assign(parameter + 5)

    together(work)
    assert sorted(t.item() for t in made) == [3 + 3 * i for i in range(THREADS)]
    assert parameter.tolist() == [6.0]


class Raced(dict[int, Any]):
    """A table from which another thread drops what was just looked up."""

    def get(self, key: int, default: Any = None) -> Any:
        return super().pop(key, default)


def test_two_threads_may_drop_one_entry_of_a_weak_table() -> None:
    table, value = Raced(), wf.ones(3)
    weak_table.remember(table, 1, value)
    ref = table[1]
    ref.__callback__(ref)
    assert table == {}
