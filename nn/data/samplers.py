"""Samplers: the rows of each batch. In: one length, or that of each row. Out: the numbers of rows,
one by one or by batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_bool, as_count, as_int
from ...frontend.tensor import random
from ...ir.graph.brief import brief
from .collate import as_array
from .idx import Array

MOST_SAMPLES = 1 << 40
__all__ = ["BatchSampler", "BucketBatchSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """The base of samplers: a subclass defines `order()`, all rows of a pass as a list or array, or
    else `__iter__()`.

    >>> class Backwards(nn.data.Sampler):
    ...     def order(self): return [2, 1, 0]
    >>> list(Backwards())
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[Any]:
        if not hasattr(self, "order"):
            raise NotImplementedError(
                f"{type(self).__name__} defines neither order() nor __iter__()"
            )
        return iter(np.asarray(self.order()).tolist())


def _with_length(name: str, data_source: Any) -> Any:
    if not hasattr(data_source, "__len__"):
        raise errors.DTypeError(f"{name}: data_source has a length, unlike {brief(data_source)}")
    return data_source


class SequentialSampler(Sampler):
    """All rows of a data set in their order.

    >>> list(nn.data.SequentialSampler([7, 8, 9]))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = _with_length("SequentialSampler", data_source)

    def __len__(self) -> int:
        return len(self.data_source)

    def order(self) -> Array:
        """The rows of a pass."""
        return np.arange(len(self))


class RandomSampler(Sampler):
    """All rows in a random order, another one in each pass; or num_samples of them, with
    replacement each from all rows.

    A pass takes one draw of Weft's generator when it begins, so wf.manual_seed decides. Raises
    ArgumentError for more rows than there are, without replacement.

    >>> sorted(nn.data.RandomSampler(range(5)))
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None
    ) -> None:
        self.data_source = _with_length("RandomSampler", data_source)
        self.replacement = as_bool("RandomSampler", "replacement", replacement)
        self.num_samples = (
            None if num_samples is None else as_int("RandomSampler", "num_samples", num_samples)
        )
        rows, samples = len(data_source), self.num_samples or 0
        if not 0 <= samples <= (MOST_SAMPLES if self.replacement and rows else rows):
            how = "with" if self.replacement else "without"
            raise errors.ArgumentError(
                f"RandomSampler: there are no {samples} samples of {rows} rows {how} replacement"
            )

    def __len__(self) -> int:
        return len(self.data_source) if self.num_samples is None else self.num_samples

    def order(self) -> Array:
        """The rows of a pass, drawn now."""
        rows = len(self.data_source)
        if self.replacement:
            return (random.host_words(len(self)) % np.uint64(rows)).astype(np.int64)
        return random.permutation(rows)[: len(self)]


class BatchSampler:
    """The rows of a sampler in pieces of batch_size, the last one shorter or dropped.

    Those of a sampler with an `order()` come as arrays, of any other iterable as lists.

    >>> list(nn.data.BatchSampler("abcde", 2, drop_last=False))
    [['a', 'b'], ['c', 'd'], ['e']]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        self.batch_size = as_count("BatchSampler", "batch_size", batch_size, 1)
        if not isinstance(sampler, Iterable):
            raise errors.DTypeError(
                f"BatchSampler: the sampler gives rows when iterated over, which {brief(sampler)}"
                " does not"
            )
        self.sampler, self.drop_last = sampler, as_bool("BatchSampler", "drop_last", drop_last)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self.sampler, "order"):
            # now: a random order takes its draw when the pass begins
            return self._pieces(np.asarray(self.sampler.order()))
        return self._lists(iter(self.sampler))

    def _pieces(self, order: Array) -> Iterator[Array]:
        size = self.batch_size
        end = len(order) - len(order) % size if self.drop_last else len(order)
        return (order[i : i + size] for i in range(0, end, size))

    def _lists(self, rows: Iterator[Any]) -> Iterator[list[Any]]:
        while piece := list(islice(rows, self.batch_size)):
            if len(piece) == self.batch_size or not self.drop_last:
                yield piece

    def __len__(self) -> int:
        rows = len(self.sampler)  # type: ignore[arg-type]
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)


class BucketBatchSampler:
    """All rows in batches of similar length, so that few places of a batch are filled: the
    `batch_sampler` of a DataLoader.

    Rows in random order are taken by `pool` batches; these are sorted by length and cut, and all
    batches come in random order. A pass takes two draws of Weft's generator when it begins. The
    short batch can be dropped. Raises ArgumentError.

    >>> lengths = [3, 9, 3, 9]
    >>> sorted(sorted(rows.tolist()) for rows in nn.data.BucketBatchSampler(lengths, batch_size=2))
    [[0, 2], [1, 3]]
    """

    def __init__(
        self,
        lengths: Sequence[int] | Array,
        batch_size: int,
        drop_last: bool = False,
        pool: int = 50,
    ) -> None:
        self.lengths = as_array("BucketBatchSampler", "lengths", lengths)
        self.drop_last = as_bool("BucketBatchSampler", "drop_last", drop_last)
        if self.lengths.ndim != 1 or (self.lengths.size and self.lengths.dtype.kind not in "iuf"):
            raise errors.ArgumentError(
                f"BucketBatchSampler: lengths must be one number for each row, not {brief(lengths)}"
            )
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
