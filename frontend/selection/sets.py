"""Distinct elements and sets of them. In: Nodes. Out: Nodes in memory; their number is a value, so
all but isin compute at once.

x is flattened and sorted; an element that differs from the one before it starts a group of equal
ones.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ..elementwise.all import clip, eq, invert, isnan, logical_and, ne, sub, where
from ..functions.movement import concat, part
from ..operands.arguments import as_bool
from ..operands.broadcast import Operand, as_node, common_dtype
from .nonzero import computed, number, positions, trues_first
from .sorting import argsort, isin, sort

N = TypeVar("N")  # a Node, for users a Tensor


class UniqueAll(NamedTuple, Generic[N]):
    """What unique_all gives."""

    values: N
    indices: N
    inverse_indices: N
    counts: N


class UniqueCounts(NamedTuple, Generic[N]):
    """What unique_counts gives."""

    values: N
    counts: N


class UniqueInverse(NamedTuple, Generic[N]):
    """What unique_inverse gives."""

    values: N
    inverse_indices: N


def _starts(ordered: Node, equal_nan: bool) -> Node:
    """Does an element differ from the one before it? The first one does."""
    n = ordered.size
    now, before = part(ordered, 0, 1, n), part(ordered, 0, 0, n - 1)
    new = ne(now, before)
    if equal_nan and ordered.dtype.is_inexact:
        new = logical_and(new, invert(logical_and(isnan(now), isnan(before))))
    return (
        concat([graph.full(True, dt.bool_, (1,)), new])
        if n > 1
        else graph.full(True, dt.bool_, (1,))
    )


def _unique(x: Node, equal_nan: bool, index: bool, inverse: bool, counts: bool) -> list[Node]:
    """[values, first places, places in values, counts], those that are asked for."""
    if not x.size:
        none = graph.full(0, dt.int64, (0,))
        return [
            graph.full(0, x.dtype, (0,)),
            *[none] * index,
            *[graph.full(0, dt.int64, x.shape)] * inverse,
            *[none] * counts,
        ]
    flat = reshape(x, (x.size,))
    order = argsort(flat)
    ordered = node(Op.GATHER, (flat, order), (0,))
    starts = _starts(ordered, equal_nan)
    group = sub(node(Op.SCAN, (graph.cast(starts, dt.int64),), 0), 1)
    group_of = reshape(node(Op.SCATTER, (group, order), ((0,), (x.size,))), x.shape)
    first, count, ordered, *more = trues_first(
        starts, ordered, *[order] * index, *[group_of] * inverse
    )
    begin = part(first, 0, 0, number(count))
    firsts = [
        node(Op.GATHER, (y, clip(begin, 0, x.size - 1)), (0,)) for y in (ordered, *more[:index])
    ]
    return computed(*firsts, *more[index:], *[_sizes(first, begin, count)] * counts)


def _sizes(first: Node, begin: Node, count: Node) -> Node:
    """From each beginning to the next one or, for the last of `count`, to the end."""
    n, groups = first.size, begin.size
    if groups == n:
        return graph.full(1, dt.int64, (n,))
    # of a count in memory: the kernel is the same for any other
    is_last = eq(node(Op.IOTA, (), groups), sub(count, 1))
    return sub(where(is_last, n, part(first, 0, 1, groups + 1)), begin)


def unique_all(x: Node) -> UniqueAll[Node]:
    """(values, indices, inverse_indices, counts) of the distinct elements of x, ascending.

    values: the elements; indices: where each stands first in the flattened x; inverse_indices, of
    x's shape: where in values each element of x is; counts: how often each occurs. Each NaN is
    distinct, -0.0 equals 0.0. Realises x.
    """
    return UniqueAll(*_unique(x, False, True, True, True))


def unique_counts(x: Node) -> UniqueCounts[Node]:
    """(values, counts) of the distinct elements of x, ascending; see unique_all. Realises x."""
    return UniqueCounts(*_unique(x, False, False, False, True))


def unique_inverse(x: Node) -> UniqueInverse[Node]:
    """(values, inverse_indices) of the distinct elements of x, ascending; see unique_all. Realises
    x."""
    return UniqueInverse(*_unique(x, False, False, True, False))


def unique_values(x: Node) -> Node:
    """The distinct elements of x, ascending; each NaN is distinct, -0.0 equals 0.0. Realises x."""
    return _unique(x, False, False, False, False)[0]


def unique(
    x: Node,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    equal_nan: bool = True,
) -> Node | tuple[Node, ...]:
    """The distinct elements of x, ascending, as numpy.unique: NaNs count as one unless equal_nan is
    False. Realises x.

    On demand a tuple with int64 places of first occurrence in the flattened x, places in the result
    of the elements of x (of x's shape), and numbers of occurrences.
    """
    named = {
        "equal_nan": equal_nan,
        "return_index": return_index,
        "return_inverse": return_inverse,
        "return_counts": return_counts,
    }
    results = _unique(x, *(as_bool("unique", what, value) for what, value in named.items()))
    return results[0] if len(results) == 1 else tuple(results)


# ---------------------------------------------------------------- sets


def _pair(name: str, a: Operand, b: Operand) -> list[Node]:
    """Both flattened, in one dtype."""
    dtype = common_dtype(name, (a, b))
    return [reshape(n, (n.size,)) for n in (as_node(name, a, dtype), as_node(name, b, dtype))]


def _chosen(x: Node, mask: Node) -> Node:
    return node(Op.GATHER, (x, clip(positions(mask), 0, x.size - 1)), (0,)) if x.size else x


def union1d(a: Operand, b: Operand) -> Node:
    """Distinct elements of a or b, ascending. Realises both."""
    return _unique(concat(_pair("union1d", a, b)), True, False, False, False)[0]


def intersect1d(a: Operand, b: Operand) -> Node:
    """Distinct elements of both a and b, ascending (no NaN: it equals nothing). Realises both."""
    x, y = _pair("intersect1d", a, b)
    values = _unique(x, True, False, False, False)[0]
    return _chosen(values, isin(values, y))


def setdiff1d(a: Operand, b: Operand) -> Node:
    """Distinct elements of a that are not in b, ascending. Realises both."""
    x, y = _pair("setdiff1d", a, b)
    values = _unique(x, True, False, False, False)[0]
    return _chosen(values, isin(values, y, invert=True))


def setxor1d(a: Operand, b: Operand) -> Node:
    """Distinct elements of exactly one of a and b, ascending. Realises both."""
    return sort(concat([setdiff1d(a, b), setdiff1d(b, a)]))
