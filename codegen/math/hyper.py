"""sinh, cosh and the inverses of the hyperbolic functions. In: a float32 or float64 Val. Out: the
same function in basic ops."""

from __future__ import annotations

from math import inf, nan

from ...ir.graph.dtype import DType
from .build import (
    Val,
    absolute,
    at_most,
    choose,
    in_double,
    keep_tiny,
    ldexp,
    sign_bit,
    sqrt,
    where,
    with_sign,
)
from .exp import exp_parts, scaled_expm1, whole_part
from .log import log_of_sum

_TINY = 2.0**-30  # below, x**3 is less than half a last place of x
_OVERFLOW = 710.5  # sinh and cosh are inf from here on
_SQUARE_LIMIT = 2.0**500  # below, squares are finite; beyond, 1 is nothing beside the argument


def sinh(x: Val) -> Val:
    return keep_tiny(x, _TINY, in_double(_sinh, x))


def _sinh(x: Val, to: DType) -> Val:
    """(t + t/(t + 1)) / 2 with t = expm1(|x|), from q = t/4 so that only the last doubling
    overflows."""
    q = scaled_expm1(at_most(absolute(x), _OVERFLOW), 2, to)
    half = q + q / (q * 4.0 + 1.0)
    return with_sign(half + half, sign_bit(x))


def cosh(x: Val) -> Val:
    return in_double(_cosh, x)


def _cosh(x: Val, _: DType) -> Val:
    """y + 1/(4y) with y = exp(|x|) / 2."""
    p, shifted = exp_parts(at_most(absolute(x), _OVERFLOW))
    y = ldexp(p, whole_part(shifted) - 1)
    return y + 0.25 / y


def asinh(x: Val) -> Val:
    return keep_tiny(x, _TINY, in_double(_asinh, x))


def _asinh(x: Val, to: DType) -> Val:
    """log1p(a + a*a / (1 + sqrt(1 + a*a))), a = |x|; log(a) + log(2) where the square would
    overflow."""
    a = absolute(x)
    square = a * a
    y = _log_of_large(a, a + square / (sqrt(square + 1.0) + 1.0), to)
    return with_sign(y, sign_bit(x))


def acosh(x: Val) -> Val:
    return in_double(_acosh, x)


def _acosh(x: Val, to: DType) -> Val:
    """log1p(t + sqrt(t*(t + 2))), t = x - 1; log(x) + log(2) where the product would overflow."""
    t = x - 1.0
    return where(x < 1.0, nan, _log_of_large(x, t + sqrt(t * (t + 2.0)), to))


def _log_of_large(a: Val, y: Val, to: DType) -> Val:
    """log1p(y), or log(2*a) for a beyond the limit of squares; inf for inf."""
    large = a > _SQUARE_LIMIT
    log = log_of_sum(where(large, a, y), to, choose(large, 1.0, 0.0, a.dtype))
    return where(a < inf, log, a)


def atanh(x: Val) -> Val:
    return keep_tiny(x, _TINY, in_double(_atanh, x))


def _atanh(x: Val, to: DType) -> Val:
    """log1p(2a + 2a*a/(1 - a)) / 2, a = |x|: for small a the rounded quotient is small beside
    2a."""
    a = absolute(x)
    twice = a + a
    y = log_of_sum(twice + twice * a / (1.0 - a), to) * 0.5
    return with_sign(where(a < 1.0, y, at_one_or_beyond(a)), sign_bit(x))


def at_one_or_beyond(a: Val) -> Val:
    """inf for 1, NaN for what is greater or NaN."""
    return choose(a > 1.0, nan, inf, a.dtype) + (a - a)
