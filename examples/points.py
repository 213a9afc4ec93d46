"""Separates points of two classes in the plane. In: one of six point sets. Out: how many points are
on the right side.

    python examples/points.py --dataset spiral
    python examples/points.py --dataset xor --plot xor.png    # the boundary and the curves

The sets are those that MiniTorch trains on (https://minitorch.github.io).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import common
import weft as wf
from progress import Progress, worth_a_line
from weft import nn
from weft.nn import functional as F
from weft.nn.data import POINT_SETS, DataLoader, Points, points

FRESH = 1000  # points that were not trained on
DECAY = 0.997  # of the rate, each epoch


class Network(nn.Module):
    """2-hidden-hidden-1: a number for each point, above 0 for class 1."""

    def __init__(self, hidden: int) -> None:
        self.layer1 = nn.Linear(2, hidden)
        self.layer2 = nn.Linear(hidden, hidden)
        self.layer3 = nn.Linear(hidden, 1)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = 2 * x - 1  # the points lie between 0 and 1
        return self.layer3(self.layer2(self.layer1(x).relu()).relu()).squeeze(1)


def count_right(scores: wf.Tensor, labels: wf.Tensor) -> wf.Tensor:
    return ((scores > 0) == (labels == 1)).sum()


@wf.jit
def train_step(
    model: Network, optimizer: nn.optim.Adam, x: wf.Tensor, labels: wf.Tensor
) -> tuple[wf.Tensor, wf.Tensor]:
    """(the loss, how many points were right) before the step."""
    optimizer.zero_grad()
    scores = model(x)
    loss = F.binary_cross_entropy_with_logits(scores, labels.float())
    loss.backward()
    optimizer.step()
    return loss, count_right(scores, labels)


def train_epoch(model: Network, optimizer: nn.optim.Adam, data: DataLoader) -> tuple[float, float]:
    """The mean loss, and the share of points that were right."""
    total, right, seen = 0.0, 0, 0
    for x, labels in data:
        loss, count = train_step(model, optimizer, x, labels)
        total, right, seen = total + loss.item() * len(x), right + int(count.item()), seen + len(x)
    return total / seen, right / seen


def accuracy(model: Network, data: Points) -> float:
    """The share of points on the right side."""
    with wf.no_grad():
        return int(count_right(model(wf.tensor(data.x)), wf.tensor(data.y)).item()) / len(data)


def plot(path: Path, title: str, model: Network, data: Points, curves: common.Curves) -> None:
    """The plane in the colours of the classes with the points, and the curves."""
    figure, (plane, left, right) = common.new_figure(title, 3)
    side = wf.linspace(0, 1, 200)
    grid = wf.stack(wf.meshgrid(side, side, indexing="xy"), axis=2)
    scores = model(grid.reshape(-1, 2)).reshape(200, 200)
    plane.imshow(
        scores.sigmoid().cpu().numpy(),
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap="coolwarm",
        alpha=0.5,
        vmin=0,
        vmax=1,
    )
    plane.contour(
        side.cpu().numpy(), side.cpu().numpy(), scores.cpu().numpy(), levels=[0], colors="k"
    )
    for label, colour in enumerate(("tab:blue", "tab:red")):
        plane.scatter(*data.x[data.y == label].T, c=colour, s=10, label=f"class {label}")
    plane.plot([], [], "k", label="boundary found")
    plane.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3)
    common.draw_curves(left, "loss", {"training": curves["loss"]})
    common.draw_curves(right, "accuracy", {"training": curves["accuracy"]})
    common.save_figure(figure, path)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options("Separate points of two classes in the plane.", epochs=1000)
    parser.add_argument(
        "--dataset", choices=POINT_SETS, default="spiral", help="which set (default: spiral)"
    )
    parser.add_argument(
        "--points",
        type=common.positive,
        metavar="N",
        default=500,
        help="points to train on (default: 500)",
    )
    parser.add_argument(
        "--batch-size", type=common.positive, metavar="N", help="points per step (default: all)"
    )
    parser.add_argument(
        "--hidden",
        type=common.positive,
        metavar="N",
        default=32,
        help="units in two layers each (default: 32)",
    )
    parser.add_argument(
        "--lr",
        type=common.positive_float,
        metavar="X",
        default=0.02,
        help="Adam's first rate (default: 0.02)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> float:
    """Trains and reports; returns the share of the points that end on the right side."""
    args = arguments(argv)
    wf.manual_seed(args.seed)
    train, fresh = (
        points(args.dataset, args.points, args.seed),
        points(args.dataset, FRESH, args.seed + 1),
    )
    data = DataLoader(train, args.batch_size or args.points, shuffle=args.batch_size is not None)
    model = Network(args.hidden)
    optimizer = nn.optim.Adam(model.parameters(), lr=args.lr)
    schedule = nn.optim.ExponentialLR(optimizer, gamma=DECAY)
    training = common.Training(args, model=model, optimizer=optimizer, schedule=schedule)
    with Progress("training", args.epochs - training.done, "epochs", compiled=True) as bar:
        for epoch in training:
            start = time.perf_counter()
            loss, right = train_epoch(model, optimizer, data)
            schedule.step()
            training.end_epoch(loss=loss, accuracy=right, seconds=time.perf_counter() - start)
            bar.update(1, loss)
            if worth_a_line(epoch, args.epochs):
                bar.print(
                    f"epoch {epoch + 1}/{args.epochs}: loss {loss:.4f}, {100 * right:.1f} % right"
                )
    result = accuracy(model, train)
    shares = (
        f"{100 * result:.1f} % of {len(train)} points right, {100 * accuracy(model, fresh):.1f} %"
        f" of {FRESH} fresh ones"
    )
    print(
        f"{args.dataset}: {shares}; an epoch takes"
        f" {1e3 * median(training.curves['seconds']):.2f} ms"
    )
    if args.plot:
        plot(args.plot, f"{args.dataset}: {shares}", model, train, training.curves)
    return result


if __name__ == "__main__":
    common.run(main)
