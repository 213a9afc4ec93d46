"""wf.checkpoint: the same values and gradients, computed again in the backward pass, in less
memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import nn
from weft.nn import functional as F


class Network(nn.Module):
    """Layers with dropout and normalisation."""

    def __init__(self, apply: Callable[[Any], Any], layers: int = 2, width: int = 16) -> None:
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, 4 * width),
                nn.BatchNorm1d(4 * width),
                nn.GELU(),
                nn.Dropout(0.1),
                nn.Linear(4 * width, width),
            )
            for _ in range(layers)
        )
        self._apply = apply

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        for layer in self.layers:
            x = x + self._apply(layer)(x)
        return x


def trained(
    apply: Callable[[Any], Any], how: Callable[[Any], Any]
) -> tuple[list[float], dict[str, Any]]:
    wf.manual_seed(0)
    model = Network(apply)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    x = wf.randn(8, 16)
    wf.realize(x)

    @how
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x).item() for _ in range(3)]
    return losses, {name: t.numpy().copy() for name, t in model.state_dict().items()}


@pytest.mark.slow
@pytest.mark.parametrize("how", [wf.jit, *rarely(lambda f: f)])
def test_training_is_the_same_with_dropout_and_running_statistics(
    how: Callable[[Any], Any],
) -> None:
    plain, state = trained(lambda f: f, how)
    again, other = trained(wf.checkpoint, how)
    np.testing.assert_allclose(again, plain, rtol=1e-6)
    assert again[0] == plain[0]
    for name, value in state.items():
        np.testing.assert_allclose(other[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_peak_falls_and_no_more_than_the_forward_pass_is_computed_again() -> None:
    layers = [nn.Linear(64, 64) for _ in range(4)]
    wf.realize(*(p for layer in layers for p in layer.parameters()))

    def gradients(apply: Callable[[Any], Any]) -> Any:
        x = wf.randn(1 << 17, 64)
        for layer in layers:
            x = x + apply(lambda x, layer=layer: F.gelu(layer(F.gelu(layer(x)))))(x)
        loss = (x * x).mean()
        return wf.explain([loss, *wf.grad(loss, [layer.weight for layer in layers])])

    plain, again = gradients(lambda f: f), gradients(wf.checkpoint)
    assert again.memory.peak_bytes < 0.5 * plain.memory.peak_bytes
    assert plain.flops < again.flops < 1.5 * plain.flops


@pytest.mark.slow
def test_a_checkpointed_transformer_takes_the_kernels_of_its_forward_pass_again() -> None:
    layers = [nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True) for _ in range(2)]
    parameters = [p for layer in layers for p in layer.parameters()]
    x = wf.randn(4, 16, 32)
    wf.realize(x, *parameters)

    def kernels(apply: Callable[[Any], Any]) -> tuple[int, int]:
        y = x
        for layer in layers:
            y = apply(layer)(y)
        loss = (y * y).mean()
        whole = [loss, *wf.grad(loss, parameters)]
        return len(wf.explain(loss).kernels), len(wf.explain(whole).kernels)

    (forward, plain), (_, again) = kernels(lambda f: f), kernels(wf.checkpoint)
    assert again <= plain + forward + 3 * len(layers)


def test_derivatives_of_any_order_and_batches() -> None:
    x = wf.tensor(np.linspace(-1, 1, 5))
    f = wf.checkpoint(lambda x: (x.sin() * x).exp())
    plain = lambda x: (x.sin() * x).exp()  # noqa: E731
    for derive in (
        wf.jacfwd,
        wf.jacrev,
        lambda g: wf.hessian(lambda x: g(x).sum()),
        lambda g: wf.vmap(wf.value_and_grad(g)),
    ):
        got, want = derive(f)(x), derive(plain)(x)
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for a, b in pairs:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@pytest.mark.slow
def test_loops_keep_what_a_checkpointed_body_is_given() -> None:
    w = wf.tensor(np.linspace(0, 1, 9).reshape(3, 3))
    total = lambda f: wf.scan(lambda c, _: (f(c), None), w[0], None, length=4)[0].sum()  # noqa: E731
    body = lambda c: ((c @ w).tanh() @ w).sin()  # noqa: E731
    got, want = wf.grad(total(wf.checkpoint(body)), w), wf.grad(total(body), w)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.slow
def test_loops_in_two_levels_keep_the_square_root_of_their_iterations() -> None:
    w, h = wf.tensor(np.eye(64, dtype=np.float32)), wf.zeros(256, 64)
    wf.realize(w, h)

    def peak(length: int) -> int:
        side = int(length**0.5)

        def several(c: wf.Tensor) -> wf.Tensor:
            last = wf.scan(lambda c, _: ((c @ w).tanh(), None), c, None, length=side)[0]
            assert isinstance(last, wf.Tensor)
            return last

        inner = wf.checkpoint(several)
        last = wf.scan(lambda c, _: (inner(c), None), h, None, length=side)[0]
        return wf.explain(wf.grad(last.sum(), w)).memory.peak_bytes

    assert peak(1024) < 4 * peak(64)


def test_structures_and_arguments_that_are_no_tensors() -> None:
    def f(p: dict[str, Any], k: int, *, name: str) -> Any:
        return {name: p["x"] * k, "none": None}

    x = wf.tensor([1.0, 2.0])
    made = wf.checkpoint(f)({"x": x}, 3, name="y")
    assert made["none"] is None and wf.grad(made["y"].sum(), x).tolist() == [3.0, 3.0]
