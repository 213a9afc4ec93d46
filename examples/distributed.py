"""Trains one network in several processes. In: scikit-learn's digits. Out: the same model in each,
and its test accuracy.

    # two processes, each on half of every batch
    python -m weft.nn.parallel -n 2 examples/distributed.py
    # one, with the same numbers but for their rounding
    python examples/distributed.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import common
import numpy as np
import weft as wf
from weft import nn
from weft.nn import functional as F
from weft.nn import parallel
from weft.nn.data import DataError, DataLoader, Images, digits


def network(hidden: int) -> nn.Sequential:
    """Scores of ten digits for images of 28x28 bytes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def train_epoch(step: Callable[[wf.Tensor, wf.Tensor], wf.Tensor], data: DataLoader) -> float:
    """The mean loss over the batches of all processes."""
    losses = [step(images, labels).item() for images, labels in data]
    return float(parallel.all_reduce(np.array(np.mean(losses)), "mean"))


def accuracy(model: nn.Module, test: Images) -> float:
    """The share of test images that are right; each process looks at a part of them."""
    mine = slice(parallel.rank(), None, parallel.world_size())
    with wf.no_grad():
        right = model(wf.tensor(test.images[mine]) / 255).argmax(axis=1) == wf.tensor(
            test.labels[mine]
        )
    return parallel.all_reduce(right.sum()).item() / len(test)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options("Train one network in several processes.", epochs=10)
    parser.add_argument(
        "--batch-size",
        type=common.positive,
        default=64,
        help="images per step of all processes (default: 64)",
    )
    parser.add_argument(
        "--hidden",
        type=common.positive,
        default=128,
        help="units of the hidden layer (default: 128)",
    )
    parser.add_argument(
        "--lr", type=common.positive_float, default=2e-3, help="rate of Adam (default: 0.002)"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> float:
    """Trains, and reports in the process of rank 0; returns the last test accuracy."""
    args = arguments(argv)
    try:
        train, test = digits()
    except DataError as e:
        common.fail(e)
    wf.manual_seed(args.seed)
    model = parallel.DistributedDataParallel(network(args.hidden))
    optimizer = nn.optim.Adam(model.parameters(), lr=args.lr)
    step = parallel.jit_step(
        model, optimizer, lambda images, labels: F.cross_entropy(model(images / 255), labels)
    )
    sampler = parallel.DistributedSampler(train, seed=args.seed)
    each = max(1, args.batch_size // parallel.world_size())
    data = DataLoader(train, each, sampler=sampler, drop_last=True)
    training, start = common.Training(args, model=model, optimizer=optimizer), time.perf_counter()
    if parallel.rank() > 0:
        training.file = None  # all processes go on from a checkpoint, one writes it
    for epoch in training:
        sampler.set_epoch(epoch)
        training.end_epoch(loss=train_epoch(step, data), accuracy=accuracy(model, test))
        if parallel.rank() == 0:
            now = {name: values[-1] for name, values in training.curves.items()}
            print(
                f"epoch {epoch + 1}/{args.epochs}: loss {now['loss']:.4f},"
                f" {100 * now['accuracy']:.2f} % right",
                flush=True,
            )
    result = training.curves["accuracy"][-1]
    if parallel.rank() == 0:
        if args.plot:
            panels = {"loss": {"training": "loss"}, "accuracy": {"test": "accuracy"}}
            training.curves.plot(args.plot, f"Digits, by {parallel.world_size()} processes", panels)
        workers = f"{parallel.world_size()} x {wf.options.current().num_threads} threads"
        print(
            f"test accuracy: {100 * result:.2f} % after {time.perf_counter() - start:.1f} s on"
            f" {workers}"
        )
    return result


if __name__ == "__main__":
    common.run(main)
