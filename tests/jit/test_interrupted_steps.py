"""Ctrl-C, and errors, at any line of a training step: it is whole or not begun, and training goes
on with the same bits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from interruptions import Stop, leave_all, lines_of
from weft import nn
from weft.frontend import ops
from weft.nn import functional as F
from weft.nn import optim

LOSES_NONE = pytest.mark.filterwarnings(
    "error::pytest.PytestUnraisableExceptionWarning"
)  # as a finalizer would


def plain(step: Callable[[], Any]) -> Callable[[], Any]:
    return step


def sgd(model: nn.Module) -> optim.Optimizer:
    return optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def adamw(model: nn.Module) -> optim.Optimizer:
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    return optim.AdamW(
        [{"params": weights, "weight_decay": 0.1}, {"params": others, "lr": 0.02}], lr=0.01
    )


class Training:
    """A small network, and what its steps change. `keeps`: is what was before still referred to, so
    that nothing is in place."""

    def __init__(
        self, wrapper: Callable[..., Any], make: Callable[[nn.Module], optim.Optimizer], keeps: bool
    ) -> None:
        wf.manual_seed(3)
        draws = (
            [nn.Dropout(0.2)] if wrapper is wf.jit else []
        )  # of a step that is not jitted, the user's code makes them
        self.model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), *draws, nn.Linear(5, 4))
        self.optimizer = make(self.model)
        self.wrapped, self.draws = wrapper(self._step), wf.get_rng_state()
        self.keeps, self.kept = keeps, {}
        rng = np.random.default_rng(0)
        self.x, self.y = (
            wf.tensor(rng.standard_normal((8, 6)).astype(np.float32)),
            wf.tensor(rng.integers(0, 4, 8)),
        )

    def step(self) -> None:
        trace = sys.gettrace()
        sys.settrace(None)  # here nothing is to be interrupted
        wf.set_rng_state(self.draws)
        sys.settrace(trace)
        try:
            self.wrapped()
        finally:
            self.note()  # the last line

    def note(self) -> None:
        sys.settrace(None)
        self.draws = wf.get_rng_state()

    def _step(self) -> wf.Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss

    def state(self) -> Any:
        self.kept = self.model.state_dict() if self.keeps else {}
        values = [p.numpy().tobytes() for p in self.model.parameters()]
        states = [{k: t.numpy().tobytes() for k, t in s.items()} for s in self.optimizer.state]
        return values, states, list(self.optimizer.steps), self.draws


class Reference:
    """The same training without interruptions."""

    def __init__(self, *how: Any) -> None:
        self.training = Training(*how)
        for _ in range(2):
            self.training.step()
        self.now = self.training.state()
        self._move()

    def _move(self) -> None:
        self.training.step()
        self.next = self.training.state()

    def follows(self, found: Any) -> bool:
        """Is this state at the boundary of a step, the last one or the next."""
        if found == self.next:
            self.now = found
            self._move()
        return found == self.now


DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: wf.rand(3),
    "randint": lambda: wf.randint(5, shape=3),
    "choice": lambda: wf.choice(5, 3, replace=False, p=[0.1, 0.2, 0.3, 0.2, 0.2]),
    "dropout": lambda: F.dropout(wf.ones(3)),
    "init": lambda: nn.init.kaiming_uniform((2, 3)),
    "loader": lambda: iter(nn.data.DataLoader(range(5), 2, shuffle=True)),
    "split": lambda: nn.data.random_split(range(5), [2, 3]),
    "jit": wf.jit(lambda: wf.rand(3) + wf.rand(3)),
}


@pytest.fixture(autouse=True)
def leaves() -> Iterator[None]:
    yield
    leave_all()


def check_that_it_works() -> None:
    """Modes are as they were."""
    x = wf.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    wf.manual_seed(1)


def test_an_update_from_before_an_interrupted_step_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = nn.Parameter([1.0, 2.0])
    optimizer = optim.SGD([p], lr=0.5)
    wf.realize(p)
    (p * p).sum().backward()
    with wf.no_grad():
        p += 10.0  # waits

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ops, "realize", stop)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()
    assert (p.tolist(), optimizer.steps) in [([11.0, 12.0], [0]), ([10.0, 10.0], [1])]


def test_python_is_not_asked_as_values_die() -> None:
    """What it runs there may meet a signal, and loses what that raises."""
    x = wf.randn(50, requires_grad=True)
    wf.realize(x)
    y = wf.exp(x) * 2.0
    held = [y.sum(), y.detach().numpy(), x + 1.0, wf.zeros(3) + 1.0]
    met: list[str] = []
    before = sys.gettrace()
    sys.settrace(lambda frame, *_: met.append(frame.f_code.co_qualname))
    del held, y, x
    sys.settrace(before)
    assert met == []


@pytest.mark.thinned(to=2)
@LOSES_NONE
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("points", [10, *rarely(40)])
def test_draws_count_with_the_value_or_not_at_all(
    draw: Callable[[], Any], error: type[BaseException], points: int
) -> None:
    draw()
    wf.manual_seed(1)
    lines = lines_of(draw)
    after = wf.get_rng_state()
    for at in range(1, lines + 1, 1 + lines // points):
        wf.manual_seed(1)
        Stop(at, error).run(draw)
        allowed = (
            (0, after["draws"]) if hasattr(draw, "_steps") else (0,)
        )  # a jitted call counts once its program has run
        assert wf.get_rng_state()["draws"] in allowed, f"line {at} of {lines}"
    wf.manual_seed(1)
    draw()
    assert wf.get_rng_state() == after


HOW = pytest.mark.parametrize(
    "how",
    [
        (plain, sgd, False),
        (wf.jit, adamw, True),
        *rarely((plain, adamw, True), (wf.jit, sgd, False)),
    ],
    ids=["lazy-sgd", "jit-adamw-kept", "lazy-adamw-kept", "jit-sgd"],
)


@pytest.mark.thinned(to=1)
@LOSES_NONE
@pytest.mark.parametrize("stride", [613, *rarely(5)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@HOW
def test_an_error_at_any_line_leaves_a_whole_step_or_none(
    how: tuple[Any, ...], error: type[BaseException], stride: int
) -> None:
    reference, training = Reference(*how), Training(*how)
    for _ in range(2):
        training.step()
    assert reference.follows(training.state())
    lines = lines_of(training.step)
    assert lines > 40 and reference.follows(training.state())
    for at in range(1, lines + 1, stride if lines > 1000 else 1 + stride // 15):
        Stop(at, error).run(training.step)
        assert reference.follows(training.state()), (
            f"torn by {error.__name__} at line {at} of {lines}"
        )
    check_that_it_works()
    training.step()
    assert reference.follows(training.state())


@contextmanager
def interrupts(seconds: Callable[[], float]) -> Iterator[Callable[[], None]]:
    """SIGALRM raises KeyboardInterrupt, but not while a Training notes its draws; gives what sets
    the timer."""
    last = max(line for *_, line in Training.step.__code__.co_lines() if line)

    def interrupt(_: int, frame: FrameType | None) -> None:
        while frame is not None and not (
            frame.f_code is Training.step.__code__ and frame.f_lineno == last
        ):
            frame = frame.f_back
        if frame is None:
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, 1e-5)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, seconds())  # type: ignore[func-returns-value]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.thinned(to=1)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # callbacks of the collector, of others too
@pytest.mark.skipif(
    not hasattr(signal, "setitimer") or os.name != "posix", reason="no timers on this system"
)
@pytest.mark.parametrize("times", [20, *rarely(2500)])
@HOW
def test_timers_interrupt_steps_between_and_never_within(how: tuple[Any, ...], times: int) -> None:
    reference, training = Reference(*how), Training(*how)
    for _ in range(2):
        training.step()
    longest, rng, came = 4e-3 if how[0] is plain else 8e-5, Random(0), 0
    with interrupts(partial(rng.uniform, 1e-5, longest)) as start:
        for _ in range(times):
            try:
                start()
                for _ in range(3):
                    training.step()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
            state, steps = training.state(), 0
            while not reference.follows(state):
                steps += 1
                assert steps < 4, "torn"
                reference.now = reference.next
                reference._move()
    assert came > times // 10
    check_that_it_works()
