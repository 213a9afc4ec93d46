"""Fits y = sin(x)^2, one point at a time. In: 51 points. Out: the loss of the last point after each
epoch.

    python examples/sine.py
    python examples/sine.py --plot fit.png    # the losses, and the network between the points

The network, the data and the drawing of the parameters are those of the regression in Norch's
documentation (https://github.com/lucasdelimanogueira/PyNorch); with the defaults the losses are,
too: 1.7035 at first, 0.1297 at last.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from math import sin
from pathlib import Path
from statistics import median

import common
import weft as wf
from progress import Progress, worth_a_line
from weft import nn
from weft.nn import functional as F

POINTS = [0.4 * i for i in range(51)]  # 0 .. 20
Pair = tuple[wf.Tensor, wf.Tensor]


def network(seed: int) -> nn.Sequential:
    """1-10-1 with a sigmoid; every parameter in turn is drawn from -1 .. 1 by Python's
    generator."""
    model = nn.Sequential(nn.Linear(1, 10), nn.Sigmoid(), nn.Linear(10, 1))
    generator = random.Random(seed)
    for p in model.parameters():
        p.assign(wf.tensor([generator.uniform(-1, 1) for _ in range(p.size)]).reshape(p.shape))
    return model


def points() -> list[Pair]:
    """Each x with its y, both of shape (1, 1)."""
    return [(wf.tensor([[x]]), wf.tensor([[sin(x) ** 2]])) for x in POINTS]


@wf.jit
def train_step(
    model: nn.Sequential, optimizer: nn.optim.SGD, x: wf.Tensor, y: wf.Tensor
) -> wf.Tensor:
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def train_epoch(model: nn.Sequential, optimizer: nn.optim.SGD, data: Sequence[Pair]) -> float:
    """The loss of the last point."""
    for x, y in data:
        loss = train_step(model, optimizer, x, y)
    return loss.item()


def plot(path: Path, model: nn.Sequential, curves: common.Curves) -> None:
    """The losses, and the network beside the points, with the error of both the network and the
    best constant."""
    figure, (left, right) = common.new_figure(
        "Regression of sin(x)² by 10 sigmoids, as in Norch's documentation", 2
    )
    common.draw_curves(left, "loss", {"last point": curves["loss"]})
    x, y = wf.linspace(0, POINTS[-1], 500), wf.tensor([sin(x) ** 2 for x in POINTS])
    error = F.mse_loss(model(wf.tensor(POINTS).reshape(-1, 1)).squeeze(1), y).item()
    right.plot(
        x.cpu().numpy(),
        model(x.reshape(-1, 1)).cpu().numpy(),
        label=f"network: mean squared error {error:.3f}",
    )
    right.axhline(
        y.mean().item(),
        color="grey",
        linestyle=":",
        label=f"best constant: {y.var(correction=0).item():.3f}",
    )
    right.plot(POINTS, y.cpu().numpy(), "k.", label="points to learn")
    right.set_xlabel("x")
    right.set_title(f"after {len(curves['loss'])} epochs")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15))
    common.save_figure(figure, path)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options(
        "Fit y = sin(x)^2 with 10 sigmoids, one point at a time.", epochs=10, seed=1
    )
    parser.add_argument(
        "--lr",
        type=common.positive_float,
        metavar="X",
        default=1e-3,
        help="SGD's rate (default: 0.001)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Trains and reports; returns the loss of the last point after each epoch."""
    args = arguments(argv)
    model, data = network(args.seed), points()
    optimizer = nn.optim.SGD(model.parameters(), lr=args.lr)
    training = common.Training(args, model=model, optimizer=optimizer)
    with Progress("training", args.epochs - training.done, "epochs", compiled=True) as bar:
        for epoch in training:
            start = time.perf_counter()
            loss = train_epoch(model, optimizer, data)
            training.end_epoch(loss=loss, seconds=time.perf_counter() - start)
            bar.update(1, loss)
            if worth_a_line(epoch, args.epochs):
                bar.print(f"epoch {epoch + 1}/{args.epochs}: loss of the last point {loss:.4f}")
    curves = training.curves
    step = median(curves["seconds"]) / len(data)
    print(f"loss of the last point: {curves['loss'][-1]:.4f}; a step takes {1e6 * step:.1f} us")
    if args.plot:
        plot(args.plot, model, curves)
    return curves["loss"]


if __name__ == "__main__":
    common.run(main)
