"""Moves of the random programs of replay.py. In: a Builder. Out: another value, or None.

None is given where a move does not apply. Operations are asked for by their public names when a
move is made, so that a revision without one lacks only the programs that have it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import weft as wf
from weft.nn import functional as F

if TYPE_CHECKING:
    from replay_graphs import Builder

Move = Callable[["Builder"], "wf.Tensor | None"]

TABLE = """
maps: asinh atan cos erf exp exp2 expm1 gelu lgamma log1p reciprocal rsqrt sigmoid silu sin sinh
steps: abs ceil floor isfinite isnan neg relu round sign softplus sqrt square tan tanh trunc
arithmetic: add subtract multiply divide maximum minimum
binary: pow atan2 hypot remainder floor_divide fmod logaddexp copysign fmin
whole: add multiply bitwise_and bitwise_or bitwise_xor floor_divide remainder maximum subtract less
comparisons: less less_equal greater equal not_equal
reductions: sum mean max min prod var std logsumexp
counts: any all count_nonzero sum max
extrema: argmax argmin
scans: cumsum cumprod
orders: sort argsort
dtypes: float16 bfloat16 float32 float64 int8 int32 int64 uint8 bool
"""
NAMES = {kind: names.split() for kind, _, names in (s.partition(":") for s in TABLE.split("\n"))}


def function(b: Builder, kind: str) -> Callable[..., wf.Tensor]:
    """One of the functions of a line of the table."""
    return getattr(wf, b.one_of(NAMES[kind]))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- elementwise


def elementwise(b: Builder) -> wf.Tensor:
    return function(b, b.one_of(("maps", "steps")))(b.floats())


def arithmetic(b: Builder) -> wf.Tensor:
    x = b.floats()
    return function(b, "arithmetic")(x, b.partner(x))


def binary(b: Builder) -> wf.Tensor:
    x = b.floats()
    return function(b, "binary")(x, b.partner(x))


def whole(b: Builder) -> wf.Tensor:
    x = b.ints()
    return function(b, "whole")(x, b.partner(x))


def compare(b: Builder) -> wf.Tensor:
    x = b.floats()
    return function(b, "comparisons")(x, b.partner(x))


def choice(b: Builder) -> wf.Tensor:
    x = b.floats()
    return wf.where(b.mask(x), x, b.partner(x))


def cast(b: Builder) -> wf.Tensor:
    return b.some(0).astype(b.one_of(NAMES["dtypes"]))


def drawn(b: Builder) -> wf.Tensor:
    x = b.floats()
    return x * (wf.rand(*x.shape) < 0.8).astype(x.dtype)


# ---------------------------------------------------------------- views and joins


def reshape(b: Builder) -> wf.Tensor:
    x = b.some()
    by = b.one_of([d for d in range(1, 65) if prod(x.shape) % d == 0])
    return x.reshape(b.one_of(((by, -1), (-1, by), (-1,))))


def permute(b: Builder) -> wf.Tensor:
    x = b.some(2)
    return x.permute(*b.choose.sample(range(x.ndim), x.ndim))


def flip(b: Builder) -> wf.Tensor:
    x = b.some()
    return wf.flip(x, axis=b.axes(x))


def cut(b: Builder) -> wf.Tensor:
    """A slice of some axes, with a step."""
    x, parts = b.some(), []
    for extent in x.shape:
        start = b.choose.randrange(extent) if b.choose.randrange(2) else 0
        parts.append(slice(start, b.one_of((extent, start + 1, None)), b.one_of((1, 1, 2, 3))))
    return x[tuple(parts)]


def repeated(b: Builder) -> wf.Tensor:
    x = b.some(0)
    return wf.broadcast_to(x, (b.one_of(b.extents), *x.shape))


def padded(b: Builder) -> wf.Tensor:
    x = b.some()
    return wf.pad(x, [(b.choose.randrange(3), b.choose.randrange(3)) for _ in x.shape])


def rolled(b: Builder) -> wf.Tensor:
    x = b.some()
    return wf.roll(x, b.choose.randint(1, 5), axis=b.axis(x))


def joined(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    return wf.concat([x, b.leaf(x.shape, x.dtype.name), x], axis=b.axis(x))


def stacked(b: Builder) -> wf.Tensor:
    x = b.floats()
    return wf.stack([x, x * 2, b.leaf(x.shape, x.dtype.name)], axis=b.choose.randrange(x.ndim + 1))


def sliding(b: Builder) -> wf.Tensor | None:
    x = b.floats(1)
    axis, size = b.axis(x), b.choose.randint(2, 4)
    return wf.window(x, axis, size, b.choose.randint(1, 2)) if x.shape[axis] >= size else None


# ---------------------------------------------------------------- sums, orders, indices


def reduction(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    axes = b.one_of((None, b.axes(x), b.axis(x)))
    return function(b, "reductions")(x, axis=axes, keepdims=b.choose.randrange(2) == 0)


def counted(b: Builder) -> wf.Tensor:
    x = b.some()
    return function(b, "counts")(x, axis=b.axis(x))


def greatest(b: Builder) -> wf.Tensor:
    x = b.some()
    return function(b, "extrema")(x, axis=b.axis(x))


def scanned(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    return function(b, "scans")(x, axis=b.axis(x))


def ordered(b: Builder) -> wf.Tensor:
    x = b.some()
    return function(b, "orders")(x, axis=b.axis(x))


def best(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    axis = b.axis(x)
    return wf.topk(x, b.choose.randint(1, min(4, x.shape[axis])), axis=axis)[0]


def gathered(b: Builder) -> wf.Tensor:
    x = b.some()
    at = b.leaf(b.shape(b.choose.randint(1, 2)), "int64")
    return wf.take(x, at.reshape(-1), axis=b.axis(x)) if b.choose.randrange(2) else x[at]


def computed_index(b: Builder) -> wf.Tensor:
    x = b.some()
    return x[wf.arange(b.one_of(b.extents)) * 3 % x.shape[0]]


def along(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    axis = b.axis(x)
    return wf.take_along_axis(x, wf.argsort(x, axis=axis), axis=axis)


def scattered(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    rows = b.leaf((b.one_of(b.extents),), "int64")
    return wf.scatter_add(x, rows, b.leaf((*rows.shape, *x.shape[1:]), x.dtype.name))


# ---------------------------------------------------------------- products and layers


def product(b: Builder) -> wf.Tensor:
    x = b.floats(2)
    wide, length, dtype = b.one_of(b.extents), x.shape[-1], x.dtype.name
    turned = b.choose.randrange(2) == 0
    return x @ (b.leaf((wide, length), dtype).T if turned else b.leaf((length, wide), dtype))


def gram(b: Builder) -> wf.Tensor:
    x = b.floats(2)
    return x.swapaxes(-1, -2) @ x


def times_vector(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    return x @ b.leaf((x.shape[-1],), x.dtype.name)


def contraction(b: Builder) -> wf.Tensor:
    x = b.floats(2)
    y = b.leaf((x.shape[0], b.one_of(b.extents)), x.dtype.name)
    return wf.einsum("a...,ac->...c", x, y)


def linear(b: Builder) -> wf.Tensor:
    x = b.floats(2)
    width, dtype = b.one_of(b.extents), x.dtype.name
    y = F.linear(x, b.leaf((width, x.shape[-1]), dtype), b.leaf((width,), dtype))
    return b.one_of((F.relu, F.gelu, F.silu, wf.tanh))(y)


def soft(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    return b.one_of((F.softmax, F.log_softmax))(x, axis=b.axis(x))


def norm(b: Builder) -> wf.Tensor:
    x = b.floats(1)
    width, dtype = x.shape[-1:], x.dtype.name
    if b.choose.randrange(2):
        return F.rms_norm(x, width, b.leaf(width, dtype))
    return F.layer_norm(x, width, b.leaf(width, dtype), b.leaf(width, dtype))


def images(b: Builder) -> wf.Tensor:
    """Images of some size, among the values or new."""
    size, channels = b.one_of((8, 13, 28)), b.one_of((1, 3, 8))
    dtype = b.one_of(("float32", "float32", "float64", "bfloat16"))
    return b.pick(
        lambda v: v.ndim == 4 and v.dtype.is_float and min(v.shape[2:]) >= 6,
        lambda: b.leaf((b.one_of((1, 2, 16)), channels, size, size), dtype),
    )


def convolution(b: Builder) -> wf.Tensor:
    x = images(b)
    channels, dtype, size = x.shape[1], x.dtype.name, b.one_of((1, 3, 3, 5))
    groups = channels if b.choose.randrange(4) == 0 else 1
    weight = b.leaf((groups * b.one_of((1, 4, 8)), channels // groups, size, size), dtype)
    return F.conv2d(x, weight, None, b.one_of((1, 1, 2)), size // 2, groups=groups)


def convolution_of_lines(b: Builder) -> wf.Tensor | None:
    x = b.pick(lambda v: v.ndim == 3 and v.dtype.is_float, lambda: b.leaf((2, 8, 40), "float32"))
    size, dilation = b.choose.randint(1, 5), b.choose.randint(1, 2)
    if x.shape[2] <= (size - 1) * dilation:
        return None
    return F.conv1d(
        x, b.leaf((b.one_of((4, 16)), x.shape[1], size), x.dtype.name), None, dilation=dilation
    )


def pooled(b: Builder) -> wf.Tensor:
    return b.one_of((F.max_pool2d, F.avg_pool2d))(images(b), 2, b.one_of((2, 1)))


def convolved_and_pooled(b: Builder) -> wf.Tensor:
    y = F.relu(convolution(b))
    return F.max_pool2d(y, 2) if min(y.shape[2:]) > 1 else y


def attention(b: Builder) -> wf.Tensor:
    shape = (b.one_of((1, 2)), b.one_of((1, 4)), b.one_of((7, 64)), b.one_of((8, 32)))
    q, k, v = (b.leaf(shape, "float32") for _ in range(3))
    return F.scaled_dot_product_attention(q, k, v, is_causal=b.choose.randrange(2) == 0)


def loss(b: Builder) -> wf.Tensor:
    x = b.floats(2)
    rows = x.reshape(-1, x.shape[-1])
    return F.cross_entropy(rows, b.leaf(rows.shape[:1], "int64"))


MOVES: tuple[Move, ...] = (
    *(elementwise, elementwise, elementwise, arithmetic, arithmetic, arithmetic, binary, whole),
    *(compare, choice, cast, drawn),
    *(reshape, permute, flip, cut, cut, repeated, padded, rolled, joined, stacked, sliding),
    *(reduction, reduction, reduction, reduction, counted, greatest, scanned, ordered, best),
    *(gathered, computed_index, along, scattered),
    *(product, product, gram, times_vector, contraction, linear, soft, norm),
    *(convolution, convolution_of_lines, pooled, convolved_and_pooled, attention, loss),
)
