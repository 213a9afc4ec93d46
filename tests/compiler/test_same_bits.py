"""Reading, printing or returning a value on the way changes no bit of what is computed from it, nor
do threads or wf.jit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import options

Array = np.ndarray[Any, Any]
Step = tuple[Callable[..., wf.Tensor], tuple[int, ...]]  # what it computes from which values
SHAPES = [
    (3, 5),
    (40, 9),
    (6, 300),
    (17, 33),
    (8, 129),
    (2, 3000),
    (100, 64),
    (1, 700),
    (5, 7, 20),
    (300, 40),
    (2000, 3),
]

MAPS: tuple[Callable[[wf.Tensor], wf.Tensor], ...] = (
    lambda x: x * 0.5 + 0.25,
    lambda x: x.tanh(),
    lambda x: (x * 0.3).exp(),
    lambda x: (x.abs() + 0.1).sqrt(),
    lambda x: x.sin() - x * x,
)
PAIRS: tuple[Callable[[wf.Tensor, wf.Tensor], wf.Tensor], ...] = (
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x / (y.abs() + 1.0),
    lambda x, y: wf.where(x > 0.0, y, x),
)


def along(axis: int) -> tuple[Callable[[wf.Tensor], wf.Tensor], ...]:
    """Reductions along an axis, and back."""
    return (
        lambda x: x - x.mean(axis=axis, keepdims=True),
        lambda x: x / (x.abs().sum(axis=axis, keepdims=True) + 1.0),
        lambda x: (x + 1.5 * x).softmax(axis=axis),
        lambda x: x * wf.rsqrt((x * x).sum(axis=axis, keepdims=True) + 1.0),
        lambda x: x + wf.var(x, axis=axis, keepdims=True),
        lambda x: x - wf.logsumexp(x, axis=axis, keepdims=True),
    )


def steps_of(rng: random.Random, axis: int) -> list[Step]:
    """A random program of a value 0: each step computes another."""
    out: list[Step] = []
    for count in range(1, rng.randrange(3, 9)):
        kind = rng.choice((MAPS, PAIRS, along(axis), along(axis)))
        operands = tuple(
            rng.randrange(max(0, count - 3), count) for _ in range(2 if kind is PAIRS else 1)
        )
        out.append((rng.choice(kind), operands))
    return [*out, (lambda x: x.sum(axis=axis), (len(out),))]


def values(
    x: wf.Tensor,
    steps: Iterable[Step],
    at_each: Callable[[int, wf.Tensor], None] = lambda k, t: None,
) -> list[wf.Tensor]:
    found = [x]
    for f, operands in steps:
        found.append(f(*(found[k] for k in operands)))
        at_each(len(found) - 1, found[-1])
    return found


def check(seed: int) -> None:
    rng = random.Random(seed)
    shape, dtype = rng.choice(SHAPES), rng.choice(("float32", "float64"))
    steps = steps_of(rng, rng.choice((-1, 0)))
    data = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    kept = {k for k in range(1, len(steps)) if rng.random() < 0.4}

    def read(k: int, t: wf.Tensor) -> None:
        if k in kept:
            rng.choice((str, wf.Tensor.numpy, wf.Tensor.realize))(t)

    def together(x: wf.Tensor) -> wf.Tensor:
        return values(x, steps)[-1]

    def returning(x: wf.Tensor) -> tuple[wf.Tensor, ...]:
        found = values(x, steps)
        return (found[-1], *(found[k] for k in sorted(kept)))

    def with_threads(count: int) -> wf.Tensor:
        with options.override(num_threads=count):
            return together(wf.tensor(data)).realize()

    wanted = together(wf.tensor(data)).numpy()
    others = {
        "read on the way": values(wf.tensor(data), steps, read)[-1],
        "in a jitted function": wf.jit(together)(wf.tensor(data)),
        "beside others that are returned": wf.jit(returning)(wf.tensor(data))[0],
        "on one thread": with_threads(1),
        "on three threads": with_threads(3),
    }
    for how, found in others.items():
        assert found.numpy().tobytes() == wanted.tobytes(), (
            f"seed {seed}, {shape} {dtype}: other bits {how}; kept {sorted(kept)}"
        )


@pytest.mark.parametrize("first", [6, *rarely(0, 2, 4, 8, 10)])
def test_what_is_read_changes_no_bit(first: int) -> None:
    for seed in range(first, first + 2):
        check(seed)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(5, 20), (3, 300), (200, 1000), *rarely((2, 9), (64, 40))])
def test_a_row_has_the_bits_of_a_batch_of_one(shape: tuple[int, int]) -> None:
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for f in along(-1):
        whole = f(wf.tensor(data)).numpy()
        for k in (0, shape[0] - 1):
            assert f(wf.tensor(data[k : k + 1])).numpy()[0].tobytes() == whole[k].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_what_is_read_changes_no_bit_in_many_programs(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)
