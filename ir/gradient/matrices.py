"""Matrices in Nodes, for the derivatives of routines. In: stacks of matrices with the same batch
axes. Out: Nodes.

Names are those of formulas: h(x) is the conjugate transpose, x @ y is `product(x, y)`.
"""

from __future__ import annotations

from ..graph.dtype import DType
from ..graph.graph import Node, expand, full, node, permute, reduce, zeros_like
from ..graph.op import Op
from ..graph.region import results_of
from ..graph.routine import Param, Routine
from ..ops.nodes import add, conj, eq, lifted, like, lt, mul, negated, scaled, sub, where
from ..ops.routines import RECORDS


def transposed(x: Node) -> Node:
    """With its last two axes exchanged."""
    return permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def h(x: Node) -> Node:
    """The conjugate transpose."""
    return conj(transposed(x))


def product(x: Node, y: Node) -> Node:
    """x @ y, (.., m, k) by (.., k, n): as all sums of products, a sum along the last axis."""
    last = x.ndim
    rows = expand(x, ((last - 1, y.shape[-1]),))
    columns = expand(transposed(y), ((last - 2, x.shape[-2]),))
    return reduce("add", mul(rows, columns), (last,))


def products(*factors: Node) -> Node:
    """The product of several, from the left."""
    out = factors[0]
    for x in factors[1:]:
        out = product(out, x)
    return out


def hermitian(x: Node) -> Node:
    """(x + h(x)) / 2."""
    return scaled(add(x, h(x)), 0.5)


def skew(x: Node) -> Node:
    """x - h(x)."""
    return sub(x, h(x))


def as_rows(v: Node, m: int) -> Node:
    """Vectors (.., n), each repeated as m rows."""
    return expand(v, ((v.ndim - 1, m),))


def as_columns(v: Node, n: int) -> Node:
    """Vectors (.., m), each repeated as n columns."""
    return expand(v, ((v.ndim, n),))


def spread(v: Node, m: int, n: int) -> Node:
    """A number for each matrix, at all m by n places."""
    return expand(v, ((v.ndim, m), (v.ndim + 1, n)))


def columns_times(x: Node, v: Node) -> Node:
    """x @ diag(v)."""
    return mul(x, lifted(as_rows(v, x.shape[-2]), x))


def rows_times(v: Node, x: Node) -> Node:
    """diag(v) @ x."""
    return mul(lifted(as_columns(v, x.shape[-1]), x), x)


def _places(x: Node) -> tuple[Node, Node]:
    """The numbers of rows and columns."""
    *batch, m, n = x.shape
    axes = list(enumerate(batch))
    rows = expand(node(Op.IOTA, (), m), (*axes, (x.ndim - 1, n)))
    columns = expand(node(Op.IOTA, (), n), (*axes, (x.ndim - 2, m)))
    return rows, columns


def on_diagonal(x: Node) -> Node:
    """Bools: where the diagonal of a matrix is."""
    return eq(*_places(x))


def lower(x: Node, strictly: bool = False) -> Node:
    """Its lower triangle, without the diagonal if strictly."""
    rows, columns = _places(x)
    keep = lt(columns, rows) if strictly else negated(lt(rows, columns))
    return where(keep, x, zeros_like(x))


def upper(x: Node, strictly: bool = False) -> Node:
    """Its upper triangle."""
    rows, columns = _places(x)
    keep = lt(rows, columns) if strictly else negated(lt(columns, rows))
    return where(keep, x, zeros_like(x))


def off_diagonal(x: Node) -> Node:
    """With zeros on the diagonal."""
    return where(on_diagonal(x), zeros_like(x), x)


def diagonal_of(x: Node) -> Node:
    """The diagonal of square matrices, as vectors."""
    return reduce("add", where(on_diagonal(x), x, zeros_like(x)), (x.ndim - 1,))


def diagonal(v: Node) -> Node:
    """diag(v)."""
    whole = as_rows(v, v.shape[-1])
    return where(on_diagonal(whole), whole, zeros_like(whole))


def differences(v: Node) -> Node:
    """v[j] - v[i] at (i, j), but 1 on the diagonal."""
    n = v.shape[-1]
    gaps = sub(as_rows(v, n), as_columns(v, n))
    return where(on_diagonal(gaps), like(1, gaps), gaps)


def sums(v: Node) -> Node:
    """v[j] + v[i] at (i, j)."""
    n = v.shape[-1]
    return add(as_rows(v, n), as_columns(v, n))


# ---------------------------------------------------------------- routines


def routine(
    name: str, src: tuple[Node, ...], params: tuple[Param, ...], *shapes: tuple[int, ...]
) -> list[Node]:
    """The results of a routine, whose matrices or vectors have these shapes behind the batch axes,
    in the dtype of the first source, or of its parts."""
    x = src[0]
    real = RECORDS[name].real
    dtypes = [x.dtype.part if k in real else x.dtype for k in range(len(shapes))]
    specs = tuple([(d, (*x.shape[:-2], *s)) for d, s in zip(dtypes, shapes, strict=True)])
    return results_of(Op.ROUTINE, Routine(name, params, specs), src)


def complex_routine(name: str, x: Node, *shapes: tuple[int, ...]) -> list[Node]:
    """The results of a routine that are complex numbers whatever the matrices are."""
    specs = tuple([(x.dtype.as_complex, (*x.shape[:-2], *s)) for s in shapes])
    return results_of(Op.ROUTINE, Routine(name, (), specs), (x,))


def solved(a: Node, b: Node) -> Node:
    """The x with a @ x = b."""
    return routine("solve", (a, b), (), b.shape[-2:])[0]


def solved_triangle(a: Node, b: Node, is_upper: bool, unit: bool = False) -> Node:
    """The same for a triangle of a."""
    return routine("solve_triangular", (a, b), (is_upper, unit), b.shape[-2:])[0]


def inverse(a: Node) -> Node:
    """That of square matrices."""
    return routine("inv", (a,), (), a.shape[-2:])[0]


def identity(batch: tuple[int, ...], n: int, dtype: DType) -> Node:
    """A stack of identities."""
    zeros = full(0, dtype, (*batch, n, n))
    return where(on_diagonal(zeros), like(1, zeros), zeros)
