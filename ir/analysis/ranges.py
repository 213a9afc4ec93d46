"""Value ranges of Nodes, from their structure alone. In: Nodes, sources first. Out: (least,
greatest) of each.

A gather whose indices lie in range by construction (a counter, `% n`, a clip, an argmax, a sorted
order) needs no bounds check. Every range is sound for every input: integers that might wrap have
the range of their dtype, floats forget nothing but NaN, which a cast to integers makes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor, inf, prod, trunc
from typing import Any

from ..graph.dtype import DType, limits, rounded
from ..graph.graph import Node
from ..graph.op import HINTS, VIEWS, Op
from ..graph.rewrite import constant_of
from ..symbolic.integer import Symbolic

Limit = int | float
Range = tuple[Limit, Limit]
Ranges = dict[Node, Range]


def ranges(order: Iterable[Node]) -> Ranges:
    """The range of every Node of a topological order."""
    known: Ranges = {}
    for n in order:
        rule = RULES.get(n.op)
        whole = dtype_range(n.dtype)
        known[n] = whole if rule is None else _within(rule(n, known), whole)
    return known


def dtype_range(dtype: DType) -> Range:
    """Every value of a dtype."""
    return (-inf, inf) if dtype.is_float else limits(dtype)


def _within(r: Range, whole: Range) -> Range:
    """The range, unless it could have wrapped or is not a number."""
    return r if whole[0] <= r[0] <= r[1] <= whole[1] else whole


def _union(*several: Range) -> Range:
    return min(r[0] for r in several), max(r[1] for r in several)


# ---------------------------------------------------------------- rules: (node, ranges of what
# comes before) -> range


def _constant(n: Node, _: Ranges) -> Range:
    return n.arg, n.arg


def _same(n: Node, known: Ranges) -> Range:
    return known[n.src[0]]


def _with_zero(n: Node, known: Ranges) -> Range:
    return _union(known[n.src[0]], (0, 0))


def _negated(n: Node, known: Ranges) -> Range:
    lo, hi = known[n.src[0]]
    return -hi, -lo


def _floored(n: Node, known: Ranges) -> Range:
    lo, hi = known[n.src[0]]
    return _whole(floor, lo), _whole(floor, hi)


def _whole(to: Callable[[Any], int], x: Limit) -> Limit:
    return x if abs(x) == inf else to(x)


def _converted(n: Node, known: Ranges) -> Range:
    (x,), to = n.src, n.dtype
    lo, hi = known[x]
    if to.is_float and (isinstance(lo, Symbolic) or isinstance(hi, Symbolic)):
        return -inf, inf
    if to.is_float:
        return min(lo, rounded(lo, to)), max(hi, rounded(hi, to))  # rounding keeps the order
    least, most = dtype_range(to)
    if to.kind == "b" or not x.dtype.is_float:
        return (lo, hi) if to.is_int else (least, most)  # what does not fit wraps: `ranges` sees it
    return _union(tuple(min(max(_whole(trunc, v), least), most) for v in (lo, hi)), (0, 0))  # type: ignore[arg-type]


def _exact(n: Node, known: Ranges, combine: Callable[[Limit, Limit], Limit]) -> Range:
    """A monotone operation on integers: one of the corners is least, one is greatest."""
    if n.dtype.is_float:
        return -inf, inf
    corners = [combine(a, b) for a in known[n.src[0]] for b in known[n.src[1]]]
    return min(corners), max(corners)


def _greater(n: Node, known: Ranges) -> Range:
    (a_lo, a_hi), (b_lo, b_hi) = (known[s] for s in n.src)
    return max(a_lo, b_lo), max(a_hi, b_hi)


def _quotient(n: Node, known: Ranges) -> Range:
    (a_lo, a_hi), (lo, hi) = (known[s] for s in n.src)
    return (a_lo // lo, a_hi // lo) if lo == hi and lo > 0 else dtype_range(n.dtype)


def _remainder(n: Node, known: Ranges) -> Range:
    """Of the divisor's sign and below it; 0 where it is 0."""
    if n.dtype.is_float:
        return -inf, inf
    (a_lo, a_hi), (lo, hi) = (known[s] for s in n.src)
    if a_lo >= 0 and a_hi < lo:
        return a_lo, a_hi
    return min(lo + 1, 0), max(hi - 1, 0)


def _conjunction(n: Node, known: Ranges) -> Range:
    """x & y of integers lies in 0 .. y for y >= 0."""
    tops = [known[s][1] for s in n.src if known[s][0] >= 0]
    return (0, min(tops)) if tops else dtype_range(n.dtype)


def _inverted(n: Node, known: Ranges) -> Range:
    """x ^ -1 is -1 - x."""
    (lo, hi), other = (known[s] for s in n.src)
    return (-1 - hi, -1 - lo) if other == (-1, -1) else dtype_range(n.dtype)


def _chosen(n: Node, known: Ranges) -> Range:
    c, a, b = n.src
    if c.op is not Op.LT:
        return _union(known[a], known[b])
    (lo, hi), (other_lo, other_hi) = (known[s] for s in c.src)
    if lo >= other_hi:  # never less, NaN or not
        return _assuming(c, False, b, known)
    if hi < other_lo and not c.src[0].dtype.is_float:
        return _assuming(c, True, a, known)
    return _union(_assuming(c, True, a, known), _assuming(c, False, b, known))


def _assuming(c: Node, holds: bool, x: Node, known: Ranges) -> Range:
    """The range of x where the comparison c holds, or where it does not: what it compares, and sums
    of that, become narrower."""
    narrow = _narrowed(c, holds, known)
    if x in narrow:
        return narrow[x]
    if x.op in (Op.ADD, Op.SUB, Op.NEG):
        return _within(
            RULES[x.op](x, {s: narrow.get(s, known[s]) for s in x.src}), dtype_range(x.dtype)
        )
    return known[x]


def _narrowed(c: Node, holds: bool, known: Ranges) -> Ranges:
    """The ranges of the two operands of a < b, where it holds or not."""
    a, b = c.src
    (a_lo, a_hi), (b_lo, b_hi) = known[a], known[b]
    if holds:
        step = 0 if a.dtype.is_float else 1
        new = {a: (a_lo, min(a_hi, b_hi - step)), b: (max(b_lo, a_lo + step), b_hi)}
    else:
        new = {a: (max(a_lo, b_lo), a_hi), b: (b_lo, min(b_hi, a_hi))}
        if (
            a.dtype.is_float
        ):  # not a < b also where the other one is NaN, which only a constant cannot be
            new = {n: new[n] for n, other in ((a, b), (b, a)) if _is_number(other)}
    return {n: r for n, r in new.items() if r[0] <= r[1]}


def _is_number(n: Node) -> bool:
    value = constant_of(n)
    return value is not None and value == value


def _reduced(n: Node, known: Ranges) -> Range:
    kind, axes = n.arg
    (x,) = n.src
    if kind == "max" and x.size:
        return known[x]
    return (
        _summed(known[x], prod(x.shape[a] for a in axes))
        if kind == "add" and n.dtype.is_int
        else dtype_range(n.dtype)
    )


def _scanned(n: Node, known: Ranges) -> Range:
    if not n.dtype.is_int:
        return dtype_range(n.dtype)
    one = known[n.src[0]]
    return _union(one, _summed(one, n.shape[n.arg])) if n.size else one


def _summed(r: Range, terms: int) -> Range:
    return r[0] * terms, r[1] * terms


def _scattered(n: Node, known: Ranges) -> Range:
    whole = dtype_range(n.dtype)
    return (whole[0], known[n.src[0]][1]) if n.arg[2:] == ("max",) else whole


Rule = Callable[[Node, Ranges], Range]
RULES: dict[Op, Rule] = {
    **dict.fromkeys(VIEWS - {Op.PAD, Op.UNSKEW} | HINTS | {Op.GATHER}, _same),
    Op.PAD: _with_zero,
    Op.UNSKEW: _with_zero,
    Op.CONST: _constant,
    Op.IOTA: lambda n, _: (0, max(n.arg - 1, 0)),
    Op.NEG: _negated,
    Op.FLOOR: _floored,
    Op.CAST: _converted,
    Op.ADD: lambda n, known: _exact(n, known, lambda a, b: a + b),
    Op.SUB: lambda n, known: _exact(n, known, lambda a, b: a - b),
    Op.MUL: lambda n, known: _exact(n, known, lambda a, b: a * b),
    Op.MAX: _greater,
    Op.IDIV: _quotient,
    Op.MOD: _remainder,
    Op.AND: _conjunction,
    Op.XOR: _inverted,
    Op.WHERE: _chosen,
    Op.REDUCE: _reduced,
    Op.SCAN: _scanned,
    Op.SCATTER: _scattered,
    Op.PUT: lambda n, known: _union(known[n.src[0]], known[n.src[1]]),
    Op.ARGSORT: lambda n, _: (0, max(n.shape[n.arg[0]] - 1, 0)),
}
