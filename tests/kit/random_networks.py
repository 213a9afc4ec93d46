"""Random networks of a few layers over batches of images or lines, of which some axes vary. In: a
seed. Out: sizes, and what a network gives at these, or gradients of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import weft as wf
from weft.nn import functional as F

SIZES = 6
KINDS = ("conv", "conv", "point", "max", "avg", "norm", "steps")
VARYING = ((1, 1, 1), (0, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0))
Layer = Callable[[wf.Tensor], wf.Tensor]


class Network:
    """Convolutions, pools, norms and slices with a step; `sizes` are (batch, height, width), of
    which lines have no height."""

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self.seed, self.device = seed, device
        self.random, self.rng = Random(seed), np.random.default_rng(seed)
        self.has_height = self.random.random() < 0.7
        self.first = channels = self.random.choice((1, 3, 8, 16))
        self.weights: list[wf.Tensor] = []
        self.layers: list[Layer] = []
        for _ in range(self.random.choice((1, 2, 2, 3))):
            channels = self._add(self.random.choice(KINDS), channels)
        self.tail = self.random.choice((_all, _places, _channels, _shares, _as_it_is))
        self.form = self.random.randrange(3 if self.weights else 2)

    def sizes(self) -> list[tuple[int, ...]]:
        """From seven places on, so that most layers fit."""
        random = Random(self.seed + 1)
        varying = random.choice(VARYING)
        fixed = random.choice((2, 5, 16)), random.choice((9, 12, 17)), random.choice((9, 16, 25))
        most = 26 if self.has_height else 120
        drawn = []
        for _ in range(SIZES):
            new = random.randrange(2, 40), random.randrange(7, most), random.randrange(7, most)
            drawn.append(tuple(n if v else f for f, v, n in zip(fixed, varying, new, strict=True)))
        return drawn

    def at(self, sizes: tuple[int, ...]) -> list[wf.Tensor]:
        """The result; or it and the gradient of the input; or that and those of the weights."""
        batch, height, width = sizes
        shape = (
            (batch, self.first, height, width) if self.has_height else (batch, self.first, width)
        )
        values = np.random.default_rng(sizes).standard_normal(shape).astype(np.float32)
        x = wf.tensor(values).to(self.device).realize().requires_grad_()
        y = x
        for layer in self.layers:
            y = layer(y)
        y = self.tail(y)
        if self.form == 0:
            return [y]
        wanted = [x, *(self.weights if self.form == 2 else ())]
        found = wf.grad((y * y * 0.5).sum(), wanted)
        return [*([y] if self.form == 1 else []), *found]

    def _add(self, kind: str, channels: int) -> int:
        """A layer; gives the channels behind it."""
        random, high = self.random, self.has_height
        step = random.choice((1, 2, 2, 3))
        if kind in ("conv", "point"):
            out = random.choice((4, 8, 20, 33))
            reach, padding = (1, 0) if kind == "point" else (random.choice((2, 3, 3, 5)), step % 3)
            weight = self._weight(out, channels, *[reach] * (1 + high))
            convolve: Any = F.conv2d if high else F.conv1d
            self.layers.append(lambda x: convolve(x, weight, stride=step, padding=padding).tanh())
            return out
        if kind in ("max", "avg"):
            of_lines, of_images = (
                (F.max_pool1d, F.max_pool2d) if kind == "max" else (F.avg_pool1d, F.avg_pool2d)
            )
            pool, reach = of_images if high else of_lines, random.choice((2, 2, 3))
            self.layers.append(lambda x: pool(x, reach, step))
        else:
            self.layers.append(_norm if kind == "norm" else lambda x: x[..., :: max(2, step)] * 1.5)
        return channels

    def _weight(self, *shape: int) -> wf.Tensor:
        values = (self.rng.standard_normal(shape) * 0.2).astype(np.float32)
        self.weights.append(wf.tensor(values).to(self.device).requires_grad_())
        return self.weights[-1]


def _norm(x: wf.Tensor) -> wf.Tensor:
    centred = x - x.mean(axis=tuple(range(1, x.ndim)), keepdims=True)
    return centred * (x * x).mean(axis=(0, *range(2, x.ndim)), keepdims=True)


def _all(x: wf.Tensor) -> wf.Tensor:
    return x.sum()


def _places(x: wf.Tensor) -> wf.Tensor:
    return x.mean(axis=tuple(range(2, x.ndim)))


def _channels(x: wf.Tensor) -> wf.Tensor:
    return x.sum(axis=(0, *range(2, x.ndim)))


def _shares(x: wf.Tensor) -> wf.Tensor:
    return x.softmax(-1)


def _as_it_is(x: wf.Tensor) -> wf.Tensor:
    return x
