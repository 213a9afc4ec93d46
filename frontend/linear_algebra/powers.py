"""Powers, exponentials and chains of products of matrices. In: Nodes. Out: Nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import errors
from ...ir.gradient.matrices import identity
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, expand_to, node
from ...ir.graph.op import Op
from ...ir.graph.region import unnumbered
from ...ir.regions.body import Carry, OpenLoop
from ..elementwise.all import absolute, add, ceil, clip, div, lt, mul, sub, where
from ..elementwise.transcendental import exp2, log2
from ..functions import reductions
from ..functions.movement import unsqueeze
from ..functions.products import matmul
from ..operands.arguments import as_int
from ..operands.broadcast import broadcast_to, to_dtype
from .calls import of_floats, square
from .equations import inv, solve

MOST_SQUARINGS = 64  # of an exponential


@of_floats
def matrix_power(x: Node, n: int, /) -> Node:
    """Square matrices (.., m, m) multiplied by themselves, by squaring: x @ x for n = 2, the
    identity for 0, powers of the inverse for a negative n. Raises ShapeError, DTypeError."""
    left = as_int("matrix_power", "n", n)
    if not left:
        return identity(square("matrix_power", x).shape[:-2], x.shape[-1], x.dtype)
    base = inv(x) if left < 0 else square("matrix_power", x)
    left, out = abs(left), None
    while True:
        if left & 1:
            out = base if out is None else matmul(out, base)
        left >>= 1
        if not left:
            assert out is not None
            return out
        base = matmul(base, base)


# ---------------------------------------------------------------- exponential


class _Pade(NamedTuple):
    """The coefficients of a diagonal approximant, and the norm up to which it is exact to rounding:
    N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005, table
    2.3; for float32, whose norm is that of MATLAB's expm for single precision, fewer terms do."""

    terms: tuple[float, ...]
    norm: float


_DOUBLE = _Pade(
    (
        64764752532480000.0,
        32382376266240000.0,
        7771770303897600.0,
        1187353796428800.0,
        129060195264000.0,
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
    5.371920351148152,
)
_SINGLE = _Pade(
    (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0), 3.925724783138660
)


@of_floats
def expm(x: Node, /) -> Node:
    """The exponential of square matrices (.., n, n), by scaling, a Pade approximant and squaring
    (N. Higham, 2005). Each matrix of a batch has a scale of its own.

    Up to a 1-norm of about 1e20. Raises ShapeError.

    >>> wf.linalg.expm(wf.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    square("expm", x)
    if not x.size:
        return x
    pade = _DOUBLE if x.dtype.part is dt.float64 else _SINGLE
    norm = reductions.max(reductions.sum(absolute(x), -2), -1)
    times = clip(ceil(log2(div(norm, pade.norm))), 0, MOST_SQUARINGS)
    times = node(Op.DETACH, (times,))
    small = mul(x, _for_matrices(exp2(mul(times, -1.0)), x))
    return _squared(_approximant(small, pade.terms), times)


def _for_matrices(v: Node, x: Node) -> Node:
    return broadcast_to(unsqueeze(v, (-2, -1)), x.shape)


def _approximant(x: Node, terms: Sequence[float]) -> Node:
    """(v - u)**-1 (v + u), of the odd terms u and the even ones v."""
    powers = [identity(x.shape[:-2], x.shape[-1], x.dtype), matmul(x, x)]
    while len(powers) < (len(terms) + 1) // 2:
        powers.append(matmul(powers[-1], powers[1]))
    u = matmul(x, _sum(terms[1::2], powers))
    v = _sum(terms[::2], powers)
    return solve(sub(v, u), add(v, u))


def _sum(terms: Sequence[float], powers: Sequence[Node]) -> Node:
    out = mul(powers[0], terms[0])
    for term, power in zip(terms[1:], powers[1:], strict=False):
        out = add(out, mul(power, term))
    return out


def _squared(x: Node, times: Node) -> Node:
    """Each matrix squared so many times, in a loop that ends with the last of them."""
    done = unnumbered(dt.int64, ())
    again = unnumbered(dt.bool_, ())
    value = unnumbered(x.dtype, x.shape)
    most = unnumbered(dt.int64, ())
    counts = unnumbered(times.dtype, times.shape)
    next_done = add(done, const(1, dt.int64))
    waits = lt(to_dtype(expand_to(done, times.shape), times.dtype), counts)
    next_value = where(_for_matrices(waits, x), matmul(value, value), value)
    greatest = to_dtype(reductions.max(times), dt.int64)
    made = OpenLoop(
        [
            Carry(again, lt(const(0, dt.int64), greatest), lt(next_done, most)),
            Carry(done, const(0, dt.int64), next_done),
            Carry(value, x, next_value),
            Carry(most, greatest, most),
            Carry(counts, times, counts),
        ],
        length=MOST_SQUARINGS,
        is_while=True,
    ).close()
    return made[2]


# ---------------------------------------------------------------- chains of products


@of_floats
def multi_dot(arrays: Sequence[Node], /) -> Node:
    """The product of two or more matrices in the order that takes the fewest operations. The first
    and the last may be vectors. Raises ShapeError.

    >>> x = wf.ones(2, 100)
    >>> wf.linalg.multi_dot([x, wf.ones(100, 3), wf.ones(3)]).tolist()
    [300.0, 300.0]
    """
    if len(arrays) < 2:
        raise errors.ShapeError(f"multi_dot: expected two matrices or more, not {len(arrays)}")
    if any(a.ndim != 2 for a in arrays[1:-1]) or {arrays[0].ndim, arrays[-1].ndim} - {1, 2}:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise errors.ShapeError(f"multi_dot: expected matrices, got shapes {shapes}")
    rows = [1 if a.ndim == 1 and i == 0 else a.shape[0] for i, a in enumerate(arrays)]
    last = arrays[-1]
    return _chained(
        arrays, _splits([*rows, 1 if last.ndim == 1 else last.shape[1]]), 0, len(rows) - 1
    )


def _splits(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to cut the product of matrices i to j, of so many rows each, then the columns of the
    last: T. Cormen et al., "Introduction to Algorithms", matrix-chain multiplication."""
    count = len(extents) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs[i, j], cuts[i, j] = min(
                (costs[i, k] + costs[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            )
    return cuts


def _chained(arrays: Sequence[Node], cuts: dict[tuple[int, int], int], i: int, j: int) -> Node:
    if i == j:
        return arrays[i]
    k = cuts[i, j]
    return matmul(_chained(arrays, cuts, i, k), _chained(arrays, cuts, k + 1, j))
