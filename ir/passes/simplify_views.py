"""Simplification of views, reductions and windows (see ir/passes/simplify.py). In: a Node. Out: its
replacement, or None."""

from __future__ import annotations

from math import prod

from ..graph.dtype import DType, rounded
from ..graph.graph import Node, expand, full, node, permute, reduce, reshape
from ..graph.op import Op
from ..graph.rewrite import constant_of, is_zero
from ..graph.views import steady_axes
from ..symbolic.decisions import ask_residue

Bounds = tuple[int, int, int]
MOST_TERMS = 64  # of a condition that are looked at


def fold_view(n: Node) -> Node | None:
    """A view of a constant is a constant of another shape."""
    (x,) = n.src
    value = constant_of(x)
    if (
        value is None
        or (n.op is Op.EXPAND and x.op is Op.CONST)
        or (n.op in (Op.PAD, Op.UNSKEW) and not is_zero(x))
    ):
        return None
    return full(value, n.dtype, n.shape)


def fold_reduce(n: Node) -> Node | None:
    """The largest of equal constants is one of them; their sum is a multiple, of floats up to the
    rounding of partial sums."""
    (kind, axes), (x,) = n.arg, n.src
    value = constant_of(x)
    extent = prod(x.shape[a] for a in axes)
    if value is None or extent == 0 or kind == "mul":
        return None
    if kind == "add":
        value = _sum_of_equal(value, extent, n.dtype) if n.dtype.is_float else value * extent
    return full(value, n.dtype, n.shape)


def _sum_of_equal(value: float, count: int, dtype: DType) -> float:
    """Added in pairs, which is one of the orders of a reduction."""
    total = 0.0
    while count:
        if count % 2:
            total = rounded(total + value, dtype)
        value, count = rounded(value + value, dtype), count // 2
    return total


# ---------------------------------------------------------------- views


def view_of_nothing(n: Node) -> Node | None:
    """A view that changes nothing."""
    (x,) = n.src
    idle = True
    if n.op is Op.FLIP:
        idle = all(n.shape[a] == 1 for a in n.arg)
    elif n.op is Op.PERMUTE:
        real = [a for a in n.arg if x.shape[a] != 1]
        idle = real == sorted(real)
    if not idle or len(x.shape) != len(n.shape):
        return None
    for before, after in zip(x.shape, n.shape, strict=True):
        ask_residue(before - after)
    return x if x.shape == n.shape else None


def reshape_reshape(n: Node) -> Node | None:
    (x,) = n.src
    return reshape(x.src[0], n.arg) if x.op is Op.RESHAPE else None


def permute_permute(n: Node) -> Node | None:
    (x,) = n.src
    return permute(x.src[0], tuple(x.arg[a] for a in n.arg)) if x.op is Op.PERMUTE else None


def flip_flip(n: Node) -> Node | None:
    (x,) = n.src
    if x.op is not Op.FLIP:
        return None
    axes = tuple(sorted(set(n.arg) ^ set(x.arg)))
    return node(Op.FLIP, x.src, axes) if axes else x.src[0]


def expand_expand(n: Node) -> Node | None:
    (x,) = n.src
    if x.op is not Op.EXPAND:
        return None
    outer = dict(n.arg)
    places = [axis for axis in range(n.ndim) if axis not in outer]  # of the axes of x in n
    inner = {places[axis]: extent for axis, extent in x.arg}
    return expand(x.src[0], tuple(sorted((outer | inner).items())))


def slice_slice(n: Node) -> Node | None:
    (x,) = n.src
    if x.op is not Op.SLICE:
        return None
    both = []
    for (start, _, step), (inner_start, _, inner_step), length in zip(
        x.arg, n.arg, n.shape, strict=True
    ):
        first, by = start + inner_start * step, step * inner_step
        both.append((first, first + (length - 1) * by + 1, by) if length else (0, 0, 1))
    return node(Op.SLICE, x.src, tuple(both))


def slice_pad(n: Node) -> Node | None:
    """Cuts before padding: the SLICE of a PAD is a PAD of a SLICE, or only one of them."""
    (x,) = n.src
    if x.op is not Op.PAD or 0 in n.shape:
        return None
    axes = [
        _cut_padding(cut, pad, d) for cut, pad, d in zip(n.arg, x.arg, x.src[0].shape, strict=True)
    ]
    known = [a for a in axes if a is not None]
    if len(known) < len(axes):
        return None
    inner = node(Op.SLICE, x.src, tuple(cut for cut, _ in known))
    return node(Op.PAD, (inner,), tuple(pad for _, pad in known))


def _cut_padding(cut: Bounds, pad: Bounds, extent: int) -> tuple[Bounds, Bounds] | None:
    """One axis of slice_pad: the SLICE of the source, and the PAD after it."""
    (start, stop, step), (lo, _, interior) = cut, pad
    count = _extent(cut)
    last = start + (count - 1) * step
    if (
        step == interior + 1
        and extent
        and start >= lo
        and (start - lo) % step == 0
        and last <= lo + (extent - 1) * step
    ):
        first = (start - lo) // step
        return (first, first + count, 1), (0, 0, 0)
    end = lo + (extent - 1) * (interior + 1) + 1  # of the source
    if interior and step == 1 and start <= lo and end <= stop:
        return (0, extent, 1), (lo - start, stop - end, interior)
    if interior or step != 1:
        return None
    a, b = max(start, lo), min(stop, lo + extent)
    return ((a - lo, b - lo, 1), (a - start, stop - b, 0)) if a < b else None


def pad_pad(n: Node) -> Node | None:
    (x,) = n.src
    if x.op is not Op.PAD or any(interior for _, _, interior in n.arg):
        return None
    both = zip(x.arg, n.arg, strict=True)
    return node(
        Op.PAD, x.src, tuple((lo + a, hi + b, interior) for (lo, hi, interior), (a, b, _) in both)
    )


def slice_expand(n: Node) -> Node | None:
    """A cut of repeated values repeats fewer."""
    (x,) = n.src
    if x.op is not Op.EXPAND:
        return None
    new = dict(x.arg)
    cuts = tuple(cut for axis, cut in enumerate(n.arg) if axis not in new)
    return expand(node(Op.SLICE, x.src, cuts), tuple((axis, n.shape[axis]) for axis in new))


def slice_where(n: Node) -> Node | None:
    """A cut on one side of a choice by position, as a part of joined values and its gradient are,
    is a cut of that side."""
    (x,) = n.src
    if x.op is not Op.WHERE or 0 in n.shape:
        return None
    holds = _holds(x.src[0], n.arg)
    return None if holds is None else node(Op.SLICE, (x.src[1 if holds else 2],), n.arg)


def _holds(condition: Node, cuts: tuple[Bounds, ...]) -> bool | None:
    """Is a conjunction of comparisons of a position with constants true, or false, everywhere in
    the cut?"""
    stack, unknown = [(condition, True)], False
    for _ in range(MOST_TERMS):
        c, wanted = stack.pop()
        if c.op is Op.AND and wanted:
            stack += [(s, True) for s in c.src]
        elif c.op is Op.XOR and constant_of(c.src[1]) is True:
            stack.append((c.src[0], not wanted))
        else:
            below = _is_below(c, cuts)
            if below is not None and below is not wanted:
                return False
            unknown |= below is None
        if not stack:
            return None if unknown else True
    return None


def _is_below(c: Node, cuts: tuple[Bounds, ...]) -> bool | None:
    """Is a position below a constant: for all of the cut, for none of it, or else None."""
    if c.op is not Op.LT or (bound := constant_of(c.src[1])) is None:
        return None
    counter, new = (
        (c.src[0].src[0], dict(c.src[0].arg)) if c.src[0].op is Op.EXPAND else (c.src[0], {})
    )
    if counter.op is not Op.IOTA:
        return None
    places = cuts[next(a for a in range(c.ndim) if a not in new)]
    first, _, step = places
    last = first + (_extent(places) - 1) * step
    return True if last < bound else False if first >= bound else None


# ---------------------------------------------------------------- reductions


def reduce_reduce(n: Node) -> Node | None:
    """Two reductions of one kind are one over the axes of both; of floats only maxima, or the order
    of a sum would depend on what else is computed."""
    (x,) = n.src
    kind, axes = n.arg
    if x.op is not Op.REDUCE or x.arg[0] != kind or (n.dtype.is_float and kind != "max"):
        return None
    kept = [a for a in range(x.src[0].ndim) if a not in x.arg[1]]
    further = [kept[a] for a in axes]
    return None if _is_matmul(x, kept, further) else reduce(kind, x.src[0], [*x.arg[1], *further])


def _is_matmul(n: Node, kept: list[int], further: list[int]) -> bool:
    """A sum of products of rows and columns: summing over rows or columns as well would take it
    apart."""
    (x,) = n.src
    # without axes of extent 1: those of a 1 x 1 kernel
    product = x.src[0] if x.op is Op.RESHAPE else x
    if n.arg[0] != "add" or product.op is not Op.MUL:
        return False
    factors = [reshape(f, x.shape) for f in product.src]
    wide = {a for a in kept if x.shape[a] > 1}
    first, second = (wide - steady_axes(f) for f in factors)
    rows, columns = first - second, second - first
    return bool(rows and columns and (rows | columns).intersection(further))


def reduce_single(n: Node) -> Node | None:
    """Axes of extent 1, or no axes, need no reduction."""
    (x,) = n.src
    kind, axes = n.arg
    if axes and all(x.shape[a] != 1 for a in axes):
        return None
    shape = tuple(d for a, d in enumerate(x.shape) if not (a in axes and d == 1))
    places = [
        sum(1 for b in range(a) if not (b in axes and x.shape[b] == 1))
        for a in axes
        if x.shape[a] != 1
    ]
    return reduce(kind, reshape(x, shape), places)


def reduce_expand(n: Node) -> Node | None:
    """The largest of equal values is one of them; the sum of equal integers is a product."""
    (x,) = n.src
    kind, axes = n.arg
    repeated = {axis: extent for axis, extent in x.arg if axis in axes} if x.op is Op.EXPAND else {}
    if (
        not repeated
        or 0 in repeated.values()
        or not (kind == "max" or (kind == "add" and x.dtype.is_int))
    ):
        return None
    left = tuple(
        (axis - sum(a < axis for a in repeated), extent)
        for axis, extent in x.arg
        if axis not in repeated
    )
    rest = reduce(
        kind,
        expand(x.src[0], left),
        [a - sum(b < a for b in repeated) for a in axes if a not in repeated],
    )
    return (
        rest
        if kind == "max"
        else node(Op.MUL, (rest, full(prod(repeated.values()), n.dtype, n.shape)))
    )


# ---------------------------------------------------------------- windows that do not overlap


def skew_of_one(n: Node) -> Node | None:
    """SKEW and UNSKEW over an axis of extent 1 move nothing."""
    return n.src[0] if n.src[0].shape[n.arg[1]] == 1 else None


def window_is_reshape(n: Node) -> Node | None:
    """SLICE with step k of SKEW(n, k, 1) of k copies: x[o*k + j] for window o, place j, so a
    RESHAPE."""
    (skewed,) = n.src
    if skewed.op is not Op.SKEW:
        return None
    axis, place, _ = skewed.arg
    size = n.shape[place]
    return (
        _windows(skewed, n.arg) if n.arg[axis][2] == size and n.arg[place] == (0, size, 1) else None
    )


def window_is_all(n: Node) -> Node | None:
    """The same where the one window is the whole axis."""
    return _windows(n, tuple((0, d, 1) for d in n.shape)) if n.shape[n.arg[0]] == 1 else None


def _windows(skewed: Node, cuts: tuple[Bounds, ...]) -> Node | None:
    axis, place, dilation = skewed.arg
    (copies,) = skewed.src
    new = dict(copies.arg) if copies.op is Op.EXPAND else {}
    if place not in new or axis in new or dilation != 1:
        return None
    del new[place]
    size, along = _extent(cuts[place]), axis - (axis > place)
    x = expand(copies.src[0], tuple((a - (a > place), extent) for a, extent in new.items()))
    count, start = _extent(cuts[axis]), cuts[axis][0]
    kept = [cut for a, cut in enumerate(cuts) if a != place]
    kept[along] = (start, start + count * size, 1)
    x = node(Op.SLICE, (x,), tuple(kept))
    x = reshape(x, (*x.shape[:along], count, size, *x.shape[along + 1 :]))
    order = [a for a in range(x.ndim) if a != along + 1]
    order.insert(place, along + 1)
    return permute(x, tuple(order))


def _extent(bounds: Bounds) -> int:
    """Of a cut."""
    first, end, step = bounds
    return -(-(end - first) // step)


def window_sum_is_reshape(n: Node) -> Node | None:
    """The adjoint: the sum over j of UNSKEW of windows k apart puts each value at its own place."""
    (spread,) = n.src
    kind, axes = n.arg
    if kind != "add" or spread.op is not Op.UNSKEW:
        return None
    axis, place, dilation = spread.arg
    (g,) = spread.src
    margins = [(0, 0, 0)] * g.ndim
    if g.op is Op.PAD:
        margins, g = list(g.arg), g.src[0]
    count, size = g.shape[axis], g.shape[place]
    apart = count == 1 or margins[axis][2] == size - 1
    if (
        place not in axes
        or axis in axes
        or dilation != 1
        or not apart
        or margins[place] != (0, 0, 0)
        or 0 in g.shape
    ):
        return None
    along = axis - (axis > place)
    order = [a for a in range(g.ndim) if a != place]
    order.insert(along + 1, place)
    x = permute(g, tuple(order))
    x = reshape(x, (*x.shape[:along], count * size, *x.shape[along + 2 :]))
    kept = [margin for a, margin in enumerate(margins) if a != place]
    kept[along] = (*margins[axis][:2], 0)
    x = node(Op.PAD, (x,), tuple(kept))
    return reduce("add", x, [a - (a > place) for a in axes if a != place])
