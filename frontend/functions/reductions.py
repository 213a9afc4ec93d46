"""Reductions over axes. In: a Node, axis (None: all; an int or several), keepdims. Out: a Node.

Negative axes count from the end. A wrong or repeated axis raises ShapeError.
"""

from __future__ import annotations

import builtins
from math import prod as product

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ..elementwise.all import (
    add,
    as_float,
    as_real_float,
    detach,
    div,
    eq,
    imag,
    invert,
    isfinite,
    isnan,
    mul,
    no_complex,
    real,
    reversed_order,
    sqrt_,
    sub,
    where,
)
from ..elementwise.transcendental import exp, log, power
from ..operands.arguments import Axes, as_bool, as_real, normalise_axes, normalise_axis
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import as_dtype, spread, to_dtype
from ..operands.in_float32 import in_float32
from ..operands.likes import DTypeLike
from .moments import squared_deviations
from .movement import concat, part


def _kept(x: Node, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if i in axes else d for i, d in enumerate(x.shape))


def _reduced(kind: str, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    out = graph.reduce(kind, x, axes)
    return reshape(out, _kept(x, axes)) if as_bool("reduction", "keepdims", keepdims) else out


def _back(reduced: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """A reduction (without keepdims) repeated along the axes it lost."""
    return spread(reduced, [i for i in range(len(shape)) if i not in axes], shape)


def accumulator(x: Node, dtype: DTypeLike) -> Node:
    """x in the dtype of its sums and products: as given, else at least 64 bits for integers (as in
    NumPy)."""
    if dtype is not None:
        return to_dtype(x, as_dtype(dtype))
    if x.dtype.is_inexact:
        return x
    return to_dtype(x, dt.uint64 if x.dtype.kind == "u" else dt.int64)


@runs_in_float32
def sum(x: Node, /, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike = None) -> Node:
    """Sum; of bools and integers in 64 bits unless dtype says otherwise (bool: is there any), 0 of
    nothing."""
    x = accumulator(x, dtype)
    return _reduced(
        "max" if x.dtype is dt.bool_ else "add", x, normalise_axes("sum", axis, x.ndim), keepdims
    )


@runs_in_float32
def prod(x: Node, /, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike = None) -> Node:
    """Product; of bools and integers in 64 bits unless dtype says otherwise (bool: are all), 1 of
    nothing."""
    x = accumulator(x, dtype)
    if x.dtype is dt.bool_:
        return all(x, axis, keepdims)
    axes = normalise_axes("prod", axis, x.ndim)
    if x.dtype.is_complex:
        return _complex_prod(x, axes, as_bool("prod", "keepdims", keepdims))
    return _reduced("mul", x, axes, keepdims)


def _complex_prod(x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """By halves: products of complex numbers are no reduction of the parts."""
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in kept)
    count = product(x.shape[a] for a in axes)
    moved = reshape(graph.permute(x, (*kept, *axes)), (*shape, count))
    last = len(shape)
    while count > 1:
        half = count // 2
        pairs = mul(part(moved, last, 0, half), part(moved, last, half, 2 * half))
        moved = concat([pairs, part(moved, last, 2 * half, count)], last) if count % 2 else pairs
        count -= half
    out = reshape(moved, shape) if count else graph.full(1, x.dtype, shape)
    return reshape(out, _kept(x, axes)) if keepdims else out


@runs_in_float32
def mean(x: Node, /, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike = None) -> Node:
    """Arithmetic mean, a float (the default dtype for integers); NaN of nothing."""
    return _mean(as_float(x if dtype is None else to_dtype(x, as_dtype(dtype))), axis, keepdims)


@in_float32
def _mean(x: Node, axis: Axes, keepdims: bool) -> Node:
    axes = normalise_axes("mean", axis, x.ndim)
    total = _reduced("add", x, axes, keepdims)
    return div(total, float(product(x.shape[a] for a in axes)))


def _require_elements(name: str, x: Node, axes: tuple[int, ...]) -> None:
    if builtins.any(x.shape[a] == 0 for a in axes):
        raise errors.ShapeError(
            f"{name}: shape {x.shape} has no elements along axes {axes}, and {name} of nothing is"
            " undefined"
        )


def max(x: Node, /, axis: Axes = None, keepdims: bool = False) -> Node:
    """Greatest element, NaN if there is one; ties share the gradient equally. Raises ShapeError for
    no elements."""
    no_complex("max", x)
    axes = normalise_axes("max", axis, x.ndim)
    _require_elements("max", x, axes)
    return _reduced("max", x, axes, keepdims)


def min(x: Node, /, axis: Axes = None, keepdims: bool = False) -> Node:
    """Least element, NaN if there is one; ties share the gradient equally. Raises ShapeError for no
    elements."""
    no_complex("min", x)
    axes = normalise_axes("min", axis, x.ndim)
    _require_elements("min", x, axes)
    return reversed_order(_reduced("max", reversed_order(x), axes, keepdims))


def any(x: Node, /, axis: Axes = None, keepdims: bool = False) -> Node:
    """True if any element is not 0; False for no elements."""
    return _reduced("max", to_dtype(x, dt.bool_), normalise_axes("any", axis, x.ndim), keepdims)


def all(x: Node, /, axis: Axes = None, keepdims: bool = False) -> Node:
    """True if all elements are not 0; True for no elements."""
    return invert(
        _reduced(
            "max", invert(to_dtype(x, dt.bool_)), normalise_axes("all", axis, x.ndim), keepdims
        )
    )


@runs_in_float32
@in_float32
def var(x: Node, /, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> Node:
    """Mean squared distance from the mean, the divisor being count - correction (1: the sample
    variance). A float for complex x, too."""
    if x.dtype.is_complex:
        return add(*(var(p, axis, keepdims, correction) for p in (real(x), imag(x))))
    x = as_float(x)
    axes = normalise_axes("var", axis, x.ndim)
    count = product(x.shape[a] for a in axes) - as_real("var", "the correction", correction)
    out = div(squared_deviations(x, axes), float(builtins.max(count, 0)))
    return reshape(out, _kept(x, axes)) if as_bool("var", "keepdims", keepdims) else out


@runs_in_float32
@in_float32
def std(x: Node, /, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> Node:
    """Square root of var. Its gradient where all elements are equal is 0."""
    return root(var(x, axis, keepdims, correction))


def root(total: Node, order: float = 2) -> Node:
    """total ** (1 / order) of what is not negative; its derivative at 0 is 0."""
    is_zero = eq(total, 0)
    safe = where(is_zero, 1, total)
    return where(is_zero, 0, sqrt_(safe) if order == 2 else power(safe, 1 / order))


def argmax(x: Node, /, axis: int | None = None, keepdims: bool = False) -> Node:
    """int64 place of the first greatest element (the first NaN, if any) along one axis, or in the
    flattened x."""
    return _arg_extreme("argmax", x, axis, keepdims)


def argmin(x: Node, /, axis: int | None = None, keepdims: bool = False) -> Node:
    """int64 place of the first least element (the first NaN, if any) along one axis, or in the
    flattened x."""
    return _arg_extreme("argmin", reversed_order(x), axis, keepdims)


def _arg_extreme(name: str, x: Node, axis: int | None, keepdims: bool) -> Node:
    no_complex(name, x)
    kept = (1,) * x.ndim
    if axis is None:
        x, place = reshape(x, (x.size,)), 0
    else:
        place = normalise_axis(name, axis, x.ndim)
        kept = _kept(x, (place,))
    _require_elements(name, x, (place,))
    best = _back(graph.reduce("max", x, (place,)), (place,), x.shape)
    hit = eq(x, best)
    if x.dtype.is_float:
        hit = node(Op.OR, (hit, isnan(x)))
    last = x.shape[place] - 1
    # twice as many in a vector
    numbers = to_dtype(node(Op.IOTA, (), x.shape[place]), dt.int32 if last < 1 << 31 else dt.int64)
    from_end = spread(node(Op.FLIP, (numbers,), (0,)), [place], x.shape)
    first = sub(last, to_dtype(graph.reduce("max", where(hit, from_end, 0), (place,)), dt.int64))
    return reshape(first, kept) if as_bool("reduction", "keepdims", keepdims) else first


# ---------------------------------------------------------------- exponentials, the greatest
# element taken out first


@runs_in_float32
@in_float32
def logsumexp(x: Node, /, axis: Axes = None, keepdims: bool = False) -> Node:
    """log(sum(exp(x))), without overflow; -inf of nothing."""
    x = as_real_float("logsumexp", x)
    axes = normalise_axes("logsumexp", axis, x.ndim)
    top = detach(graph.reduce("max", x, axes))
    top = where(isfinite(top), top, 0.0)
    total = graph.reduce("add", exp(sub(x, _back(top, axes, x.shape))), axes)
    out = add(log(total), top)
    return reshape(out, _kept(x, axes)) if as_bool("reduction", "keepdims", keepdims) else out


def _shifted(name: str, x: Node, axis: Axes) -> tuple[Node, tuple[int, ...]]:
    x = as_real_float(name, x)
    axes = normalise_axes(name, axis, x.ndim)
    if not product(x.shape):
        return x, axes
    return sub(x, _back(detach(max(x, axes)), axes, x.shape)), axes


@runs_in_float32
@in_float32
def softmax(x: Node, /, axis: Axes = -1) -> Node:
    """exp(x) / sum(exp(x)) along the axes, without overflow."""
    shifted, axes = _shifted("softmax", x, axis)
    e = exp(shifted)
    return div(e, _back(graph.reduce("add", e, axes), axes, x.shape))


@runs_in_float32
@in_float32
def log_softmax(x: Node, /, axis: Axes = -1) -> Node:
    """log(softmax(x)), without overflow."""
    shifted, axes = _shifted("log_softmax", x, axis)
    total = log(graph.reduce("add", exp(shifted), axes))
    return sub(shifted, _back(total, axes, x.shape))
