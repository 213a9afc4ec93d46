"""Products and distances of vectors. In: Nodes and Python numbers. Out: Nodes."""

from __future__ import annotations

from ... import errors
from ...ir.graph import graph
from ...ir.graph.graph import Node, reshape
from ...ir.graph.shapes import addressable
from ..elementwise.all import as_float, mul, sub
from ..operands.arguments import as_count, as_nonnegative, normalise_axis
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import Operand, broadcast_to
from ..operands.in_float32 import in_float32
from .cumulative import cumprod, norm
from .movement import concat, flip, unsqueeze
from .products import alike
from .rearrange import roll


@in_float32
def cross(a: Operand, b: Operand, axis: int = -1) -> Node:
    """The cross product of vectors of three elements along an axis; the other axes broadcast.
    Raises ShapeError."""
    x, y = alike("cross", a, b)
    for v in (x, y):
        if v.shape[normalise_axis("cross", axis, v.ndim)] != 3:
            raise errors.ShapeError(
                f"cross: vectors have three elements along axis {axis}, not shape {v.shape}"
            )
    return roll(sub(mul(x, roll(y, -1, axis)), mul(roll(x, -1, axis), y)), -1, axis)


def kron(a: Operand, b: Operand) -> Node:
    """The Kronecker product: each element of a, replaced by its product with b. Missing axes in
    front count as 1."""
    x, y = alike("kron", a, b)
    ndim = max(x.ndim, y.ndim)
    left, right = ((1,) * (ndim - v.ndim) + v.shape for v in (x, y))
    addressable("kron", out := tuple(m * n for m, n in zip(left, right, strict=True)))
    tall = reshape(x, tuple(d for m in left for d in (m, 1)))
    return reshape(mul(tall, reshape(y, tuple(d for n in right for d in (1, n)))), out)


@runs_in_float32
@in_float32
def cdist(a: Node, b: Node, p: float = 2.0) -> Node:
    """The distance of each row of a (.., n, k) to each row of b (.., m, k): shape (.., n, m), the
    leading axes broadcast.

    sum(|x - y| ** p) ** (1 / p): p = 2 by Euclid, 1 the sum, wf.inf the greatest difference, 0 how
    many differ. Differences are taken before they are squared, so that near rows lose nothing. The
    gradient of a distance 0 is 0. Raises ShapeError, ArgumentError for a negative p.

    >>> wf.cdist(wf.tensor([[0.0, 0.0]]), wf.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0, 1.0]]
    """
    order = as_nonnegative("cdist", "p", p)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        raise errors.ShapeError(
            f"cdist: expected shapes (.., n, k) and (.., m, k), got {a.shape} and {b.shape}"
        )
    return norm(sub(unsqueeze(as_float(a), -2), unsqueeze(as_float(b), -3)), order, -1)


def vander(x: Node, /, N: int | None = None, increasing: bool = False) -> Node:
    """The powers of each element of a vector: columns x**(N-1) .. x, 1, or the other way round if
    increasing. N: x.size.

    Raises ShapeError unless x is 1-d.
    """
    if x.ndim != 1:
        raise errors.ShapeError(f"vander: expected a vector, got shape {x.shape}")
    columns = x.size if N is None else as_count("vander", "N", N)
    addressable("vander", (x.size, columns))
    factors = broadcast_to(unsqueeze(x, 1), (x.size, max(columns - 1, 0)))
    ones = graph.full(1, x.dtype, (x.size, min(columns, 1)))
    powers = cumprod(concat([ones, factors], 1), 1)
    return powers if increasing else flip(powers, 1)
