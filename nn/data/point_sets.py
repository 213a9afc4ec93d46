"""Points of the plane in two classes, to learn on. In: a name, a number. Out: coordinates and
labels.

The sets of MiniTorch (github.com/minitorch/minitorch, minitorch/datasets.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...frontend.operands.arguments import as_choice, as_count
from .dataset import TensorDataset
from .idx import Array

__all__ = ["POINT_SETS", "Points", "points"]

# Which points (u, v) of the unit square belong to class 1
RULES: dict[str, Callable[[Array, Array], Array]] = {
    "simple": lambda u, v: u < 0.5,
    "diag": lambda u, v: u + v < 0.5,
    "split": lambda u, v: (u < 0.2) | (u > 0.8),
    "xor": lambda u, v: (u < 0.5) & (v > 0.5) | (u > 0.5) & (v < 0.5),
    "circle": lambda u, v: (u - 0.5) ** 2 + (v - 0.5) ** 2 > 0.1,
}
POINT_SETS = (*RULES, "spiral")


class Points(TensorDataset):
    """Coordinates x (n, 2) float32 in the unit square and labels y (n,) int64, 0 or 1: a data set
    of pairs (x, y).

    >>> xor = nn.data.points("xor", 100)
    >>> xor, xor.x.shape, xor.y.shape
    (Points('xor', n=100), (100, 2), (100,))
    """

    def __init__(self, name: str, x: Array, y: Array) -> None:
        super().__init__(x, y)
        self.name, self.x, self.y = name, x, y

    def __repr__(self) -> str:
        return f"Points({self.name!r}, n={len(self)})"


def points(name: str, n: int, seed: int = 0) -> Points:
    """n points of the set `name`, one of POINT_SETS. The seed places them; those of "spiral", two
    arms, have fixed places.

    Raises ArgumentError for another name, and for n below 1.

    >>> nn.data.points("spiral", 4).y.tolist()
    [0, 0, 1, 1]
    >>> nn.data.POINT_SETS
    ('simple', 'diag', 'split', 'xor', 'circle', 'spiral')
    """
    as_choice("points", "name", name, POINT_SETS)
    n, seed = as_count("points", "n", n, 1), as_count("points", "seed", seed)
    if name == "spiral":
        return Points(name, *_spiral(n))
    x = np.random.default_rng(seed).random((n, 2), np.float32)
    return Points(name, x, RULES[name](x[:, 0], x[:, 1]).astype(np.int64))


def _spiral(n: int) -> tuple[Array, Array]:
    """An arm of radius t / 20 at the angle t, and the same a quarter turn further; of an odd n, the
    first has one point more."""
    half = (n + 1) // 2
    t = 10.0 * np.arange(5, 5 + half) / half
    u, v = t * np.cos(t) / 20 + 0.5, t * np.sin(t) / 20 + 0.5
    arms = np.concatenate([np.stack([u, v], 1), np.stack([v, 1 - u], 1)])
    return arms[:n].astype(np.float32), np.repeat([0, 1], half)[:n]
