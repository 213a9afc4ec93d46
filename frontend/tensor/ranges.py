"""Tensors made of positions. In: bounds, counts, diagonals. Out: lazy Tensors computed from IOTA;
nothing is stored."""

from __future__ import annotations

from functools import reduce
from math import ceil, isfinite, ldexp

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, const, expand_to, full, node, reshape
from ...ir.graph.op import Op
from ...ir.graph.shapes import addressable
from ...runtime.memory.devices import check_device
from ..elementwise import all as ew
from ..elementwise import transcendental as tr
from ..operands.arguments import (
    as_bool,
    as_choice,
    as_double,
    as_int,
    as_number,
    as_real,
    as_shape,
)
from ..operands.broadcast import (
    as_dtype,
    broadcast_shape,
    broadcast_to,
    default_float,
    default_int,
    promote,
    spread,
    to_dtype,
)
from ..operands.likes import DeviceLike, DTypeLike, Real
from .tensor import Tensor, wrap


def arange(
    start: Real,
    stop: Real | None = None,
    step: Real = 1,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """start + i * step for i below ceil((stop - start) / step); arange(n) is 0 .. n-1. int64 of
    ints, the dtype of floats that are Tensors, arrays or NumPy's numbers, else the default dtype.

    Integers are exact; floats are computed in float64 and rounded once. Raises ShapeError for a
    step of 0 or a bound that is not finite.
    """
    place = check_device(device)
    if stop is None:
        start, stop = 0, start
    first, end, by = (
        as_real("arange", name, v) for name, v in (("start", start), ("stop", stop), ("step", step))
    )
    whole = all(isinstance(v, int) for v in (first, end, by))
    if not whole:
        for v in (first, end, by):
            # refuses integers beyond all floats
            as_double("arange", "each of start, stop and step", v)
    target = (
        as_dtype(dtype)
        if dtype is not None
        else default_int
        if whole
        else _float_of(start, stop, step)
    )
    (count,) = addressable("arange", (_count(first, end, by),))
    out = wrap(to_dtype(_progression(count, first, by), target)).to(place)
    return out.requires_grad_() if as_bool("arange", "requires_grad", requires_grad) else out


def _float_of(*ends: Real | complex) -> DType:
    """The dtype in which the floats and complex numbers among them that have one meet, or the
    default."""
    given = [as_dtype(x.dtype) for x in ends if isinstance(x, (Tensor, np.ndarray, np.generic))]
    common = reduce(promote, [d for d in given if d.is_inexact] or [default_float()])
    return common.as_complex if any(isinstance(x, complex) for x in ends) else common


def _count(start: int | float, stop: int | float, step: int | float) -> int:
    if step == 0:
        raise errors.ShapeError("arange: the step must not be 0")
    if all(isinstance(v, int) for v in (start, stop, step)):
        return max(0, -((start - stop) // step))  # type: ignore[return-value]
    try:
        return max(0, ceil((stop - start) / step))
    except (OverflowError, ValueError):
        raise errors.ShapeError(
            f"arange: there is no number of elements from {start} to {stop} by {step}"
        ) from None


def _progression(count: int, start: int | float, step: int | float) -> Node:
    """start + i * step: of ints in int64, which wraps as any integer dtype does; else in
    float64."""
    position = node(Op.IOTA, (), count)
    whole = isinstance(start, int) and isinstance(step, int)
    dtype = dt.int64 if whole else dt.float64
    out = to_dtype(position, dtype)
    if step != 1:
        out = node(Op.MUL, (out, expand_to(const(step, dtype), out.shape)))
    if whole and not start:
        return out
    # of 0.0 too: 0 * -1.0 is -0.0
    return node(Op.ADD, (out, expand_to(const(start, dtype), out.shape)))


def linspace(
    start: Real | complex,
    stop: Real | complex,
    num: int = 50,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Tensor:
    """num evenly spaced numbers from start to stop (included unless endpoint is False); of the
    dtype of bounds that are Tensors, arrays or NumPy's numbers of floats, else the default dtype.
    Of complex bounds, both parts are spaced so.

    Both ends are exact. Between them start + i * (stop - start) / n in float64, rounded once (down,
    for an integer dtype). Raises DTypeError for complex bounds of a real dtype.
    """
    place = check_device(device)
    endpoint = as_bool("linspace", "endpoint", endpoint)
    first, end = as_number("linspace", "start", start), as_number("linspace", "stop", stop)
    target = _float_of(start, stop) if dtype is None else as_dtype(dtype)
    (count,) = as_shape("linspace", (as_int("linspace", "num", num),))
    out = wrap(_evenly(first, end, count, endpoint, target)).to(place)
    return out.requires_grad_() if as_bool("linspace", "requires_grad", requires_grad) else out


def _evenly(
    first: int | float | complex,
    end: int | float | complex,
    count: int,
    endpoint: bool,
    target: DType,
) -> Node:
    """The numbers of linspace."""
    if not isinstance(first, complex) and not isinstance(end, complex):
        return _evenly_real(first, end, count, endpoint, target)
    if not target.is_complex:
        raise errors.DTypeError(f"linspace: the bounds are complex, {target.name} is not")
    re = _evenly_real(first.real, end.real, count, endpoint, target.part)
    return node(Op.COMPLEX, (re, _evenly_real(first.imag, end.imag, count, endpoint, target.part)))


def _evenly_real(
    first: int | float, end: int | float, count: int, endpoint: bool, target: DType
) -> Node:
    low, high = as_double("linspace", "start", first), as_double("linspace", "stop", end)
    n = _between(low, high, count, count - 1 if endpoint else count)
    n = to_dtype(ew.floor(n) if target.is_int else n, target)
    position = node(Op.IOTA, (), count)
    n = ew.where(ew.eq(position, 0), _exact(first, target, count), n)
    if endpoint and count > 1:
        n = ew.where(ew.eq(position, count - 1), _exact(end, target, count), n)
    return n


def logspace(
    start: Real,
    stop: Real,
    num: int = 50,
    *,
    base: float = 10.0,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """base ** linspace(start, stop, num): from base ** start to base ** stop, evenly spaced on a
    logarithmic scale.

    Computed in float64 and rounded once; of the dtype that linspace would have unless given.
    """
    place, target = (
        check_device(device),
        _float_of(start, stop) if dtype is None else as_dtype(dtype),
    )
    exponents = linspace(start, stop, num, dtype=dt.float64, endpoint=endpoint).node
    powers = tr.power(
        full(as_double("logspace", "base", base), dt.float64, exponents.shape), exponents
    )
    return wrap(to_dtype(powers, target)).to(place)


def _exact(value: int | float, dtype: DType, count: int) -> Node:
    """The number in this dtype: a float is converted as a Tensor of it would be."""
    if isinstance(value, int):
        return full(value, dtype, (count,))
    return to_dtype(full(value, dt.float64, (count,)), dtype)


def _between(start: float, stop: float, count: int, steps: int) -> Node:
    """start + i * (stop - start) / steps in float64, scaled where the difference or a step would
    leave its range."""
    steps = max(steps, 1)
    scale = 0
    if isfinite(start) and isfinite(stop) and not isfinite(stop - start):
        scale = -1
    elif abs(stop - start) < 1e-280:
        scale = 600 if max(abs(start), abs(stop)) < 1e-100 else 0
    low, high = ldexp(start, scale), ldexp(stop, scale)
    out = _progression(count, low, (high - low) / steps)
    return ew.mul(out, ldexp(1.0, -scale)) if scale else out


def eye(
    n_rows: int,
    n_cols: int | None = None,
    k: int = 0,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """n_rows rows, n_cols columns (n_rows unless given), ones where column == row + k; of the
    default dtype unless given."""
    place = check_device(device)
    shape = as_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    target = default_float() if dtype is None else as_dtype(dtype)
    out = wrap(to_dtype(ew.eq(_distance(shape), _diagonal("eye", k, shape)), target)).to(place)
    return out.requires_grad_() if as_bool("eye", "requires_grad", requires_grad) else out


def _distance(shape: tuple[int, ...]) -> Node:
    """column - row in the last two axes."""
    rows, columns = (node(Op.IOTA, (), d) for d in shape[-2:])
    return ew.sub(spread(columns, [1], shape[-2:]), spread(rows, [0], shape[-2:]))


def _diagonal(name: str, k: int, shape: tuple[int, ...]) -> int:
    """The number of the diagonal; one far outside is brought near, where it is still outside."""
    return max(-shape[-2] - 1, min(as_int(name, "k", k), shape[-1] + 1))


def _triangle(name: str, x: Node, k: int) -> Node:
    if x.ndim < 2:
        raise errors.ShapeError(f"{name}: expected at least two axes, got shape {x.shape}")
    distance, limit = _distance(x.shape), _diagonal(name, k, x.shape)
    inside = ew.le(distance, limit) if name == "tril" else ew.ge(distance, limit)
    return ew.where(broadcast_to(inside, x.shape), x, full(0, x.dtype, x.shape))


def tril(x: Node, /, k: int = 0) -> Node:
    """x on and below the k-th diagonal of its last two axes, 0 above. Raises ShapeError for fewer
    than two axes."""
    return _triangle("tril", x, k)


def triu(x: Node, /, k: int = 0) -> Node:
    """x on and above the k-th diagonal of its last two axes, 0 below. Raises ShapeError for fewer
    than two axes."""
    return _triangle("triu", x, k)


def meshgrid(*arrays: Node, indexing: str = "xy") -> tuple[Node, ...]:
    """The coordinates of a grid: each vector along an axis of its own, repeated along all others.

    indexing: "ij" for axes in the order of the vectors, "xy" for the first two exchanged (columns,
    then rows).
    """
    as_choice("meshgrid", "indexing", indexing, ("xy", "ij"))
    for x in arrays:
        if x.ndim > 1:
            raise errors.ShapeError(f"meshgrid: expected vectors, got shape {x.shape}")
    place = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        place[:2] = [1, 0]
    lying = [
        reshape(x, tuple(x.size if a == p else 1 for a in range(len(arrays))))
        for x, p in zip(arrays, place, strict=True)
    ]
    shape = broadcast_shape("meshgrid", [x.shape for x in lying]) if lying else ()
    return tuple(broadcast_to(x, shape) for x in lying)
