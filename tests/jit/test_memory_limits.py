"""wf.jit(f, memory=...): as few repeated Modules are computed again as the planned peak takes; the
values stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn
from weft.frontend.jit.jit import step_behind
from weft.frontend.jit.limited import as_bytes, planned


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return x + self.second(nn.functional.gelu(self.first(x)))


class Network(nn.Module):
    def __init__(self, width: int = 16, blocks: int = 4) -> None:
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.output = nn.Linear(width, 1)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.output(self.blocks(x))


def trainer(memory: Any) -> Any:
    wf.manual_seed(0)
    model = Network()
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)

    @wf.jit(memory=memory)
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def plan(step: Any) -> tuple[int, str]:
    found = step_behind("explain", step, (), {})
    assert found is not None
    return planned(found), found.structure.note


# far more than caches hold, within which plans do not spare memory
X = wf.tensor(np.random.default_rng(0).standard_normal((1 << 17, 16), dtype=np.float32))


@pytest.fixture(scope="module")
def plain() -> tuple[int, list[float]]:
    step = trainer(None)
    losses = [step(X).item() for _ in range(2)]
    bytes_, note = plan(step)
    assert note == ""
    return bytes_, losses


@pytest.mark.slow
def test_what_fits_is_not_changed(plain: tuple[int, list[float]]) -> None:
    step = trainer(plain[0])
    assert [step(X).item() for _ in range(2)] == plain[1] and plan(step) == (plain[0], "")


def test_a_plan_that_is_too_large_computes_blocks_again(plain: tuple[int, list[float]]) -> None:
    limit = int(0.6 * plain[0])
    step = trainer(limit)
    assert [step(X).item() for _ in range(2)] == plain[1]
    bytes_, note = plan(step)
    assert bytes_ <= limit
    assert " of 4 calls of Block are computed again" in note and note in str(wf.explain(step, X))


def test_what_cannot_fit_says_how_much_is_missing_and_changes_nothing() -> None:
    step = trainer("1 MB")
    with pytest.raises(wf.errors.MemoryError, match=r"all 4 calls of Block .*: .* more"):
        step(X)
    f = wf.jit(lambda x: (x * 2).exp().sum(), memory=1000)
    with pytest.raises(wf.errors.MemoryError, match="calls no Modules that repeat"):
        f(X)


@pytest.mark.parametrize(
    ("given", "size"), [(5, 5), ("2 GB", 2 * 10**9), ("1.5MiB", 3 << 19), ("10k", 10_000)]
)
def test_sizes(given: Any, size: int) -> None:
    assert as_bytes(given) == size


@pytest.mark.parametrize("given", [0, -1, True, "much", "2 XB", 1.5])
def test_sizes_that_are_none(given: Any) -> None:
    with pytest.raises(wf.errors.ArgumentError, match="memory is a number of bytes"):
        wf.jit(lambda x: x, memory=given)
