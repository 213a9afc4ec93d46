"""Routines of NumPy's LAPACK and pocketfft, by name. In: arrays with leading batch axes. Out:
arrays, or why there are none.

This is the one place that says what a routine computes: the interpreter calls it, and so do
programs (runtime/routines.py). Every source is a stack of matrices, or of arrays to transform, and
all have the same batch axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.graph import Node
from ..graph.routine import Routine
from ..graph.shapes import Shape

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Record:
    """What a routine is.

    `function` takes the source arrays, then the params, and returns a tuple of arrays. `failure`:
    what is wrong with a matrix that it refuses. `flops`: about how many operations one matrix takes
    (m rows, n columns, k columns of the last source), by G. Golub and C. Van Loan, "Matrix
    Computations"; None for a transform. `real`: the results that are real numbers for complex
    matrices, too.
    """

    function: Callable[..., tuple[Array, ...]]
    failure: str = ""
    flops: Callable[[int, int, int], float] | None = None
    real: tuple[int, ...] = ()

    @property
    def library(self) -> str:
        """Who computes it."""
        return f"{'pocketfft' if self.flops is None else 'LAPACK'}, by NumPy"


class RoutineFailed(ValueError):
    """A routine refused the matrix at this place of its batch, counted in row-major order; in these
    iterations of loops."""

    def __init__(self, node: Any, position: int) -> None:
        super().__init__(refusal(node.arg[0].name, batch_in(node), position))
        self.node, self.position = node, position
        self.iterations: list[int] = []  # outermost first


def is_transform(routine: Routine) -> bool:
    """Is it a Fourier transform? Its first parameter says how many axes are no batch."""
    return RECORDS[routine.name].flops is None


def core_of(routine: Routine) -> int:
    """How many last axes are no batch."""
    return int(routine.params[0]) if is_transform(routine) else 2


def batch_of(routine: Routine, shape: Shape) -> Shape:
    """The batch axes of the first source."""
    return shape[: len(shape) - core_of(routine)]


def batch_in(n: Node) -> Shape:
    """Those of the first source of a routine."""
    routine: Routine = n.arg[0]
    return batch_of(routine, routine.whole_source(0, n.src[0].shape))


def called(routine: Routine, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The results. Raises numpy.linalg.LinAlgError."""
    if routine.pairs:
        made = called(routine.whole, _wholes(routine, arrays))
        return tuple([_pairs(r, d.numpy) for r, (d, _) in zip(made, routine.specs, strict=True)])
    results = RECORDS[routine.name].function(*arrays, *routine.params)
    return tuple([np.asarray(r, d.numpy) for r, (d, _) in zip(results, routine.specs, strict=True)])


def _wholes(routine: Routine, arrays: Sequence[Array]) -> list[Array]:
    """Complex numbers of those sources that are pairs."""
    pairs = zip(arrays, routine.pairs, strict=False)
    return [a[..., 0] + 1j * a[..., 1] if pair else a for a, pair in pairs]


def _pairs(result: Array, dtype: Any) -> Array:
    whole = np.ascontiguousarray(result)
    return whole.view(dtype).reshape(*result.shape, 2) if result.dtype.kind == "c" else whole


def first_refused(routine: Routine, arrays: Sequence[Array]) -> int:
    """The place in the batch of the first matrix that the routine refuses, after it has refused the
    whole."""
    run = RECORDS[routine.name].function
    for position, index in enumerate(np.ndindex(arrays[0].shape[:-2])):
        try:
            run(*(a[index] for a in arrays), *routine.params)
        except np.linalg.LinAlgError:
            return position
    return 0


def refusal(name: str, batch: Sequence[int], position: int) -> str:
    """`cholesky: matrix (3, 1) of the batch is not positive definite`."""
    place = tuple(map(int, np.unravel_index(position, tuple(batch)))) if batch else ()
    index = place[0] if len(place) == 1 else place
    which = f"matrix {index} of the batch" if batch else "the matrix"
    return f"{name}: {which} {RECORDS[name].failure}"


def flops(routine: Routine, shapes: Sequence[Shape]) -> int:
    """About how many operations a call takes."""
    first, last = (routine.whole_source(i, shapes[i]) for i in (0, len(shapes) - 1))
    of_one = RECORDS[routine.name].flops
    if of_one is None:
        return _transform_flops(first, routine.params)
    *batch, m, n = first
    of_complex = 4 if any(routine.pairs) else 1
    return int(np.prod(batch, dtype=float) * of_one(m, n, last[-1]) * of_complex)


# ---------------------------------------------------------------- parts of a batch

# extents up to which matrices side by side, each computed by one thread, take less time than one
# after the other, each shared out by LAPACK
SIDE_BY_SIDE = 1024
CALL, OPERATION = 1e-6, 1e-9  # seconds: of a call of LAPACK, of an operation on small matrices
PART = 2e-4  # seconds, beside which handing a part to another thread is nothing
MOST_PARTS = 64


def parts_of(routine: Routine, shapes: Sequence[Shape]) -> int:
    """Into how many parts a batch is cut along its longest axis, which threads may share: as many
    as the shapes say. Each matrix is computed by itself, so parts change no bits."""
    batch = batch_of(routine, shapes[0])
    if not batch or (not is_transform(routine) and max(shapes[0][-2:]) > SIDE_BY_SIDE):
        return 1
    calls = 1 if is_transform(routine) else math.prod(batch)
    seconds = calls * CALL + flops(routine, shapes) * OPERATION
    return max(1, min(MOST_PARTS, max(batch), int(seconds / PART)))


class Part:
    """One of several parts of a batch along its longest axis."""

    def __init__(self, batch: Shape, parts: int, number: int) -> None:
        self._is_whole = parts == 1
        if self._is_whole:
            return
        self._batch, axis = batch, batch.index(max(batch))
        first, stop = (n * batch[axis] // parts for n in (number, number + 1))
        self._index = (*[slice(None)] * axis, slice(first, stop))
        self._own = (*batch[:axis], stop - first, *batch[axis + 1 :])
        self._first = tuple([first if a == axis else 0 for a in range(len(batch))])

    def of(self, stack: Array) -> Array:
        """That of a stack of matrices or vectors."""
        return stack if self._is_whole else stack[self._index]

    def place(self, position: int) -> int:
        """The place in the whole batch of that matrix of the part, both in row-major order."""
        if self._is_whole:
            return position
        own = np.unravel_index(position, self._own)
        return int(np.ravel_multi_index(np.add(own, self._first), self._batch))


# ---------------------------------------------------------------- what each computes


def _quiet(function: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """Without NumPy's warnings of numbers that are not finite: most of its functions give none."""

    def call(*args: Any) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return function(*args)

    return call


def _refuse(*_: Any) -> None:
    raise np.linalg.LinAlgError


def _lapack(name: str, *arrays: Array) -> Array:
    """A function of NumPy's LAPACK in the precision of the arrays: `numpy.linalg` converts float32
    to float64 and back, which takes twice as long.

    It tells of a matrix that it refuses by the flag of an invalid operation.
    """
    with np.errstate(call=_refuse, invalid="call", over="ignore", divide="ignore", under="ignore"):
        result: Array = getattr(np.linalg._umath_linalg, name)(*arrays)
    return result


def _triangle(a: Array, upper: bool, unit: bool) -> Array:
    """The triangle of a, with ones on its diagonal if it is to be read so."""
    out = np.triu(a) if upper else np.tril(a)
    if unit:
        places = np.arange(a.shape[-1])
        out[..., places, places] = 1
    return out


def _solve_triangular(a: Array, b: Array, upper: bool, unit: bool) -> tuple[Array, ...]:
    """An upper triangle needs no exchange of rows, so that LAPACK's solve is back substitution; a
    lower one is an upper one read from its end."""
    a = _triangle(a, upper, unit)
    if upper:
        return (_lapack("solve", a, b),)
    x = _lapack("solve", a[..., ::-1, ::-1], b[..., ::-1, :])
    return (x[..., ::-1, :],)


def _cofactor(a: Array) -> tuple[Array, ...]:
    """The conjugate transpose of the adjugate, which singular matrices have, too: by the singular
    values, each replaced by the product of the others."""
    is_finite = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(is_finite, a, 0))
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    sign = np.conj(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    cofactors = sign * ((u * (before * after)[..., None, :]) @ vh)
    return (np.where(is_finite, cofactors, np.nan),)


def _lu(a: Array) -> tuple[Array, ...]:
    from scipy.linalg import lu

    return tuple(lu(a, check_finite=False))


def _fft(a: Array, core: int, forward: bool, *axes: int) -> tuple[Array, ...]:
    """Not scaled, whatever the direction."""
    return (np.fft.fftn(a, axes=axes) if forward else np.fft.ifftn(a, axes=axes, norm="forward"),)


def _rfft(a: Array, core: int, n: int, axis: int) -> tuple[Array, ...]:
    return (np.fft.rfft(a, axis=axis),)


def _irfft(a: Array, core: int, n: int, axis: int) -> tuple[Array, ...]:
    return (np.fft.irfft(a, n, axis, "forward"),)


def _transform_flops(shape: Shape, params: Sequence[Any]) -> int:
    """Five times n log2(n) for each line (M. Frigo and S. Johnson, "The design and implementation
    of FFTW3", 2005)."""
    axes = [shape[a] for a in params[2:]]
    return int(sum(5 * math.prod(shape) * math.log2(max(n, 2)) for n in axes))


def _of_finite(function: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The function, which refuses infinities and NaN: OpenBLAS 0.3.31 iterates for ever over an
    infinity in gesdd."""

    def checked(a: Array, *others: Any) -> tuple[Array, ...]:
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError
        return function(a, *others)

    return checked


SINGULAR = "is singular"
ENDLESS = "is not finite, or its iteration did not converge"

RECORDS: dict[str, Record] = {
    "cholesky": Record(
        lambda a: (_lapack("cholesky_lo", a),), "is not positive definite", lambda m, n, k: n**3 / 3
    ),
    "solve": Record(
        lambda a, b: (_lapack("solve", a, b),),
        SINGULAR,
        lambda m, n, k: 2 / 3 * n**3 + 2 * n * n * k,
    ),
    "solve_triangular": Record(_solve_triangular, SINGULAR, lambda m, n, k: n * n * k),
    "inv": Record(lambda a: (_lapack("inv", a),), SINGULAR, lambda m, n, k: 2 * n**3),
    "det": Record(_quiet(lambda a: (np.linalg.det(a),)), SINGULAR, lambda m, n, k: 2 / 3 * n**3),
    "slogdet": Record(
        _quiet(lambda a: tuple(np.linalg.slogdet(a))), SINGULAR, lambda m, n, k: 2 / 3 * n**3, (1,)
    ),
    "cofactor": Record(_quiet(_cofactor), ENDLESS, lambda m, n, k: 24 * n**3),
    "eigh": Record(lambda a: tuple(np.linalg.eigh(a)), ENDLESS, lambda m, n, k: 9 * n**3, (0,)),
    "eigvalsh": Record(
        lambda a: (np.linalg.eigvalsh(a),), ENDLESS, lambda m, n, k: 4 / 3 * n**3, (0,)
    ),
    "eig": Record(lambda a: tuple(np.linalg.eig(a)), ENDLESS, lambda m, n, k: 25 * n**3),
    "eigvals": Record(lambda a: (np.linalg.eigvals(a),), ENDLESS, lambda m, n, k: 10 * n**3),
    "svd": Record(
        _of_finite(lambda a, full: tuple(np.linalg.svd(a, full))),
        ENDLESS,
        lambda m, n, k: 6 * m * n * min(m, n) + 16 * min(m, n) ** 3,
        (1,),
    ),
    "svdvals": Record(
        _of_finite(lambda a: (np.linalg.svd(a, compute_uv=False),)),
        ENDLESS,
        lambda m, n, k: 4 * max(m, n) * min(m, n) ** 2 - 4 / 3 * min(m, n) ** 3,
        (0,),
    ),
    "qr": Record(
        lambda a, mode: tuple(np.linalg.qr(a, mode)),
        ENDLESS,
        lambda m, n, k: 4 * max(m, n) * min(m, n) ** 2 - 4 / 3 * min(m, n) ** 3,
    ),
    "pinv": Record(
        _of_finite(_quiet(lambda a, rtol: (np.linalg.pinv(a, rtol[..., 0, 0]),))),
        ENDLESS,
        lambda m, n, k: 6 * m * n * min(m, n) + 16 * min(m, n) ** 3,
    ),
    "lu": Record(_lu, ENDLESS, lambda m, n, k: 2 / 3 * m * n * min(m, n)),
    "fft": Record(_fft),
    "rfft": Record(_rfft),
    "irfft": Record(_irfft),
}
