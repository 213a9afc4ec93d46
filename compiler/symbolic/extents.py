"""A key of structure in two parts. In: a key. Out: what stays whatever the sizes are, and the
extents, in order.

    (float32, (64, 784), (784, 1)), (REDUCE, ("add", (0,)), 0)
    ->  (float32, (., .), (., .)), (REDUCE, ("add", (0,)), 0)   and   64, 784, 784, 1
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.graph.dtype import DType, int64
from ...ir.graph.op import Op
from ..structure import Key

HOLE = "."  # where an extent was
ALL = (Op.RESHAPE, Op.IOTA, Op.SLICE, Op.PAD)  # whose arguments are extents and nothing else


@dataclass(frozen=True)
class Apart:
    """`rest` has a HOLE for each of the `extents`; `sizes` are the places of those that are sizes
    of axes of inputs."""

    rest: Hashable
    extents: tuple[int, ...]
    sizes: tuple[int, ...]


def apart(key: Key) -> Apart:
    """The two parts of a key."""
    entries, outputs, donations, device = key
    out: list[int] = []
    sizes: list[int] = []
    rest = [_entry(entry, out, sizes) for entry in entries]
    roots = tuple([_source(s, out) for s in outputs])
    return Apart((tuple(rest), roots, donations, device), tuple(out), tuple(sizes))


def together(rest: Any, extents: Sequence[int]) -> Key:
    """The key again, with these extents."""
    left = iter(extents)
    key: Key = _filled(rest, left)
    assert next(left, None) is None
    return key


def _entry(entry: Any, out: list[int], sizes: list[int]) -> Any:
    if isinstance(entry[0], DType):
        dtype, shape, strides, *host = entry
        sizes += range(len(out), len(out) + len(shape))
        return dtype, _holes(shape, out), _holes(strides, out), *host
    op, arg, *sources = entry
    if op in ALL:
        arg = _holes(arg, out)
    elif op is Op.EXPAND:
        arg = _second(arg, out)
    elif op is Op.SCATTER:
        arg = (arg[0], _holes(arg[1], out), *arg[2:])
    return op, arg, *(_source(s, out) for s in sources)


def _source(s: Any, out: list[int]) -> Any:
    """The number of an entry, or a constant and how often it is repeated. Integers that counters
    are compared with follow sizes."""
    if isinstance(s, int):
        return s
    dtype, repeated, *value = s
    extents = None if repeated is None else _second(repeated, out)
    if value and dtype is int64:
        out.append(value[0])
        value = [HOLE]
    return dtype, extents, *value


def _second(pairs: tuple[tuple[int, int], ...], out: list[int]) -> Any:
    """Pairs of an axis and an extent."""
    out += [extent for _, extent in pairs]
    return tuple([(axis, HOLE) for axis, _ in pairs])


def _holes(x: Any, out: list[int]) -> Any:
    if isinstance(x, tuple):
        return tuple([_holes(y, out) for y in x])
    out.append(x)
    return HOLE


def _filled(x: Any, left: Iterator[int]) -> Any:
    if isinstance(x, tuple):
        return tuple([_filled(y, left) for y in x])
    return next(left) if x is HOLE else x
