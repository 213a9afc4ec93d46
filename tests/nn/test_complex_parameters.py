"""Complex parameters. In: optimisers. Out: the steps that they make of the parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn

RNG = np.random.default_rng(2)
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: nn.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
    "Adam": lambda p: nn.optim.Adam(p, lr=0.1),
    "RMSprop": lambda p: nn.optim.RMSprop(p, lr=0.05),
}


def loss_of(p: wf.Tensor, a: wf.Tensor) -> wf.Tensor:
    return ((a @ p).abs() ** 2).sum() + (p - 1j).abs().sum()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_that_of_the_parts(name: str) -> None:
    z, a = (wf.tensor(RNG.normal(size=s) + 1j * RNG.normal(size=s)) for s in ((3, 2), (4, 3)))
    whole, parts = nn.Parameter(z), nn.Parameter(wf.stack([z.real, z.imag], -1))
    ours, theirs = OPTIMIZERS[name]([whole]), OPTIMIZERS[name]([parts])

    def step() -> wf.Tensor:
        ours.zero_grad()
        loss = loss_of(whole, a)
        loss.backward()
        ours.step()
        return loss

    jitted = wf.jit(step)
    for k in range(5):
        got = jitted() if k > 2 else step()
        theirs.zero_grad()
        want = loss_of(wf.complex(parts[..., 0], parts[..., 1]), a)
        want.backward()
        theirs.step()
        assert got.item() == pytest.approx(want.item(), rel=1e-10)


def test_complex_modules_are_saved(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    model.weight = nn.Parameter(wf.tensor(RNG.normal(size=(2, 3)) * (1 + 2j)).astype(wf.complex64))
    nn.save(tmp_path / "model.safetensors", model=model)
    other = nn.Linear(3, 2)
    other.weight = nn.Parameter(wf.zeros(2, 3, dtype=wf.complex64))
    nn.load(tmp_path / "model.safetensors", model=other)
    np.testing.assert_array_equal(other.weight.numpy(), model.weight.numpy())
    assert other(wf.ones(1, 3)).dtype is wf.complex64
    model.weight = nn.Parameter(model.weight.astype(wf.complex128))
    with pytest.raises(wf.errors.WeftError, match="complex128"):
        nn.save(tmp_path / "model.safetensors", model=model)
