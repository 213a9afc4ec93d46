"""Random orders and choices. In: sizes, weights; the generator's draws. Out: lazy Tensors, the same
for the same seed."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ...runtime.memory.devices import check_device
from ..elementwise import all as ew
from ..elementwise import transcendental as tr
from ..functions.movement import part
from ..operands.arguments import as_bool, as_count, as_shape, normalise_axis
from ..operands.broadcast import as_dtype, default_int, to_dtype
from ..operands.likes import ArrayLike, DeviceLike, DTypeLike, ShapeLike
from ..selection import sorting
from . import random
from .binding import as_tensor
from .parameters_elsewhere import naming
from .tensor import Tensor, wrap


def rand_like(
    x: ArrayLike,
    /,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """As rand, in x's shape, with its dtype and on its device unless given. Raises DTypeError
    unless that is a float."""
    like, target, place = _like("rand_like", x, dtype, device)
    return random.rand(like.shape, dtype=target, device=place, requires_grad=requires_grad)


def randn_like(
    x: ArrayLike,
    /,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """As randn, in x's shape, with its dtype and on its device unless given. Raises DTypeError
    unless that is a float."""
    like, target, place = _like("randn_like", x, dtype, device)
    return random.randn(like.shape, dtype=target, device=place, requires_grad=requires_grad)


def _like(
    name: str, x: ArrayLike, dtype: DTypeLike, device: DeviceLike
) -> tuple[Tensor, DType, DeviceLike]:
    """The Tensor, and the dtype and the device of what is like it."""
    like = as_tensor(name, "x", x)
    return (
        like,
        random.drawn_dtype(name, like.dtype if dtype is None else dtype),
        like.device if device is None else device,
    )


@random.drawing
def randperm(n: int, *, dtype: DTypeLike = None, device: DeviceLike = None) -> Tensor:
    """The numbers below n in a random order, int64 unless given: the order of n random words of 64
    bits.

    >>> sorted(wf.randperm(5).tolist())
    [0, 1, 2, 3, 4]
    """
    place, count = check_device(device), as_count("randperm", "n", n)
    target = default_int if dtype is None else as_dtype(dtype)
    return wrap(to_dtype(_order(count), target)).to(place)


def _order(count: int) -> Node:
    low, high, _, _ = random.words(count)
    return sorting.argsort(ew.bit_or(low, ew.shift_left(high, 32)))


@naming
@random.drawing
def choice(
    a: ArrayLike,
    size: ShapeLike | None = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Elements drawn from a, or numbers below an int a: NumPy's Generator.choice. Of several axes
    slices along one.

    size: their number or a shape; None: one, without an axis. replace=False: each at most once. p:
    a weight for each, even if not given; weights are divided by their sum, and what weighs nothing
    is not drawn (with replace=False: last). Weights that are negative or not finite, or whose sum
    is 0, raise ArgumentError, unless they are a Tensor: then what is drawn has no meaning.
    Gradients flow to a. Raises ArgumentError for more than there are without replacement,
    ShapeError, DTypeError.

    >>> wf.choice([10, 20, 30], 2, p=[0.0, 1.0, 0.0]).tolist()
    [20, 20]
    """
    whole = isinstance(a, (int, np.integer)) and not isinstance(a, bool)
    source = None if whole else as_tensor("choice", "a", a)
    if source is not None and not source.ndim:
        raise errors.ShapeError(
            "choice: a must be an int or have an axis to choose from, not shape ()"
        )
    place = 0 if source is None else normalise_axis("choice", axis, source.ndim)
    count = as_count("choice", "a", a) if source is None else source.shape[place]
    extents = () if size is None else as_shape("choice", (size,))
    indices = wrap(
        reshape(_chosen(count, prod(extents), as_bool("choice", "replace", replace), p), extents)
    )
    return indices if source is None else source.take(indices, place)


def _chosen(count: int, drawn: int, replace: bool, p: ArrayLike | None) -> Node:
    """So many of the numbers below count."""
    if drawn and not count:
        raise errors.ArgumentError(f"choice: there is nothing to draw {drawn} from")
    _require("choice", drawn, count, replace)
    if p is not None:
        weights = _weights("choice", "p", p)
        if weights.shape != (count,):
            raise errors.ShapeError(
                f"choice: weights of shape {weights.shape} for {count} elements"
            )
        return _weighted(weights, drawn, replace)
    if not replace:
        return part(_order(count), 0, 0, drawn)
    return random.randint(max(count, 1), shape=(drawn,)).node


@random.drawing
def multinomial(probs: ArrayLike, num_samples: int, replacement: bool = False) -> Tensor:
    """Places along the last axis, drawn with these weights, as int64: torch.multinomial. Shape (..,
    num_samples) of (.., n).

    Weights need not add up to 1; what weighs nothing is not drawn (without replacement: last).
    Weights that are negative or not finite, or whose sum is 0, raise ArgumentError, unless they are
    a Tensor: then what is drawn has no meaning. Raises ArgumentError for more than n without
    replacement, ShapeError.
    """
    weights = _weights("multinomial", "probs", probs)
    drawn = as_count("multinomial", "num_samples", num_samples)
    if not weights.ndim or not weights.shape[-1]:
        raise errors.ShapeError(
            f"multinomial: expected weights along the last axis, got shape {weights.shape}"
        )
    replace = as_bool("multinomial", "replacement", replacement)
    _require("multinomial", drawn, weights.shape[-1], replace)
    return wrap(_weighted(weights, drawn, replace))


def _weights(name: str, what: str, given: ArrayLike) -> Node:
    """The Node of weights. Raises ArgumentError for numbers that cannot be weights, DTypeError for
    complex ones; the values of Tensors are not looked at."""
    weights = as_tensor(name, what, given).node
    if weights.dtype.is_complex:
        raise errors.DTypeError(f"{name}: {what} must be real, not {weights.dtype.name}")
    if weights.ndim and weights.size and _are_numbers(given):
        with np.errstate(over="ignore"):
            sums = np.asarray(given, np.float64).sum(-1)
        if not (np.asarray(given) >= 0).all() or not ((sums > 0) & np.isfinite(sums)).all():
            raise errors.ArgumentError(
                f"{name}: {what} must be finite weights, at least 0 and not all 0, not"
                f" {brief(given)}"
            )
    return weights  # type: ignore[no-any-return]


def _are_numbers(x: object) -> bool:
    return isinstance(x, (np.ndarray, np.generic, int, float)) or (
        isinstance(x, (list, tuple)) and all(map(_are_numbers, x))
    )


def _require(name: str, drawn: int, count: int, replace: bool) -> None:
    if drawn > count and not replace:
        raise errors.ArgumentError(
            f"{name}: {drawn} are more than the {count} that there are without replacement"
        )


def _weighted(weights: Node, drawn: int, replace: bool) -> Node:
    weights = to_dtype(weights, dt.float64)
    return _with_replacement(weights, drawn) if replace else _without_replacement(weights, drawn)


def _with_replacement(weights: Node, drawn: int) -> Node:
    """The place whose part of the sum of weights holds a uniform number; of weights without meaning
    some place."""
    sums = node(Op.SCAN, (weights,), weights.ndim - 1)
    total = part(sums, sums.ndim - 1, sums.shape[-1] - 1, sums.shape[-1])
    shape = (*weights.shape[:-1], drawn)
    at = ew.mul(reshape(random.uniforms(prod(shape)), shape), total)
    return ew.minimum(sorting.search_lines(sums, at), sums.shape[-1] - 1)


def _without_replacement(weights: Node, drawn: int) -> Node:
    """The least of exponential numbers over weights: drawn one after the other from what is left
    (Efraimidis, Spirakis 2006)."""
    uniforms = reshape(random.uniforms(weights.size), weights.shape)
    times = ew.neg(tr.log(ew.sub(1.0, uniforms)))
    keys = ew.where(ew.gt(weights, 0.0), ew.div(times, weights), inf)
    return sorting.topk(keys, drawn, largest=False)[1]
