"""Quantiles, histograms and covariances. In: Nodes. Out: Nodes, all lazy: no size depends on a
value."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, nan, prod

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, node, permute, reshape
from ...ir.graph.op import Op
from ...runtime.memory import storage
from ..elementwise.all import (
    add,
    as_float,
    ceil,
    div,
    eq,
    floor,
    gt,
    isfinite,
    isinf,
    isnan,
    logical_and,
    mul,
    round_,
    sub,
    where,
)
from ..functions import reductions
from ..functions.cumulative import diff
from ..functions.movement import part
from ..functions.products import matmul
from ..operands.arguments import (
    Axes,
    as_bool,
    as_choice,
    as_count,
    as_double,
    as_real,
    as_sequence,
    normalise_axes,
)
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import Scalar, broadcast_to, to_dtype
from ..operands.in_float32 import in_float32
from ..operands.likes import Nested
from .interpolation import lerp
from .sorting import searchsorted, sort

# ---------------------------------------------------------------- quantiles

# one of two elements
CHOOSE: dict[str, Callable[[Node], Node]] = {
    "lower": floor,
    "higher": ceil,
    "nearest": round_,
}
METHODS = ("linear", "midpoint", *CHOOSE)


@runs_in_float32
@in_float32
def quantile(
    x: Node, q: Nested, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Node:
    """The value below which the fraction q of the elements along the axes lies: numpy.quantile.

    q: from 0 to 1, a number or several; shape: that of q, then the other axes of x. The place q *
    (n - 1) among n sorted elements may lie between two: method "linear" interpolates, "lower",
    "higher" and "nearest" (halves to even) choose one, "midpoint" takes the mean. A float; NaN
    where there is a NaN or no element. Raises ArgumentError for another q (IndexError when it is
    computed, if q is a Tensor) or method, DTypeError, AxisError.

    >>> wf.quantile(wf.tensor([3.0, 1.0, 2.0, 4.0]), [0.25, 0.5]).tolist()
    [1.75, 2.5]
    """
    return _quantile("quantile", x, q, 1.0, axis, method, keepdims)


@runs_in_float32
@in_float32
def percentile(
    x: Node, q: Nested, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Node:
    """As quantile, with q from 0 to 100: numpy.percentile."""
    return _quantile("percentile", x, q, 100.0, axis, method, keepdims)


def _quantile(
    name: str, x: Node, q: Nested, whole: float, axis: Axes, method: str, keepdims: bool
) -> Node:
    as_choice(name, "method", method, METHODS)
    axes = normalise_axes(name, axis, x.ndim)
    rest = tuple(d for a, d in enumerate(x.shape) if a not in axes)
    order = (*axes, *(a for a in range(x.ndim) if a not in axes))
    count = prod(x.shape[a] for a in axes)
    lines = reshape(permute(as_float(x), order), (count, *rest))
    levels = _levels(name, q, whole)
    missing = graph.full(nan, lines.dtype, levels.shape + rest)
    out = _at(sort(lines, 0), mul(levels, count - 1), method) if count else missing
    kept = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    return reshape(out, levels.shape + kept) if as_bool(name, "keepdims", keepdims) else out


def _levels(name: str, q: Nested, whole: float) -> Node:
    """q as fractions of the whole, in float64."""
    if isinstance(q, Node):
        return div(to_dtype(q, dt.float64), whole)
    levels = _doubles(name, "q must be a number or several", q)
    if not ((levels >= 0) & (levels <= whole)).all():
        raise errors.ArgumentError(f"{name}: q must be from 0 to {whole:g}, not {brief(q)}")
    return storage.operand(storage.from_array(levels / whole, dt.float64, copy=True))


def _doubles(name: str, what: str, x: object) -> np.ndarray:
    """Numbers, nested in sequences or not, as an array."""
    try:
        return np.asarray(x, np.float64)
    except OverflowError:
        raise errors.OverflowError(f"{name}: {brief(x)} is too large for a float") from None
    except (TypeError, ValueError):
        raise errors.DTypeError(f"{name}: {what}, not {brief(x)}") from None


def _at(ordered: Node, place: Node, method: str) -> Node:
    """The value of sorted lines at a place along axis 0 that may lie between two elements; NaN
    where the last one is."""

    def taken(at: Node) -> Node:
        return node(Op.GATHER, (ordered, cast(at, dt.int64)), (0,))

    beside = (1,) * (ordered.ndim - 1)
    if method in CHOOSE:
        out = taken(CHOOSE[method](place))
    else:
        weight = (
            sub(place, floor(place))
            if method == "linear"
            else graph.full(0.5, dt.float64, place.shape)
        )
        low, high = taken(floor(place)), taken(ceil(place))
        between = lerp(low, high, reshape(to_dtype(weight, ordered.dtype), place.shape + beside))
        out = where(logical_and(isinf(low), eq(low, high)), low, between)
    last = reshape(part(ordered, 0, ordered.shape[0] - 1, ordered.shape[0]), ordered.shape[1:])
    return where(broadcast_to(isnan(last), out.shape), broadcast_to(last, out.shape), out)


# ---------------------------------------------------------------- counts


def histogram(
    x: Node,
    bins: Nested = 10,
    range: Nested | None = None,
    density: bool = False,
    weights: Node | None = None,
) -> tuple[Node, Node]:
    """(how many elements of x lie in each bin, the edges of the bins): numpy.histogram.

    bins: their number, between the two numbers of `range` or the least and the greatest finite
    element (0 and 1 if there is none); or all edges, ascending. An edge belongs to the bin after
    it, the last one to the bin before. Elements outside and NaNs count nowhere. Counts are int64,
    or of the dtype of the weights, which have x's shape; with density floats, so that counts times
    widths add up to 1. Raises ArgumentError, DTypeError, ShapeError.

    >>> counts, edges = wf.histogram(wf.tensor([1.0, 2.0, 1.5, 4.0]), bins=3)
    >>> counts.tolist(), edges.tolist()
    ([2, 1, 1], [1.0, 2.0, 3.0, 4.0])
    """
    dtype = dt.float32 if x.dtype.is_half else as_float(x).dtype
    flat = reshape(to_dtype(x, dtype if x.dtype.is_float else dt.float64), (x.size,))
    edges, given = _edges(flat, bins, range, dtype)
    count = edges.size - 1
    values = graph.full(1, dt.int64, flat.shape) if weights is None else _weights(x, weights)
    inner = to_dtype(edges, flat.dtype)
    last = broadcast_to(part(inner, 0, count, count + 1), flat.shape)
    place = where(eq(flat, last), count, searchsorted(inner, flat, "right"))
    total = part(node(Op.SCATTER, (values, place), ((0,), (count + 2,))), 0, 1, count + 1)
    if not as_bool("histogram", "density", density):
        return total, to_dtype(edges, given)
    total = as_float(total)
    widths = to_dtype(diff(edges), given)
    return div(div(total, reductions.sum(total)), widths), to_dtype(edges, given)


def _weights(x: Node, weights: Node) -> Node:
    if weights.shape != x.shape:
        raise errors.ShapeError(
            f"histogram: weights of shape {weights.shape} do not fit x of shape {x.shape}"
        )
    return reshape(to_dtype(weights, dt.int64) if weights.dtype.kind == "b" else weights, (x.size,))


def _edges(flat: Node, bins: Nested, limits: object, dtype: DType) -> tuple[Node, DType]:
    """The edges as they are compared with integers, and the dtype in which they are given: this
    one, or that of given edges."""
    if isinstance(bins, (list, tuple)):
        bins = _edges_of_numbers(bins)
    if isinstance(bins, Node) and bins.ndim:
        if bins.ndim != 1 or bins.size < 2:
            raise errors.ShapeError(
                f"histogram: edges must be a vector of two or more, not of shape {bins.shape}"
            )
        return bins if bins.dtype.is_float else to_dtype(bins, dt.float64), as_float(bins).dtype
    count = as_count("histogram", "bins", bins, 1)
    low, high = (
        _limits(flat) if limits is None else (graph.full(v, dt.float64, ()) for v in _range(limits))
    )
    is_point = eq(low, high)
    low, high = where(is_point, sub(low, 0.5), low), where(is_point, add(high, 0.5), high)
    number = node(Op.IOTA, (), count + 1)
    inside = add(low, mul(to_dtype(number, dt.float64), div(sub(high, low), count)))
    return where(eq(number, count), high, inside), dtype


def _edges_of_numbers(bins: object) -> Node:
    edges = _doubles("histogram", "bins must be a number or a vector of edges", bins)
    if (np.diff(edges) < 0).any():
        raise errors.ArgumentError(f"histogram: edges must ascend, not {brief(bins)}")
    return storage.operand(storage.from_array(edges, dt.float64, copy=True))


def _limits(flat: Node) -> tuple[Node, Node]:
    """The least and the greatest finite element in float64; 0 and 1 if there is none."""
    if not flat.size:
        return graph.full(0.0, dt.float64, ()), graph.full(1.0, dt.float64, ())
    finite = isfinite(flat)
    low = to_dtype(reductions.min(where(finite, flat, inf)), dt.float64)
    high = to_dtype(reductions.max(where(finite, flat, -inf)), dt.float64)
    is_none = gt(low, high)
    return where(is_none, 0.0, low), where(is_none, 1.0, high)


def _range(limits: object) -> tuple[float, float]:
    given = as_sequence("histogram", "range", limits)
    if len(given) != 2:
        raise errors.ArgumentError(f"histogram: range must be two numbers, not {brief(limits)}")
    low, high = (as_double("histogram", "each of range", v) for v in given)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise errors.ArgumentError(
            f"histogram: range must be two finite numbers that ascend, not {brief(limits)}"
        )
    return low, high


# ---------------------------------------------------------------- together


@runs_in_float32
@in_float32
def cov(x: Node, /, correction: Scalar = 1) -> Node:
    """The covariances of variables, one per row of x, over observations, one per column: shape
    (rows, rows), or () of a vector.

    The divisor is the number of observations - correction, as in torch.cov and, by its default,
    numpy.cov. Raises ShapeError.
    """
    if x.ndim > 2:
        raise errors.ShapeError(f"cov: expected a vector or a matrix, got shape {x.shape}")
    rows = reshape(as_float(x), x.shape if x.ndim == 2 else (1, x.size))
    centred = sub(rows, reductions.mean(rows, 1, keepdims=True))
    count = rows.shape[1] - as_real("cov", "the correction", correction)
    out = div(matmul(centred, permute(centred, (1, 0))), float(max(count, 0)))
    return out if x.ndim == 2 else reshape(out, ())
