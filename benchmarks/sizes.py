"""Programs that steps need for random sizes. In: how many sizes, a seed. Out: for each network how
many programs were compiled, at which sizes, and the time that was spent on it.

    python benchmarks/sizes.py
    python benchmarks/sizes.py --sizes 200 --seed 3 --only text

Batches are of 1 to 257, lengths of 1 to 512; a sixth of the batches for transformers, whose
attention takes long. The second size is the last at which anything should be compiled, but for axes
of one element and lengths of less than eight.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import weft as wf
from weft import nn
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

WORDS, CLASSES, WIDTH = 1000, 10, 64
MOST_BATCH, MOST_LENGTH = 257, 512
LEAST_LENGTH = 6  # of texts, of which the widest window of the text CNN then has two places
FEWER = 6  # times

Size = tuple[int, int]
Step = Callable[[Size], Any]


def numbers(shape: Sequence[int], below: int) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(tuple(shape)).integers(0, below, shape))


def values(*shape: int) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(shape).standard_normal(shape).astype(np.float32))


def lenet() -> Step:
    """The step of examples/lenet.py."""
    example = import_module("lenet")
    model = example.LeNet()
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
    return lambda s: example.train_step(
        model, optimizer, values(s[0], 1, 28, 28), numbers(s[:1], CLASSES)
    )


def gradients() -> Step:
    """Those of LeNet's loss, by `wf.grad`."""
    model = import_module("lenet").LeNet()
    parameters = [*model.parameters()]

    @wf.jit
    def step(images: wf.Tensor, labels: wf.Tensor) -> list[wf.Tensor]:
        loss = F.cross_entropy(model(images), labels)
        return [loss, *wf.grad(loss, parameters)]

    return lambda s: step(values(s[0], 1, 28, 28), numbers(s[:1], CLASSES))


def text() -> Step:
    """The step of examples/sentiment.py."""
    example = import_module("sentiment")
    model = example.SentimentCNN(WORDS, 50, 100)
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
    step = wf.jit(example.train_step.__wrapped__)  # without the names of its sizes

    def of_size(s: Size) -> wf.Tensor:
        tokens = numbers((s[0], max(s[1], LEAST_LENGTH)), WORDS)
        return step(model, optimizer, tokens, numbers(s[:1], 2))

    return of_size


def block() -> Step:
    """The gradients of a transformer's block."""
    model = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
    parameters = [*model.parameters()]

    @wf.jit
    def step(x: wf.Tensor) -> list[wf.Tensor]:
        loss = (model(x) ** 2).mean()
        return [loss, *wf.grad(loss, parameters)]

    return lambda s: step(values(-(-s[0] // FEWER), s[1], WIDTH))


def gpt() -> Step:
    """The forward pass of examples/char_transformer.py."""
    model = import_module("char_transformer").CharTransformer(100, MOST_LENGTH, WIDTH, 4, 2).eval()
    scores = wf.jit(model)
    return lambda s: scores(numbers((-(-s[0] // FEWER), s[1]), 100))


STEPS: dict[str, Callable[[], Step]] = {
    "lenet": lenet,
    "gradients": gradients,
    "text": text,
    "block": block,
    "gpt": gpt,
}


def measure(name: str, sizes: Sequence[Size]) -> None:
    """Runs a step at all sizes and prints what was compiled."""
    step, others, late = STEPS[name](), [], 0.0
    (wf.zeros(3) + 1).realize()
    start = statistics["built"]
    for number, size in enumerate(sizes):
        before, started = statistics["built"], time.perf_counter()
        result = step(size)
        wf.realize(*(result if isinstance(result, list) else [result]))
        if number > 1 and statistics["built"] > before:
            others.append("{} x {}".format(*size))
            late += time.perf_counter() - started
    said = f"{statistics['built'] - start} programs of {len(sizes)} sizes"
    print(
        f"{name:10s} {said}; after the second: {', '.join(others) or 'none'}, {late:.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, default=64, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=STEPS)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    sizes = [(rng.randint(1, MOST_BATCH), rng.randint(1, MOST_LENGTH)) for _ in range(given.sizes)]
    for name in [given.only] if given.only else STEPS:
        measure(name, sizes)


if __name__ == "__main__":
    main()
