"""Simplification. In: roots of a Graph, after gradients were taken. Out: roots of an equal, smaller
Graph.

One function per rule: it returns the replacement, or None where it does not match. Only rules that
are exact in IEEE arithmetic, up to the order of a reduction (which may also turn a sum of -0.0 into
0.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from math import frexp, isfinite

from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node, const, full, node
from ..graph.op import Op
from ..graph.rewrite import Rule, Trace, constant_of, is_zero, rewrite
from ..ops.table import scalar
from ..symbolic.questions import is_unknown
from . import simplify_views as views


def simplify(roots: Sequence[Node], trace: Trace | None = None, strict: bool = False) -> list[Node]:
    """The same values, with the rules of SIMPLIFY applied until none matches. Drops DETACH, so no
    gradient after it.

    `strict`: the same bits, too.
    """
    return rewrite(roots, STRICT if strict else SIMPLIFY, trace)


def _true(shape: tuple[int, ...]) -> Node:
    return full(True, dt.bool_, shape)


# ---------------------------------------------------------------- constants


def fold_constants(n: Node) -> Node | None:
    """An exact op on constants is a constant; where it makes a NaN or an infinity of numbers, it
    stays: `debug_nans` finds it. So does one on a size that is not known."""
    values = []
    for s in n.src:
        value = constant_of(s)
        if value is None or is_unknown(value):
            return None
        values.append(value)
    value = scalar(n, *values)
    if not isfinite(value) and all(map(isfinite, values)):
        return None
    return full(value, n.dtype, n.shape)


# ---------------------------------------------------------------- arithmetic


def add_zero(n: Node) -> Node | None:
    """x + 0 of integers, x + -0.0 of floats (x + 0.0 is not x for x = -0.0)."""
    for x, zero in (n.src, n.src[::-1]):
        value = constant_of(zero)
        if value == 0 and (n.dtype.is_int or str(value) == "-0.0"):
            return x
    return None


def add_negated(n: Node) -> Node | None:
    """x + (-y) = (-y) + x = x - y."""
    for x, y in (n.src, n.src[::-1]):
        if y.op is Op.NEG:
            return node(Op.SUB, (x, y.src[0]))
    return None


def sub_zero(n: Node) -> Node | None:
    return n.src[0] if is_zero(n.src[1]) else None


def sub_negated(n: Node) -> Node | None:
    """x - (-y) = x + y."""
    x, y = n.src
    return node(Op.ADD, (x, y.src[0])) if y.op is Op.NEG else None


def sub_itself(n: Node) -> Node | None:
    """x - x = 0 and x ^ x = 0 of integers."""
    return full(0, n.dtype, n.shape) if n.src[0] is n.src[1] and not n.dtype.is_float else None


def mul_one(n: Node) -> Node | None:
    """x * 1 = x; x * -1 = -x; x * 0 = 0 of integers."""
    for x, factor in (n.src, n.src[::-1]):
        match constant_of(factor):
            case 1:
                return x
            case -1:
                return node(Op.NEG, (x,))
            case 0 if n.dtype.is_int:
                return factor
    return None


def div_by_power_of_two(n: Node) -> Node | None:
    """x / 2^k = x * 2^-k where 2^-k is a normal number; so x / 1 = x."""
    x, divisor = n.src
    value = constant_of(divisor)
    if value is None or not isfinite(value) or abs(frexp(value)[0]) != 0.5:
        return None
    if abs(frexp(value)[1]) > {32: 120, 64: 1000}[n.dtype.bits]:
        return None
    return node(Op.MUL, (x, full(1 / value, n.dtype, n.shape)))


def idiv_one(n: Node) -> Node | None:
    """x // 1 = x and x % 1 = 0 of integers."""
    if constant_of(n.src[1]) != 1 or n.dtype.is_float:
        return None
    return n.src[0] if n.op is Op.IDIV else full(0, n.dtype, n.shape)


def neg_neg(n: Node) -> Node | None:
    return n.src[0].src[0] if n.src[0].op is Op.NEG else None


def pow_constant(n: Node) -> Node | None:
    """x^0 = 1, x^1 = x, x^2 = x * x."""
    x, exponent = n.src
    match constant_of(exponent):
        case 0.0:
            return full(1, n.dtype, n.shape)
        case 1.0:
            return x
        case 2.0:
            return node(Op.MUL, (x, x))
    return None


def max_trivial(n: Node) -> Node | None:
    """max(x, x) = x; max(x, lowest) = x."""
    for x, y in (n.src, n.src[::-1]):
        if x is y or constant_of(y) == dt.lowest(n.dtype):
            return x
    return None


def shift_zero(n: Node) -> Node | None:
    return n.src[0] if constant_of(n.src[1]) == 0 else None


# ---------------------------------------------------------------- logic


def bitwise_constant(n: Node) -> Node | None:
    """x & all = x | 0 = x ^ 0 = x; x & 0 = 0; x | all = all."""
    ones = const(-1, n.dtype).arg if n.dtype.is_int else True
    for x, y in (n.src, n.src[::-1]):
        value = constant_of(y)
        if value is not None and value == (ones if n.op is Op.AND else 0):
            return x
        if value is not None and n.op is not Op.XOR and value == (0 if n.op is Op.AND else ones):
            return y
    return None


def bitwise_itself(n: Node) -> Node | None:
    """x & x = x | x = x."""
    return n.src[0] if n.src[0] is n.src[1] else None


def not_not(n: Node) -> Node | None:
    """(x ^ c) ^ c = x for a constant c."""
    x, c = n.src
    return x.src[0] if x.op is Op.XOR and x.src[1] is c and constant_of(c) is not None else None


def compare_itself(n: Node) -> Node | None:
    """x < x is false; x == x is true except for floats (NaN)."""
    if n.src[0] is not n.src[1]:
        return None
    if n.op is Op.LT:
        return full(False, dt.bool_, n.shape)
    return None if n.src[0].dtype.is_float else _true(n.shape)


def where_trivial(n: Node) -> Node | None:
    """A constant condition, or equal branches."""
    c, a, b = n.src
    if a is b:
        return a
    value = constant_of(c)
    return None if value is None else (a if value else b)


def where_negated(n: Node) -> Node | None:
    """where(not c, a, b) = where(c, b, a)."""
    c, a, b = n.src
    if c.op is Op.XOR and constant_of(c.src[1]) is True:
        return node(Op.WHERE, (c.src[0], b, a))
    return None


def where_nested(n: Node) -> Node | None:
    """where(c, where(c, a, _), b) = where(c, a, b), and in the other branch."""
    c, a, b = n.src
    inner_a = a.src[1] if a.op is Op.WHERE and a.src[0] is c else a
    inner_b = b.src[2] if b.op is Op.WHERE and b.src[0] is c else b
    return node(Op.WHERE, (c, inner_a, inner_b))


def where_bool(n: Node) -> Node | None:
    """where(c, true, false) = c."""
    c, a, b = n.src
    return c if n.dtype is dt.bool_ and constant_of(a) is True and constant_of(b) is False else None


# ---------------------------------------------------------------- casts and hints


def cast_same(n: Node) -> Node | None:
    return n.src[0] if n.src[0].dtype is n.arg else None


def cast_cast(n: Node) -> Node | None:
    """The first of two casts is dropped where it changes no value, or where both only wrap
    integers."""
    (inner,) = n.src
    if inner.op is not Op.CAST:
        return None
    first, middle, last = inner.src[0].dtype, inner.dtype, n.dtype
    wraps = first.is_int and middle.is_int and last.is_int and middle.bits >= last.bits
    return node(Op.CAST, inner.src, last) if wraps or holds_exactly(middle, first) else None


def holds_exactly(wide: DType, narrow: DType) -> bool:
    """Has every value of `narrow` the same value in `wide`?"""
    if narrow.kind == "b":
        return True
    if wide.is_complex or narrow.is_complex:
        return wide is narrow
    if wide.is_float:
        if narrow.is_float:
            return wide is narrow or narrow.bits < wide.bits
        return narrow.bits - (narrow.kind == "i") <= wide.digits
    signs_fit = wide.kind == narrow.kind or (wide.kind == "i" and wide.bits > narrow.bits)
    return wide.is_int and narrow.is_int and signs_fit and wide.bits >= narrow.bits


def drop_detach(n: Node) -> Node | None:
    return n.src[0]


# ---------------------------------------------------------------- the table

_COMPARE: tuple[Rule, ...] = (fold_constants, compare_itself)
_VIEW: tuple[Rule, ...] = (views.fold_view, views.view_of_nothing)
SIMPLIFY: dict[Op, tuple[Rule, ...]] = {
    Op.NEG: (fold_constants, neg_neg),
    Op.SQRT: (fold_constants,),
    Op.FLOOR: (fold_constants,),
    Op.CAST: (fold_constants, cast_same, cast_cast),
    Op.ADD: (fold_constants, add_zero, add_negated),
    Op.SUB: (fold_constants, sub_zero, sub_negated, sub_itself),
    Op.MUL: (fold_constants, mul_one),
    Op.DIV: (fold_constants, div_by_power_of_two),
    Op.POW: (pow_constant,),
    Op.MAX: (fold_constants, max_trivial),
    Op.IDIV: (fold_constants, idiv_one),
    Op.MOD: (fold_constants, idiv_one),
    Op.LT: _COMPARE,
    Op.EQ: _COMPARE,
    Op.AND: (fold_constants, bitwise_constant, bitwise_itself),
    Op.OR: (fold_constants, bitwise_constant, bitwise_itself),
    Op.XOR: (fold_constants, bitwise_constant, sub_itself, not_not),
    Op.SHL: (fold_constants, shift_zero),
    Op.SHR: (fold_constants, shift_zero),
    Op.WHERE: (where_trivial, fold_constants, where_negated, where_nested, where_bool),
    Op.REDUCE: (
        views.fold_reduce,
        views.reduce_single,
        views.reduce_reduce,
        views.reduce_expand,
        views.window_sum_is_reshape,
    ),
    Op.RESHAPE: (*_VIEW, views.reshape_reshape),
    Op.PERMUTE: (*_VIEW, views.permute_permute),
    Op.FLIP: (*_VIEW, views.flip_flip),
    Op.SLICE: (
        *_VIEW,
        views.slice_slice,
        views.slice_pad,
        views.slice_expand,
        views.slice_where,
        views.window_is_reshape,
    ),
    Op.PAD: (*_VIEW, views.pad_pad),
    Op.EXPAND: (*_VIEW, views.expand_expand),
    Op.SKEW: (views.fold_view, views.skew_of_one, views.window_is_all),
    Op.UNSKEW: (views.fold_view, views.skew_of_one),
    Op.DETACH: (drop_detach,),
}


# ---------------------------------------------------------------- the same bits

# What changes the order of a sum, or which -0.0 becomes 0.0; x^2 as a product differs from how
# other powers are computed.
REORDERING: frozenset[Rule] = frozenset(
    {views.fold_reduce, views.reduce_reduce, views.window_sum_is_reshape, pow_constant}
)


def _unless_float(rule: Rule) -> Rule:
    @wraps(rule)
    def of_integers(n: Node) -> Node | None:
        return None if n.dtype.is_float else rule(n)

    return of_integers


def reduce_single(n: Node) -> Node | None:
    """As in simplify_views.py, but the sum of one float is 0.0 + x, which is not x for -0.0."""
    after, (kind, axes) = views.reduce_single(n), n.arg
    if (
        after is None
        or kind != "add"
        or not n.dtype.is_float
        or any(n.src[0].shape[a] != 1 for a in axes)
    ):
        return after
    return node(Op.ADD, (after, full(0.0, n.dtype, n.shape)))


def _strict(rule: Rule) -> Rule:
    return (
        reduce_single
        if rule is views.reduce_single
        else _unless_float(rule)
        if rule in REORDERING
        else rule
    )


STRICT = {op: tuple(map(_strict, rules)) for op, rules in SIMPLIFY.items()}
