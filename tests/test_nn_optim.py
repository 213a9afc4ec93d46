"""nn/optim.py against the update formulas in NumPy, and what a step leaves behind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft.frontend.realize import statistics
from weft.nn import functional as F
from weft.nn import optim

Array = np.ndarray
STEPS = 4


def start() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((3, 2)), rng.standard_normal(2)


def train(make: Callable[[list[wf.Tensor]], optim.Optimizer]) -> list[Array]:
    """The parameters after a few steps on loss = sum(sin(w) * b), b + w broadcast."""
    params = [wf.nn.Parameter(a) for a in start()]
    optimizer = make(params)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (params[0].sin() * params[1]).sum().backward()
        optimizer.step()
    return [p.numpy() for p in params]


def gradients(p: list[Array]) -> list[Array]:
    return [np.cos(p[0]) * p[1], np.sin(p[0]).sum(0)]


def sgd(lr: float, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> list[Array]:
    p = list(start())
    m = [np.zeros_like(a) for a in p]
    for _ in range(STEPS):
        for i, g in enumerate(gradients(p)):
            d = g + weight_decay * p[i]
            m[i] = momentum * m[i] + d
            p[i] = p[i] - lr * (d + momentum * m[i] if nesterov else m[i])
    return p


def adam(lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0) -> list[Array]:
    p = list(start())
    m, s = [np.zeros_like(a) for a in p], [np.zeros_like(a) for a in p]
    for t in range(1, STEPS + 1):
        for i, g in enumerate(gradients(p)):
            d = g + weight_decay * p[i]
            m[i] = betas[0] * m[i] + (1 - betas[0]) * d
            s[i] = betas[1] * s[i] + (1 - betas[1]) * d * d
            p[i] = p[i] - lr * (m[i] / (1 - betas[0] ** t)) / (np.sqrt(s[i] / (1 - betas[1] ** t)) + eps)
    return p


@pytest.mark.parametrize(
    "kwargs",
    [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.5},
    ],
)
def test_sgd(kwargs: dict[str, float]) -> None:
    for got, expected in zip(train(lambda p: optim.SGD(p, **kwargs)), sgd(**kwargs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("kwargs", [{"lr": 0.1}, {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-2, "weight_decay": 0.3}])
def test_adam(kwargs: dict[str, float]) -> None:
    for got, expected in zip(train(lambda p: optim.Adam(p, **kwargs)), adam(**kwargs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_a_new_learning_rate_is_used_at_the_next_step() -> None:
    p = wf.nn.Parameter(np.zeros(2))
    optimizer = optim.SGD([p], lr=1.0)
    for rate in (1.0, 0.5):
        optimizer.lr = rate
        optimizer.zero_grad()
        p.sum().backward()
        optimizer.step()
    np.testing.assert_array_equal(p.numpy(), [-1.5, -1.5])


def test_a_schedule_over_sliced_minibatches_compiles_at_most_twice() -> None:
    x, y = wf.tensor(np.random.default_rng(0).standard_normal((40, 3))), wf.tensor(np.arange(40) % 2)
    w = wf.nn.Parameter(np.zeros((2, 3)))
    for make in (lambda: optim.SGD([w], lr=1.0, momentum=0.9), lambda: optim.Adam([w], lr=1.0)):
        optimizer = make()
        before = statistics["built"]
        for i in range(10):
            optimizer.lr = 0.1 / (i + 1)
            optimizer.zero_grad()
            rows = slice(4 * i, 4 * i + 4)
            F.cross_entropy(F.linear(x[rows], w), y[rows]).backward()
            optimizer.step()
        assert statistics["built"] - before <= 2


DECAY = {"weight_decay": 0.01}
EVERY: dict[str, Callable[[list[wf.Tensor]], optim.Optimizer]] = {
    "sgd": lambda p: optim.SGD(p, 0.1),
    "sgd, decay": lambda p: optim.SGD(p, 0.1, **DECAY),
    "momentum": lambda p: optim.SGD(p, 0.1, 0.9),
    "momentum, decay": lambda p: optim.SGD(p, 0.1, 0.9, **DECAY),
    "nesterov": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True),
    "nesterov, decay": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True, **DECAY),
    "adam": optim.Adam,
    "adam, decay": lambda p: optim.Adam(p, **DECAY),
    "adam, tensor rate": lambda p: optim.Adam(p, lr=wf.tensor(0.01), **DECAY),
}


CASES = [*((name, wf.float32) for name in EVERY), ("adam, decay", wf.float16), ("nesterov, decay", wf.float64)]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_optimiser_writes_everything_in_place(name: str, dtype: wf.DType) -> None:
    layers = wf.nn.Linear(108, 70), wf.nn.ReLU(), wf.nn.Linear(70, 10)
    model = wf.nn.Sequential(wf.nn.Conv2d(1, 3, 3), wf.nn.ReLU(), wf.nn.Flatten(), *layers).to(dtype)
    optimizer = EVERY[name](list(model.parameters()))

    @wf.jit
    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    everything = [*optimizer.params, *(t for s in optimizer.state for t in s.values())]
    batch = wf.randn(32, 1, 8, 8).to(dtype).realize(), wf.tensor(np.arange(32) % 10)
    step(*batch)
    step(*batch)
    places = [t._stored().address for t in everything]
    before = statistics["donated"]
    loss = step(*batch)
    assert [t._stored().address for t in everything] == places and np.isfinite(loss.item())
    assert statistics["donated"] - before == len(everything)
    assert len(step.last.makers) == len(everything) + 1, "the loss alone gets new memory"


def test_the_loss_is_computed_by_the_step() -> None:
    w = wf.nn.Parameter(np.array([1.0, 2.0]))
    optimizer = optim.SGD([w], lr=0.5)
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
    before = statistics["runs"]
    assert loss.item() == 5.0 and list(w.grad.numpy()) == [2.0, 4.0] and list(w.numpy()) == [0.0, 0.0]
    assert statistics["runs"] == before


def test_a_failed_step_counts_for_nothing() -> None:
    w = wf.nn.Parameter(np.ones((2, 3)))
    optimizer = optim.Adam([w], lr=0.1)
    loss = F.cross_entropy(F.linear(wf.tensor(np.ones((1, 3))), w), wf.tensor([2]))
    loss.backward()
    with pytest.raises(IndexError):
        optimizer.step()
    assert optimizer.steps == [0]
    np.testing.assert_array_equal(w.numpy(), np.ones((2, 3)))


def test_a_parameter_without_gradient_keeps_its_value_and_its_step_count() -> None:
    used, unused = wf.nn.Parameter(np.ones(2)), wf.nn.Parameter(np.ones(2))
    optimizer = optim.Adam([used, unused], lr=0.1)
    used.sum().backward()
    optimizer.step()
    assert optimizer.steps == [1, 0]
    np.testing.assert_array_equal(unused.numpy(), [1, 1])
    optimizer.zero_grad()
    assert used.grad is None
    optimizer.step()
    np.testing.assert_allclose(used.numpy(), [0.9, 0.9])


def test_a_step_accepts_any_iterable_and_refuses_what_cannot_learn() -> None:
    with pytest.raises(ValueError, match="there are no parameters"):
        optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="requires a gradient"):
        optim.Adam([wf.zeros(2)])
    with pytest.raises(ValueError, match="nesterov needs a momentum"):
        optim.SGD([wf.nn.Parameter(np.ones(1))], lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="betas must be"):
        optim.Adam([wf.nn.Parameter(np.ones(1))], betas=(0.9, 1.0))
    optim.SGD({"a": wf.nn.Parameter(np.ones(1))}.values(), lr=0.1)


def test_float32_parameters_stay_float32() -> None:
    p = wf.nn.Parameter(np.ones(3, np.float32))
    for optimizer in (optim.SGD([p], 0.1, 0.9, 0.01), optim.Adam([p])):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        assert p.dtype.name == "float32" and all(t.dtype.name == "float32" for t in optimizer.state[0].values())
