"""One CUDA program for many sizes: how often something is compiled, and the bits of programs of one
size, on the emulated device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import cudakit
import numpy as np
import pytest
import weft as wf
import weft.nn.functional as F
from weft import options
from weft.compiler.programs import on_disk
from weft.frontend.lazy import program_table
from weft.frontend.lazy.program_table import statistics

pytestmark = cudakit.needs_compiler
RNG = np.random.default_rng(0)
Case = Callable[[int], wf.Tensor]
SIZES = (64, 67, 33, 100, 257, 700)


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> program_table.Programs:
    """None is there, and nothing is pending."""
    cudakit.device()
    (wf.zeros(1) + 1).realize()
    made = program_table.Programs()
    monkeypatch.setattr(program_table, "_programs", made)
    return made


@pytest.fixture
def nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "load_program", lambda key, structure: None)


def random(*shape: int) -> wf.Tensor:
    values = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    return wf.tensor(values).to("cuda").realize()


def normalised(x: wf.Tensor) -> wf.Tensor:
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


CASES: dict[str, Case] = {
    "map": lambda n: (random(n, 48) * 2 + random(n, 48)).relu(),
    "flat": lambda n: random(n, 48).reshape(-1) + 1,
    "turned": lambda n: random(n, 48).T + 1,
    "joined": lambda n: wf.concat([random(n, 48), random(n + 9, 48) * 2]),
    "padded": lambda n: wf.pad(random(n, 48), ((2, 3), (0, 0))) + 1,
    "softmax": lambda n: random(n, 48).softmax(1),
    "normalised": lambda n: normalised(random(n, 48)),
    "softmax along it": lambda n: random(20, n).softmax(1),
    "normalised along it": lambda n: normalised(random(3, n)),
    "sums of many rows": lambda n: random(2000, n).sum(1),
    "a mean of means": lambda n: random(n, 10).exp().sum(1).log().mean(),
    "attention": lambda n: F.scaled_dot_product_attention(
        *[random(2, 2, n, 16)] * 3, is_causal=True
    ),
    "attention to others": lambda n: F.scaled_dot_product_attention(
        random(2, 2, 9, 16), *[random(2, 2, n, 16)] * 2
    ),
    "sorted rows": lambda n: random(n, 30).sort(1),
    "convolution along it": lambda n: F.conv2d(random(2, 3, n, 12), random(4, 3, 3, 3)).relu(),
    "sum of columns": lambda n: (random(n, 300) * 2).sum(0),
    "product": lambda n: random(n, 48) @ random(48, 40),
    "product in parts": lambda n: (random(n, 784) @ random(784, 10)).relu(),
    "convolution": lambda n: F.conv2d(random(n, 1, 12, 12), random(6, 1, 5, 5), padding=2).relu(),
    "pooled": lambda n: F.max_pool2d(random(n, 12, 12, 12), 2) + 1,
}


def computed(case: Case, n: int) -> np.ndarray[Any, Any]:
    return case(n).cpu().numpy()


def alone(case: Case, n: int) -> np.ndarray[Any, Any]:
    """By a program for this size alone."""
    with (
        options.override(dynamic_shapes=False),
        mock.patch.object(program_table, "_programs", program_table.Programs()),
    ):
        return computed(case, n)


@pytest.mark.thinned(to=2)
@pytest.mark.usefixtures("nothing_on_disk")
@pytest.mark.parametrize("name", CASES)
def test_one_program_has_the_bits_of_each_size(name: str) -> None:
    case, before, made = CASES[name], statistics["built"], {}
    for n in SIZES:
        made[n] = computed(case, n)
    assert statistics["built"] - before == 2  # of the first size, and of all others
    for n in SIZES:
        assert made[n].tobytes() == alone(case, n).tobytes(), n


def trained(batches: tuple[int, ...]) -> list[bytes]:
    """The losses of a step for each batch of token lists, then the weights."""
    wf.manual_seed(0)
    table, layer = wf.nn.Embedding(50, 8), wf.nn.Linear(8, 10)
    table.to("cuda"), layer.to("cuda")
    weights = [*table.parameters(), *layer.parameters()]
    optimizer = wf.nn.optim.SGD(weights, lr=0.1)

    @wf.jit
    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(layer(table(x).mean(1)), y)
        loss.backward()
        optimizer.step()
        return loss

    rng, out = np.random.default_rng(0), list[bytes]()
    for n in batches:
        x, y = (wf.tensor(rng.integers(0, 10, shape)).to("cuda") for shape in ((n, 7), (n,)))
        out.append(step(x, y).cpu().numpy().tobytes())
    return [*out, *(w.cpu().numpy().tobytes() for w in weights)]


@pytest.mark.usefixtures("nothing_on_disk")
def test_a_training_step_serves_batches_of_any_size() -> None:
    before, batches = statistics["built"], (20, 16, 33, 27, 64)
    made = trained(batches)
    count = statistics["built"] - before
    with (
        options.override(dynamic_shapes=False),
        mock.patch.object(program_table, "_programs", program_table.Programs()),
    ):
        before = statistics["built"]
        assert trained(batches) == made
    assert statistics["built"] - before - count == len(batches) - 2


@pytest.mark.usefixtures("nothing_on_disk")
def test_a_row_whose_elements_lie_apart_is_shared_out_alike_where_registers_hold_it() -> None:
    def along(n: int) -> list[np.ndarray[Any, Any]]:
        x = (random(n, 3, 40) @ random(40, 64)).transpose(0, 2)
        results = [x * 1, x.softmax(2)]
        wf.realize(*results)
        return [r.cpu().numpy() for r in results]

    for n in (8, 48, 64, 100, 128):
        made = along(n)
        with (
            options.override(dynamic_shapes=False),
            mock.patch.object(program_table, "_programs", program_table.Programs()),
        ):
            assert [a.tobytes() for a in along(n)] == [a.tobytes() for a in made], n


@pytest.mark.parametrize(
    "case", [CASES["softmax"], lambda n: random(100, n, 5).sort(0)], ids=["softmax", "sort"]
)
def test_sizes_are_found_on_disk(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with options.override(cache_dir=tmp_path, verify=False):
        made = {n: computed(case, n) for n in (64, 67, 100)}
        monkeypatch.setattr(program_table, "_programs", program_table.Programs())
        with mock.patch("weft.compiler.compile.build", side_effect=AssertionError):
            assert computed(case, 100).tobytes() == made[100].tobytes()
