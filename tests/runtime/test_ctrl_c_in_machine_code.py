"""Ctrl-C while machine code runs: Python hears of it when the program has run to its end, so the
call counts as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.frontend.lazy import program_table
from weft.nn import functional as F
from weft.nn import optim
from weft.runtime.executable import Executable
from weft.runtime.runnable import Prepared


class Interrupting:
    """Stands for the native call: with `now`, a signal comes while it runs."""

    now = False

    def __init__(self, native: Callable[..., int]) -> None:
        self.native = native

    def __call__(self, *args: int) -> int:
        failed = self.native(*args)
        if Interrupting.now:
            Interrupting.now = False
            raise KeyboardInterrupt
        return failed


@pytest.fixture(autouse=True)
def interruptible(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real, call = Executable.__init__, Prepared.call

    def init(self: Executable, *args: Any) -> None:
        real(self, *args)
        self._run = Interrupting(self._run)

    monkeypatch.setattr(Executable, "__init__", init)
    monkeypatch.setattr(Prepared, "call", lambda self, places: Interrupting(call(self, places)))
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    yield
    Interrupting.now = False


def interrupted(call: Callable[[], Any]) -> None:
    Interrupting.now = True
    with pytest.raises(KeyboardInterrupt):
        call()


class Training:
    """A run whose every step changes parameters, the state of Adam, statistics and the random
    state."""

    def __init__(self, wrapper: Callable[[Any], Any], n: int) -> None:
        wf.manual_seed(0)
        self.model = wf.nn.Sequential(wf.nn.Linear(n, 16), wf.nn.Dropout(0.5), wf.nn.Linear(16, 4))
        self.optimizer = optim.Adam(self.model.parameters(), weight_decay=0.01)
        self.seen = wf.zeros(n)
        self.kept: list[Any] = []
        self.step = wrapper(self._step)
        self.batch = (
            wf.tensor(np.random.default_rng(n).standard_normal((6, n)).astype("float32")),
            wf.tensor(np.arange(6) % 4),
        )

    def _step(self, x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        with wf.no_grad():
            self.seen += x.sum(axis=0)
        self.optimizer.step()
        return loss

    def run(self, interruptions: bool) -> list[Any]:
        """What five steps leave behind, and the next random numbers."""
        for i in range(5):
            if i == 3:
                self.kept.append(
                    self.optimizer.params[0].numpy()
                )  # the next step cannot write there
            if interruptions and i in (
                1,
                3,
                4,
            ):  # at the first step, the programs that make the weights would be interrupted
                interrupted(lambda: self.step(*self.batch))
            else:
                self.step(*self.batch)
        state = [t for s in self.optimizer.state for t in s.values()]
        return [
            *(t.tolist() for t in [*self.optimizer.params, *state, self.seen]),
            self.optimizer.steps,
            wf.rand(9).tolist(),
        ]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
@pytest.mark.parametrize("n", [8, 300])
def test_a_step_that_was_interrupted_is_a_whole_step(wrapper: Callable[[Any], Any], n: int) -> None:
    assert Training(wrapper, n).run(True) == Training(wrapper, n).run(False)


def test_an_assignment_that_was_interrupted_happens_once() -> None:
    w = wf.tensor([1.0, 2.0]).realize()
    for i in range(3):
        w += 1
        interrupted(partial(wf.realize, w))
        assert w.tolist() == [2.0 + i, 3.0 + i]


def test_a_failed_check_is_no_whole_step() -> None:
    w = wf.tensor([1.0, 2.0]).realize()

    def f(index: wf.Tensor) -> wf.Tensor:
        w.assign(w + 1)
        return w[index]

    jitted = wf.jit(f)
    assert jitted(wf.tensor([1])).tolist() == [3.0]
    interrupted(lambda: jitted(wf.tensor([7])))
    assert w.tolist() == [2.0, 3.0]
    with pytest.raises(IndexError):
        jitted(wf.tensor([7]))
    assert w.tolist() == [2.0, 3.0]
