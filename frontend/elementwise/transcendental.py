"""Transcendental functions and powers. In: Nodes and Python numbers. Out: a Node.

Values and special cases are those of the Array API standard; the ops' derivatives stand in their
records (ir/ops/).
"""

from __future__ import annotations

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.arguments import as_count
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import (
    Operand,
    RealScalar,
    common_dtype,
    full_like,
    number,
    to_dtype,
    together,
)
from ..operands.in_float32 import in_float32
from . import complex_functions as cx
from .arithmetic import add, as_real_float, div, float_op, integers_for_bool, mul, real_pair, sub
from .bits import bit_and
from .comparison import eq, isinf, lt, ne, where

MOST_FACTORS = 100  # of a complex power to a whole exponent
MOST_DERIVATIVES = 30  # of digamma; beyond, factorials leave float32

exp = runs_in_float32(float_op(Op.EXP, "e ** x"))
exp2 = runs_in_float32(float_op(Op.EXP, "2 ** x, exact for whole x", 2, "exp2"))
expm1 = runs_in_float32(float_op(Op.EXPM1, "exp(x) - 1, accurate for small x"))
log = runs_in_float32(float_op(Op.LOG, "Natural logarithm: -inf at 0, NaN below"))
log2 = runs_in_float32(
    float_op(
        Op.LOG, "Logarithm to the base 2, exact for powers of 2: -inf at 0, NaN below", 2, "log2"
    )
)
log10 = runs_in_float32(
    float_op(
        Op.LOG,
        "Logarithm to the base 10, exact for powers of 10: -inf at 0, NaN below",
        10,
        "log10",
    )
)
log1p = runs_in_float32(
    float_op(Op.LOG1P, "log(1 + x), accurate for small x: -inf at -1, NaN below")
)
sin = float_op(Op.SIN, "Sine of radians: NaN for infinities", 0)
cos = float_op(Op.SIN, "Cosine of radians: NaN for infinities", 1, "cos")
tan = runs_in_float32(float_op(Op.TAN, "Tangent of radians: NaN for infinities"))
asin = runs_in_float32(float_op(Op.ASIN, "Inverse sine in [-pi/2, pi/2]: NaN outside [-1, 1]"))
acos = runs_in_float32(float_op(Op.ACOS, "Inverse cosine in [0, pi]: NaN outside [-1, 1]"))
atan = float_op(Op.ATAN, "Inverse tangent in [-pi/2, pi/2]")
sinh = runs_in_float32(float_op(Op.SINH, "Hyperbolic sine"))
cosh = runs_in_float32(float_op(Op.COSH, "Hyperbolic cosine"))
tanh = float_op(Op.TANH, "Hyperbolic tangent")
asinh = float_op(Op.ASINH, "Inverse hyperbolic sine")
acosh = float_op(Op.ACOSH, "Inverse hyperbolic cosine: NaN below 1")
atanh = float_op(Op.ATANH, "Inverse hyperbolic tangent: infinite at -1 and 1, NaN outside")
erf = float_op(Op.ERF, "Error function")
erfinv = runs_in_float32(
    float_op(Op.ERFINV, "The x whose erf this is: infinite at -1 and 1, NaN outside")
)
lgamma = runs_in_float32(
    float_op(Op.LGAMMA, "log|Gamma(x)|: inf at 0, at negative whole numbers and at infinities")
)
digamma = runs_in_float32(
    float_op(
        Op.POLYGAMMA,
        "The derivative of lgamma: -inf at 0, NaN at negative whole numbers",
        0,
        "digamma",
    )
)


def polygamma(n: int, x: Node) -> Node:
    """The nth derivative of digamma at x; n is 0 or more. Raises ArgumentError for another n,
    DTypeError.

    >>> wf.polygamma(1, 1.0).item()
    1.644934058189392
    """
    order = as_count("polygamma", "n", n)
    if order > MOST_DERIVATIVES:
        raise errors.ArgumentError(f"polygamma: n must be at most {MOST_DERIVATIVES}, not {order}")
    return node(Op.POLYGAMMA, (as_real_float("polygamma", x),), order)


# ---------------------------------------------------------------- of two operands


def atan2(y: Operand, x: Operand) -> Node:
    """The angle of the point (x, y) in [-pi, pi], with the sign of y; also for zeros and
    infinities. Integers count as floats."""
    return node(Op.ATAN2, real_pair("atan2", y, x))


def hypot(a: Operand, b: Operand) -> Node:
    """sqrt(a * a + b * b) without overflow; inf if one is infinite, even if the other is NaN.
    Integers count as floats."""
    return node(Op.HYPOT, real_pair("hypot", a, b))


@runs_in_float32
@in_float32
def logaddexp(a: Operand, b: Operand) -> Node:
    """log(exp(a) + exp(b)) without overflow: the greater one + log1p(exp(-|a - b|)). Integers count
    as floats.

    Like every sum it loses relative accuracy where the two parts cancel.
    """
    x, y = real_pair("logaddexp", a, b)
    y_greater = lt(x, y)
    # one branch for ties, in both, so that derivatives of any order are right there
    greater = where(y_greater, y, x)
    gap = where(y_greater, sub(x, y), sub(y, x))
    same_infinity = node(Op.AND, (eq(x, y), isinf(x)))
    return add(greater, log1p(exp(where(same_infinity, 0.0, gap))))


# ---------------------------------------------------------------- powers


@runs_in_float32
def power(a: Operand, b: Operand) -> Node:
    """a ** b with the special cases of IEEE pow. Small whole exponents are products, 2.0 ** b is
    exp2; integers wrap.

    Raises ArgumentError for an integer to a negative Python integer; a negative element of an
    integer exponent gives 0.
    """
    dtype = common_dtype("power", (a, b))
    is_plain = dtype.is_float or isinstance(b, int)
    if isinstance(a, Node) and isinstance(b, int | float) and is_plain:
        return _scalar_power(to_dtype(a, dt.int64 if dtype.kind == "b" else dtype), b)
    if isinstance(b, Node) and not isinstance(a, Node) and a == 2 and dtype.is_float:
        return exp2(to_dtype(b, dtype))
    x, y = together("power", (a, b), dtype)
    if dtype.is_complex:
        return cx.power(x, y)
    return node(Op.POW, (x, y)) if dtype.is_float else _integer_power(*integers_for_bool(x, y))


def _scalar_power(x: Node, exponent: RealScalar) -> Node:
    if exponent == 0 and x.dtype.is_float:
        return node(Op.POW, (x, full_like(x, 0.0)))  # 1 everywhere, with a derivative: 0
    if exponent == 2 and (squared := cx.square_of_absolute(x)) is not None:
        return squared
    if exponent in (0, 1, 2):
        return _product_power(x, int(exponent))
    if x.dtype.is_complex:
        return _complex_power(x, int(exponent))
    if exponent in (3, 4):
        return in_float32(_product_power)(x, int(exponent))
    if not x.dtype.is_float:
        number("power", exponent, dt.int64)  # refuses integers beyond that
        if exponent < 0:
            raise errors.ArgumentError(
                f"power: integers to the power {exponent} are not integers; convert to float first"
            )
        return _product_power(x, int(exponent))
    if exponent == -1:
        return div(1.0, x)
    return node(Op.POW, together("power", (x, exponent), x.dtype))


def _complex_power(x: Node, exponent: int) -> Node:
    """By products up to 100, as NumPy has it."""
    if abs(exponent) > MOST_FACTORS:
        return cx.power(x, full_like(x, exponent))
    product = _product_power(x, abs(exponent))
    return product if exponent > 0 else div(1.0, product)


def _product_power(x: Node, exponent: int) -> Node:
    """By repeated squaring."""
    result: Node | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else node(Op.MUL, (result, x))
        exponent >>= 1
        if exponent:
            x = node(Op.MUL, (x, x))
    return full_like(x, 1) if result is None else result


def _integer_power(x: Node, exponent: Node) -> Node:
    """Square and multiply over the bits of the exponent, modulo 2**bits."""
    result = full_like(x, 1)
    for bit in range(exponent.dtype.bits - (exponent.dtype.kind == "i")):
        is_set = ne(bit_and(exponent, 1 << bit), 0)
        result = where(is_set, mul(result, x), result)
        x = mul(x, x)
    return where(lt(exponent, 0), 0, result) if exponent.dtype.kind == "i" else result
