"""Short names for the Nodes that derivatives are made of. In: Nodes of one shape and dtype. Out: a
Node."""

from __future__ import annotations

from collections.abc import Callable

from ..graph import dtype as dt
from ..graph.graph import Node, full, node, shaped
from ..graph.op import Op


def _arithmetic(op: Op) -> Callable[[Node, Node], Node]:
    return lambda a, b: shaped(op, (a, b), None, a.dtype, a.shape)


def _comparison(op: Op) -> Callable[[Node, Node], Node]:
    return lambda a, b: shaped(op, (a, b), None, dt.bool_, a.shape)


add, sub, mul, div, pow = map(_arithmetic, (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.POW))
eq, lt = map(_comparison, (Op.EQ, Op.LT))


def neg(a: Node) -> Node:
    return shaped(Op.NEG, (a,), None, a.dtype, a.shape)


def real(a: Node) -> Node:
    """The real part; of a real value, itself."""
    if not a.dtype.is_complex:
        return a
    return a.src[0] if a.op is Op.COMPLEX else node(Op.REAL, (a,))


def imag(a: Node) -> Node:
    """The imaginary part."""
    return a.src[1] if a.op is Op.COMPLEX else node(Op.IMAG, (a,))


def conj(a: Node) -> Node:
    """The complex conjugate: of a real value, itself."""
    return node(Op.COMPLEX, (real(a), neg(imag(a)))) if a.dtype.kind == "c" else a


def lifted(x: Node, to: Node) -> Node:
    """A real value as a complex one where another is."""
    needs = to.dtype.is_complex and not x.dtype.is_complex
    return node(Op.COMPLEX, (x, like(0.0, x))) if needs else x


def divided(x: Node, by: Node) -> Node:
    """A value, real or complex, by a real one."""
    if not x.dtype.is_complex:
        return div(x, by)
    return node(Op.COMPLEX, (div(real(x), by), div(imag(x), by)))


def exp(a: Node) -> Node:
    return node(Op.EXP, (a,))


def sqrt(a: Node) -> Node:
    return node(Op.SQRT, (a,))


def where(c: Node, a: Node, b: Node) -> Node:
    return shaped(Op.WHERE, (c, a, b), None, a.dtype, a.shape)


def negated(c: Node) -> Node:
    return node(Op.XOR, (c, full(True, dt.bool_, c.shape)))


def like(value: complex, x: Node) -> Node:
    return full(value, x.dtype, x.shape)


def scaled(x: Node, factor: float) -> Node:
    return x if factor == 1 else mul(x, like(factor, x))


def one_minus_square(x: Node) -> Node:
    """1 - x^2, accurate near 1."""
    return mul(sub(like(1, x), x), add(like(1, x), x))
