"""Minibatches. In: images and labels. Out: pieces of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import errors
from ...frontend.arguments import as_int
from .idx import Array
from .images import Images


def batches(data: Images, size: int, seed: int | None = None, drop_last: bool = False) -> Iterator[tuple[Array, Array]]:
    """(images, labels) of `size` rows each, the last one shorter or dropped; shuffled if there is a seed."""
    if as_int("batches", "size", size) < 1:
        raise errors.ArgumentError(f"batches: size must be at least 1, not {size}")
    order = np.arange(len(data)) if seed is None else np.random.default_rng(seed).permutation(len(data))
    end = len(data) - len(data) % size if drop_last else len(data)
    for start in range(0, end, size):
        rows = order[start : min(start + size, end)]
        yield data.images[rows], data.labels[rows]
