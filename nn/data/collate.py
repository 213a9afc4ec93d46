"""From items to a batch. In: a list of items of one structure, or a structure of arrays. Out: the
structure with Tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_sequence
from ...frontend.operands.broadcast import default_float
from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.creation import tensor
from ...frontend.tensor.tensor import Tensor, of_storage
from ...frontend.tensor.tree import mapped
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...runtime.memory import storage
from .idx import Array

__all__ = ["default_collate"]

# what Python's become, by NumPy's kind of them; floats: the default
NUMBERS = {
    "b": np.bool_,
    "i": np.int64,
    "u": np.uint64,
}
ADVICE = "pass a collate_fn that joins them"


def as_array(name: str, what: str, x: Any) -> Array:
    """A NumPy array of an array, a Tensor, or anything that makes one. Raises DTypeError, and names
    both where it does."""
    return x if isinstance(x, np.ndarray) else np.asarray(as_tensor(name, what, x).cpu().numpy())


def as_integers(name: str, what: str, x: Any) -> Array:
    """int64 (n,) of a sequence of integers. Raises DTypeError."""
    try:
        row = np.asarray(x if isinstance(x, np.ndarray) else as_sequence(name, what, x))
    except ValueError:  # lists of several lengths
        row = np.empty((0, 0))
    if row.ndim != 1 or (row.size and row.dtype.kind not in "iu"):
        raise errors.DTypeError(f"{name}: {what} must be a sequence of integers, not {brief(x)}")
    return row.astype(np.int64, copy=False)


def default_collate(items: Sequence[Any]) -> Any:
    """The items, stacked along a new first axis: arrays, Tensors and numbers become Tensors,
    strings a list.

    Tuples, lists and dicts are followed: a list of n pairs (image (28, 28), label) gives (images
    (n, 28, 28), labels (n,)). Python floats take the default dtype, ints int64. Raises ShapeError
    for items of unequal shapes, DTypeError for other types.

    >>> nn.data.default_collate([(1, "a"), (2, "b")])
    (tensor([1, 2], dtype=int64), ['a', 'b'])
    """
    return as_tensors(stacked(as_sequence("default_collate", "items", items)))


def stacked(items: list[Any]) -> Any:
    """As arrays in the structure of an item."""
    if not items:
        raise errors.ArgumentError("DataLoader: a batch without items has no structure")
    try:
        return _stacked(items)
    except errors.WeftError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        kinds = _listed({type(i).__name__ for i in items})
        raise errors.DTypeError(
            f"DataLoader: the items of one batch, of {kinds}, are not alike: {ADVICE}"
        ) from error


def _stacked(items: list[Any]) -> Any:
    first = items[0]
    match first:
        case Tensor():
            return _stack([np.asarray(i.cpu().numpy()) for i in items])
        case np.ndarray() | np.generic():
            return _stack(items)
        case bool() | int() | float():
            return _numbers(np.asarray(items))
        case str() | bytes():
            return items
        case Mapping():
            return {key: stacked([i[key] for i in items]) for key in first}
        case tuple() | list():
            return _of_fields(first, items)
    raise errors.DTypeError(f"DataLoader: items with {brief(first)} do not make a batch: {ADVICE}")


def _numbers(array: Array) -> Array:
    if array.dtype.kind == "f":
        return array.astype(default_float().numpy, copy=False)
    if array.dtype.kind not in NUMBERS:
        raise TypeError
    return array.astype(NUMBERS[array.dtype.kind], copy=False)


def _of_fields(first: Any, items: list[Any]) -> Any:
    lengths = {len(i) for i in items}
    if len(lengths) > 1:
        raise errors.ShapeError(
            f"DataLoader: items of one batch have {_listed(lengths)} fields: {ADVICE}"
        )
    columns = [stacked(list(column)) for column in zip(*items, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)


def _stack(arrays: list[Array]) -> Array:
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        raise errors.ShapeError(
            f"DataLoader: items of one batch have shapes {_listed(shapes)}: {ADVICE}"
        )
    return np.stack(arrays)


def _listed(values: Any) -> str:
    return " and ".join(map(str, sorted(values)[:3]))


def joined(parts: Sequence[Any], order: Array) -> Any:
    """Structures of arrays as one: rows of all parts one after the other, then taken in this
    order."""
    match parts[0]:
        case dict() as first:
            return {key: joined([p[key] for p in parts], order) for key in first}
        case [str() | bytes(), *_]:
            texts = [text for p in parts for text in p]
            return [texts[row] for row in order]
        case tuple() | list() as first:
            columns = [joined(column, order) for column in zip(*parts, strict=True)]
            return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    return np.concatenate(parts)[order]


def as_tensors(tree: Any) -> Any:
    """The structure with a Tensor for each array of numbers, over the same memory; all else
    stays."""
    return mapped(_as_tensor, tree)


def on_device(tree: Any, device: str) -> Any:
    """The structure with each Tensor on this device, copied now: the thread that makes batches need
    not wait for programs."""
    return mapped(lambda leaf: _moved(leaf, device) if isinstance(leaf, Tensor) else leaf, tree)


def _moved(x: Tensor, device: str) -> Tensor:
    if x.device == device:
        return x
    stored = x._storage
    return x.to(device).realize() if stored is None else of_storage(storage.moved(stored, device))


def _as_tensor(leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray):
        return leaf
    dtype = dt.from_numpy(leaf.dtype)
    if dtype is not None and leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype.isnative:
        return of_storage(storage.from_array(leaf, dtype, copy=False))
    return leaf if dtype is None else tensor(leaf)
