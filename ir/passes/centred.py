"""Sums around a mean by parts: memory is read once for the mean and them. In: a Graph's sums. Out:
the same, of partial sums.

With parts of C elements, the mean m of all, m_i of part i, D_i = sum (x - m_i), Q_i = sum (x -
m_i)^2 and d_i = m_i - m:

    sum (x - m) = sum D_i + sum C d_i        sum (x - m)^2 = sum Q_i + sum d_i (2 D_i + C d_i)

A part stays in a cache for its two passes, and no large sums cancel (Chan, Golub, LeVeque, The
American Statistician 37, 1983).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal

from ..graph.graph import Node, deviation_squared, expand, full, node, reduce
from ..graph.op import Op
from ..graph.rewrite import is_sum_of_products
from ..kernels.kernel import MIN_PARALLEL
from .split import (
    LARGE,
    LONG,
    Cuts,
    Strides,
    are_columns,
    column_cuts,
    cut,
    in_parts,
    is_dense,
    parts_wanted,
    row_cuts,
)

RESIDENT = 1 << 12  # elements of a row that stay in the first cache for a second pass
RESIDENT_ROWS = 64  # of a block of columns that stay in the second cache


@dataclass(frozen=True)
class Given:
    """Cuts of a reduction: a sum that a mean is made of, or one of x - m, or of its squares."""

    cuts: Cuts
    of: Literal["sum", "rest", "squares"]


def centred(nodes: Iterable[Node], strides: Strides) -> dict[Node, Given]:
    """How to cut each sum of squares around a mean of much memory, and what goes with it."""
    cut_sums: dict[Node, Given] = {}
    nodes = list(nodes)
    there = set(nodes)
    for n in nodes:
        total = _mean_of(n)
        if total is None:
            continue
        deviation = n.src[0].src[0]
        plain, rest = (reduce("add", x, n.arg[1]) for x in (deviation.src[0], deviation))
        if cuts := _resident_parts(plain, strides):
            given = {
                n: Given(cuts, "squares"),
                total: Given(cuts, "sum"),
                plain: Given(cuts, "sum"),
                rest: Given(cuts, "rest"),
            }
            cut_sums |= {s: how for s, how in given.items() if s in there}
    return cut_sums


def _resident_parts(total: Node, strides: Strides) -> Cuts:
    """Cuts of a sum of much memory in parts that stay in a cache; none where its rows do
    already."""
    x, terms = total.src[0], total.src[0].size // max(1, total.size)
    if x.size < LARGE:
        return {}
    if are_columns(total):
        return (
            column_cuts(total, RESIDENT_ROWS) if is_dense(x) and terms >= 2 * RESIDENT_ROWS else {}
        )
    return (
        row_cuts(total, parts_wanted(total, RESIDENT), strides)
        if total.size < MIN_PARALLEL or terms >= LONG
        else {}
    )


def by_parts(n: Node, given: Given) -> Node:
    """Such a sum from those of parts, which are around their own means."""
    if given.of == "sum":
        return cut(n, n.src[0], given.cuts)
    deviation = n.src[0].src[0] if given.of == "squares" else n.src[0]
    x, spread = deviation.src
    if spread.op is not Op.EXPAND:
        return n
    mean = spread.src[0]
    _, first = _quotient(mean)
    part, inside, over = in_parts(x, n.arg[1], given.cuts)
    sums = reduce("add", in_parts(_near(x, first, spread), n.arg[1], given.cuts)[0], inside)
    outer = tuple((a, sums.shape[a]) for a in over)
    count = full(prod(part.shape[a] for a in inside), x.dtype, sums.shape)
    own = node(Op.DIV, (sums, count))
    if first is not None:
        own = node(Op.ADD, (expand(first, outer), own))
    around = node(Op.SUB, (part, expand(own, tuple((a, part.shape[a]) for a in inside))))
    away, rest = node(Op.SUB, (own, expand(mean, outer))), reduce("add", around, inside)
    moved = node(Op.MUL, (count, away))
    if given.of == "rest":
        return node(Op.ADD, (reduce("add", rest, over), reduce("add", moved, over)))
    squares = reduce("add", deviation_squared(around), inside)
    between = node(Op.MUL, (away, node(Op.ADD, (node(Op.ADD, (rest, rest)), moved))))
    return node(Op.ADD, (reduce("add", squares, over), reduce("add", between, over)))


def _quotient(mean: Node) -> tuple[Node | None, Node | None]:
    """(S / count, what the mean was taken near to) of a mean S / count or first + S / count."""
    parts = mean.src if mean.op is Op.ADD else (mean,)
    quotients = [s for s in parts if s.op in (Op.DIV, Op.MUL) and s.src[0].op is Op.REDUCE]
    others = [s for s in parts if s not in quotients]
    return (quotients[0], others[0] if others else None) if len(quotients) == 1 else (None, None)


def _near(x: Node, first: Node | None, spread: Node) -> Node:
    """x, less what its mean was taken near to."""
    return x if first is None else node(Op.SUB, (x, expand(first, spread.arg)))


def _mean_of(n: Node) -> Node | None:
    """The sum S that a mean m = S / count, or first + S / count, is made of, if n is the sum of (x
    - m)^2 over the same axes."""
    if not is_sum_of_products(n):
        return None
    a, b = n.src[0].src
    if a is not b or a.op is not Op.SUB or a.src[1].op is not Op.EXPAND:
        return None
    x, spread = a.src
    quotient, first = _quotient(spread.src[0])
    if quotient is None or tuple(axis for axis, _ in spread.arg) != n.arg[1]:
        return None
    total = quotient.src[0]
    return total if total.arg == n.arg and total.src[0] is _near(x, first, spread) else None
