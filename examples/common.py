"""Parts that the examples share. In: a command line, the numbers of each epoch. Out: options,
checkpoints, curves.

A script beside this file imports it as `common`, since Python looks first where the script is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from math import inf, nan
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import weft as wf
from weft import nn
from weft.nn.data import DataError, Vocabulary, read_lines, reviews

SAVE_SECONDS = 0.1  # between checkpoints, at least

# ---------------------------------------------------------------- options


def options(description: str, epochs: int | str, seed: int = 0) -> argparse.ArgumentParser:
    """A parser with the options of every example that trains; a default of epochs that is a text
    says what decides it."""
    parser = argparse.ArgumentParser(description=description)
    number = epochs if isinstance(epochs, int) else None
    parser.add_argument(
        "--epochs",
        type=positive,
        metavar="N",
        default=number,
        help=f"passes over the data (default: {epochs})",
    )
    parser.add_argument(
        "--seed",
        type=not_negative,
        metavar="N",
        default=seed,
        help=f"of everything random (default: {seed})",
    )
    add_plot(parser, "save the curves of loss and accuracy there")
    parser.add_argument(
        "--checkpoint",
        type=checkpoint,
        metavar="FILE",
        help="keep the training there, to go on another time",
    )
    parser.add_argument(
        "--resume",
        type=old_file,
        metavar="FILE",
        help="go on with the training kept there, at its rate",
    )
    return parser


def add_plot(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--plot", type=picture, metavar="FILE", help=f"{what}: a .png, .pdf or .svg file"
    )


def positive(text: str) -> int:
    """The type of an option that counts something."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, not {text!r}")
    return int(text)


def positive_float(text: str) -> float:
    """The type of an option that is a rate or a size."""
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 < value < inf:
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, not {text!r}")
    return value


def picture(text: str) -> Path:
    """The type of --plot: what could go wrong with the file is said before the training, not after
    it."""
    path = new_file(text)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise argparse.ArgumentTypeError("needs matplotlib: pip install matplotlib") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise argparse.ArgumentTypeError(
            f"{text} must end in one of: {' '.join(f'.{kind}' for kind in sorted(kinds))}"
        )
    return path


def new_file(text: str) -> Path:
    """The type of an option that names a file to write."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def checkpoint(text: str) -> Path:
    """The type of --checkpoint, which nn.save writes."""
    if find_spec("safetensors") is None:
        raise argparse.ArgumentTypeError("needs safetensors: pip install safetensors")
    return new_file(text)


def old_file(text: str) -> Path:
    """The type of an option that names a file to read."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return Path(text)


# ---------------------------------------------------------------- running


def run(main: Callable[[], object]) -> None:
    """Runs a script's main; Ctrl-C and a lack of memory end it with a word, not with a
    traceback."""
    try:
        main()
    except MemoryError as error:
        fail(error)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)  # what a shell expects of a process that Ctrl-C has ended


def fail(reason: object) -> NoReturn:
    """Ends the script with one line that says why."""
    sys.exit(f"{Path(sys.argv[0]).stem}: {reason}")


# ---------------------------------------------------------------- texts


def lines(path: Path | None, count: int) -> Sequence[str]:
    """Those of a file, or so many reviews that a small grammar writes. Raises DataError."""
    return reviews(count).texts if path is None else [line for _, line in read_lines(path)]


def require_known(prompt: Iterable[str], vocabulary: Vocabulary) -> None:
    """Raises DataError for a prompt with words or characters that the text has not."""
    unknown = [word for word in prompt if word not in vocabulary]
    if unknown:
        raise DataError(f"the prompt has {unknown[0]!r}, which is not in the text")


# ---------------------------------------------------------------- a training


class Training:
    """The epochs of a training. It keeps what was measured after each, and all that is needed to go
    on another time.

    `others` change with the model and the optimizer, as a schedule does. What is random goes on,
    too: nn.save sees to it. A model of tokens means nothing with others than those of its
    `vocabulary`.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        *,
        model: nn.Module,
        optimizer: nn.optim.Optimizer,
        vocabulary: nn.data.Vocabulary | None = None,
        **others: Any,
    ) -> None:
        self.epochs, self.file = args.epochs, args.checkpoint or args.resume
        self.tokens = None if vocabulary is None else vocabulary.tokens
        self.parts = {"model": model, "optimizer": optimizer, **others}
        self.curves = Curves() if args.resume is None else self.loaded(args.resume)
        self.first = self.done  # the number of the first epoch that this process makes
        self.saved_at = 0.0

    def loaded(self, file: Path) -> Curves:
        """Those of the epochs made before; the parts are as they were after them."""
        try:
            rest = nn.load(file, **self.parts)
        except wf.errors.WeftError as error:
            fail(error)
        if rest.get("tokens") != self.tokens:
            fail(f"{file}: it was trained on a text with other tokens")
        return Curves(rest.get("curves", {}))

    def save(self) -> None:
        try:
            nn.save(self.file, **self.parts, tokens=self.tokens, curves=dict(self.curves))
        except wf.errors.WeftError as error:
            fail(error)
        self.saved_at = perf_counter()

    @property
    def done(self) -> int:
        """How many epochs have been made."""
        return len(next(iter(self.curves.values()), []))

    def __iter__(self) -> Iterator[int]:
        """The numbers, from 0, of the epochs that are left."""
        return iter(range(self.done, self.epochs))

    def end_epoch(self, **numbers: float) -> None:
        """Keeps these numbers of the epoch, and all in the checkpoint, but epochs of a moment not
        each."""
        self.curves.add(**numbers)
        if self.file is not None and (
            self.done == self.epochs or perf_counter() > self.saved_at + SAVE_SECONDS
        ):
            self.save()


# ---------------------------------------------------------------- curves


class Curves(dict[str, list[float]]):
    """One number of each kind for each epoch: `curves.add(loss=0.3, accuracy=0.9)`, then
    `curves["loss"][-1]`."""

    def add(self, **numbers: float) -> None:
        for name, number in numbers.items():
            self.setdefault(name, []).append(number)

    def plot(self, path: Path, title: str, panels: Mapping[str, Mapping[str, str]]) -> None:
        """A picture with panels side by side: {what is measured: {of which data: the name of the
        curve}}."""
        figure, axes = new_figure(title, len(panels))
        for panel, (measure, names) in zip(axes, panels.items(), strict=True):
            draw_curves(panel, measure, {data: self[name] for data, name in names.items()})
        save_figure(figure, path)


def new_figure(title: str, panels: int) -> tuple[Any, Sequence[Any]]:
    """An empty matplotlib figure and its panels, side by side; it is drawn in memory and needs no
    screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * panels, 4), layout="constrained")
    figure.suptitle(title)
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def save_figure(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def draw_curves(axes: Any, measure: str, curves: Mapping[str, Sequence[float]]) -> None:
    """What was measured after each epoch, from the first; each curve with the data that it is
    of."""
    for data, values in curves.items():
        axes.plot(
            range(1, len(values) + 1), values, marker="." if len(values) < 50 else "", label=data
        )
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("epoch")
    axes.set_ylabel(measure)
    axes.grid(alpha=0.3)
    axes.legend()
