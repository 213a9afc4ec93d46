"""The oracle: runs a Graph with NumPy, one op at a time. In: roots and the values of their INPUTs.
Out: arrays.

It defines the values of every op: each rounds to its own dtype, integers wrap, transcendentals of
float32 are computed in float64 and rounded once, float32 reductions accumulate in float64. 16-bit
floats are computed in float32 and rounded once; a sum adds up products and other sums before they
are rounded, also through views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node, indices_of, toposort
from ..graph.halves import TRANSPARENT, computes_half, is_sum
from ..graph.op import REGIONAL, Op
from ..graph.region import Loop, Shared, shared
from ..graph.routine import Routine
from . import systems, transforms
from .routines import RoutineFailed, called, first_refused
from .table import VALUES
from .values import Array, Evaluator, convert, in_float32, with_halves


def run(
    roots: Sequence[Node],
    leaves: Mapping[Node, Any],
    evaluators: Mapping[Op, Evaluator] | None = None,
) -> list[Array]:
    """The values of the roots; a value is dropped after its last use. Raises OutOfRange and
    BadPivot.

    `evaluators`: what each op means, if not EVALUATORS (ir/ops/strict.py has others).
    """
    uses = Counter(roots)
    order = toposort(roots)
    for n in order:
        uses.update(n.src)
    values: dict[Node, Array] = {}
    unrounded: dict[Node, Array] = {}  # of 16-bit products and sums, and of their views
    evaluators = evaluators or EVALUATORS
    results: dict[Shared, list[Array]] = {}  # of loops and branches
    body = partial(run, evaluators=evaluators)
    with np.errstate(all="ignore"):
        for n in order:
            operands = [values[s] for s in n.src]
            if n.op in REGIONAL:
                if shared(n) not in results:
                    results[shared(n)] = run_regions(n, operands, body)
                values[n] = results[shared(n)][n.arg[1]]
            else:
                values[n] = (
                    np.asarray(leaves[n])
                    if n.op is Op.INPUT
                    else _evaluate(n, operands, unrounded, evaluators)
                )
            _check_kind(n, values[n])
            for s in n.src:
                uses[s] -= 1
                if not uses[s]:
                    del values[s]
                    unrounded.pop(s, None)
    return [values[r] for r in roots]


def _evaluate(
    n: Node, operands: list[Array], unrounded: dict[Node, Array], evaluators: Mapping[Op, Evaluator]
) -> Array:
    evaluate = evaluators[n.op]
    if n.op in TRANSPARENT and n.src[0] in unrounded:
        unrounded[n] = evaluate(n, unrounded[n.src[0]])
    if computes_half(n) and (n.op is Op.MUL or is_sum(n)):
        if is_sum(n):
            operands = [unrounded.get(n.src[0], operands[0])]
        unrounded[n] = in_float32(n, evaluate, *operands)
        return convert(unrounded[n], n.dtype)
    return np.asarray(evaluate(n, *operands))


Body = Callable[[Sequence[Node], Mapping[Node, Array]], list[Array]]  # computes outputs of leaves


def run_regions(n: Node, operands: Sequence[Array], body: Body) -> list[Array]:
    """All results of the loop, branch or routine of which n is one."""
    spec = n.arg[0]
    if isinstance(spec, Routine):
        return _run_routine(n, spec, operands)
    if isinstance(spec, Loop):
        return _run_loop(spec, list(operands), body)
    chosen = spec.regions[min(max(int(operands[0]), 0), len(spec.regions) - 1)]
    return body(chosen.outputs, dict(zip(chosen.params, operands[1:], strict=True)))


def _run_routine(n: Node, routine: Routine, operands: Sequence[Array]) -> list[Array]:
    try:
        return list(called(routine, operands))
    except np.linalg.LinAlgError:
        raise RoutineFailed(n, first_refused(routine, operands)) from None


def _run_loop(loop: Loop, operands: list[Array], body: Body) -> list[Array]:
    first, last = loop.captured, loop.captured + loop.carries
    carries = operands[first:last]
    shapes = [(n.dtype.numpy, (loop.length or 0, *n.shape)) for n in loop.body.outputs]
    stacked = [np.zeros(shape, dtype) for dtype, shape in shapes[loop.carries :]]
    for t in count() if loop.length is None else range(loop.length):
        if loop.is_while and not carries[0]:
            break
        place = loop.length - 1 - t if loop.reverse and loop.length is not None else t
        given = [*operands[:first], *carries, *(x[place] for x in operands[last:])]
        try:
            values = body(loop.body.outputs, dict(zip(loop.body.params, given, strict=True)))
        except (OutOfRange, BadPivot, RoutineFailed) as found:
            found.iterations.insert(0, t)
            raise
        carries = values[: loop.carries]
        for whole, value in zip(stacked, values[loop.carries :], strict=True):
            whole[place] = value
    return [*carries, *stacked]


def _check_kind(n: Node, value: Array) -> None:
    if value.shape != n.shape or value.dtype != n.dtype.numpy:
        raise ValueError(f"{n!r} was given {value.dtype}{list(value.shape)}")


def _wide(dtype: DType) -> np.dtype[Any]:
    """The dtype in which sums of this dtype accumulate."""
    return np.dtype(np.float64) if dtype.is_float else dtype.numpy


def _reduce(n: Node, x: Array) -> Any:
    kind, axes = n.arg
    if kind == "max":
        return np.maximum.reduce(x, axis=axes, initial=dt.lowest(n.dtype))
    ufunc = np.add if kind == "add" else np.multiply
    return ufunc.reduce(x, axis=axes, dtype=_wide(n.dtype)).astype(n.dtype.numpy)


def _scan(n: Node, x: Array) -> Any:
    run = np.cumsum if n.op is Op.SCAN else np.cumprod
    return run(x, axis=n.arg, dtype=_wide(n.dtype)).astype(n.dtype.numpy)


def _argsort(n: Node, x: Array) -> Any:
    """NumPy's stable sort; a descending one is the ascending one of the reversed line, read from
    its end."""
    axis, descending = n.arg
    x = x.astype(np.float32) if x.dtype.kind == "V" else x
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backwards, axis)


def _pad(n: Node, x: Array) -> Array:
    out = np.zeros(n.shape, x.dtype)
    middle = tuple(
        slice(lo, lo + (d - 1) * (interior + 1) + 1 if d else lo, interior + 1)
        for d, (lo, _, interior) in zip(x.shape, n.arg, strict=True)
    )
    out[middle] = x
    return out


def _expand(n: Node, x: Array) -> Array:
    return np.broadcast_to(np.expand_dims(x, tuple(axis for axis, _ in n.arg)), n.shape)


def _diagonal(n: Node, j: int, extent: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """For one position j of axis k: the skewed place (o + j*d, j) and the straight one (o, j)."""
    axis, k, d = n.arg
    straight = [slice(None)] * n.ndim
    straight[k] = slice(j, j + 1)
    skewed = list(straight)
    skewed[axis] = slice(j * d, j * d + extent)
    return tuple(skewed), tuple(straight)


def _skew(n: Node, x: Array) -> Array:
    out = np.zeros(n.shape, x.dtype)
    for j in range(n.shape[n.arg[1]]):
        skewed, straight = _diagonal(n, j, n.shape[n.arg[0]])
        out[straight] = x[skewed]
    return out


def _unskew(n: Node, x: Array) -> Array:
    out = np.zeros(n.shape, x.dtype)
    for j in range(n.shape[n.arg[1]]):
        skewed, straight = _diagonal(n, j, x.shape[n.arg[0]])
        out[skewed] = x[straight]
    return out


class OutOfRange(IndexError):
    """An index of a GATHER or SCATTER: the number `which` of it, at this place in row-major
    order; in these iterations of loops."""

    def __init__(self, n: Node, which: int, position: int, value: int) -> None:
        _, axis, extent = indices_of(n)[which]
        super().__init__(f"index {value} is out of range for axis {axis} of extent {extent}")
        self.node, self.which, self.position, self.value = n, which, position, value
        self.iterations: list[int] = []  # outermost first


class BadPivot(ArithmeticError):
    """A system of a SOLVE or CHOLESKY, at this place in row-major order, whose pivot number `value`
    (from 1) is 0, or not positive; in these iterations of loops."""

    def __init__(self, n: Node, position: int, value: int) -> None:
        super().__init__(f"{n.op.value}: pivot {value} of system {position}")
        self.node, self.position, self.value = n, position, value
        self.iterations: list[int] = []  # outermost first


def _system(n: Node, *operands: Array) -> Array:
    if not n.size:
        return np.zeros(n.shape, n.dtype.numpy)
    stacks = [x.reshape(-1, *x.shape[-2:]) for x in operands]
    value, bad = (systems.solve if n.op is Op.SOLVE else systems.cholesky)(*stacks)
    wrong = np.flatnonzero(bad)
    if wrong.size:
        raise BadPivot(n, int(wrong[0]), int(bad[wrong[0]]))
    return value.reshape(n.shape)


def _check_range(
    n: Node, indices: Sequence[Array], axes: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    for which, (index, axis) in enumerate(zip(indices, axes, strict=True)):
        wrong = np.flatnonzero((index < 0) | (index >= shape[axis]))
        if wrong.size:
            place = int(wrong[0])
            raise OutOfRange(n, which, place, int(index.flat[place]))


def _gather(n: Node, x: Array, *indices: Array) -> Any:
    _check_range(n, indices, n.arg, x.shape)
    return np.moveaxis(x, n.arg, range(len(n.arg)))[indices]


def scatter(n: Node, values: Array, *indices: Array, sums: np.dtype[Any] | None = None) -> Any:
    """One update after the other; `sums`: the dtype in which they are added."""
    axes, shape, *kind = n.arg
    _check_range(n, indices, axes, shape)
    out = (
        np.full(shape, dt.lowest(n.dtype), n.dtype.numpy)
        if kind
        else np.zeros(shape, _wide(n.dtype) if sums is None else sums)
    )
    combine = np.maximum if kind else np.add
    combine.at(np.moveaxis(out, axes, range(len(axes))), indices, values)
    return out.astype(n.dtype.numpy)


def _put(n: Node, x: Array, value: Array, *indices: Array) -> Array:
    _check_range(n, indices, n.arg, x.shape)
    out = np.array(x)
    np.moveaxis(out, n.arg, range(len(n.arg)))[tuple(int(i) for i in indices)] = value
    return out


EVALUATORS: dict[Op, Evaluator] = {
    **VALUES,
    Op.CONST: lambda n: np.asarray(n.arg, n.dtype.numpy),
    Op.IOTA: lambda n: np.arange(n.arg, dtype=np.int64),
    Op.REDUCE: with_halves(_reduce),
    Op.SCAN: with_halves(_scan),
    Op.SCANMUL: with_halves(_scan),
    Op.ARGSORT: _argsort,
    Op.SOLVE: _system,
    Op.CHOLESKY: _system,
    Op.FFT: lambda n, x: transforms.fft(x, *n.arg),
    Op.RESHAPE: lambda n, x: x.reshape(n.arg),
    Op.PERMUTE: lambda n, x: x.transpose(n.arg),
    Op.FLIP: lambda n, x: np.flip(x, n.arg),
    Op.SLICE: lambda n, x: x[tuple(slice(*a) for a in n.arg)],
    Op.PAD: _pad,
    Op.EXPAND: _expand,
    Op.SKEW: _skew,
    Op.UNSKEW: _unskew,
    Op.GATHER: _gather,
    Op.SCATTER: with_halves(scatter),
    Op.PUT: _put,
    Op.DETACH: lambda _, x: x,
    Op.KEEP: lambda _, x, *after: x,
    Op.COPY: lambda _, x: x,
    Op.HOST: lambda n, *src: n.arg[0].function(*src)[n.arg[1]],
    Op.CUSTOM_VJP: lambda n, *src: src[n.arg[1]],
}
