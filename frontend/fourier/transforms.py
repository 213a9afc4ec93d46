"""Discrete Fourier transforms. In: Nodes of any dtype, axes. Out: Nodes of complex numbers; of real
ones, where the name says so.

The standard's names, arguments and results: https://data-apis.org/array-api/2024.12. Lines are
transformed by kernels (ir/passes/transforms.py) or by pocketfft, which NumPy brings along. Integers
are taken as the default float dtype, 16-bit floats as float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.graph.region import results_of
from ...ir.graph.routine import Param, Routine
from ...ir.graph.shapes import Shape
from ..elementwise.all import as_float, conj, mul
from ..lazy.transfers import on_cpu
from ..operands.arguments import as_choice, as_count, as_ints, axes_in_order, normalise_axis
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import to_dtype

NORMS = ("backward", "ortho", "forward")


# ---------------------------------------------------------------- along one axis


@runs_in_float32
def fft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """The sums of x[j] exp(-2 pi i j k / n) over j along an axis, for k from 0 to n - 1: complex.
    The axis is cut to n elements, or zeros are added.

    norm says which direction is divided by n: "backward" the inverse one, "forward" this one; with
    "ortho" both are, by its square root. Raises ShapeError, ArgumentError.

    >>> wf.fft.fft(wf.tensor([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    return _along("fft", x, n, axis, norm, True)


@runs_in_float32
def ifft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """The inverse of `fft`: the same sums with exp(2 pi i j k / n), divided by n unless norm says
    otherwise."""
    return _along("ifft", x, n, axis, norm, False)


@runs_in_float32
def rfft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """The first n // 2 + 1 elements of `fft` of real numbers; the others are their conjugates.
    Raises DTypeError for complex numbers."""
    place = normalise_axis("rfft", axis, x.ndim)
    x = _fitted("rfft", _real("rfft", x), place, n)
    return _scaled(_half("rfft", x, place), norm, x.shape[place], True, "rfft")


@runs_in_float32
def irfft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """The inverse of `rfft`: n real numbers, 2 * (m - 1) of m elements unless given."""
    return _of_half("irfft", x, n, axis, norm, False)


@runs_in_float32
def hfft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """`fft` of n numbers that are the conjugates of each other read from the end, of which x has
    the first n // 2 + 1: real. n is 2 * (m - 1) of m elements unless given."""
    return _of_half("hfft", conj(x), n, axis, norm, True)


@runs_in_float32
def ihfft(x: Node, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Node:
    """The inverse of `hfft`: the first n // 2 + 1 elements of `ifft` of real numbers."""
    place = normalise_axis("ihfft", axis, x.ndim)
    x = _fitted("ihfft", _real("ihfft", x), place, n)
    return _scaled(conj(_half("ihfft", x, place)), norm, x.shape[place], False, "ihfft")


# ---------------------------------------------------------------- along several axes


@runs_in_float32
def fftn(
    x: Node,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Node:
    """`fft` along several axes: the last ones where s has their extents, else all. Raises
    ShapeError, ArgumentError."""
    return _along_several("fftn", x, s, axes, norm, True)


@runs_in_float32
def ifftn(
    x: Node,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Node:
    """The inverse of `fftn`."""
    return _along_several("ifftn", x, s, axes, norm, False)


@runs_in_float32
def rfftn(
    x: Node,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Node:
    """`rfft` along the last of the axes, then `fftn` along the others. Raises DTypeError for
    complex numbers."""
    places, extents = _places("rfftn", x, s, axes)
    x = _all_fitted("rfftn", _real("rfftn", x), places, extents)
    half = _half("rfftn", x, places[-1])
    count = prod(x.shape[a] for a in places)
    return _scaled(_transformed(half, places[:-1], True), norm, count, True, "rfftn")


@runs_in_float32
def irfftn(
    x: Node,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Node:
    """The inverse of `rfftn`: real numbers, 2 * (m - 1) along the last axis unless s says
    otherwise."""
    places, extents = _places("irfftn", x, s, axes)
    x = _complex(x)
    n = _whole_extent("irfftn", x, places[-1], None if s is None else extents[-1])
    x = _all_fitted("irfftn", x, places, [*extents[:-1], n // 2 + 1])
    count = prod(x.shape[a] for a in places[:-1]) * n
    out = _whole(_transformed(x, places[:-1], False), places[-1], n)
    return _scaled(out, norm, count, False, "irfftn")


# ---------------------------------------------------------------- arguments


def _complex(x: Node) -> Node:
    x = as_float(x)
    return x if x.dtype.is_complex else to_dtype(x, x.dtype.as_complex)


def _real(name: str, x: Node) -> Node:
    if x.dtype.is_complex:
        raise errors.DTypeError(f"{name}: of real numbers, not {x.dtype.name}")
    x = as_float(x)
    return to_dtype(x, dt.float32) if x.dtype.is_half else x


def _places(
    name: str, x: Node, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """The axes, and the extents that they are to have."""
    given = None if s is None else as_ints(name, "s", s)
    if axes is None:
        count = x.ndim if given is None else len(given)
        axes = range(x.ndim - count, x.ndim)
    places = [*axes_in_order(name, as_ints(name, "axes", axes), x.ndim)]
    if not places:
        raise errors.ShapeError(f"{name}: there is no axis to transform")
    extents = [x.shape[a] for a in places] if given is None else [*given]
    if len(extents) != len(places):
        raise errors.ShapeError(f"{name}: {len(extents)} extents for {len(places)} axes")
    return places, extents


def _fitted(name: str, x: Node, axis: int, n: int | None) -> Node:
    """With n elements along an axis: cut, or with zeros behind."""
    extent = x.shape[axis] if n is None else as_count(name, "n", n, 1)
    if extent < 1:
        raise errors.ShapeError(f"{name}: axis {axis} of shape {x.shape} has no elements")
    if extent < x.shape[axis]:
        cut = [(0, extent if a == axis else d, 1) for a, d in enumerate(x.shape)]
        return node(Op.SLICE, (x,), tuple(cut))
    more = extent - x.shape[axis]
    margins = tuple([(0, more if a == axis else 0, 0) for a in range(x.ndim)])
    return node(Op.PAD, (x,), margins) if more else x


def _all_fitted(name: str, x: Node, places: Sequence[int], extents: Sequence[int]) -> Node:
    for axis, n in zip(places, extents, strict=True):
        x = _fitted(name, x, axis, n)
    return x


def _whole_extent(name: str, x: Node, axis: int, n: int | None) -> int:
    """How many numbers a half stands for."""
    return as_count(name, "n", 2 * (x.shape[axis] - 1) if n is None else n, 1)


def _scaled(x: Node, norm: str, count: int, forward: bool, name: str) -> Node:
    """Divided by the number of elements, or its root, as the norm asks."""
    kind = as_choice(name, "norm", norm, NORMS)
    if kind == "ortho":
        return mul(x, count**-0.5)
    return mul(x, 1 / count) if (kind == "forward") is forward else x


# ---------------------------------------------------------------- transforms


def _along(name: str, x: Node, n: int | None, axis: int, norm: str, forward: bool) -> Node:
    place = normalise_axis(name, axis, x.ndim)
    x = _fitted(name, _complex(x), place, n)
    return _scaled(_transformed(x, [place], forward), norm, x.shape[place], forward, name)


def _along_several(
    name: str,
    x: Node,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str,
    forward: bool,
) -> Node:
    places, extents = _places(name, x, s, axes)
    x = _all_fitted(name, _complex(x), places, extents)
    count = prod(x.shape[a] for a in places)
    return _scaled(_transformed(x, places, forward), norm, count, forward, name)


def _of_half(name: str, x: Node, n: int | None, axis: int, norm: str, forward: bool) -> Node:
    place = normalise_axis(name, axis, x.ndim)
    x = _complex(x)
    whole = _whole_extent(name, x, place, n)
    x = _fitted(name, x, place, whole // 2 + 1)
    return _scaled(_whole(x, place, whole), norm, whole, forward, name)


def _transformed(x: Node, places: Sequence[int], forward: bool) -> Node:
    """Complex numbers along these axes, not scaled."""
    if not places or not x.size:
        return x
    return _routine("fft", x, places, x.dtype, x.shape, forward)


def _half(name: str, x: Node, axis: int) -> Node:
    shape = tuple(d // 2 + 1 if a == axis else d for a, d in enumerate(x.shape))
    return _routine("rfft", x, [axis], x.dtype.as_complex, shape, x.shape[axis])


def _whole(x: Node, axis: int, n: int) -> Node:
    shape = tuple(n if a == axis else d for a, d in enumerate(x.shape))
    return _routine("irfft", x, [axis], x.dtype.part, shape, n)


def _routine(
    name: str, x: Node, places: Sequence[int], dtype: dt.DType, shape: Shape, param: Param
) -> Node:
    """Axes count from the end, so that a batch may come before them."""
    axes = [a - x.ndim for a in places]
    spec = Routine(name, (-min(axes), param, *axes), ((dtype, shape),))
    return on_cpu(lambda given: results_of(Op.ROUTINE, spec, given), [x])[0]
