"""Systems of linear equations, inverses, determinants. In: Nodes (.., m, n). Out: Nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, full, reshape
from ..elementwise.all import absolute, gt, mul, sub
from ..functions import reductions
from ..functions.movement import squeeze, swapaxes, unsqueeze
from ..functions.products import alike, matmul
from ..operands.arguments import as_bool, as_double
from ..operands.broadcast import Operand, as_node, broadcast_shape, broadcast_to, to_dtype
from .calls import call, matrices, of_floats, one_batch, square
from .factorisations import svdvals


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


class LstsqResult(NamedTuple):
    """The solution (.., n, k), sums of squared residuals (.., k), rank and singular values of the
    matrix."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@of_floats
def solve(x1: Node, x2: Node, /) -> Node:
    """The x with x1 @ x = x2, of square matrices x1 (.., n, n). x2 is a vector if it has one axis,
    (n,), else matrices (.., n, k); batch axes broadcast.

    Raises ShapeError; when it is computed LinAlgError for a singular matrix.

    >>> wf.linalg.solve(wf.tensor([[2.0, 0.0], [0.0, 4.0]]), wf.tensor([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return _solved("solve", x1, x2)


@of_floats
def solve_triangular(
    a: Node, b: Node, /, *, upper: bool, unit_diagonal: bool = False, left: bool = True
) -> Node:
    """The x with a @ x = b, or x @ a = b unless left, of a triangle of a (.., n, n): the upper or
    the lower one, with unit_diagonal as if its diagonal were ones. The rest of a is not read.

    b is a vector if it has one axis. Raises ShapeError; when it is computed LinAlgError where the
    diagonal has a zero.
    """
    name = "solve_triangular"
    is_upper, unit = as_bool(name, "upper", upper), as_bool(name, "unit_diagonal", unit_diagonal)
    if as_bool(name, "left", left) or b.ndim == 1:
        a = a if left else _turned(name, a)
        return _solved(name, a, b, is_upper is bool(left), unit)
    turned = _turned(name, matrices(name, b))
    return _turned(name, _solved(name, _turned(name, a), turned, not is_upper, unit))


def _turned(name: str, x: Node) -> Node:
    return swapaxes(matrices(name, x), -1, -2)


def _solved(name: str, a: Node, b: Node, *params: bool) -> Node:
    a, b = alike(name, a, b)
    n = square(name, a).shape[-1]
    is_vector = b.ndim == 1
    columns = unsqueeze(b, 1) if is_vector else b
    if not b.ndim or columns.shape[-2] != n:
        raise errors.ShapeError(f"{name}: shapes {a.shape} and {b.shape} do not fit")
    a, columns = one_batch(name, [a, columns])
    (x,) = call(name, [a, columns], [columns.shape[-2:]], *params)
    return squeeze(x, -1) if is_vector else x


@of_floats
def inv(x: Node, /) -> Node:
    """The inverse of square matrices (.., n, n). Raises ShapeError; when it is computed LinAlgError
    for a singular matrix."""
    return call("inv", [square("inv", x)], [x.shape[-2:]])[0]


@of_floats
def pinv(x: Node, /, *, rtol: Operand | None = None) -> Node:
    """The pseudo-inverse (.., n, m) of matrices (.., m, n), by Moore and Penrose. Singular values
    up to rtol times the greatest count as 0: a number, or one for each matrix; max(m, n) times
    the machine epsilon unless given.

    Its gradient is that of matrices whose rank stays. Raises ShapeError.
    """
    m, n = matrices("pinv", x).shape[-2:]
    limit = _tolerance("pinv", x, rtol)
    return call("pinv", [x, reshape(limit, (*limit.shape, 1, 1))], [(n, m)])[0]


def _tolerance(name: str, x: Node, rtol: Operand | None) -> Node:
    """One for each matrix. Raises ShapeError for more of them than there are matrices."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype.numpy).eps)
    dtype, batch = x.dtype.part, x.shape[:-2]
    limit = to_dtype(rtol, dtype) if isinstance(rtol, Node) else as_node(name, rtol, dtype)
    if broadcast_shape(name, [limit.shape, batch]) != batch:
        raise errors.ShapeError(f"{name}: rtol of shape {limit.shape} for a batch {batch}")
    return broadcast_to(limit, batch)


@of_floats
def matrix_rank(x: Node, /, *, rtol: Operand | None = None) -> Node:
    """How many singular values of each matrix are greater than rtol times the greatest, as int64.
    rtol as in `pinv`.

    >>> wf.linalg.matrix_rank(wf.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    return _rank("matrix_rank", svdvals(matrices("matrix_rank", x)), x, rtol)


def _rank(name: str, s: Node, x: Node, rtol: Operand | None) -> Node:
    if not s.shape[-1]:
        return full(0, dt.int64, s.shape[:-1])
    greatest = reductions.max(s, -1)
    limit = unsqueeze(mul(greatest, _tolerance(name, x, rtol)), -1)
    return reductions.sum(to_dtype(gt(s, limit), dt.int64), -1)


@of_floats
def lstsq(a: Node, b: Node, /, rcond: float | None = None) -> LstsqResult:
    """The x of least norm among those for which a @ x is nearest to b, for matrices a (.., m, n). b
    is a vector if it has one axis, (m,), else matrices (.., m, k); batch axes broadcast.

    Singular values up to rcond times the greatest count as 0 (as rtol in `pinv`). The residuals are
    computed for any rank. The gradient is that of matrices whose rank stays. Raises ShapeError.
    """
    a, b = alike("lstsq", a, b)
    is_vector = b.ndim == 1
    columns = unsqueeze(b, 1) if is_vector else b
    if not b.ndim or columns.shape[-2] != matrices("lstsq", a).shape[-2]:
        raise errors.ShapeError(f"lstsq: shapes {a.shape} and {b.shape} do not fit")
    rtol = None if rcond is None else as_double("lstsq", "rcond", rcond)
    x = matmul(pinv(a, rtol=rtol), columns)
    rest = sub(columns, matmul(a, x))
    sizes = absolute(rest)
    residuals = reductions.sum(mul(sizes, sizes), -2)
    s = svdvals(a)
    rank = _rank("lstsq", s, a, rtol)
    if is_vector:
        x, residuals = squeeze(x, -1), squeeze(residuals, -1)
    return LstsqResult(x, residuals, rank, s)


@of_floats
def det(x: Node, /) -> Node:
    """The determinants of square matrices (.., n, n). The first gradient is that of any matrix, by
    cofactors; further ones need matrices that are not singular. Raises ShapeError."""
    if not square("det", x).shape[-1]:
        return full(1, x.dtype, x.shape[:-2])
    return call("det", [x], [()])[0]


@of_floats
def slogdet(x: Node, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of determinants: 0 and -inf for singular matrices.

    Raises ShapeError; a gradient raises LinAlgError for singular matrices when it is computed.
    """
    if not square("slogdet", x).shape[-1]:
        batch = x.shape[:-2]
        return SlogdetResult(full(1, x.dtype, batch), full(0, x.dtype.part, batch))
    return SlogdetResult(*call("slogdet", [x], [(), ()]))
