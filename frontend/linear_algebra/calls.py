"""Calls of routines. In: Nodes of any dtype. Out: Nodes of floats, checked; results of a routine,
computed by the CPU.

Integers are taken as the default float dtype. 16-bit floats are computed in float32, and the
results are rounded once. A routine runs on the CPU: what lies on a GPU is copied there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce, wraps
from itertools import chain
from typing import Any, ParamSpec, TypeVar

from ... import errors
from ...ir.gradient.matrices import complex_routine, routine
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node
from ...ir.graph.routine import Param
from ...ir.graph.shapes import Shape
from ...ir.graph.site import provenance, user_site
from ...ir.ops.small_systems import is_small
from ...runtime.memory.devices import only_cpu
from ..elementwise.all import as_float
from ..lazy.transfers import on_cpu
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import broadcast_shape, broadcast_to, promote, to_dtype
from ..operands.in_float32 import float_dtype

P = ParamSpec("P")
R = TypeVar("R")


def of_floats(function: Callable[P, R]) -> Callable[P, R]:
    """The function with all its Nodes as floats of 32 or 64 bits; its floats take the dtype of
    16-bit operands again."""

    @runs_in_float32
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with provenance(user_site()):  # one look for the user's line, not one per Node
            given = map(float_dtype, chain(*(x if isinstance(x, list) else [x] for x in args)))
            halves = [d for d in given if d is not None]
            out = function(*map(_wide, args), **{name: _wide(x) for name, x in kwargs.items()})
            if not halves or not all(d.is_half for d in halves):
                return out
            rounded: R = _rounded(out, reduce(promote, halves))
            return rounded

    return call


def _wide(x: Any) -> Any:
    if isinstance(x, list):  # of matrices, whose products need no floats, or no matrices at all
        return [_in_float32(y) if isinstance(y, Node) else y for y in x]
    return _in_float32(as_float(x)) if isinstance(x, Node) else x


def _in_float32(x: Node) -> Node:
    return to_dtype(x, dt.float32) if x.dtype.is_half else x


def _rounded(out: Any, dtype: dt.DType) -> Any:
    if isinstance(out, tuple):
        made = [_rounded(x, dtype) for x in out]
        return out._make(made) if hasattr(out, "_make") else tuple(made)
    return to_dtype(out, dtype) if out.dtype is dt.float32 else out


# ---------------------------------------------------------------- shapes


def matrices(name: str, x: Node) -> Node:
    """x itself. Raises ShapeError unless it has two axes or more."""
    if x.ndim < 2:
        raise errors.ShapeError(
            f"{name}: expected a matrix or a stack of them, not shape {x.shape}"
        )
    return x


def square(name: str, x: Node) -> Node:
    """x itself. Raises ShapeError unless its last two extents are equal."""
    if matrices(name, x).shape[-1] != x.shape[-2]:
        raise errors.ShapeError(f"{name}: expected square matrices, not shape {x.shape}")
    return x


def one_batch(name: str, xs: Sequence[Node]) -> list[Node]:
    """Stacks of matrices with the same batch axes. Raises ShapeError."""
    batch = broadcast_shape(name, [x.shape[:-2] for x in xs])
    return [broadcast_to(x, (*batch, *x.shape[-2:])) for x in xs]


# ---------------------------------------------------------------- calls


def call(name: str, xs: Sequence[Node], shapes: Iterable[Shape], *params: Param) -> list[Node]:
    """The results of a routine of matrices that have one dtype and one batch; their `shapes` behind
    the batch axes."""
    if not only_cpu():
        here = routine(name, tuple(xs), params, *shapes)
        if is_small(here[0].arg[0], xs):
            return here
    return on_cpu(lambda given: routine(name, tuple(given), params, *shapes), xs)


def call_complex(name: str, x: Node, *shapes: Shape) -> list[Node]:
    """The same of one matrix, where the results are complex numbers whatever it is."""
    return on_cpu(lambda given: complex_routine(name, given[0], *shapes), [x])
