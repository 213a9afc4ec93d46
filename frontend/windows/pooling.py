"""Pools. In: images (N, C, *spatial). Out: the greatest element or the mean of each window, as
torch counts them.

Windows of adaptive pools differ in size where the extents do not divide: a masked reduction an
axis, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import lowest
from ...ir.graph.graph import Node, full, node, permute, reshape
from ...ir.graph.op import Op
from ..elementwise.arithmetic import add, div, mul, sub
from ..elementwise.bits import bit_and
from ..elementwise.comparison import lt, maximum, minimum, where
from ..elementwise.rounding import floordiv, mod
from ..functions import reductions
from ..operands.arguments import as_bool, as_int
from ..operands.broadcast import Operand, spread, to_dtype
from ..operands.in_float32 import in_float32
from .padding import pad
from .windows import Pair, Rank, Sizes, of_rank, windows

Counts = dict[int, Node]  # by axis: how many elements each window has there


def max_pool(
    rank: Rank,
    x: Node,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Node | tuple[Node, Node]:
    """The greatest element of each window of (N, C, *spatial) or (C, *spatial); stride defaults to
    kernel_size.

    Padding is never the greatest. ceil_mode: a last window may reach over the end. return_indices:
    also the int64 places in the flattened image. Ties share the gradient equally.
    """
    pool = _pool(rank, kernel_size, stride, padding, dilation)
    win = _pool_windows(rank, x, pool, ceil_mode, lowest(x.dtype))
    out = reductions.max(win, _inner(win))
    return (
        (out, _places(win, x.shape[2:], pool))
        if as_bool(rank.name, "return_indices", return_indices)
        else out
    )


def avg_pool(
    rank: Rank,
    x: Node,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Node:
    """The mean of each window of (N, C, *spatial) or (C, *spatial); stride defaults to kernel_size.

    ceil_mode: a last window may reach over the end; what lies beyond the padding does not count,
    padding only if count_include_pad. divisor_override: what sums are divided by instead.
    """
    pool = _pool(rank, kernel_size, stride, padding)
    win = _pool_windows(rank, x, pool, ceil_mode, 0.0)
    if divisor_override is not None:
        divisor = as_int(rank.name, "divisor_override", divisor_override)
        if not divisor:
            raise errors.ArgumentError(f"{rank.name}: divisor_override must not be 0")
        return _divided(win, divisor, {})
    with_padding = as_bool(rank.name, "count_include_pad", count_include_pad)
    counts: Counts = {}
    for axis, (n, k, s, p) in enumerate(
        zip(x.shape[2:], pool.kernel, pool.strides, pool.pads, strict=True), 2
    ):
        before, end, count = (
            (p, n + p, win.shape[2 * axis - 2]) if with_padding else (0, n, win.shape[2 * axis - 2])
        )
        if p > before or (count - 1) * s - p + k > end:
            first = sub(mul(_numbers(count), s), p)
            counts[axis] = sub(minimum(add(first, k), end), maximum(first, -before))
    whole = prod(k for axis, k in enumerate(pool.kernel, 2) if axis not in counts)
    return _divided(win, whole, counts)


max_pool1d = of_rank(
    max_pool,
    1,
    ">>> F.max_pool1d(wf.tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()\n    [[[3.0, 5.0]]]",
)
max_pool2d = of_rank(
    max_pool, 2, ">>> F.max_pool2d(wf.rand(2, 3, 8, 8), 2).shape\n    (2, 3, 4, 4)"
)
max_pool3d = of_rank(
    max_pool, 3, ">>> F.max_pool3d(wf.rand(2, 3, 8, 8, 6), 2).shape\n    (2, 3, 4, 4, 3)"
)
avg_pool1d = of_rank(
    avg_pool,
    1,
    ">>> F.avg_pool1d(wf.tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()\n    [[[2.0, 3.5]]]",
)
avg_pool2d = of_rank(
    avg_pool,
    2,
    ">>> F.avg_pool2d(wf.rand(2, 3, 8, 8), 3, stride=2, padding=1).shape\n    (2, 3, 4, 4)",
)
avg_pool3d = of_rank(
    avg_pool, 3, ">>> F.avg_pool3d(wf.rand(2, 3, 8, 8, 6), (1, 2, 3)).shape\n    (2, 3, 8, 4, 2)"
)


class _Pool(NamedTuple):
    kernel: Sizes
    strides: Sizes
    pads: Sizes
    dilations: Sizes


def _pool(
    rank: Rank, kernel_size: Pair, stride: Pair | None, padding: Pair, dilation: Pair = 1
) -> _Pool:
    kernel, pads = rank.sizes("kernel_size", kernel_size, 1), rank.sizes("padding", padding)
    strides = kernel if stride is None else rank.sizes("stride", stride, 1)
    dilations = rank.sizes("dilation", dilation, 1)
    if any(2 * p > (k - 1) * d + 1 for p, k, d in zip(pads, kernel, dilations, strict=True)):
        raise errors.ArgumentError(
            f"{rank.name}: padding {pads} may be at most half of the kernel size {kernel}"
        )
    return _Pool(kernel, strides, pads, dilations)


def _pool_windows(rank: Rank, x: Node, pool: _Pool, ceil_mode: bool, fill: float) -> Node:
    over = as_bool(rank.name, "ceil_mode", ceil_mode)
    ends = [
        _behind(n, *sizes) if over else sizes[2]
        for n, *sizes in zip(x.shape[2:], *pool, strict=True)
    ]
    x = pad(x, ((0, 0), (0, 0), *zip(pool.pads, ends, strict=True)), fill)
    return windows(rank, x, pool.kernel, pool.strides, pool.dilations)


def _behind(n: int, k: int, s: int, p: int, d: int) -> int:
    """Padding after n elements for the windows that begin before their end, the last of which may
    reach over it."""
    reach = (k - 1) * d + 1
    steps = -(-(n + 2 * p - reach) // s)
    steps -= steps * s >= n + p
    return p if steps < 0 else max(p, steps * s + reach - n - p)


def _inner(win: Node) -> tuple[int, ...]:
    return tuple(range(3, win.ndim, 2))


def _numbers(count: int) -> Node:
    return node(Op.IOTA, (), count)


@in_float32
def _divided(win: Node, whole: int, counts: Counts) -> Node:
    """The sums of windows over `whole` and over what is counted along some axes."""
    total = reductions.sum(win, _inner(win))
    return div(total, _product(counts, whole, total))


def _product(counts: Counts, whole: int, like: Node) -> Operand:
    divisor: Operand = float(whole)
    for axis, count in counts.items():
        divisor = mul(spread(to_dtype(count, dt.float32), (axis,), like.shape), divisor)
    return divisor


def _places(win: Node, extents: Sizes, pool: _Pool) -> Node:
    """Where in the flattened image the first greatest element of each window stands."""
    spatial = range(2, win.ndim, 2)
    shape = (*win.shape[:2], *(win.shape[a] for a in spatial))
    lying = permute(win, (0, 1, *spatial, *(a + 1 for a in spatial)))
    inside = reductions.argmax(reshape(lying, (*shape, prod(pool.kernel))), -1)
    place = full(0, dt.int64, shape)
    for i, (n, k, s, p, d) in enumerate(zip(extents, *pool, strict=True)):
        step = mod(floordiv(inside, prod(pool.kernel[i + 1 :])), k)
        first = spread(sub(mul(_numbers(shape[2 + i]), s), p), (2 + i,), shape)
        place = add(mul(place, n), add(first, mul(step, d)))
    return place


# ---------------------------------------------------------------- pools of a given size


def adaptive_avg_pool(rank: Rank, x: Node, output_size: int | Sequence[int | None] | None) -> Node:
    """(N, C, *spatial) or (C, *spatial) -> (N, C, *output_size): means of cells i * n // size ..
    ceil((i + 1) * n / size).

    output_size: an int for all axes, or one for each; None keeps an extent.
    """
    return _cell_means(x, _output_size(rank, output_size, x.shape[2:]))


def adaptive_max_pool(rank: Rank, x: Node, output_size: int | Sequence[int | None] | None) -> Node:
    """(N, C, *spatial) or (C, *spatial) -> (N, C, *output_size): the greatest of cells i * n //
    size .. ceil((i + 1) * n / size).

    output_size: an int for all axes, or one for each; None keeps an extent. Ties share the gradient
    equally.
    """
    return _over_cells(
        x, _output_size(rank, output_size, x.shape[2:]), lowest(x.dtype), reductions.max
    )


_ROW = "(wf.tensor([[[1.0, 3.0, 2.0, 5.0, 4.0]]]), 2).tolist()\n    "
adaptive_avg_pool1d = of_rank(
    adaptive_avg_pool, 1, f">>> F.adaptive_avg_pool1d{_ROW}[[[2.0, 3.6666667461395264]]]"
)
adaptive_avg_pool2d = of_rank(
    adaptive_avg_pool,
    2,
    ">>> F.adaptive_avg_pool2d(wf.rand(2, 3, 8, 9), (4, None)).shape\n    (2, 3, 4, 9)",
)
adaptive_avg_pool3d = of_rank(
    adaptive_avg_pool,
    3,
    ">>> F.adaptive_avg_pool3d(wf.rand(2, 3, 8, 9, 5), (4, None, 1)).shape\n    (2, 3, 4, 9, 1)",
)
adaptive_max_pool1d = of_rank(
    adaptive_max_pool, 1, f">>> F.adaptive_max_pool1d{_ROW}[[[3.0, 5.0]]]"
)
adaptive_max_pool2d = of_rank(
    adaptive_max_pool,
    2,
    ">>> F.adaptive_max_pool2d(wf.rand(2, 3, 8, 9), 3).shape\n    (2, 3, 3, 3)",
)
adaptive_max_pool3d = of_rank(
    adaptive_max_pool,
    3,
    ">>> F.adaptive_max_pool3d(wf.rand(2, 3, 8, 9, 5), 2).shape\n    (2, 3, 2, 2, 2)",
)


def _output_size(rank: Rank, given: object, extents: Sizes) -> Sizes:
    each = list(given) if isinstance(given, (tuple, list)) else [given] * rank.spatial
    if len(each) != rank.spatial:
        raise errors.ArgumentError(
            f"{rank.name}: output_size must be an int, None or {rank.spatial} of them, not"
            f" {brief(given)}"
        )
    sizes = tuple(
        n if e is None else as_int(rank.name, "output_size", e)
        for n, e in zip(extents, each, strict=True)
    )
    if min(sizes) < 1 or min(extents) < 1:
        raise errors.ShapeError(
            f"{rank.name}: no cells of output_size={brief(given)} in images of shape {extents}"
        )
    return sizes


@in_float32
def _cell_means(x: Node, sizes: Sizes) -> Node:
    counts: Counts = {}
    for axis, (n, size) in enumerate(zip(x.shape[2:], sizes, strict=True), 2):
        if n % size:
            first = mul(_numbers(size), n)
            counts[axis] = sub(floordiv(add(first, n + size - 1), size), floordiv(first, size))
    whole = prod(
        n // size
        for axis, (n, size) in enumerate(zip(x.shape[2:], sizes, strict=True), 2)
        if axis not in counts
    )
    total = _over_cells(x, sizes, 0, reductions.sum)
    return div(total, _product(counts, whole, total))


def _over_cells(
    x: Node, sizes: Sizes, fill: float, reduced: Callable[[Node, tuple[int, ...]], Node]
) -> Node:
    """The reduction of all cells: of equal ones at once, of others axis by axis."""
    if not any(n % size for n, size in zip(x.shape[2:], sizes, strict=True)):
        pairs = [e for n, size in zip(x.shape[2:], sizes, strict=True) for e in (size, n // size)]
        cells = reshape(x, (*x.shape[:2], *pairs))
        return reduced(cells, _inner(cells))
    for axis, size in enumerate(sizes, 2):
        x = reduced(_cells(x, axis, size, fill), (axis + 1,))
    return x


def _cells(x: Node, axis: int, size: int, fill: float) -> Node:
    """One axis as two: the cell, and its elements (equal cells), or all elements with `fill` for
    those of other cells."""
    n = x.shape[axis]
    if n % size == 0:
        return reshape(x, (*x.shape[:axis], size, n // size, *x.shape[axis + 1 :]))
    shape = (*x.shape[:axis], size, *x.shape[axis:])
    cell, place = spread(_numbers(size), (0,), (size, n)), spread(_numbers(n), (1,), (size, n))
    begun, ended = (
        lt(mul(cell, n), mul(add(place, 1), size)),
        lt(mul(place, size), mul(add(cell, 1), n)),
    )
    inside = spread(bit_and(begun, ended), (axis, axis + 1), shape)
    return where(
        inside,
        spread(x, tuple(a for a in range(len(shape)) if a != axis), shape),
        full(fill, x.dtype, shape),
    )
