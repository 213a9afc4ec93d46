"""The 2-D point sets: which points are in which class, what the seed decides, wrong names."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np
import pytest
from weft.nn import data

RULES: dict[str, Callable[[float, float], bool]] = {
    "simple": lambda a, b: a < 0.5,
    "diag": lambda a, b: a + b < 0.5,
    "split": lambda a, b: a < 0.2 or a > 0.8,
    "xor": lambda a, b: (a < 0.5) != (b < 0.5),
    "circle": lambda a, b: (a - 0.5) ** 2 + (b - 0.5) ** 2 > 0.1,
}


@pytest.mark.parametrize("name", RULES)
def test_labels_follow_the_rule(name: str) -> None:
    found = data.points(name, 500, seed=1)
    assert found.x.shape == (500, 2) and found.x.dtype == np.float32 and found.y.dtype == np.int64
    assert found.x.min() >= 0 and found.x.max() < 1
    assert found.y.tolist() == [RULES[name](float(a), float(b)) for a, b in found.x]
    assert 50 < found.y.sum() < 450


@pytest.mark.parametrize("n", [2, 10, 250])
def test_spiral_is_that_of_minitorch(n: int) -> None:
    """Its formula point by point: the second arm has x and y exchanged, and t negative."""
    half = n // 2
    ts = [10.0 * i / half for i in range(5, 5 + half)]
    first = [(t * cos(t) / 20 + 0.5, t * sin(t) / 20 + 0.5) for t in ts]
    second = [(-t * sin(-t) / 20 + 0.5, -t * cos(-t) / 20 + 0.5) for t in ts]
    found = data.points("spiral", n)
    np.testing.assert_allclose(found.x, first + second, atol=1e-7)
    assert found.y.tolist() == [0] * half + [1] * half


@pytest.mark.parametrize("name", data.POINT_SETS)
@pytest.mark.parametrize("n", [1, 7])
def test_every_set_has_as_many_points_as_asked_for(name: str, n: int) -> None:
    found = data.points(name, n)
    assert len(found) == len(found.y) == n and repr(found) == f"Points({name!r}, n={n})"


def test_the_seed_places_the_points() -> None:
    a, b, c = (data.points("xor", 20, seed=seed).x.tolist() for seed in (4, 4, 5))
    assert a == b != c


def test_points_are_a_data_set() -> None:
    found = data.points("circle", 10)
    x, y = next(iter(data.DataLoader(found, 4)))
    assert np.array_equal(x.numpy(), found.x[:4]) and np.array_equal(y.numpy(), found.y[:4])


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (
            ("ring", 5),
            ValueError,
            "name must be 'simple', 'diag', 'split', 'xor', 'circle' or 'spiral', not 'ring'",
        ),
        ((3, 5), ValueError, "name must be 'simple'"),
        (("xor", 0), ValueError, "n must be at least 1, not 0"),
        (("xor", 2.5), TypeError, r"n must be an int, not 2\.5"),
        (("xor", 5, -1), ValueError, "seed must be at least 0, not -1"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        data.points(*arguments)
