"""The corpus of replay.py, compiled by the package that Python finds. Out: a file of its texts.

    python benchmarks/replay_corpus.py texts.json [--seeds 0:300:1] [--only lenet,softmax]

Programs are those of the golden tests, a training step of three examples, and random graphs. They
are taken from this checkout, whatever the revision of the package, of which only public names are
asked for.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import replay_graphs
import replay_texts
import weft as wf

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests/kit"), str(ROOT / "examples")]

SECONDS = 60.0  # of the processor that a program may take
ENDLESS = f"takes more than {SECONDS:g} s of the processor, or ends the process"
GOLDEN = "adam attention conv_bias_relu gradients layer_norm linear_gelu softmax"
Subject = tuple[Any, tuple[Any, ...]]  # what wf.dump takes, and the arguments of a call


def golden(name: str) -> Subject:
    return import_module("golden_cases").CASES[name]("cpu"), ()


def lenet() -> Subject:
    example = import_module("lenet")
    model = example.LeNet()
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=2e-3)
    images = wf.tensor(np.zeros((64, 1, 28, 28), np.uint8))
    return example.train_step, (model, optimizer, images, zeros(64))


def sentiment() -> Subject:
    example = import_module("sentiment")
    model = example.SentimentCNN(1000, 50, 100)
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=2e-3)
    return example.train_step, (model, optimizer, zeros(64, 24), zeros(64))


def transformer() -> Subject:
    example = import_module("char_transformer")
    model = example.CharTransformer(40, 64, 64, 4, 1)
    optimizer = wf.nn.optim.AdamW(model.parameters(), lr=3e-3)
    return example.train_step, (model, optimizer, zeros(8, 64), zeros(8, 64))


def zeros(*shape: int) -> wf.Tensor:
    return wf.tensor(np.zeros(shape, np.int64))


def programs(seeds: Iterable[int], only: str) -> Iterator[tuple[str, Callable[[], Subject]]]:
    """The programs by name; only those with one of these words in it."""
    found: dict[str, Callable[[], Subject]] = {
        name: partial(golden, name) for name in GOLDEN.split()
    }
    found |= {"lenet": lenet, "sentiment": sentiment, "transformer": transformer}
    found |= {f"graph {seed}": partial(replay_graphs.program, seed) for seed in seeds}
    words = only.split(",")
    return ((name, make) for name, make in found.items() if any(word in name for word in words))


def texts(make: Callable[[], Subject], folder: Path) -> replay_texts.Program | str:
    """The texts of a program, or why this package cannot build it."""
    wf.manual_seed(0)
    try:
        subject, arguments = make()
        written = wf.dump(subject, folder, *arguments)
    except Exception as error:  # of any kind: the package may be of any age
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return replay_texts.read(written, Path(wf.__file__).parent)


def write(found: Iterable[tuple[str, Callable[[], Subject]]], out: IO[str]) -> None:
    """A line of JSON for each program: its name, and its texts or why there are none.

    One that never ends, or ends the process, has said so before: a later line replaces an earlier.
    """
    for name, make in found:
        print(json.dumps([name, ENDLESS]), file=out, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # whose signal ends the process, even in LLVM
        with tempfile.TemporaryDirectory(dir=Path(out.name).parent) as folder:
            made = texts(make, Path(folder))
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([name, made]), file=out, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="programs that are in it are left out")
    parser.add_argument("--seeds", default="0:300:1", help="first:end:step of the random graphs")
    parser.add_argument("--only", default="", help="programs with one of these words in their name")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    with given.out.open("a+", encoding="utf-8") as out:
        out.seek(0)
        there = {name for name, _ in map(json.loads, out)}
        print(
            json.dumps(["package", str(Path(wf.__file__).resolve().parent)]), file=out, flush=True
        )
        write((p for p in programs(seeds, given.only) if p[0] not in there), out)


if __name__ == "__main__":
    main()
