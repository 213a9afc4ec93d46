"""Trains LeNet-5 on handwritten digits or clothes. In: idx files, or nothing. Out: the test
accuracy after each epoch.

    # MNIST if it can be downloaded, else 1,797 embedded digits
    python examples/lenet.py
    # the folder holds train-images-idx3-ubyte.gz and so on
    WEFT_DATA_DIR=folder python examples/lenet.py
    # after Ctrl-C: --resume run.safetensors
    python examples/lenet.py --dataset fashion --checkpoint run.safetensors
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import common
import weft as wf
from progress import Progress
from weft.nn import functional as F
from weft.nn.data import DataError, DataLoader, Images, fashion_mnist, mnist

DATASETS = {"mnist": mnist, "fashion": fashion_mnist}
TEST_BATCH = 500
EPOCHS, EPOCHS_OF_DIGITS = 8, 20
FULL_SET = 10_000  # training images from which on the first are enough
HALF_LIFE = 2000  # steps in which the rate of learning falls by half


class LeNet(wf.nn.Module):
    """LeNet-5 (LeCun et al. 1998) with ReLU and max pooling, for images of 28x28."""

    def __init__(self) -> None:
        self.conv1 = wf.nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = wf.nn.Conv2d(6, 16, 5)
        self.fc1 = wf.nn.Linear(400, 120)
        self.fc2 = wf.nn.Linear(120, 84)
        self.fc3 = wf.nn.Linear(84, 10)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        x = x.flatten(1)
        return self.fc3(self.fc2(self.fc1(x).relu()).relu())


def normalised(images: wf.Tensor) -> wf.Tensor:
    """uint8 pixels to floats of about mean 0 and deviation 1; the conversion is fused into the
    first layer."""
    return (images.float() / 255.0 - 0.13) / 0.31


# without it, the same results and numbers; with it, no Python between the kernels nor around them
@wf.jit(dynamic={"images": {0: "batch"}, "labels": {0: "batch"}})  # one program for all sizes
def train_step(
    model: LeNet, optimizer: wf.nn.optim.Adam, images: wf.Tensor, labels: wf.Tensor
) -> wf.Tensor:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(normalised(images)), labels)
    loss.backward()
    optimizer.step()
    return loss


@wf.jit
def count_right(model: LeNet, images: wf.Tensor, labels: wf.Tensor) -> wf.Tensor:
    """How many images the model labels correctly."""
    return (model(normalised(images)).argmax(axis=1) == labels).sum()


def loader(data: Images, batch_size: int, training: bool) -> DataLoader:
    """Minibatches, for training in random order; the last one is as small as it comes."""
    return DataLoader(data, batch_size, shuffle=training)


def accuracy(model: LeNet, data: Images) -> float:
    """The share of images that the model labels correctly."""
    with wf.no_grad():
        right = sum(
            count_right(model, images, labels).item()
            for images, labels in loader(data, TEST_BATCH, training=False)
        )
    return right / len(data)


def train_epoch(
    model: LeNet, optimizer: wf.nn.optim.Adam, data: DataLoader, bar: Progress
) -> float:
    """The mean loss over the batches."""
    total, seen = 0.0, 0
    with bar:
        for images, labels in data:
            loss = train_step(model, optimizer, images, labels).item()
            bar.update(len(images), loss)
            total, seen = total + loss * len(images), seen + len(images)
    return total / seen


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    epochs = f"{EPOCHS}; {EPOCHS_OF_DIGITS} for small sets"
    parser = common.options("Train LeNet-5 on handwritten digits or clothes.", epochs)
    parser.add_argument(
        "--dataset", choices=DATASETS, default="mnist", help="digits or clothes (default: mnist)"
    )
    parser.add_argument(
        "--batch-size",
        type=common.positive,
        metavar="N",
        default=64,
        help="images per step (default: 64)",
    )
    parser.add_argument(
        "--lr",
        type=common.positive_float,
        metavar="X",
        default=2e-3,
        help="Adam's first rate (default: 0.002)",
    )
    parser.add_argument(
        "--data", metavar="FOLDER", help="its files (default: WEFT_DATA_DIR, a download, or digits)"
    )
    parser.add_argument(
        "--explain", action="store_true", help="at the end, print the kernels of a training step"
    )
    parser.add_argument(
        "--limit",
        type=common.positive,
        metavar="N",
        help="use only the first N training and test images",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> float:
    """Trains and reports; returns the last test accuracy."""
    args = arguments(argv)
    try:
        train, test = (part.first(args.limit) for part in DATASETS[args.dataset](args.data))
    except DataError as e:
        common.fail(e)
    args.epochs = args.epochs or (EPOCHS if len(train) >= FULL_SET else EPOCHS_OF_DIGITS)
    print(f"{len(train):,} training and {len(test):,} test images from {train.source}", flush=True)
    wf.manual_seed(args.seed)
    model, data = LeNet(), loader(train, args.batch_size, training=True)
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=args.lr)
    schedule = wf.nn.optim.ExponentialLR(optimizer, gamma=0.5 ** (len(data) / HALF_LIFE))
    training = common.Training(args, model=model, optimizer=optimizer, schedule=schedule)
    for epoch in training:
        title = f"epoch {epoch + 1}/{args.epochs}"
        bar = Progress(title, len(train), "images", compiled=epoch == training.first)
        loss = train_epoch(model, optimizer, data, bar)
        schedule.step()  # a new rate compiles nothing
        right = accuracy(model, test)
        print(
            f"{title}: loss {loss:.4f}, test accuracy {100 * right:.2f} %, {bar.pace}", flush=True
        )
        training.end_epoch(loss=loss, test_accuracy=right)
    result = training.curves["test_accuracy"][-1]
    print(f"test accuracy: {100 * result:.2f} %")
    if args.explain:
        print(wf.explain(train_step, model, optimizer, *next(iter(data))))
    if args.plot:
        panels = {"loss": {"training": "loss"}, "accuracy": {"test": "test_accuracy"}}
        training.curves.plot(args.plot, f"LeNet-5 on {len(train):,} images", panels)
    return result


if __name__ == "__main__":
    common.run(main)
