"""Data sets. In: arrays, or other data sets and rows of them. Out: items by number, and whole
batches by arrays of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, isclose
from typing import Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_function, as_int, as_real, as_sequence
from ...frontend.tensor import random
from ...ir.graph.brief import brief
from .collate import as_array, as_integers, joined, stacked
from .idx import Array
from .transforms import in_batch

__all__ = ["ConcatDataset", "Dataset", "Subset", "TensorDataset", "random_split"]


class Dataset:
    """The base of data sets: a subclass defines `__len__()` and `__getitem__(i)`, the item of row
    i.

    With a method `take_rows(rows)`, which gives the batch of an array of rows in the structure of
    an item, a DataLoader asks for whole batches and not for items.

    >>> class Squares(nn.data.Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, i): return i, i * i
    >>> next(iter(nn.data.DataLoader(Squares(), batch_size=3)))[1]
    tensor([0, 1, 4], dtype=int64)
    """

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__()")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__()")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


def indexable(name: str, dataset: Any, methods: Sequence[str] = ("__getitem__", "__len__")) -> Any:
    """The data set. Raises DTypeError for what is none."""
    for method in methods:
        if not hasattr(dataset, method):
            raise errors.DTypeError(
                f"{name}: a data set has items and a length, but {brief(dataset)} has no {method}()"
            )
    return dataset


class TensorDataset(Dataset):
    """Rows of arrays (or Tensors, lists) of one length: item i is a tuple of the rows i, as NumPy
    arrays.

    Rows by an array of numbers are taken at once, so a DataLoader has no loop over items.
    `transform` is applied to rows of the first array, to whole batches if it has a method `batch`.
    Raises ShapeError for unequal lengths.

    >>> data = nn.data.TensorDataset(wf.arange(6).reshape(3, 2), [5, 6, 7])
    >>> len(data), data[1][0]
    (3, array([2, 3]))
    """

    def __init__(self, *arrays: Any, transform: Callable[[Any], Any] | None = None) -> None:
        self.arrays = tuple(
            as_array("TensorDataset", f"arrays[{i}]", a) for i, a in enumerate(arrays)
        )
        self.transform = (
            None if transform is None else as_function("TensorDataset", "transform", transform)
        )
        lengths = [len(a) if a.ndim else None for a in self.arrays]
        if not lengths or None in lengths or len(set(lengths)) > 1:
            raise errors.ShapeError(
                f"TensorDataset: arrays of one length, not {[a.shape for a in self.arrays]}"
            )

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return transformed(self.transform, tuple(a[index] for a in self.arrays))

    def take_rows(self, rows: Array) -> tuple[Any, ...]:
        """The batch of these rows."""
        return transformed_rows(self.transform, tuple(a.take(rows, axis=0) for a in self.arrays))


def transformed(transform: Callable[[Any], Any] | None, item: tuple[Any, ...]) -> tuple[Any, ...]:
    """The item with the transform of its first field."""
    return item if transform is None else (transform(item[0]), *item[1:])


def transformed_rows(transform: Any, rows: tuple[Array, ...]) -> tuple[Any, ...]:
    """The rows with the transforms of those of their first field: at once if the transform can."""
    return rows if transform is None else (in_batch(transform, rows[0]), *rows[1:])


class Subset(Dataset):
    """Some rows of a data set, in the order of `indices`. Raises IndexError for a row out of range,
    DTypeError.

    >>> list(nn.data.Subset("abcde", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = indexable("Subset", dataset)
        self.indices = _counted("Subset", len(dataset), as_integers("Subset", "indices", indices))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        (row,) = _counted("Subset", len(self), np.array([as_int("Subset", "the index", index)]))
        return self.dataset[int(self.indices[row])]

    def take_rows(self, rows: Array) -> Any:
        """The batch of these rows."""
        return rows_of(self.dataset, self.indices[rows])


def _counted(name: str, length: int, rows: Array) -> Array:
    """The rows counted from the front. Raises IndexError."""
    outside = rows[(rows < -length) | (rows >= length)]
    if outside.size:
        raise errors.IndexError(f"{name}: there is no row {outside[0]} in a data set of {length}")
    return np.where(rows < 0, rows + length, rows)


class ConcatDataset(Dataset):
    """The items of several data sets one after the other; `a + b` of two of them.

    >>> both = nn.data.ConcatDataset(["ab", "cde"])
    >>> len(both), both[3], both[-1]
    (5, 'd', 'e')
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = [
            indexable("ConcatDataset", d)
            for d in as_sequence("ConcatDataset", "datasets", datasets)
        ]
        if not self.datasets:
            raise errors.ArgumentError("ConcatDataset: there are no data sets")
        self._lengths = np.array([len(d) for d in self.datasets])
        self._ends = np.cumsum(self._lengths)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> Any:
        rows = np.array([as_int("ConcatDataset", "the index", index)])
        ((part, row),) = zip(*self._places(rows), strict=True)
        return self.datasets[part][int(row)]

    def _places(self, rows: Array) -> tuple[Array, Array]:
        """For each row the number of its data set, and its row there."""
        counted = _counted("ConcatDataset", len(self), rows)
        part = np.searchsorted(self._ends, counted, side="right")
        return part, counted - (self._ends - self._lengths)[part]

    def take_rows(self, rows: Array) -> Any:
        """The batch of these rows, whichever sets they are in."""
        part, inside = self._places(rows)
        places = {k: np.flatnonzero(part == k) for k in np.unique(part)}
        parts = [rows_of(self.datasets[k], inside[at]) for k, at in places.items()]
        return (
            parts[0]
            if len(parts) == 1
            else joined(parts, np.argsort(np.concatenate([*places.values()])))
        )


def rows_of(dataset: Any, rows: Any) -> Any:
    """Arrays in the structure of an item: at once if the data set can, else the items stacked."""
    if hasattr(dataset, "take_rows"):
        return dataset.take_rows(np.asarray(rows))
    return stacked(items_of(dataset, rows))


def items_of(dataset: Any, rows: Any) -> list[Any]:
    """The items as a list; rows are whatever a sampler gives."""
    return [dataset[row] for row in (rows.tolist() if isinstance(rows, np.ndarray) else rows)]


@random.drawing
def random_split(dataset: Any, lengths: Sequence[int | float]) -> list[Subset]:
    """Subsets of these lengths, or fractions that sum to 1, of rows in random order (one draw of
    Weft's generator).

    Rows that fractions leave over go to the first subsets, one each. Raises ArgumentError if
    lengths do not sum up.

    >>> [len(part) for part in nn.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    indexable("random_split", dataset)
    numbers = as_sequence("random_split", "lengths", lengths)
    sizes = _sizes(len(dataset), [as_real("random_split", "each of lengths", n) for n in numbers])
    order = random.permutation(len(dataset))
    return [Subset(dataset, rows) for rows in np.split(order, np.cumsum(sizes)[:-1])]


def _sizes(total: int, lengths: list[int | float]) -> list[int]:
    if any(n < 0 for n in lengths):
        raise errors.ArgumentError(
            f"random_split: lengths are not negative, but {brief(lengths)} are given"
        )
    if any(isinstance(n, float) for n in lengths) and isclose(sum(lengths), 1.0):
        sizes = [floor(total * n) for n in lengths]
        left = total - sum(sizes)
        return [size + (i < left) for i, size in enumerate(sizes)]
    if not lengths or sum(lengths) != total:
        raise errors.ArgumentError(
            f"random_split: lengths {brief(lengths)} sum neither to {total} rows nor, as fractions,"
            " to 1"
        )
    return [int(n) for n in lengths]
