"""Elementary functions of complex numbers, by their parts. In: complex Nodes. Out: Nodes.

The special cases are those of the Array API standard (C99, annex G). Inverse functions follow W.
Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit" (1987):
every branch cut is continuous from the side that the sign of a zero names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, log, nan, pi

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.ops.nodes import add, div, eq, imag, like, lt, mul, negated, real, scaled, sub, where
from ...ir.ops.nodes import neg as negative

Parts = tuple[Node, Node]
Function = Callable[[Node, Node], Parts]


def parts(z: Node) -> Parts:
    """The real and the imaginary part."""
    return real(z), imag(z)


def of(re: Node, im: Node) -> Node:
    """The complex value of two parts."""
    return node(Op.COMPLEX, (re, im))


def of_real(x: Node) -> Node:
    """A real value as a complex one."""
    return of(x, like(0.0, x))


def _of(op: Op, arg: int | None = None) -> Callable[..., Node]:
    return lambda *x: node(op, x, arg)


_exp, _expm1, _log, _log1p, _sqrt = map(_of, (Op.EXP, Op.EXPM1, Op.LOG, Op.LOG1P, Op.SQRT))
_sinh, _cosh, _asinh, _tan = map(_of, (Op.SINH, Op.COSH, Op.ASINH, Op.TAN))
_sin, _cos = _of(Op.SIN, 0), _of(Op.SIN, 1)
_atan2, _hypot, _or, _and = _of(Op.ATAN2), _of(Op.HYPOT), _of(Op.OR), _of(Op.AND)


def _all(*conditions: Node) -> Node:
    return reduce(_and, conditions)


def _is(x: Node, value: float) -> Node:
    return eq(x, like(value, x))


def _magnitude(x: Node) -> Node:
    return where(lt(x, like(0.0, x)), negative(x), where(_is(x, 0.0), like(0.0, x), x))


def _is_infinite(x: Node) -> Node:
    return _is(_magnitude(x), inf)


def _is_finite(x: Node) -> Node:
    return lt(_magnitude(x), like(inf, x))


def _is_nan(x: Node) -> Node:
    return negated(eq(x, x))


def _with_sign(x: Node, of: Node) -> Node:
    """x, not negative, with the sign of another, of zeros too."""
    bits = node(Op.BITCAST, (of,), dt.BY_NAME[f"int{of.dtype.bits}"])
    return where(lt(bits, like(0, bits)), negative(x), x)


# ---------------------------------------------------------------- arithmetic


def quotient(z: Node, w: Node) -> Node:
    """z / w, by R. Smith's algorithm (1962): it overflows only where the quotient does."""
    (a, b), (c, d) = parts(z), parts(w)
    leads = negated(lt(_magnitude(c), _magnitude(d)))
    larger, smaller = where(leads, c, d), where(leads, d, c)
    ratio = div(smaller, larger)
    # two infinities have no ratio, and two zeros none, but their quotients are NaN and infinite
    ratio = where(_is(larger, 0.0), like(0.0, ratio), ratio)
    scale = add(larger, mul(smaller, ratio))
    first, second = where(leads, a, b), where(leads, b, a)
    re = add(first, mul(second, ratio))
    im = sub(second, mul(first, ratio))
    return of(div(re, scale), div(where(leads, im, negative(im)), scale))


def product_by_real(z: Node, x: Node) -> Node:
    """z * x."""
    return of(*(mul(part, x) for part in parts(z)))


def quotient_by_real(z: Node, x: Node) -> Node:
    """z / x."""
    return of(*(div(part, x) for part in parts(z)))


def absolute(z: Node) -> Node:
    """|z|, a float; its derivative at 0 is 0."""
    return _length(*parts(z))


def square_of_absolute(size: Node) -> Node | None:
    """x*x + y*y of the |x + iy| that a value is, if it is one: a root and its square round twice
    more, and overflow where this does. Only of an infinity and a NaN, this is a NaN."""
    length = size.src[-1] if size.op is Op.WHERE else size
    if length.op is not Op.HYPOT or length.src[0].op is not Op.WHERE:
        return None
    x, y = length.src[0].src[-1], length.src[1]
    return add(mul(x, x), mul(y, y)) if _length(x, y) is size else None


def _length(x: Node, y: Node) -> Node:
    is_zero = _and(_is(x, 0.0), _is(y, 0.0))
    return where(is_zero, like(0.0, x), _hypot(where(is_zero, like(1.0, x), x), y))


def angle(z: Node) -> Node:
    """The angle in [-pi, pi], a float."""
    x, y = parts(z)
    return _atan2(y, x)


def sign(z: Node) -> Node:
    """z / |z|, 0 at 0."""
    size = absolute(z)
    is_zero = _is(size, 0.0)
    unit = quotient_by_real(z, where(is_zero, like(1.0, size), size))
    return where(is_zero, like(0.0, z), unit)


def equal(z: Node, w: Node) -> Node:
    """Are both parts equal?"""
    (a, b), (c, d) = parts(z), parts(w)
    return _and(eq(a, c), eq(b, d))


def is_nan(z: Node) -> Node:
    """Is a part NaN?"""
    x, y = parts(z)
    return _or(_is_nan(x), _is_nan(y))


def is_infinite(z: Node) -> Node:
    """Is a part infinite?"""
    x, y = parts(z)
    return _or(_is_infinite(x), _is_infinite(y))


def is_finite(z: Node) -> Node:
    """Are both parts finite?"""
    x, y = parts(z)
    return _and(_is_finite(x), _is_finite(y))


def by_parts(function: Callable[[Node], Node], z: Node) -> Node:
    """A function of real values of each part."""
    x, y = parts(z)
    return of(function(x), function(y))


# ---------------------------------------------------------------- exponentials, logarithms, roots


def _exponential(x: Node, y: Node) -> Parts:
    size = _exp(x)
    re, im = mul(size, _cos(y)), mul(size, _sin(y))
    im = where(_is(y, 0.0), y, im)  # also where e^x is infinite
    wild = negated(_is_finite(y))
    grows, falls = _and(_is(x, inf), wild), _and(_is(x, -inf), wild)
    zero = like(0.0, x)
    return where(falls, zero, where(grows, x, re)), where(falls, zero, im)


def _exponential_minus_1(x: Node, y: Node) -> Parts:
    half = _sin(scaled(y, 0.5))
    near = sub(mul(_expm1(x), _cos(y)), scaled(mul(half, half), 2.0))
    near = add(near, like(0.0, x))  # the standard has 0 for -0
    re, im = _exponential(x, y)
    is_large = negated(lt(_magnitude(x), like(1.0, x)))
    return where(is_large, sub(re, like(1.0, re)), near), im


def _log_of_size(x: Node, y: Node) -> Node:
    """log|x + iy|, accurate near 1."""
    a, b = _magnitude(x), _magnitude(y)
    most, least = where(lt(a, b), b, a), where(lt(a, b), a, b)
    size = _hypot(x, y)
    is_near = _and(lt(like(0.5, size), size), lt(size, like(2.0, size)))
    one = like(1.0, x)
    most, least = where(is_near, most, one), where(is_near, least, like(0.0, x))
    excess = add(mul(sub(most, one), add(most, one)), mul(least, least))
    return where(is_near, scaled(_log1p(excess), 0.5), _log(size))


def _logarithm(x: Node, y: Node) -> Parts:
    return _log_of_size(x, y), _atan2(y, x)


def _logarithm_of_1_plus(x: Node, y: Node) -> Parts:
    one = like(1.0, x)
    moved = add(x, one)
    excess = add(mul(x, add(x, like(2.0, x))), mul(y, y))
    is_small = lt(_hypot(x, y), like(0.5, x))
    near = scaled(_log1p(where(is_small, excess, like(0.0, x))), 0.5)
    return where(is_small, near, _log_of_size(moved, y)), _atan2(y, moved)


def _root(x: Node, y: Node) -> Parts:
    size, zero = _magnitude(x), like(0.0, x)
    is_zero = _and(_is(x, 0.0), _is(y, 0.0))
    safe = where(is_zero, like(1.0, x), size)
    large = _sqrt(add(scaled(safe, 0.5), scaled(_hypot(safe, y), 0.5)))
    small = div(_magnitude(y), scaled(large, 2.0))
    is_left = lt(x, zero)
    re = where(is_left, small, large)
    im = _with_sign(where(is_left, large, small), y)
    re, im = where(is_zero, zero, re), where(is_zero, y, im)
    right, left = _is(x, inf), _is(x, -inf)
    re = where(_and(right, negated(_is_infinite(y))), x, re)
    im = where(_and(right, _is_finite(y)), _with_sign(zero, y), im)
    re = where(_and(left, _is_finite(y)), zero, re)
    im = where(_and(left, negated(_is_infinite(y))), _with_sign(like(inf, x), y), im)
    endless = _is_infinite(y)
    return where(endless, like(inf, x), re), where(endless, y, im)


# ---------------------------------------------------------------- trigonometric and hyperbolic


def _hyperbolic_sine(x: Node, y: Node) -> Parts:
    re, im = mul(_sinh(x), _cos(y)), mul(_cosh(x), _sin(y))
    wild = _and(_or(_is_infinite(x), _is(x, 0.0)), negated(_is_finite(y)))
    re = where(wild, x, re)
    return re, where(_is(y, 0.0), y, im)


def _hyperbolic_cosine(x: Node, y: Node) -> Parts:
    re, im = mul(_cosh(x), _cos(y)), mul(_sinh(x), _sin(y))
    wild = _and(_is_infinite(x), negated(_is_finite(y)))
    re = where(wild, like(inf, x), re)
    flat = mul(_with_sign(like(0.0, y), y), _with_sign(like(1.0, x), x))
    no_product = _or(_is(y, 0.0), _and(_is(x, 0.0), negated(_is_finite(y))))
    return re, where(no_product, flat, im)


def _hyperbolic_tangent(x: Node, y: Node) -> Parts:
    bound = like(22.0 if x.dtype is dt.float64 else 11.0, x)
    is_far = lt(bound, _magnitude(x))
    near_x = where(is_far, like(0.0, x), x)
    t, s = _tan(y), _sinh(near_x)
    beta = add(like(1.0, t), mul(t, t))
    rho = _sqrt(add(like(1.0, s), mul(s, s)))
    scale = add(like(1.0, s), mul(beta, mul(s, s)))
    re, im = div(mul(mul(beta, rho), s), scale), div(t, scale)
    vanishing = _exp(scaled(_magnitude(x), -2.0))
    far = scaled(mul(mul(_sin(y), _cos(y)), vanishing), 4.0)
    nothing = like(0.0, x)
    limit = where(_is_finite(y), _with_sign(nothing, y), nothing)
    far = where(_is_infinite(x), limit, far)
    re = where(is_far, _with_sign(like(1.0, x), x), re)
    no_angle = _and(_is_finite(x), negated(_is_finite(y)))
    re = where(no_angle, like(nan, x), re)
    im = where(is_far, far, im)
    only_y_is_wild = _all(_is(x, 0.0), negated(_is_finite(y)))
    re = where(only_y_is_wild, x, re)
    return re, where(_is(y, 0.0), y, im)


def _turned(function: Function) -> Function:
    """f(z) = -i g(iz), of an odd g."""

    def turned(x: Node, y: Node) -> Parts:
        re, im = function(negative(y), x)
        return im, negative(re)

    return turned


def _cosine(x: Node, y: Node) -> Parts:
    return _hyperbolic_cosine(negative(y), x)


# ---------------------------------------------------------------- their inverses


def _is_lost(x: Node, y: Node) -> Node:
    """Is it 0 and NaN?"""
    return _and(_is(x, 0.0), _is_nan(y))


def _roots(x: Node, y: Node) -> tuple[Parts, Parts]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    one = like(1.0, x)
    return _root(sub(one, x), negative(y)), _root(add(one, x), y)


def _arc_cosine(x: Node, y: Node) -> Parts:
    (a, b), (c, d) = _roots(x, y)
    re = scaled(_atan2(a, c), 2.0)
    im = _asinh(sub(mul(c, b), mul(d, a)))
    endless = _or(_is_infinite(x), _is_infinite(y))
    re = where(endless, _atan2(_magnitude(y), x), re)
    re = where(_is_lost(x, y), like(pi / 2, x), re)
    im = where(endless, negative(_with_sign(like(inf, x), y)), im)
    return re, im


def _arc_sine(x: Node, y: Node) -> Parts:
    (a, b), (c, d) = _roots(x, y)
    re = _atan2(x, sub(mul(a, c), mul(b, d)))
    im = _asinh(sub(mul(a, d), mul(b, c)))
    endless = _or(_is_infinite(x), _is_infinite(y))
    re = where(endless, _atan2(x, _magnitude(y)), re)
    re = where(_is_lost(x, y), x, re)
    im = where(endless, _with_sign(like(inf, x), y), im)
    return re, im


def _hyperbolic_arc_cosine(x: Node, y: Node) -> Parts:
    one = like(1.0, x)
    (a, b), (c, d) = _root(sub(x, one), y), _root(add(x, one), y)
    re = _asinh(add(mul(a, c), mul(b, d)))
    im = scaled(_atan2(b, c), 2.0)
    endless = _or(_is_infinite(x), _is_infinite(y))
    im = where(endless, _atan2(y, x), where(_is_lost(x, y), like(pi / 2, x), im))
    return where(endless, like(inf, x), re), im


def _hyperbolic_arc_tangent(x: Node, y: Node) -> Parts:
    size, one = _magnitude(x), like(1.0, x)
    gap = sub(one, size)
    distance = add(mul(gap, gap), mul(y, y))
    re = scaled(_log1p(div(scaled(size, 4.0), distance)), 0.25)
    im = scaled(_atan2(scaled(y, 2.0), sub(mul(gap, add(one, size)), mul(y, y))), 0.5)
    # far away both are their limits: 1/z, and a quarter turn
    far = negated(lt(_hypot(x, y), like(1e15 if x.dtype is dt.float64 else 1e7, x)))
    far = _and(far, negated(_or(_is_nan(x), _is_nan(y))))
    scale = _hypot(size, y)
    limit = where(_is_infinite(scale), like(0.0, x), div(div(size, scale), scale))
    re = where(far, limit, re)
    im = where(far, _with_sign(like(pi / 2, x), y), im)
    endless = _or(_is_infinite(x), _is_infinite(y))
    re = where(_or(endless, _is_lost(x, y)), like(0.0, x), re)
    im = where(_and(_is_infinite(y), _is_nan(x)), _with_sign(like(pi / 2, x), y), im)
    return _with_sign(re, x), im


# ---------------------------------------------------------------- by op


def _with_base(base: int) -> Function:
    def function(x: Node, y: Node) -> Parts:
        re, im = _logarithm(x, y)
        return scaled(re, 1 / log(base)), scaled(im, 1 / log(base))

    return function


def _power_of_2(x: Node, y: Node) -> Parts:
    return _exponential(scaled(x, log(2)), scaled(y, log(2)))


FUNCTIONS: dict[tuple[Op, int | None], Function] = {
    (Op.EXP, None): _exponential,
    (Op.EXP, 2): _power_of_2,
    (Op.EXPM1, None): _exponential_minus_1,
    (Op.LOG, None): _logarithm,
    (Op.LOG, 2): _with_base(2),
    (Op.LOG, 10): _with_base(10),
    (Op.LOG1P, None): _logarithm_of_1_plus,
    (Op.SQRT, None): _root,
    (Op.SINH, None): _hyperbolic_sine,
    (Op.COSH, None): _hyperbolic_cosine,
    (Op.TANH, None): _hyperbolic_tangent,
    (Op.SIN, 0): _turned(_hyperbolic_sine),
    (Op.SIN, 1): _cosine,
    (Op.TAN, None): _turned(_hyperbolic_tangent),
    (Op.ASIN, None): _arc_sine,
    (Op.ACOS, None): _arc_cosine,
    (Op.ATAN, None): _turned(_hyperbolic_arc_tangent),
    (Op.ASINH, None): _turned(_arc_sine),
    (Op.ACOSH, None): _hyperbolic_arc_cosine,
    (Op.ATANH, None): _hyperbolic_arc_tangent,
}


def function(op: Op, arg: int | None, z: Node) -> Node | None:
    """An elementary function of a complex value; None for one that has no complex values."""
    found = FUNCTIONS.get((op, arg))
    return None if found is None else of(*found(*parts(z)))


def power(z: Node, w: Node) -> Node:
    """z ** w = exp(w log z). 0 ** w is 1 at w = 0, 0 for a positive real part of w, else NaN."""
    x, y = parts(z)
    u, v = parts(w)
    is_zero = _and(_is(x, 0.0), _is(y, 0.0))
    is_no_power = _and(_is(u, 0.0), _is(v, 0.0))
    re, im = _logarithm(where(is_zero, like(1.0, x), x), y)
    exponent = mul(of(re, im), w)
    r, i = _exponential(*parts(exponent))
    vanishes = lt(like(0.0, u), u)
    at_zero = where(vanishes, like(0.0, u), like(nan, u))
    r, i = where(is_zero, at_zero, r), where(is_zero, at_zero, i)
    return of(where(is_no_power, like(1.0, u), r), where(is_no_power, like(0.0, u), i))
