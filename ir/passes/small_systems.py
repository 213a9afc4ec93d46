"""Batches of small systems of equations as kernels of our own. In: a Graph. Out: the same, in which
no library is called for such.

before    routine inv (a)               of float32[4096, 8, 8]
after     solve(a, identity)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..gradient.matrices import identity, lower, on_diagonal, upper
from ..graph.graph import Node, node, toposort
from ..graph.op import Op
from ..graph.rewrite import mapped
from ..graph.routine import Param
from ..ops.nodes import like, where
from ..ops.small_systems import is_small

Made = Callable[[Sequence[Node], Sequence[Param]], Node]


def has_small_systems(roots: Sequence[Node]) -> bool:
    """Is a routine small?"""
    return any(map(_is_small, toposort(roots)))


def small_systems(roots: Sequence[Node]) -> list[Node]:
    """SOLVE and CHOLESKY for the routines that are small."""

    def changed(_: Node, n: Node) -> Node:
        return _MADE[n.arg[0].name](n.src, n.arg[0].params) if _is_small(n) else n

    return mapped(roots, toposort(roots), changed)


def _is_small(n: Node) -> bool:
    return n.op is Op.ROUTINE and is_small(n.arg[0], n.src)


def _solve(src: Sequence[Node], _: Sequence[Param]) -> Node:
    return node(Op.SOLVE, src)


def _inv(src: Sequence[Node], _: Sequence[Param]) -> Node:
    (a,) = src
    return node(Op.SOLVE, (a, identity(a.shape[:-2], a.shape[-1], a.dtype)), "inv")


def _cholesky(src: Sequence[Node], _: Sequence[Param]) -> Node:
    return node(Op.CHOLESKY, src)


def _solve_triangular(src: Sequence[Node], params: Sequence[Param]) -> Node:
    a, b = src
    is_upper, is_unit = params
    triangle = (upper if is_upper else lower)(a)
    if is_unit:
        triangle = where(on_diagonal(a), like(1, a), triangle)
    return node(Op.SOLVE, (triangle, b), "solve_triangular")


_MADE: dict[str, Made] = {
    "solve": _solve,
    "inv": _inv,
    "cholesky": _cholesky,
    "solve_triangular": _solve_triangular,
}
