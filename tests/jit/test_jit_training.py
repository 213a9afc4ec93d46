"""Jitted training against lazy training: the same bits for any number of threads, and nothing lost
between calls."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from project_root import ROOT
from stepping import states, stepper
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F
from weft.nn import optim

Array = np.ndarray


def data(i: int, n: int = 12) -> tuple[wf.Tensor, wf.Tensor]:
    rng = np.random.default_rng(i)
    return wf.tensor(rng.standard_normal((n, 8)).astype("float32")), wf.tensor(
        rng.integers(0, 4, n)
    )


class Normalised(wf.nn.Module):
    """Batch normalisation of columns: by the batch while training, by a running mean and variance
    afterwards."""

    def __init__(self, n: int) -> None:
        self.scale, self.shift = wf.nn.Parameter(wf.ones(n)), wf.nn.Parameter(wf.zeros(n))
        self.mean, self.var = wf.zeros(n), wf.ones(n)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        mean, var = self.mean, self.var
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            with wf.no_grad():
                self.mean.assign(0.9 * self.mean + 0.1 * mean)
                self.var.assign(0.9 * self.var + 0.1 * var)
        return (x - mean) / (var + 1e-5).sqrt() * self.scale + self.shift


def network() -> wf.nn.Module:
    wf.manual_seed(0)
    return wf.nn.Sequential(
        wf.nn.Linear(8, 16), Normalised(16), wf.nn.ReLU(), wf.nn.Dropout(0.25), wf.nn.Linear(16, 4)
    )


Wrapper = Callable[[Any], Any]
BOTH = pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])


def everything(model: wf.nn.Module, optimizer: optim.Optimizer) -> list[Any]:
    """Whatever a step changes; to read it changes nothing."""
    norm = [
        t for _, m in model.named_children() if isinstance(m, Normalised) for t in (m.mean, m.var)
    ]
    tensors = [*optimizer.params, *states(optimizer), *norm]
    return [*(t.tolist() for t in tensors), [*optimizer.steps]]


# ---------------------------------------------------------------- for any number of threads

TRAINING = """
import hashlib, sys
sys.path.insert(0, {examples!r})
import numpy as np, weft as wf
from lenet import LeNet
from weft import nn
from weft.frontend.lazy import program_table
from weft.nn import functional as F, optim

class Dropped(LeNet):
    def forward(self, x):
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.dropout(F.max_pool2d(self.conv2(x).relu(), 2).flatten(1), 0.3, self.training)
        return self.fc3(F.dropout(self.fc2(self.fc1(x).relu()).relu(), 0.5, self.training))

class Small(nn.Module):
    def __init__(self):
        self.conv, self.fc = nn.Conv2d(1, 3, 5), nn.Linear(432, 10)
    def forward(self, x):
        x = F.max_pool2d(self.conv(x).relu(), 2).flatten(1)
        return self.fc(F.dropout(x, 0.3, self.training))

def run(wrapper, known):
    wf.manual_seed(1)
    model = {network}()
    params = [*model.parameters()]
    optimizer = optim.Adam(params, weight_decay=1e-3)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return [p.grad for p in params], loss  # in the order in which the lazy step computes them
    f, losses, rng = wrapper(step), [], np.random.default_rng(0)
    for _ in range(8):
        x, y = wf.tensor(rng.standard_normal((6, 1, 28,
            28)).astype("float32")), wf.tensor(rng.integers(0, 10, 6))
        kept = f(x, y)
        losses.append(kept[1].numpy().tobytes().hex())
    bits = "".join(p.numpy().tobytes().hex() for p in params)
    return losses, hashlib.sha256(bits.encode()).hexdigest(), f

lazy_losses, lazy_bits, _ = run(lambda f: f, None)
keys = {{key for key, *_ in program_table._programs}}
losses, bits, f = run(wf.jit, None)
assert losses == lazy_losses and bits == lazy_bits, "jit and lazy differ"
assert len(set(losses)) > 6, losses
assert f.last.key in keys, "jit and lazy have other programs"
print(*losses, bits, hashlib.sha256(repr(f.last.key).encode()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "numbers"),
    [
        ("Small", "14"),
        pytest.param("Dropped", "14", marks=pytest.mark.slow),
        pytest.param("Dropped", "124", marks=pytest.mark.slow),
    ],
)
def test_dropout_has_the_same_losses_and_program_lazy_and_jitted_on_any_threads(
    tmp_path: Path, network: str, numbers: str
) -> None:
    code = TRAINING.format(examples=str(ROOT / "examples"), network=network)
    common = {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "WEFT_CACHE_DIR": str(tmp_path),
    }
    outputs = []
    for threads in numbers:
        environment = os.environ | common | {"WEFT_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    assert len(outputs[0]) == 10 and all(found == outputs[0] for found in outputs)


# ---------------------------------------------------------------- training and evaluation


@pytest.mark.slow
def test_evaluation_after_jitted_steps_uses_what_they_left() -> None:
    model = network()
    step = wf.jit(stepper(model, optim.SGD(model.parameters(), lr=0.1)))
    predict = wf.jit(model)
    x = data(9)[0]
    for i in range(3):
        model.train()
        step(*data(i))
        trained = predict(x).tolist()
        model.eval()
        evaluated = predict(x).tolist()
        assert evaluated == predict(x).tolist() == model(x).tolist() != trained
    norm = next(m for _, m in model.named_children() if isinstance(m, Normalised))
    weights = {name: p.numpy() for name, p in model.named_parameters()}
    first, last = (
        [p for name, p in weights.items() if name.startswith(f"{i}.")] for i in ("0", "4")
    )
    h = (x.numpy() @ first[0].T + first[1] - norm.mean.numpy()) / np.sqrt(norm.var.numpy() + 1e-5)
    h = np.maximum(h * norm.scale.numpy() + norm.shift.numpy(), 0)
    np.testing.assert_allclose(evaluated, h @ last[0].T + last[1], rtol=1e-3, atol=1e-4)


@BOTH
def test_weights_may_be_exchanged_between_steps(wrapper: Wrapper) -> None:
    """By every kind of assignment; each step starts from what was assigned, as in NumPy."""
    w = wf.nn.Parameter(wf.tensor([1.0, 2.0, 3.0]))
    holder = wf.nn.Sequential()
    holder.w = w
    optimizer = optim.SGD([w], lr=0.5)
    traces = []

    def step(x: wf.Tensor) -> wf.Tensor:
        traces.append(1)
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    f, wanted, x = wrapper(step), np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])
    changes: list[tuple[Callable[[], Any], Callable[[Array], Array]]] = [
        (lambda: None, lambda a: a),
        (lambda: w.assign([4.0, 5.0, 6.0]), lambda a: np.array([4.0, 5.0, 6.0])),
        (lambda: w.__setitem__(..., 2.0), lambda a: np.full(3, 2.0)),
        (lambda: w.__setitem__(1, -1.0), lambda a: np.array([a[0], -1.0, a[2]])),
        (lambda: w.__imul__(3.0), lambda a: a * 3),
        (lambda: w.__iadd__(wf.ones(3)), lambda a: a + 1),
        (
            lambda: holder.load_state_dict({"w": np.float32([7, 8, 9])}),
            lambda a: np.array([7.0, 8.0, 9.0]),
        ),
        (lambda: holder.load_state_dict({"w": wf.tensor([1.0, 1.0, 1.0])}), lambda a: np.ones(3)),
        (lambda: w.assign(w.detach().flip(0)), lambda a: a[::-1].copy()),
        (lambda: (w.assign(w + 1), w.assign(w * 2)), lambda a: (a + 1) * 2),
    ]
    for change, same in changes * 2:
        with wf.no_grad():
            change()
        wanted = same(wanted)
        assert f(wf.tensor(np.float32(x))).item() == (wanted * x).sum()
        wanted = wanted - 0.5 * x
        assert w.tolist() == wanted.tolist()
    assert len(traces) == (1 if wrapper is wf.jit else 20)


# ---------------------------------------------------------------- schedules and inputs


def nesterov(p: Any, lr: float) -> optim.SGD:
    return optim.SGD(p, lr, 0.9, weight_decay=0.01, nesterov=True)


@pytest.mark.slow
@pytest.mark.parametrize("make", [optim.Adam, *rarely(nesterov)], ids=["adam", "nesterov"])
def test_a_schedule_compiles_nothing_and_gives_the_lazy_bits(
    make: Callable[..., optim.Optimizer],
) -> None:
    def run(wrapper: Wrapper) -> tuple[list[Any], int]:
        model = network()
        optimizer = make(model.parameters(), lr=0.1)
        step = wrapper(stepper(model, optimizer))
        step(*data(0))
        built = statistics["built"]
        for i in range(1, 12):
            optimizer.lr = 0.1 * 0.7**i if i % 4 else 0.0
            before = [p.tolist() for p in optimizer.params]
            step(*data(i))
            assert ([p.tolist() for p in optimizer.params] == before) is (i % 4 == 0), (
                "the new rate is not used"
            )
        return everything(model, optimizer), statistics["built"] - built

    (jitted, built), (lazy, _) = run(wf.jit), run(lambda f: f)
    assert jitted == lazy and built == 0


@dataclass
class Batch:
    x: Any
    extra: dict[str, Any]
    name: str = "train"


@pytest.mark.slow
def test_batches_of_any_structure_train_alike() -> None:
    """A dict in any order of keys, dataclasses, nested: one trace each, the bits of plain
    arguments."""
    structures: list[tuple[Callable[[Any, Any], Any], Callable[[Any], tuple[Any, Any]]]] = [
        (lambda x, y: {"x": x, "y": y}, lambda b: (b["x"], b["y"])),
        (lambda x, y: {"y": y, "x": x}, lambda b: (b["x"], b["y"])),
        (lambda x, y: Batch(x, {"deep": [(y,)]}), lambda b: (b.x, b.extra["deep"][0][0])),
        (lambda x, y: [{"x": (x,)}, [[y]]], lambda b: (b[0]["x"][0], b[1][0][0])),
        (
            lambda x, y: {"x": x.numpy(), "y": y.numpy()},
            lambda b: (wf.tensor(b["x"]), wf.tensor(b["y"])),
        ),
    ]
    results = []
    for pack, unpack in structures:
        model, traces = network(), []
        optimizer = optim.Adam(model.parameters())
        plain = stepper(model, optimizer)

        def step(
            batch: Any, plain: Any = plain, unpack: Any = unpack, traces: list[int] = traces
        ) -> Any:
            traces.append(1)
            return {"loss": plain(*unpack(batch)), "sizes": [len(unpack(batch)[1])]}

        f = wf.jit(step)
        outs = [f(pack(*data(i))) for i in range(4)]
        assert len(traces) == 1 and outs[0]["sizes"] == [12]
        results.append(([o["loss"].item() for o in outs], everything(model, optimizer)))
    assert all(r == results[0] for r in results)


def test_the_order_of_a_dict_is_no_new_signature_and_no_mixture() -> None:
    f = wf.jit(lambda d: d["a"] - d["b"])
    a, b = wf.tensor([5.0]), wf.tensor([3.0])
    assert (
        f({"a": a, "b": b}).item() == 2.0
        and f({"b": b, "a": a}).item() == 2.0
        and f({"a": b, "b": a}).item() == -2.0
    )


# ---------------------------------------------------------------- failures


class Failing:
    """A step that can fail in each way, with a parameter table, Adam's state, statistics and
    dropout."""

    def __init__(self, wrapper: Wrapper) -> None:
        wf.manual_seed(4)
        self.table = wf.nn.Parameter(wf.tensor(np.arange(12.0).reshape(6, 2).astype("float32")))
        self.optimizer = optim.Adam([self.table], lr=0.1)
        self.count = wf.zeros(2)
        self.step = wrapper(self._step)

    def _step(self, index: wf.Tensor, fail: str) -> wf.Tensor:
        self.optimizer.zero_grad()
        loss = F.dropout(self.table[index], 0.5).square().sum() + wf.rand()
        with wf.no_grad():
            self.count += 1
        loss.backward()
        self.optimizer.step()
        if fail:
            raise {"key": KeyError, "interrupt": KeyboardInterrupt}[fail]
        return loss

    def state(self) -> list[Any]:
        tensors = [self.table, *self.optimizer.state[0].values(), self.count]
        return [*(t.tolist() for t in tensors), [*self.optimizer.steps], self.table.grad]


GOOD, BAD = np.array([0, 5, 3]), np.array([0, 6, 3])


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("steps", [0, 1, 2, 3], ids=lambda n: f"after {n} steps")
@pytest.mark.parametrize("how", ["key", "interrupt", "index"])
def test_a_step_that_fails_changes_nothing(how: str, steps: int) -> None:
    """Not parameters, optimiser state, gradients, statistics, nor the next random numbers; and the
    run goes on as ever."""
    calm, shaken = (Failing(lambda f: wf.jit(f, static_argnames="fail")) for _ in range(2))

    def run(training: Failing, fails: bool) -> list[Any]:
        wf.manual_seed(4)
        losses = []
        for i in range(5):
            if fails and i == steps:
                before = training.state()
                with pytest.raises(
                    {"key": KeyError, "interrupt": KeyboardInterrupt, "index": IndexError}[how]
                ):
                    training.step(
                        wf.tensor(BAD if how == "index" else GOOD), "" if how == "index" else how
                    )
                assert training.state() == before
            losses.append(training.step(wf.tensor(GOOD), "").item())
        return [*losses, training.state(), wf.rand(9).tolist()]

    assert run(shaken, True) == run(calm, False)


def test_a_number_that_does_not_fit_changes_nothing() -> None:
    f = wf.jit(lambda x, n: x + n + (wf.rand(1) < 2).to(dtype=wf.int8))
    wf.manual_seed(0)
    wanted = [f(wf.tensor([1], dtype=wf.int8), 2).tolist(), wf.rand(2).tolist()]
    wf.manual_seed(0)
    with pytest.raises(wf.errors.OverflowError):
        f(wf.tensor([1], dtype=wf.int8), 300)
    assert [f(wf.tensor([1], dtype=wf.int8), 2).tolist(), wf.rand(2).tolist()] == wanted


# ---------------------------------------------------------------- memory that others see


def test_what_others_see_of_a_parameter_stays_while_it_trains() -> None:
    """NumPy arrays, DLPack, views, detached aliases and a second module with the same memory, taken
    at different times."""
    w = wf.nn.Parameter(wf.tensor(np.arange(6.0).reshape(2, 3).astype("float32")))
    optimizer = optim.SGD([w], lr=0.5, momentum=0.9)

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    @wf.jit
    def parts(t: wf.Tensor) -> Any:
        return t.T, t[1:], t.detach()

    takers: list[Callable[[], Any]] = [
        w.numpy,
        lambda: np.from_dlpack(w.detach()),
        lambda: w.detach().numpy()[:, 1],
        lambda: w.detach()[1],
        lambda: wf.realize(w.detach().T),
        w.detach,
        lambda: parts(w),
        optimizer.state[0]["momentum_buffer"].numpy,
        lambda: (w.detach() * 1, w.clone()),
    ]

    def seen(kept: Any) -> Any:
        return [seen(k) for k in kept] if isinstance(kept, tuple) else np.array(kept.tolist())

    shadow, velocity = w.numpy().copy(), np.zeros((2, 3), "float32")
    x = np.float32([[1, 2, 4], [8, 16, 32]])
    held: list[tuple[Any, Any]] = []
    for i in range(3 * len(takers)):
        kept = takers[i % len(takers)]()
        held.append((kept, seen(kept)))
        del held[: max(0, len(held) - 4)]
        step(wf.tensor(x))
        velocity = np.float32(0.9) * velocity + x
        shadow = shadow - np.float32(0.5) * velocity
        np.testing.assert_array_equal(w.numpy().copy(), shadow)
        for kept, wanted in held:
            np.testing.assert_equal(seen(kept), wanted)


def test_two_parameters_over_one_memory_update_apart() -> None:
    """An alias made by detach() is a Tensor of its own as soon as either is assigned to."""
    a = wf.nn.Parameter(wf.tensor([1.0, 2.0]))
    b = a.detach().requires_grad_()
    optimizer = optim.SGD([a, b], lr=1.0)

    @wf.jit
    def step() -> None:
        optimizer.zero_grad()
        (a * 2 + b * 3).sum().backward()
        optimizer.step()

    for i in range(1, 4):
        step()
        assert a.tolist() == [1.0 - 2 * i, 2.0 - 2 * i] and b.tolist() == [1.0 - 3 * i, 2.0 - 3 * i]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [optim.Adam, *rarely(lambda p, lr: optim.SGD(p, lr, 0.9))], ids=["adam", "momentum"]
)
def test_several_steps_of_an_optimizer_in_one_call(make: Callable[..., optim.Optimizer]) -> None:
    """Each has its own number, by which Adam corrects its means."""

    def run(wrapper: Wrapper) -> tuple[list[Any], list[int]]:
        model = network()
        optimizer = make(model.parameters(), lr=0.05)
        step = stepper(model, optimizer)

        def twice(*batch: Any) -> Any:
            for _ in range(2):
                loss = step(*batch)
            return loss

        repeated = wrapper(twice)
        for i in range(3):
            repeated(*data(i))
        return [p.tolist() for p in optimizer.params], optimizer.steps

    (jitted, counted), (lazy, steps) = run(wf.jit), run(lambda f: f)
    assert counted == steps == [6] * len(steps)
    for got, want in zip(jitted, lazy, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
