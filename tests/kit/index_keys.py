"""Hypothesis strategies for index keys. Out: (shape, key), the key for NumPy; `for_weft` turns
it."""

from __future__ import annotations

from typing import Any

import numpy as np
import weft as wf
from hypothesis import strategies as st

EXTENTS = st.sampled_from((0, 1, 2, 3, 4))
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BOUNDS = st.one_of(
    st.none(), st.integers(-6, 6), st.sampled_from((2**63, -(2**63), 2**80, -(2**80)))
)
STEPS = st.one_of(st.none(), st.sampled_from((1, -1, 2, -2, 3, -3, 2**70, -(2**70))))


@st.composite
def cases(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape and a key that mostly fits it."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=4)))
    common = tuple(draw(st.lists(st.sampled_from((0, 1, 2, 2, 3)), max_size=2)))
    items: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 9)) != 9:
        item, taken = draw(_item(shape[axis:], common))
        items.append(item)
        axis += taken
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    if draw(st.integers(0, 9)) == 0:
        items.insert(draw(st.integers(0, len(items))), draw(st.booleans()))
    if len(items) == 1 and draw(st.booleans()):
        return shape, items[0]
    return shape, tuple(items)


@st.composite
def _item(draw: Any, shape: tuple[int, ...], common: tuple[int, ...]) -> tuple[Any, int]:
    """An item of a key for the next axes, and how many it takes."""
    kind = draw(
        st.sampled_from(
            ("int", "slice", "slice", "none", "array", "array", "list", "mask", "wrong")
        )
    )
    extent = shape[0]
    match kind:
        case "none":
            return None, 0
        case "slice":
            return slice(draw(BOUNDS), draw(BOUNDS), draw(STEPS)), 1
        case "array":
            return draw(_indices(extent, common)), 1
        case "list":
            return draw(_indices(extent, common[-1:])).tolist(), 1
        case "mask":
            ndim = draw(st.integers(1, min(2, len(shape))))
            return draw(_mask(shape[:ndim])), ndim
        case "wrong":
            return draw(_wrong(shape)), 1
    return draw(_int(extent)), 1


def _int(extent: int) -> st.SearchStrategy[Any]:
    kinds = (int, np.int8, np.uint64, np.asarray, lambda i: np.asarray(i, np.int16))
    return st.builds(
        lambda kind, i: kind(abs(i) if kind is np.uint64 else i),
        st.sampled_from(kinds),
        _place(extent),
    )


def _place(extent: int) -> st.SearchStrategy[int]:
    return st.integers(-extent, extent - 1) if extent else st.just(0)


@st.composite
def _indices(draw: Any, extent: int, common: tuple[int, ...]) -> Any:
    """An integer array that broadcasts to `common`."""
    keep = draw(st.integers(0, len(common)))
    shape = tuple(1 if draw(st.integers(0, 3)) == 0 else d for d in common[len(common) - keep :])
    dtype = draw(st.sampled_from(INTS))
    values = [draw(_place(extent)) for _ in range(int(np.prod(shape)))]
    return np.array(
        [abs(v) % max(extent, 1) if dtype[0] == "u" else v for v in values], dtype
    ).reshape(shape)


@st.composite
def _mask(draw: Any, shape: tuple[int, ...]) -> Any:
    return np.array([draw(st.booleans()) for _ in range(int(np.prod(shape)))], bool).reshape(shape)


def _wrong(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Something that NumPy refuses, most of the time."""
    extent = shape[0]
    return st.sampled_from((extent, -extent - 1, 2**80, np.array([extent, 0]),
        np.array([-extent - 1]), 1.5, "a", np.array([0.5]),
                            np.zeros(extent + 1, bool), slice(None, None, 0), slice(0.5),
                            [[0], [1, 2]],
                            np.array([2**64 - 1], np.uint64)))  # fmt: skip


def for_weft(key: Any, as_tensors: bool) -> Any:
    """The key with Tensors for its arrays, if asked for."""
    if isinstance(key, tuple):
        return tuple(for_weft(k, as_tensors) for k in key)
    return wf.tensor(key) if as_tensors and isinstance(key, np.ndarray) else key


def is_refused(key: Any) -> bool:
    """What NumPy lets through by accident: a uint64 index beyond int64 (wrapped)."""
    arrays = [i for i in (key if isinstance(key, tuple) else (key,)) if isinstance(i, np.ndarray)]
    return any(i.dtype == np.uint64 and i.size and i.max() > 2**63 for i in arrays)
