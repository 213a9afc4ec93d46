"""pow. In: base and exponent as float32 or float64 Vals. Out: base**exponent in basic ops, all
special cases of C99."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from ...ir.graph import dtype as dt
from ...ir.graph.graph import const
from ...ir.graph.op import Op
from .build import (
    Val,
    absolute,
    at_least,
    at_most,
    cast,
    choose,
    equal,
    fast_two_sum,
    floor,
    fma,
    horner,
    ldexp,
    rarely,
    round_scaled,
    sign_bit,
    sqrt,
    two_product,
    where,
    with_sign,
)
from .exp import EXP2_P, power_of_two, whole_part
from .log import BIAS64, normal64, split64


def _root(x: Val) -> Val:
    """x**0.5, which differs from the square root at -0.0 (0.0) and -inf (inf)."""
    return where(equal(x, -inf), inf, sqrt(x + 0.0))


# Rounded once, or twice with an error below 1.5 ULP; their special cases are those of pow.
_SIMPLE: dict[float, Callable[[Val], Val]] = {
    0.0: lambda x: Val(const(1.0, x.dtype)),
    0.5: _root,
    -0.5: lambda x: 1.0 / _root(x),
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -1.0: lambda x: 1.0 / x,
}


def pow(x: Val, y: Val) -> Val:
    if y.node.op is Op.CONST and y.node.arg in _SIMPLE:
        return _SIMPLE[y.node.arg](x)
    return general_pow(x, y)


def general_pow(x: Val, y: Val) -> Val:
    """Of any exponent, by the same steps."""
    magnitude = _POW[x.dtype](absolute(x), y)
    ordinary = (x > 0.0) & (x < inf)
    result = rarely(~ordinary, _special_base(x, y, magnitude), magnitude)
    return where(equal(y, 0.0) | equal(x, 1.0), 1.0, result)


def _special_base(x: Val, y: Val, magnitude: Val) -> Val:
    """x**y for x zero, negative, infinite or NaN; `magnitude` is |x|**y where |x| is none of
    these."""
    a = absolute(x)
    zero = equal(a, 0.0)
    limit = choose(zero ^ (y < 0.0), 0.0, inf, x.dtype)
    size = where(zero | equal(a, inf), limit, magnitude)
    half = y * 0.5
    whole = equal(floor(y), y)
    odd = whole & ~equal(floor(half), half)
    signed = where(odd, with_sign(size, sign_bit(x)), size)
    unordered = ~(equal(x, x) & equal(y, y))
    return where(unordered | ((x < 0.0) & (x > -inf) & ~whole), nan, signed)


def _pow32(a: Val, y: Val) -> Val:
    """2**(y * log2(a)) in float64, which holds every intermediate value; log2(m) = s*p(s*s), s =
    (m-1)/(m+1), error 2**-37."""
    e, m = split64(cast(a, dt.float64), BIAS64)
    s = (m - 1.0) / (m + 1.0)
    log2 = fma(s, horner(s * s, _LOG2_32), e)
    product = log2 * cast(_finite(y, 3e38), dt.float64)
    power = at_least(at_most(product, 200.0), -200.0)
    n, shifted = round_scaled(power, 1.0)
    return cast(horner(power - n, _EXP2_32) * power_of_two(shifted), dt.float32)


def _pow64(a: Val, y: Val) -> Val:
    """2**(y * log2(a)), the exponent as a sum of two floats."""
    log2, log2_lo = _log2_sum(a)
    y = _finite(y, 1e300)
    product, product_lo = two_product(log2, y)
    power = at_least(at_most(product, 1100.0), -1100.0)
    power_lo = where(equal(power, product), fma(log2_lo, y, product_lo), Val(const(0.0, y.dtype)))
    n, shifted = round_scaled(power, 1.0)
    r = (power - n) + power_lo
    return ldexp(fma(r, horner(r, EXP2_P[dt.float64]), 1.0), whole_part(shifted))


def _finite(y: Val, limit: float) -> Val:
    """An infinite exponent as a large one, so that 1**inf is 1."""
    return at_least(at_most(y, limit), -limit)


def _log2_sum(a: Val) -> tuple[Val, Val]:
    """log2(a) to 2**-65 as a sum of two floats: e + s*(C0 + C1*z + z*z*tail(z)), s = (m-1)/(m+1), z
    = s*s."""
    e, m = split64(*normal64(a))
    s, s_lo = _quotient(m)
    z, z_lo = two_product(s, s)
    z_lo = fma(s + s, s_lo, z_lo)
    linear, linear_lo = two_product(z, _C1)
    linear_lo = fma(z, _C1_LO, fma(z_lo, _C1, linear_lo))
    factor, factor_lo = fast_two_sum(Val(const(_C0, a.dtype)), linear)
    factor, factor_lo = fast_two_sum(
        factor, factor_lo + (fma(z * z, horner(z, _TAIL), linear_lo) + _C0_LO)
    )
    log, log_lo = two_product(s, factor)
    total, rest = fast_two_sum(e, log)
    return total, rest + fma(s, factor_lo, fma(s_lo, factor, log_lo))


def _quotient(m: Val) -> tuple[Val, Val]:
    """(m-1)/(m+1) for m in [sqrt(1/2), sqrt(2)], as a sum of two floats; one division."""
    f = m - 1.0
    d = m + 1.0
    d_lo = m - (d - 1.0)
    reciprocal = 1.0 / d
    s = f * reciprocal
    return s, fma(-s, d_lo, fma(-s, d, f)) * reciprocal


# Minimax fits. log2(m)/s over z, error 2**-37; 2**r, error 2**-28.
_LOG2_32 = (
    0.34074045193550945,
    0.411672109644596,
    0.5770835961834353,
    0.961796673275675,
    2.885390081790147,
)
_EXP2_32 = (
    0.00015353335234659444, 0.0013398900040344766, 0.009618437629614464, 0.055503324101520896,
    0.24022647910071185, 0.6931472028806506, 1.0,
)  # fmt: skip
# C0 = 2/ln 2 and C1 = C0/3 as sums of two floats; the tail fits to 2**-73 of log2(m).
_C0, _C0_LO = 2.8853900817779268, 4.0710547481862066e-17
_C1, _C1_LO = 0.9617966939259756, 5.0577616648125907e-17
_TAIL = (
    0.17296484675695595, 0.1684320343951096, 0.1924023896798494, 0.22195223905076453,
    0.26230819918528514, 0.32059889790772533, 0.41219858311137103, 0.5770780163555851,
)  # fmt: skip
_POW = {dt.float32: _pow32, dt.float64: _pow64}
