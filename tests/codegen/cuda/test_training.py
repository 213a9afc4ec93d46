"""Training on the emulated device: whole steps of the networks of the examples give what the CPU
gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import char_transformer
import lenet
import numpy as np
import pytest
import sentiment
import weft as wf
from cudakit import device, in_order, needs_compiler
from effort import rarely
from weft import nn
from weft.nn import functional as F

pytestmark = needs_compiler

Array = np.ndarray[Any, Any]
Batch = tuple[Array, Array]
STEPS = 3


@pytest.fixture(autouse=True)
def emulated() -> Iterator[None]:
    device()
    with in_order("random", seed=5):
        yield


def _lenet() -> tuple[nn.Module, Batch]:
    rng = np.random.default_rng(0)
    return lenet.LeNet(), (rng.random((4, 1, 28, 28), np.float32), np.arange(4) % 10)


def _sentiment() -> tuple[nn.Module, Batch]:
    rng = np.random.default_rng(1)
    model = sentiment.SentimentCNN(words=40, dim=10, filters=6)
    return model, (rng.integers(1, 40, (4, 8)), np.arange(4) % 2)


class _Characters(nn.Module):
    """The transformer with its characters as one batch of rows."""

    def __init__(self) -> None:
        self.model = char_transformer.CharTransformer(
            characters=11, context=8, dim=16, heads=2, layers=1
        )

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.model(x).reshape(-1, 11)


def _transformer() -> tuple[nn.Module, Batch]:
    rng = np.random.default_rng(2)
    return _Characters(), (rng.integers(0, 11, (2, 8)), rng.integers(0, 11, 16))


MODELS: dict[str, Callable[[], tuple[nn.Module, Batch]]] = {
    "lenet": _lenet,
    "sentiment": _sentiment,
    "transformer": _transformer,
}


Optimizer = Callable[[Any], nn.optim.Optimizer]


def _adam(parameters: Any) -> nn.optim.Optimizer:
    return nn.optim.Adam(parameters, lr=0.01)


def _sgd(parameters: Any) -> nn.optim.Optimizer:
    return nn.optim.SGD(parameters, lr=0.05, momentum=0.9)


def _trained(
    make: Callable[[], tuple[nn.Module, Batch]], where: str, jitted: bool, optimized: Optimizer
) -> tuple[list[float], list[Array]]:
    """The losses of a few steps, and the parameters after them."""
    wf.manual_seed(3)
    model, (x, y) = make()
    model.to(where)
    optimizer = optimized(model.parameters())

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = wf.jit(step) if jitted else step
    batch = wf.tensor(x, device=where), wf.tensor(y, device=where)
    losses = [run(*batch).item() for _ in range(STEPS)]
    return losses, [p.cpu().numpy() for p in model.parameters()]


def _assert_alike(got: Sequence[Array], want: Sequence[Array], tolerance: float) -> None:
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance * max(1e-3, float(np.abs(b).max())))


@pytest.mark.parametrize("name", ["sentiment", *rarely("lenet", "transformer")])
def test_training_equals_that_on_the_cpu(name: str) -> None:
    losses, parameters = _trained(MODELS[name], "cuda", True, _sgd)
    expected, on_cpu = _trained(MODELS[name], "cpu", True, _sgd)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    _assert_alike(parameters, on_cpu, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sentiment", *rarely("lenet", "transformer")])
def test_a_jitted_step_has_the_bits_of_a_lazy_one(name: str) -> None:
    jitted, lazy = (_trained(MODELS[name], "cuda", how, _adam) for how in (True, False))
    assert jitted[0] == lazy[0]
    for a, b in zip(jitted[1], lazy[1], strict=True):
        np.testing.assert_array_equal(a, b)
