"""The remainder of floats. In: two float32 or float64 Vals. Out: x % y in basic ops, exact, with
the sign of y.

n = floor(|x| / |y|) is the whole quotient or one more, if it has no more digits than a float: the
division rounds to nearest, and n is a float. |x| - n |y| is a multiple of the last place of |y| and
not greater than it, so one FMA gives it exactly.
"""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node
from .build import Val, absolute, equal, floor, fma, rarely, sign_bit, where, with_sign

QUOTIENT = {dt.float32: 2.0**24, dt.float64: 2.0**53}
# Targets without FMA make it of roundings and parts: those of float64 must neither underflow nor
# overflow.
LEAST, MOST = (
    {dt.float32: 0.0, dt.float64: 2.0**-900},
    {dt.float32: float("inf"), dt.float64: 2.0**900},
)


def remainder(n: Node) -> Val:
    """Of the MOD n. Other operands (zeros, infinities, NaN, huge quotients) keep it: C's fmod, lane
    by lane."""
    x, y = map(Val, n.src)
    a, b = absolute(x), absolute(y)
    quotient = a / b
    usual = (quotient < QUOTIENT[x.dtype]) & (b > LEAST[x.dtype]) & (a < MOST[x.dtype])
    rest = fma(-floor(quotient), b, a)
    rest = where(a < b, a, where(rest < 0.0, rest + b, rest))
    opposite = (sign_bit(x) ^ sign_bit(y)) < 0
    moved = where(opposite & ~equal(rest, 0.0), b - rest, rest)
    return rarely(~usual, Val(n), with_sign(moved, sign_bit(y)))
