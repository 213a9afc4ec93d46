"""Writes loop-level arithmetic as Python expressions. In: Nodes wrapped in Val, and plain numbers.
Out: Nodes of basic ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, const, node, scalar_node
from ...ir.graph.op import Op
from ...ir.loops.walk import SLOW


def _operator(op: Op, turned: bool = False) -> Callable[[Val, Val | float], Val]:
    """An operator of a Val and another one or a number; `turned`: with the other one on the
    left."""
    return lambda a, b: _binary(op, _lift(b, a.dtype), a) if turned else _binary(op, a, b)


@dataclass(frozen=True, slots=True)
class Val:
    """A Node with operators; a plain number takes the dtype of the other operand."""

    node: Node

    @property
    def dtype(self) -> DType:
        return self.node.dtype

    __add__ = _operator(Op.ADD)
    __sub__ = _operator(Op.SUB)
    __rsub__ = _operator(Op.SUB, turned=True)
    __mul__ = _operator(Op.MUL)
    __truediv__ = _operator(Op.DIV)
    __rtruediv__ = _operator(Op.DIV, turned=True)
    __lt__ = _operator(Op.LT)
    __gt__ = _operator(Op.LT, turned=True)
    __and__ = _operator(Op.AND)
    __or__ = _operator(Op.OR)
    __xor__ = _operator(Op.XOR)
    __lshift__ = _operator(Op.SHL)
    __rshift__ = _operator(Op.SHR)

    def __neg__(self) -> Val:
        return Val(node(Op.NEG, (self.node,)))

    def __invert__(self) -> Val:
        return self ^ 1 if self.dtype is dt.bool_ else self ^ -1


def _lift(x: Val | float, dtype: DType) -> Val:
    return x if isinstance(x, Val) else number(x, dtype)


def _binary(op: Op, a: Val, b: Val | float) -> Val:
    return Val(node(op, (a.node, _lift(b, a.dtype).node)))


def number(value: float, dtype: DType) -> Val:
    return Val(const(value, dtype))


def equal(a: Val, b: Val | float) -> Val:
    return _binary(Op.EQ, a, b)


def fma(a: Val, b: Val | float, c: Val | float) -> Val:
    """a*b + c, rounded once."""
    src = (a.node, _lift(b, a.dtype).node, _lift(c, a.dtype).node)
    return Val(scalar_node(Op.FMA, src, None, a.dtype))


def ldexp(x: Val, n: Val) -> Val:
    """x * 2**n, rounded once."""
    return Val(scalar_node(Op.LDEXP, (x.node, n.node), None, x.dtype))


def where(cond: Val, yes: Val | float, no: Val) -> Val:
    return Val(node(Op.WHERE, (cond.node, _lift(yes, no.dtype).node, no.node)))


def choose(cond: Val, yes: float, no: float, dtype: DType) -> Val:
    """A WHERE between two numbers."""
    return where(cond, yes, _lift(no, dtype))


def rarely(cond: Val, slow: Val, fast: Val) -> Val:
    """A WHERE whose `slow` is computed only when the condition holds in some lane."""
    return Val(node(Op.WHERE, (cond.node, slow.node, fast.node), SLOW))


def floor(x: Val) -> Val:
    return Val(node(Op.FLOOR, (x.node,)))


def sqrt(x: Val) -> Val:
    return Val(node(Op.SQRT, (x.node,)))


def cast(x: Val, dtype: DType) -> Val:
    return x if x.dtype is dtype else Val(node(Op.CAST, (x.node,), dtype))


_INT = {dt.float32: dt.int32, dt.float64: dt.int64}
_FLOAT = {dt.int32: dt.float32, dt.int64: dt.float64}


def bits(x: Val) -> Val:
    """A float's bits as a signed integer."""
    return Val(node(Op.BITCAST, (x.node,), _INT[x.dtype]))


def from_bits(i: Val) -> Val:
    return Val(node(Op.BITCAST, (i.node,), _FLOAT[i.dtype]))


def sign_bit(x: Val) -> Val:
    """The sign bit alone, as an integer: 0 or the least one."""
    return bits(x) & -(1 << (x.dtype.bits - 1))


def absolute(x: Val) -> Val:
    return from_bits(bits(x) & ((1 << (x.dtype.bits - 1)) - 1))


def with_sign(magnitude: Val, sign: Val) -> Val:
    """Flips the sign of a float where the integer `sign` (see sign_bit) has it."""
    return from_bits(bits(magnitude) ^ sign)


def at_most(x: Val, limit: float) -> Val:
    """min(x, limit) that keeps NaN."""
    return where(x > limit, limit, x)


def at_least(x: Val, limit: float) -> Val:
    """max(x, limit) that keeps NaN."""
    return where(x < limit, limit, x)


def horner(x: Val, coefficients: Sequence[float]) -> Val:
    """The polynomial with these coefficients, highest power first."""
    total = fma(x, coefficients[0], coefficients[1])
    for c in coefficients[2:]:
        total = fma(total, x, c)
    return total


# Adding MAGIC rounds to the nearest integer and leaves it in the low bits of the sum.
MAGIC = {dt.float32: 1.5 * 2.0**23, dt.float64: 1.5 * 2.0**52}
MAGIC_BITS = {dt.float32: 0x4B400000, dt.float64: 0x4338000000000000}
MANTISSA = {dt.float32: 23, dt.float64: 52}


def round_scaled(x: Val, scale: float) -> tuple[Val, Val]:
    """n = x*scale rounded to an integer, as a float, and a float whose low bits hold it (no
    conversion, so no trap)."""
    magic = MAGIC[x.dtype]
    shifted = fma(x, scale, magic)
    return shifted - magic, shifted


def two_sum(a: Val, b: Val) -> tuple[Val, Val]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def fast_two_sum(a: Val, b: Val) -> tuple[Val, Val]:
    """two_sum for |a| >= |b| (Dekker)."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Val, b: Val | float) -> tuple[Val, Val]:
    """a * b as a rounded product and its exact error."""
    product = a * b
    return product, fma(a, b, -product)


def in_double(function: Callable[..., Val], *operands: Val) -> Val:
    """function(operands in float64, dtype), rounded to `dtype`, that of the operands; its error may
    be 2**-4 ULP of `dtype`.

    For float32 this is the whole error budget: no intermediate value overflows, is subnormal or
    needs care.
    """
    to = operands[0].dtype
    return cast(function(*(cast(x, dt.float64) for x in operands), to), to)


def keep_tiny(x: Val, below: float, y: Val) -> Val:
    """y, but x itself where |x| is so small that they round alike: keeps subnormals and the sign of
    zeros."""
    return where(absolute(x) < below, x, y)
