"""Training steps beside torch's. In: networks of the examples and of teaching libraries. Out:
microseconds a step, from one run.

    python benchmarks/training.py                        # every network
    python benchmarks/training.py --only sine --rounds 9
    python benchmarks/training.py --torch-compile        # one column more

Both start from the same weights and take the same batches; the losses of the first steps are
compared before anything is timed. Each round times the systems in turns; a figure is the median of
its rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import weft as wf

Array = np.ndarray
Step = Callable[[Array, Array], Any]
CHECKED = 5  # steps whose losses must agree
TOLERANCE = 1e-3
BATCHES = 8


@dataclass(frozen=True)
class Network:
    """One that both systems can build: `model` and `loss` are given their `nn` and
    `nn.functional`."""

    model: Callable[[Any], Any]
    loss: Callable[[Any, Any, Any], Any]
    batch: Callable[[np.random.Generator], tuple[Array, Array]]
    lr: float
    optimizer: str = "SGD"


def minitorch_lenet(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(392, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def lenet5(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def text_cnn(nn: Any) -> Any:
    """Kim's CNN over vectors of words (N, 50, 52): windows of 3, 4 and 5 words, maxima over time,
    summed."""

    class TextCNN(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv3, self.conv4, self.conv5 = (nn.Conv1d(50, 100, width) for width in (3, 4, 5))
            self.fc = nn.Linear(100, 1)

        def forward(self, x: Any) -> Any:
            pooled = [most(conv(x).relu()) for conv in (self.conv3, self.conv4, self.conv5)]
            return self.fc(pooled[0] + pooled[1] + pooled[2]).reshape(-1)

    return TextCNN()


def sentiment(nn: Any) -> Any:
    """The network of examples/sentiment.py, without its dropout: tokens (N, 24) of 16,000 words,
    scores of two classes."""

    class Sentiment(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(16_000, 50)
            self.conv3, self.conv4, self.conv5 = (nn.Conv1d(50, 100, width) for width in (3, 4, 5))
            self.fc3, self.fc4, self.fc5 = (nn.Linear(100, 2) for _ in range(3))

        def forward(self, x: Any) -> Any:
            x = self.embedding(x).transpose(1, 2)
            pairs = ((self.conv3, self.fc3), (self.conv4, self.fc4), (self.conv5, self.fc5))
            scores = [fc(most(conv(x).relu())) for conv, fc in pairs]
            return scores[0] + scores[1] + scores[2]

    return Sentiment()


def most(x: Any) -> Any:
    return x.amax(2) if hasattr(x, "amax") else x.max(axis=2)


def sine(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(1, 10), nn.Sigmoid(), nn.Linear(10, 1))


def images(size: int) -> Callable[[np.random.Generator], tuple[Array, Array]]:
    return lambda rng: (
        rng.standard_normal((size, 1, 28, 28), dtype="float32"),
        rng.integers(0, 10, size),
    )


def sentences(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.standard_normal((10, 50, 52), dtype="float32"), rng.integers(0, 2, 10).astype(
        "float32"
    )


def phrases(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.integers(0, 16_000, (64, 24)), rng.integers(0, 2, 64)


def one_point(rng: np.random.Generator) -> tuple[Array, Array]:
    x = rng.uniform(0, 20, (1, 1)).astype("float32")
    return x, np.sin(x) ** 2


NETWORKS = {
    "minitorch-lenet": Network(
        minitorch_lenet, lambda F, x, y: F.cross_entropy(x, y), images(16), 0.01
    ),
    "text-cnn": Network(
        text_cnn, lambda F, x, y: F.binary_cross_entropy_with_logits(x, y), sentences, 0.01
    ),
    "sine": Network(sine, lambda F, x, y: F.mse_loss(x, y), one_point, 1e-3),
    "lenet5": Network(lenet5, lambda F, x, y: F.cross_entropy(x, y), images(64), 0.002, "Adam"),
    "sentiment": Network(sentiment, lambda F, x, y: F.cross_entropy(x, y), phrases, 0.002, "Adam"),
}


# ---------------------------------------------------------------- the systems


def weft_step(network: Network, weights: dict[str, Array], jitted: bool) -> Step:
    model = network.model(wf.nn)
    model.load_state_dict(weights)
    optimizer = getattr(wf.nn.optim, network.optimizer)(model.parameters(), lr=network.lr)

    def step(x: Array, y: Array) -> wf.Tensor:
        optimizer.zero_grad()
        loss = network.loss(wf.nn.functional, model(wf.tensor(x)), wf.tensor(y))
        loss.backward()
        optimizer.step()
        return loss

    return wf.jit(step) if jitted else step


def torch_step(network: Network, weights: dict[str, Array], compiled: bool) -> Step:
    torch = import_module("torch")
    model = network.model(torch.nn)
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    optimizer = getattr(torch.optim, network.optimizer)(
        model.parameters(), lr=network.lr, fused=True
    )
    evaluate = (
        (lambda x, y: network.loss(torch.nn.functional, model(x), y)) if not compiled else None
    )
    evaluate = evaluate or torch.compile(
        lambda x, y: network.loss(torch.nn.functional, model(x), y), dynamic=False
    )

    def step(x: Array, y: Array) -> Any:
        optimizer.zero_grad()
        loss = evaluate(torch.from_numpy(x), torch.from_numpy(y))
        loss.backward()
        optimizer.step()
        return loss

    return step


def systems(network: Network, with_compile: bool) -> dict[str, Step]:
    """A step for each system, all from the same weights."""
    wf.manual_seed(0)
    weights = {name: t.numpy() for name, t in network.model(wf.nn).state_dict().items()}
    found = {"jit": weft_step(network, weights, True), "lazy": weft_step(network, weights, False)}
    try:
        torch = import_module("torch")
    except ImportError:
        return found
    torch.set_num_threads(wf.options.current().num_threads)
    found["torch"] = torch_step(network, weights, False)
    if with_compile:
        found["compiled"] = torch_step(network, weights, True)
    return found


# ---------------------------------------------------------------- checks and times


def check(steps: dict[str, Step], batches: Sequence[tuple[Array, Array]]) -> None:
    losses = {
        name: [float(step(*batches[i % BATCHES]).item()) for i in range(CHECKED)]
        for name, step in steps.items()
    }
    for name, found in losses.items():
        if not np.allclose(found, losses["jit"], rtol=TOLERANCE):
            raise SystemExit(
                f"the systems do not train the same network: {name} {found}, jit {losses['jit']}"
            )


def microseconds(step: Step, batches: Sequence[tuple[Array, Array]], seconds: float) -> float:
    """Of one step, the mean over about so many seconds; the last loss is read at the end."""
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for x, y in batches:
            loss = step(x, y)
        done += len(batches)
    loss.item()
    return 1e6 * (time.perf_counter() - start) / done


def measured(network: Network, rounds: int, seconds: float, with_compile: bool) -> dict[str, float]:
    rng = np.random.default_rng(0)
    batches = [network.batch(rng) for _ in range(BATCHES)]
    steps = systems(network, with_compile)
    check(steps, batches)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            times[name].append(microseconds(step, batches, seconds))
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=NETWORKS, help="one of the networks")
    parser.add_argument(
        "--rounds", type=int, default=5, help="of which the median counts (default: 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="of each system in a round (default: 0.5)"
    )
    parser.add_argument("--torch-compile", action="store_true", help="time torch.compile as well")
    args = parser.parse_args()
    print(
        f"{'us a step':17}{'jit':>10}{'lazy':>10}{'torch':>10}{'jit/torch':>11}  (compiled:"
        " torch.compile)"
    )
    for name in [args.only] if args.only else NETWORKS:
        found = measured(NETWORKS[name], args.rounds, args.seconds, args.torch_compile)
        columns = "".join(
            f"{found[s]:10.1f}" if s in found else f"{'-':>10}" for s in ("jit", "lazy", "torch")
        )
        ratio = f"{found['jit'] / found['torch']:11.3f}" if "torch" in found else f"{'-':>11}"
        rest = f"  compiled {found['compiled']:.1f}" if "compiled" in found else ""
        print(f"{name:17}{columns}{ratio}{rest}", flush=True)


if __name__ == "__main__":
    main()
