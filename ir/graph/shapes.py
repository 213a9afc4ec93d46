"""The shapes of views and reductions. In: an op, the shape of its source, its argument. Out: the
shape of the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

from ... import errors
from ..symbolic.questions import value_of
from .op import Op

Shape = tuple[int, ...]
MAX_ELEMENTS = (1 << 60) - 1  # of eight bytes each, as many as 63 bits can address


class GraphError(ValueError):
    """A Node that breaks the rules of its op. Users meet frontend errors instead."""


def require(ok: bool, op: Op, why: str) -> None:
    if not ok:
        raise GraphError(f"{op.value}: {why}")


def addressable(name: str, shape: Shape) -> Shape:
    """The shape itself. Raises ShapeError if no memory could hold it; extents of 0 do not excuse
    the others."""
    if value_of(prod(d or 1 for d in shape)) > MAX_ELEMENTS:
        # longer integers may have no text
        text = shape if max(shape).bit_length() <= 256 else f"of {len(shape)} axes"
        raise errors.ShapeError(
            f"{name}: shape {text} has too many elements: 2**60 - 1 is the most that can be"
            " addressed"
        )
    return shape


def _reduce_shape(s: Shape, arg: tuple[str, tuple[int, ...]]) -> Shape:
    kind, axes = arg
    require(kind in ("add", "max", "mul"), Op.REDUCE, f"unknown kind {kind}")
    require(
        axes == tuple(sorted(set(axes))) and all(0 <= a < len(s) for a in axes),
        Op.REDUCE,
        f"axes {axes} of {s}",
    )
    return tuple(d for i, d in enumerate(s) if i not in axes)


def _reshape_shape(s: Shape, arg: Shape) -> Shape:
    require(prod(s) == prod(arg), Op.RESHAPE, f"{s} to {arg}")
    return arg


def _permute_shape(s: Shape, arg: tuple[int, ...]) -> Shape:
    require(sorted(arg) == list(range(len(s))), Op.PERMUTE, f"{arg} of {s}")
    return tuple(s[i] for i in arg)


def _flip_shape(s: Shape, arg: tuple[int, ...]) -> Shape:
    require(all(0 <= a < len(s) for a in arg), Op.FLIP, f"{arg} of {s}")
    return s


def _slice_shape(s: Shape, arg: tuple[tuple[int, int, int], ...]) -> Shape:
    ok = len(arg) == len(s) and all(
        0 <= b <= e <= d and step >= 1 for (b, e, step), d in zip(arg, s, strict=True)
    )
    require(ok, Op.SLICE, f"{arg} of {s}")
    return tuple(-(-(e - b) // step) for b, e, step in arg)


def _pad_shape(s: Shape, arg: tuple[tuple[int, int, int], ...]) -> Shape:
    require(len(arg) == len(s) and all(min(a) >= 0 for a in arg), Op.PAD, f"{arg} of {s}")
    return addressable(
        "pad",
        tuple(
            lo + d + max(0, d - 1) * interior + hi
            for d, (lo, hi, interior) in zip(s, arg, strict=True)
        ),
    )


def _expand_shape(s: Shape, arg: tuple[tuple[int, int], ...]) -> Shape:
    out = list(s)
    for axis, extent in arg:
        require(0 <= axis <= len(out) and extent >= 0, Op.EXPAND, f"{arg} of {s}")
        out.insert(axis, extent)
    require([a for a, _ in arg] == sorted({a for a, _ in arg}), Op.EXPAND, f"{arg} of {s}")
    return addressable("expand", tuple(out))


def _skew_shape(s: Shape, arg: tuple[int, int, int], sign: int = -1) -> Shape:
    n, k, d = arg
    require(
        n != k and d >= 1 and s[k] >= 1 and s[n] + sign * (s[k] - 1) * d >= 0,
        Op.SKEW,
        f"{arg} of {s}",
    )
    return tuple(e + sign * (s[k] - 1) * d if i == n else e for i, e in enumerate(s))


@lru_cache(4096)
def shape_of(op: Op, shape: Shape, arg: Any) -> Shape:
    """The shape of a view or reduction of a value of this shape; they recur at every step of a
    loop."""
    return SHAPES[op](shape, arg)


# the ops whose result keeps the dtype and has a shape that follows from that of the source
SHAPES: dict[Op, Callable[[Shape, Any], Shape]] = {
    Op.REDUCE: _reduce_shape,
    Op.RESHAPE: _reshape_shape,
    Op.PERMUTE: _permute_shape,
    Op.FLIP: _flip_shape,
    Op.SLICE: _slice_shape,
    Op.PAD: _pad_shape,
    Op.EXPAND: _expand_shape,
    Op.SKEW: _skew_shape,
    Op.UNSKEW: lambda s, arg: _skew_shape(s, arg, +1),
}
