"""Fourier transforms as kernels. In: a Graph without complex dtypes. Out: the same, where routines
whose lengths have small factors are FFTs.

before    routine(fft) of float32[256, 1024, 2]
after     fft(x, axis 1)

A long line, or one of few, is a matrix of n1 x n2 elements: transforms of its columns, whose
elements are then turned, and of its rows (W. Gentleman and G. Sande, "Fast Fourier transforms: for
fun and profit", 1966). A line of real numbers is one of half as many complex ones.

    x[j1*n2 + j2] -> fft over j1 -> [k1, j2] -> [j2, k1], times exp(-2 pi i j2 k1 / n) -> fft over
    j2 -> [k2, k1], which is element k2*n1 + k1

What is gained: threads share a single line, and the kernels load what maps before them compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, pi, prod
from typing import NamedTuple

from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node, cast, expand, node, permute, rebuild, reshape, toposort
from ..graph.op import Op
from ..graph.shapes import Shape
from ..ops.join import join
from ..ops.nodes import add, like, lt, mul, neg, scaled, sub, where
from ..ops.pairs import PARTS, parts_of, side_by_side

ODD = (3, 5, 7)
LONGEST = 1024  # of a line in private memory: two arrays of eight lanes are 128 KB
FEW = 4  # lines that leave no more than half of the lanes idle
SHORT = 16  # elements of a line that is never cut
MOST = {dt.float32: 1 << 24, dt.float64: 1 << 50}  # whole numbers up to these are floats, exactly


def radices(n: int) -> list[int]:
    """Factors of n, the powers of two first, of which none is above 16; empty where there would be
    large ones."""
    twos = (n & -n).bit_length() - 1
    n >>= twos
    steps = max(-(-twos // 4), min(twos // 2, 2))
    out = [1 << (twos + k) // steps for k in reversed(range(steps))] if twos else []
    for r in ODD:
        while n % r == 0:
            out.append(r)
            n //= r
    return out if n == 1 else []


def transforms_as_kernels(roots: Sequence[Node]) -> list[Node]:
    """The roots of the Graph that computes the same."""
    made: dict[Node, Node] = {}
    for n in toposort(roots):
        src = tuple([made[s] for s in n.src])
        made[n] = _made(n, src)
    return [made[r] for r in roots]


def has_transforms(roots: Sequence[Node]) -> bool:
    """Is some of them there that may become a kernel?"""
    return any(_rule(n) is not None for n in toposort(roots))


def _rule(n: Node) -> Callable[[Node, Node], Node] | None:
    return RULES.get(n.arg[0].name) if n.op is Op.ROUTINE else None


def _made(n: Node, src: tuple[Node, ...]) -> Node:
    rule = _rule(n)
    return rebuild(n, src) if rule is None else rule(n, src[0])


# ---------------------------------------------------------------- complex numbers


def _fft(n: Node, x: Node) -> Node:
    """Over the axes one after the other."""
    _, forward, *axes = n.arg[0].params
    places = [x.ndim - 1 + int(a) for a in axes]
    if not all(_is_smooth(x.shape[a], x.dtype) for a in places):
        return rebuild(n, (x,))
    for axis in places:
        x = _along(x, axis, bool(forward))
    return x


def _is_smooth(n: int, dtype: DType) -> bool:
    return n == 1 or (n <= MOST[dtype] and bool(radices(n)))


def _along(x: Node, axis: int, forward: bool) -> Node:
    """One axis; those before it, and those behind it, are one each, or none."""
    n = x.shape[axis]
    if n == 1:
        return x
    before, behind = (_extents(s) for s in (x.shape[:axis], x.shape[axis + 1 : -1]))
    at, lines = len(before), prod((*before, *behind))
    if n <= SHORT or (n <= LONGEST and lines >= FEW):
        rows = reshape(x, (*before, n, *behind, PARTS))
        return node(Op.FFT, (rows,), (at, forward, 0, x.shape))
    columns = _columns(n)
    matrix = reshape(x, (*before, n // columns, columns, *behind, PARTS))
    first = _along(matrix, at, forward)
    order = [*range(at), at + 1, at, *range(at + 2, matrix.ndim)]
    return node(Op.FFT, (permute(first, tuple(order)),), (at, forward, n, x.shape))


def _extents(shape: Shape) -> tuple[int, ...]:
    """As one axis; none of one element."""
    size = prod(shape)
    return (size,) if size != 1 else ()


def _columns(n: int) -> int:
    """The divisor of n next to its root that is no line to be cut again. There is one: the factors
    of n are small."""
    return max(d for d in range(1, min(isqrt(n), LONGEST) + 1) if n % d == 0)


# ---------------------------------------------------------------- real numbers


def _rfft(n: Node, x: Node) -> Node:
    """Of the complex numbers z[j] = x[2 j] + i x[2 j + 1], whose transform is that of the elements
    of even places plus i times that of the others; each is that of real numbers."""
    _, length, axis = n.arg[0].params
    at = x.ndim + int(axis)
    if not _is_halved(int(length), x.dtype):
        return rebuild(n, (x,))
    half, (before, behind) = int(length) // 2, (prod(x.shape[:at]), prod(x.shape[at + 1 :]))
    rows = permute(reshape(x, (before, half, PARTS, behind)), (0, 1, 3, 2))
    z = _along(rows, 1, True)
    z = join([(0, z), (half, _first(z, 1))], 1, half + 1)
    a, b = parts(z), conj(parts(_backwards(z)))
    even, odd = times(plus(a, b), 0.5), times(minus(a, b), 0.5)
    cosine, sine = _factors(half + 1, int(length), odd.re)
    out = plus(even, product(odd, Parts(neg(sine), neg(cosine))))
    return reshape(side_by_side(*out), n.shape)


def _irfft(n: Node, x: Node) -> Node:
    """Back on the same way. The first and the last number count as real."""
    _, length, axis = n.arg[0].params
    at, dtype = x.ndim - 1 + int(axis), x.dtype
    if not _is_halved(int(length), dtype):
        return rebuild(n, (x,))
    half, (before, behind) = int(length) // 2, (prod(x.shape[:at]), prod(x.shape[at + 1 : -1]))
    z = parts(reshape(x, (before, half + 1, behind, PARTS)))
    k = expand(node(Op.IOTA, (), half + 1), ((0, before), (2, behind)))
    inner = node(Op.AND, (lt(like(0, k), k), lt(k, like(half, k))))
    z = Parts(z.re, where(inner, z.im, like(0.0, z.im)))
    a, b = (Parts(*(_first(f(v), half) for v in z)) for f in (lambda v: v, _backwards))
    even, odd = plus(a, conj(b)), minus(a, conj(b))
    cosine, sine = _factors(half, int(length), odd.re)
    out = _along(side_by_side(*plus(even, product(odd, Parts(neg(sine), cosine)))), 1, False)
    return reshape(permute(out, (0, 1, 3, 2)), n.shape)


def _is_halved(n: int, dtype: DType) -> bool:
    return n % 2 == 0 and _is_smooth(n // 2, dtype)


def _first(x: Node, count: int) -> Node:
    """So many elements along the axis of lines."""
    cut = [(0, count if a == 1 else d, 1) for a, d in enumerate(x.shape)]
    return node(Op.SLICE, (x,), tuple(cut))


def _backwards(x: Node) -> Node:
    return node(Op.FLIP, (x,), (1,))


def _factors(count: int, n: int, to: Node) -> tuple[Node, Node]:
    """cos and sin of 2 pi k / n for k < count along the axis of lines of `to`."""
    k = cast(node(Op.IOTA, (), count), dt.float64)
    angle = scaled(k, 2 * pi / n)
    tables = [cast(node(Op.SIN, (angle,), turns), to.dtype) for turns in (1, 0)]
    axes = ((0, to.shape[0]), (2, to.shape[2]))
    cosine, sine = (expand(node(Op.KEEP, (t,)), axes) for t in tables)
    return cosine, sine


# ---------------------------------------------------------------- pairs by their parts


class Parts(NamedTuple):
    """Complex values."""

    re: Node
    im: Node


def parts(x: Node) -> Parts:
    """Those along the last axis."""
    return Parts(*parts_of(x))


def conj(x: Parts) -> Parts:
    return Parts(x.re, neg(x.im))


def plus(x: Parts, y: Parts) -> Parts:
    return Parts(add(x.re, y.re), add(x.im, y.im))


def minus(x: Parts, y: Parts) -> Parts:
    return Parts(sub(x.re, y.re), sub(x.im, y.im))


def times(x: Parts, factor: float) -> Parts:
    return Parts(scaled(x.re, factor), scaled(x.im, factor))


def product(x: Parts, y: Parts) -> Parts:
    """x * y."""
    return Parts(sub(mul(x.re, y.re), mul(x.im, y.im)), add(mul(x.re, y.im), mul(x.im, y.re)))


RULES: dict[str, Callable[[Node, Node], Node]] = {"fft": _fft, "rfft": _rfft, "irfft": _irfft}
