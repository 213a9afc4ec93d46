"""Batches of rows of similar length. In: the length of each row. Out: the rows of each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_bool, as_count
from ...frontend.tensor import random
from ...ir.graph.brief import shown
from .collate import as_array
from .idx import Array

__all__ = ["BucketBatchSampler"]


class BucketBatchSampler:
    """All rows in batches of similar length, so that few places of a batch are filled: the `batch_sampler` of a DataLoader.

    Rows in random order are taken by `pool` batches; these are sorted by length and cut, and all batches come in random order.
    A pass takes two draws of Weft's generator when it begins. The short batch can be dropped. Raises ArgumentError.

    >>> lengths = [3, 9, 3, 9]
    >>> sorted(sorted(rows.tolist()) for rows in nn.data.BucketBatchSampler(lengths, batch_size=2))
    [[0, 2], [1, 3]]
    """

    def __init__(self, lengths: Sequence[int] | Array, batch_size: int, drop_last: bool = False, pool: int = 50) -> None:
        self.lengths = as_array("BucketBatchSampler", "lengths", lengths)
        self.drop_last = as_bool("BucketBatchSampler", "drop_last", drop_last)
        if self.lengths.ndim != 1 or (self.lengths.size and self.lengths.dtype.kind not in "iuf"):
            raise errors.ArgumentError(f"BucketBatchSampler: lengths must be one number for each row, not {shown(lengths)}")
        self.batch_size = as_count("BucketBatchSampler", "batch_size", batch_size, 1)
        self.pool = as_count("BucketBatchSampler", "pool", pool, 1)

    def __iter__(self) -> Iterator[Array]:
        order, size = random.permutation(len(self.lengths)), self.batch_size
        pools = np.split(order, range(size * self.pool, len(order), size * self.pool))
        batches = [rows for pool in pools for rows in self._batches(pool)]
        return iter([batches[i] for i in random.permutation(len(batches))])

    def _batches(self, pool: Array) -> list[Array]:
        rows = pool[np.argsort(self.lengths[pool], kind="stable")]
        pieces = np.split(rows, range(self.batch_size, len(rows), self.batch_size))
        return [p for p in pieces if len(p) == self.batch_size or (len(p) and not self.drop_last)]

    def __len__(self) -> int:
        rows = len(self.lengths)
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)
