"""Training as a user writes it: flat memory, few programs, old values that stay, errors that cost
nothing, equal bits."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from effort import rarely
from project_root import ROOT
from weft import options
from weft.frontend.lazy.program_table import statistics
from weft.ir.graph import graph
from weft.nn import functional as F
from weft.nn import optim
from weft.runtime.buffer import memory

Array = np.ndarray
Make = Callable[[list[wf.Tensor]], optim.Optimizer]
PAGE = os.sysconf("SC_PAGE_SIZE")
OPTIMISERS: list[Make] = [
    lambda p: optim.Adam(p, lr=0.01),
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
]


@pytest.fixture(params=OPTIMISERS, ids=["adam", "sgd"])
def make(request: pytest.FixtureRequest) -> Make:
    chosen: Make = request.param
    return chosen


# For what does not depend on the optimiser.
ONE = pytest.mark.parametrize("make", [OPTIMISERS[0], *rarely(OPTIMISERS[1])], ids=["adam", "sgd"])


def mlp() -> wf.nn.Sequential:
    wf.manual_seed(0)
    return wf.nn.Sequential(wf.nn.Linear(8, 32), wf.nn.ReLU(), wf.nn.Linear(32, 4))


def points(n: int) -> tuple[Array, Array]:
    """Points in 8 dimensions and which of their first four coordinates is the largest."""
    x = np.random.default_rng(0).standard_normal((n, 8)).astype("float32")
    return x, x[:, :4].argmax(1)


def train_step(
    model: wf.nn.Module, optimizer: optim.Optimizer, x: wf.Tensor, y: wf.Tensor
) -> wf.Tensor:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def everything(model: wf.nn.Module, optimizer: optim.Optimizer) -> list[Array]:
    """Copies of the parameters, the optimiser's Tensors and its step counts."""
    state = [t for s in optimizer.state for t in s.values()]
    return [t.numpy(copy=True) for t in [*model.parameters(), *state]] + [np.array(optimizer.steps)]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


# ---------------------------------------------------------------- memory and programs


@ONE
@pytest.mark.parametrize("steps", rarely(150, 1000))
def test_many_steps_without_reading_hold_memory_flat_and_use_one_program(
    make: Make, steps: int
) -> None:
    model = mlp()
    optimizer = make(list(model.parameters()))
    x, y = (wf.tensor(a) for a in points(64))
    first = train_step(model, optimizer, x, y)
    built = statistics["built"]
    for step in range(steps):
        loss = train_step(model, optimizer, x, y)
        if step == 100:
            gc.collect()
            allocated, resident, nodes = (
                memory.allocated_bytes,
                resident_bytes(),
                len(graph.interned),
            )
    gc.collect()
    assert memory.allocated_bytes <= allocated + 4096
    assert len(graph.interned) <= nodes + 10
    if sys.platform == "linux":
        assert resident_bytes() <= resident + 20_000_000, (
            "of 1000 steps, a graph kept at every step would be about 50 MB"
        )
    assert statistics["built"] == built
    assert loss.item() < 0.1 * first.item()


@pytest.mark.slow
@ONE
def test_a_schedule_over_minibatches_of_a_network_compiles_at_most_twice(make: Make) -> None:
    model = mlp()
    optimizer = make(list(model.parameters()))
    x, y = (wf.tensor(a) for a in points(160))
    wf.realize(*model.parameters())
    built, rate = statistics["built"], optimizer.lr
    losses = []
    for epoch in range(4):
        for i in range(0, 160, 16):
            optimizer.lr = rate * 0.9**epoch / (1 + i / 160)
            losses.append(train_step(model, optimizer, x[i : i + 16], y[i : i + 16]))
    assert statistics["built"] - built <= 2
    assert np.mean([v.item() for v in losses[-10:]]) < 0.7 * np.mean(
        [v.item() for v in losses[:10]]
    )


# ---------------------------------------------------------------- values that were looked at, or
# kept


@pytest.mark.slow
@ONE
def test_printing_the_loss_before_backward_changes_nothing(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for printed in (False, True):
        model = mlp()
        optimizer = make(list(model.parameters()))
        x, y = (wf.tensor(a) for a in points(32))
        for _ in range(3):
            optimizer.zero_grad()
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            if printed:
                print(loss.item())
                print(logits)
            loss.backward()
            optimizer.step()
        results.append(everything(model, optimizer))
    assert capsys.readouterr().out.count("tensor(") == 3
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@ONE
def test_logits_kept_across_a_step_are_those_of_the_old_weights(make: Make) -> None:
    model = mlp()
    optimizer = make(list(model.parameters()))
    x, y = points(16)
    train_step(model, optimizer, wf.tensor(x), wf.tensor(y))
    w1, b1, w2, b2 = (p.numpy(copy=True) for p in model.parameters())
    optimizer.zero_grad()
    logits = model(wf.tensor(x))
    F.cross_entropy(logits, wf.tensor(y)).backward()
    optimizer.step()
    guess = logits.argmax(axis=1)
    expected = np.maximum(x @ w1.T + b1, 0) @ w2.T + b2
    np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(guess.numpy(), expected.argmax(1))
    assert not np.allclose(model(wf.tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_twice_a_parameter_kept_across_updates_keeps_its_value(make: Make) -> None:
    p = wf.nn.Parameter(np.arange(1.0, 5.0))
    optimizer = make([p])
    for _ in range(3):
        old = p.numpy(copy=True)
        kept = p * 2
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        np.testing.assert_array_equal(kept.numpy(), old * 2)
        assert not np.array_equal(p.numpy(), old)


# ---------------------------------------------------------------- a wrong label


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("wrong", [4, -3, 1_000_000_007])
def test_a_wrong_label_in_the_middle_of_training(make: Make, wrong: int) -> None:
    model, straight = mlp(), mlp()
    optimizer, untroubled = make(list(model.parameters())), make(list(straight.parameters()))
    x, y = points(32)
    bad = y.copy()
    bad[17] = wrong
    for step in range(6):
        if step == 3:
            before = everything(model, optimizer)
            with pytest.raises(wf.errors.IndexError) as caught:
                train_step(model, optimizer, wf.tensor(x), wf.tensor(bad))
            check_message(str(caught.value), wrong)
            for a, b in zip(before, everything(model, optimizer), strict=True):
                np.testing.assert_array_equal(a, b)
        train_step(model, optimizer, wf.tensor(x), wf.tensor(y))
        train_step(straight, untroubled, wf.tensor(x), wf.tensor(y))
    for a, b in zip(everything(model, optimizer), everything(straight, untroubled), strict=True):
        np.testing.assert_array_equal(a, b)


def check_message(text: str, wrong: int) -> None:
    """Value, axis, extent and the line of the user, which is the call of cross_entropy in
    train_step."""
    line = train_step.__code__.co_firstlineno + 4
    assert f"index {wrong} is out of range for axis 1 of extent 4" in text
    assert f"{Path(__file__).name}:{line}" in text


def test_the_traceback_of_a_wrong_label_ends_below_the_users_line() -> None:
    model = mlp()
    optimizer = optim.SGD(list(model.parameters()), lr=0.1)
    with pytest.raises(IndexError) as caught:
        train_step(model, optimizer, wf.tensor(points(2)[0]), wf.tensor([0, 9]))
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    assert frames[-1].line == "optimizer.step()"


def test_a_wrong_label_names_the_line_of_the_expression_not_of_an_equal_one_before() -> None:
    table, good, bad = wf.tensor(np.ones((4, 3))), wf.tensor([0, 1]), wf.tensor([0, 9])
    wf.gather(table, good).realize()
    chosen = wf.gather(table, bad)
    line = sys._getframe().f_lineno - 1
    for _ in range(2):
        with pytest.raises(IndexError, match=f"{Path(__file__).name}:{line}$"):
            chosen.numpy()


# ---------------------------------------------------------------- copies of a model


@pytest.mark.slow
@ONE
def test_a_pickled_model_continues_training_alike(make: Make) -> None:
    model = mlp()
    optimizer = make(list(model.parameters()))
    x, y = (wf.tensor(a) for a in points(32))
    train_step(model, optimizer, x, y)
    optimizer.zero_grad()
    again, (x2, y2) = pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps((x, y)))
    for a, b in zip(model.parameters(), again.parameters(), strict=True):
        assert type(a) is type(b) and a.name == b.name and b.is_leaf and b.requires_grad
    assert (y2.dtype, y2.shape) == (y.dtype, y.shape)
    straight, copied = (optim.SGD(list(m.parameters()), lr=0.1) for m in (model, again))
    train_step(model, straight, x, y)
    train_step(again, copied, x2, y2)
    for a, b in zip(everything(model, straight), everything(again, copied), strict=True):
        np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------- equal bits


@ONE
def test_training_is_bit_identical_for_any_threads(make: Make) -> None:
    """Work is shared among them even where there is little."""
    rng, results = np.random.default_rng(0), []
    x = wf.tensor(rng.standard_normal((16, 1, 10, 10)).astype("float32"))
    y = wf.tensor(rng.integers(0, 4, 16))
    for threads in (1, 2, 3):
        wf.manual_seed(0)
        model = wf.nn.Sequential(
            wf.nn.Conv2d(1, 4, 3), wf.nn.MaxPool2d(2), wf.nn.Flatten(), wf.nn.Linear(64, 4)
        )
        optimizer = make(list(model.parameters()))
        with options.override(num_threads=threads, serial_threshold=0, min_chunks=4):
            losses = [train_step(model, optimizer, x, y).item() for _ in range(3)]
            results.append([np.array(losses), *everything(model, optimizer)])
    for result in results[1:]:
        for a, b in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(a, b)


LENET = """
import hashlib, importlib.util, sys
import numpy as np
import weft as wf
from weft import options
spec = importlib.util.spec_from_file_location("lenet", sys.argv[1])
lenet = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lenet)
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (8, 16, 1, 28, 28), dtype=np.uint8)
labels = rng.integers(0, 10, (8, 16), dtype=np.uint8)

def run(step):
    wf.manual_seed(0)
    model = lenet.LeNet()
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=2e-3)
    batches = [(wf.tensor(x), wf.tensor(y)) for x, y in zip(images, labels)]
    losses = [step(model, optimizer, x, y).item() for x, y in batches]
    weights = b"".join(p.numpy().tobytes() for p in model.parameters())
    print(losses[0], losses[-1], hashlib.sha256(weights + np.array(losses).tobytes()).hexdigest())

for how in sys.argv[2:]:
    with options.override(**{"serial_threshold": 0} if how == "cut" else {}):
        run(lenet.train_step.__wrapped__ if how == "lazy" else wf.jit(lenet.train_step.__wrapped__))
"""
EXAMPLE = ROOT / "examples" / "lenet.py"


def lenet_runs(*how: str, **environment: str) -> list[str]:
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-c", LENET, str(EXAMPLE), *how]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["13", "123"])
def test_lenet_training_is_bit_identical_for_any_threads_with_and_without_jit(
    tmp_path: Path, threads: str
) -> None:
    cache = str(tmp_path / "cache")  # later runs load what the first compiled
    runs = [
        lenet_runs("jit", "lazy", "cut", WEFT_NUM_THREADS=n, WEFT_CACHE_DIR=cache) for n in threads
    ]
    jitted, lazy, cut = ({run[i] for run in runs} for i in range(3))
    assert len(jitted | lazy) == 1
    assert len(cut) == 1
