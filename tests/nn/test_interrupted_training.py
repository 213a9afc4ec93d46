"""Ctrl-C, and errors, at any line of what surrounds a training step: loss scaling, schedules,
batches, hooks, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from interruptions import Stop, leave_all, lines_of
from weft import nn
from weft.nn import functional as F
from weft.nn import optim
from weft.runtime.cache import DiskCache

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
ERRORS = pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
POINTS = pytest.mark.parametrize(
    "points", [12, pytest.param(10**6, marks=pytest.mark.slow)]
)  # all, in ten minutes


@pytest.fixture(autouse=True)
def leaves() -> Iterator[None]:
    yield
    leave_all()


def places(step: Callable[[], Any], points: int) -> range:
    """Lines of a step at which to stop it, about so many."""
    count = lines_of(step)
    assert count > 10
    return range(1, count + 1, 1 + count // points)


class Scaled:
    """Steps with scaled losses and a schedule, with steps that are skipped among them."""

    def __init__(self, wrapper: Callable[..., Any]) -> None:
        wf.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.scaler = nn.GradScaler(init_scale=8.0, growth_interval=2)
        self.x, self.y = wf.randn(5, 3), wf.tensor([0, 1, 0, 1, 1])
        wf.realize(self.x, self.y)
        self.forward_and_step = wrapper(self._step)

    def _step(self, factor: wf.Tensor) -> None:
        self.optimizer.zero_grad()
        self.scaler.scale(F.cross_entropy(self.model(self.x), self.y) * factor).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def step(self, factor: float = 1.0) -> None:
        self.forward_and_step(wf.tensor(factor))

    def state(self) -> Any:
        moments = [{k: t.numpy().tobytes() for k, t in s.items()} for s in self.optimizer.state]
        values = [p.numpy().tobytes() for p in self.model.parameters()]
        return values, moments, [*self.optimizer.steps], self.scaler.state_dict()


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@ERRORS
@POINTS
@pytest.mark.parametrize("wrapper", [lambda step: step, wf.jit], ids=["lazy", "jit"])
def test_a_scaled_step_is_made_once_or_not_at_all(
    wrapper: Callable[..., Any], error: type[BaseException], points: int
) -> None:
    training, reference = Scaled(wrapper), Scaled(wrapper)
    for t in (training, reference):
        t.step()
        t.step()
    states = [reference.state()]
    for at in places(training.step, points):
        Stop(at, error).run(training.step)
        # as the update() that ends an iteration; the user leaves it out
        training.scaler._stages.clear()
        found = training.state()
        while found[:3] not in [s[:3] for s in states[-2:]]:
            reference.step()
            states.append(reference.state())
            assert len(states) < 100_000 and found[2] >= states[-1][2], f"torn at line {at}"
        reference.scaler.load_state_dict(found[3])
        del states[:-2]
    training.step(np.inf)
    assert training.state()[3]["scale"] < 1e30


@pytest.mark.thinned(to=1)
@ERRORS
@POINTS
def test_each_call_of_a_scaler_is_whole(error: type[BaseException], points: int) -> None:
    p = nn.Parameter([1.0, 2.0])
    optimizer = optim.SGD([p], lr=0.5)
    scaler = nn.GradScaler(init_scale=8.0, growth_interval=1)

    def begin() -> None:
        scaler._stages.clear()
        scaler.load_state_dict(scaler.state_dict() | {"scale": 8.0, "_growth_tracker": 0})
        optimizer.steps[:] = [0]
        with wf.no_grad():
            p.assign(wf.tensor([1.0, 2.0]))
        optimizer.zero_grad()
        scaler.scale((p * 3.0).sum()).backward()

    def state() -> Any:
        grad = None if p.grad is None else p.grad.tolist()
        return (
            p.tolist(),
            grad,
            scaler.get_scale(),
            scaler._growth_tracker.item(),
            [*scaler._stages.values()],
            [*optimizer.steps],
        )

    calls = [lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update]
    for k, call in enumerate(calls):

        def prepare(k: int = k) -> Any:
            begin()
            for earlier in calls[:k]:
                earlier()
            return state()

        before = prepare()
        call()
        after = state()
        prepare()
        for at in places(call, points):
            assert prepare() == before
            Stop(at, error).run(call)
            assert state() in (before, after), f"call {k}, line {at}"


SCHEDULES: dict[str, Callable[[optim.Optimizer], Any]] = {
    "exponential": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5),
    "cyclic": lambda o: optim.lr_scheduler.CyclicLR(o, [0.1, 0.2], [1.0, 2.0], 3),
    "sequential": lambda o: optim.lr_scheduler.SequentialLR(
        o,
        [optim.lr_scheduler.ExponentialLR(o, 0.5), optim.lr_scheduler.ExponentialLR(o, 0.25)],
        [2],
    ),
    "chained": lambda o: optim.lr_scheduler.ChainedScheduler(
        [optim.lr_scheduler.ExponentialLR(o, 0.5), optim.lr_scheduler.LinearLR(o)]
    ),
    "plateau": lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, patience=0),
}


@pytest.mark.thinned(to=2)
@ERRORS
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_step_of_a_schedule_is_whole(name: str, error: type[BaseException]) -> None:
    groups = [
        {"params": [nn.Parameter([1.0])]},
        {"params": [nn.Parameter([2.0])], "lr": wf.tensor(0.5)},
    ]
    optimizer = optim.SGD(groups, lr=1.0, momentum=0.9)
    schedule = SCHEDULES[name](optimizer)
    metrics = (1.0,) if name == "plateau" else ()

    def state() -> Any:
        return schedule.state_dict(), [
            (float(g["lr"]), g["momentum"]) for g in optimizer.param_groups
        ]

    def step() -> None:
        schedule.step(*metrics)

    step()
    begin = (
        schedule.state_dict(),
        [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups],
    )
    rate = 0.0 + optimizer.param_groups[1]["lr"].item()

    def back() -> None:
        schedule.load_state_dict(begin[0])
        for group, values in zip(optimizer.param_groups, begin[1], strict=True):
            group.update(values)
        optimizer.param_groups[1]["lr"].assign(rate)

    before = state()
    step()
    after = state()
    back()
    for at in places(step, 100):
        back()
        assert state() == before
        Stop(at, error).run(step)
        assert state() in (before, after), f"line {at}"


@pytest.mark.thinned
@ERRORS
@POINTS
@pytest.mark.parametrize("seconds", [1.0, -1.0], ids=["plain", "ahead"])
def test_a_pass_is_as_ever_behind_one_that_was_interrupted(
    seconds: float, error: type[BaseException], points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.nn.data.prefetch.SLOW_SECONDS", seconds)
    loader = nn.data.DataLoader(np.arange(12), 3, shuffle=True, collate_fn=lambda rows: [*rows])

    def read() -> list[Any]:
        return [*loader]

    read()
    wf.manual_seed(1)
    expected = read()
    for at in places(read, points):
        wf.manual_seed(1)
        Stop(at, error).run(read)
        wf.manual_seed(1)
        assert read() == expected


@pytest.mark.parametrize("seconds", [1.0, -1.0], ids=["plain", "ahead"])
def test_the_batch_that_a_signal_meets_comes_next(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.nn.data.prefetch.SLOW_SECONDS", seconds)
    interrupts = iter([False, False, True, *[False] * 9])

    def collate(rows: list[Any]) -> list[Any]:
        if next(interrupts):
            raise KeyboardInterrupt
        return [*rows]

    batches, found = iter(nn.data.DataLoader(np.arange(12), 2, collate_fn=collate)), []
    with pytest.raises(KeyboardInterrupt):
        found += [next(batches) for _ in range(2)]
        found += [next(batches)]
    assert [*found, *batches] == [[i, i + 1] for i in range(0, 12, 2) if seconds > 0 or i != 4]


@ERRORS
@POINTS
def test_a_checkpoint_is_the_old_file_or_the_new_one(
    error: type[BaseException], points: int, tmp_path: Path
) -> None:
    path, value = tmp_path / "c.safetensors", wf.arange(5) * 1.0
    wf.realize(value)

    def save() -> None:
        nn.save(path, value=value, count=2)

    nn.save(path, value=wf.zeros(2), count=1)
    old = path.read_bytes()
    for at in places(save, points):
        path.write_bytes(old)
        Stop(at, error).run(save)
        found = nn.load(path)
        assert (found["count"], found["value"].tolist()) in [
            (1, [0.0, 0.0]),
            (2, [0.0, 1.0, 2.0, 3.0, 4.0]),
        ]
    save()
    assert nn.load(path)["count"] == 2


@pytest.mark.thinned(to=1)
@ERRORS
@POINTS
def test_a_checkpoint_is_loaded_whole_or_not_at_all(
    error: type[BaseException], points: int, tmp_path: Path
) -> None:
    path = tmp_path / "c.safetensors"
    wf.manual_seed(0)
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    def state() -> Any:
        states = [{k: t.tolist() for k, t in s.items()} for s in optimizer.state]
        return (
            model.weight.tolist(),
            model.bias.tolist(),
            states,
            optimizer.steps[:],
            wf.get_rng_state(),
        )

    def load() -> None:
        nn.load(path, model=model, optimizer=optimizer)

    def train() -> None:
        optimizer.zero_grad()
        model(wf.ones(1, 2)).sum().backward()
        optimizer.step()

    train()
    nn.save(path, model=model, optimizer=optimizer)
    new = state()
    train()
    wf.rand(1)
    nn.save(tmp_path / "before.safetensors", model=model, optimizer=optimizer)
    before = state()
    for at in places(load, points):
        nn.load(tmp_path / "before.safetensors", model=model, optimizer=optimizer)
        assert state() == before
        Stop(at, error).run(load)
        assert state() in (before, new), f"line {at}"


@pytest.mark.thinned(to=1)
@ERRORS
def test_what_a_cache_gives_is_what_was_put(error: type[BaseException], tmp_path: Path) -> None:
    def use() -> None:
        cache = DiskCache(tmp_path / "cache", 1 << 20)
        for k in range(3):
            cache.put(f"key {k}", bytes([k]) * 1000)
            cache.get(f"key {k}")
        cache.close()

    for at in places(use, 150):
        cache = DiskCache(tmp_path / "cache", 1 << 20)
        cache.clear()
        Stop(at, error).run(use)
        for k in range(3):
            assert cache.get(f"key {k}") in (None, bytes([k]) * 1000)
            cache.put(f"key {k}", bytes([k]) * 1000)
            assert cache.get(f"key {k}") == bytes([k]) * 1000
        cache.close()


@pytest.mark.thinned
@ERRORS
@pytest.mark.parametrize("where", ["gradient", "forward"])
def test_an_error_of_a_users_hook_leaves_the_step_undone(
    where: str, error: type[BaseException]
) -> None:
    wf.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    x, fails = wf.ones(1, 3), [False]

    def hook(*_: Any) -> None:
        if fails[0]:
            raise error

    if where == "gradient":
        model[0].weight.register_hook(hook)
    else:
        model[0].register_forward_hook(hook)

    def step() -> None:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    step()
    before = [p.tolist() for p in model.parameters()], optimizer.steps[:]
    fails[0] = True
    with pytest.raises(error):
        step()
    assert ([p.tolist() for p in model.parameters()], optimizer.steps[:]) == before
    fails[0] = False
    step()
    assert optimizer.steps == [2, 2]


@pytest.mark.thinned(to=1)
@ERRORS
@POINTS
def test_a_step_with_mean_gradients_is_whole(error: type[BaseException], points: int) -> None:
    def training() -> tuple[Any, ...]:
        wf.manual_seed(0)
        model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        x = wf.ones(4, 3)

        def step() -> None:
            optimizer.zero_grad()
            (model(x) ** 2).sum().backward()
            optimizer.step()

        return model, optimizer, step

    def state(model: nn.Module, optimizer: optim.Optimizer) -> Any:
        return [p.numpy().tobytes() for p in model.parameters()], optimizer.steps[:]

    model, optimizer, step = training()
    model2, optimizer2, step2 = training()
    for _ in range(2):
        step()
        step2()
    for at in places(step, points):
        Stop(at, error).run(step)
        while optimizer2.steps[0] < optimizer.steps[0]:
            step2()
        assert state(model, optimizer) == state(model2, optimizer2), f"line {at}"
