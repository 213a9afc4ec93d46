"""Packing of a vector of channels. In: Windows, the Store of one element. Out: loops that fill
[k][channel].

Where the factor is contiguous along k and not along the channels, W steps of k are loaded as a
vector for each channel and transposed in registers; else vectors run along the channels.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, row_major, var
from ....ir.loops.loop import LANES, SERIAL, UNROLL, For, Stmt
from ....ir.loops.walk import indices, postorder
from ....ir.symbolic.questions import is_unknown
from ...kernels import loop_axes
from ...kernels.contraction import contiguous, is_affine
from .problem import Windows

# stores one, given its k, their row-major position, its channel
Element = Callable[[dict[Var, Index], Index, Index], Stmt]


def pack_vector(w: Windows, channels: int, element: Element) -> list[Stmt]:
    """Loops over k and over at most a vector of channels."""
    groups = _groups(w)
    *front, last = [Var(f"k{a}", loop_axes.extent(g)) for a, g in enumerate(groups)]

    def at(step: Index, channel: Index) -> Stmt:
        return element(*_steps(groups, [*map(var, front), step]), channel)

    body = (
        _squares(w.p.width, last.extent, channels, at)
        if _across(w, groups)
        else _along(last, channels, at)
    )
    return loop_axes.nested(front, body)


def _groups(w: Windows) -> list[list[Var]]:
    """The reduced axes, collapsed where the factor without windows walks them as one."""
    read = [i for n in postorder([_value(w)]) for i in indices(n)]
    return loop_axes.collapse(w.reduced, read)


def _value(w: Windows) -> Node:
    """The factor without windows."""
    return w.other({v: var(v) for v in (*w.batch, *w.channels, *w.reduced)})


def _across(w: Windows, groups: list[list[Var]]) -> bool:
    """Whether the factor is contiguous along the last group of k, and not along the channels."""
    value, k = _value(w), groups[-1][-1]
    return len(w.channels) == 1 and _is_line(value, k) and not _is_line(value, w.channels[-1])


def _is_line(value: Node, v: Var) -> bool:
    """Is it loaded from neighbouring places along v, all of them or none?"""
    if not is_affine(value) or not contiguous(value, v):
        return False
    return all(v not in r.index.vars() for r in value.arg[2])


def _steps(groups: list[list[Var]], k: list[Index]) -> tuple[dict[Var, Index], Index]:
    """The reduced variables of a step given by group, and its position among all steps."""
    by: dict[Var, Index] = {}
    for g, at in zip(groups, k, strict=True):
        by |= loop_axes.spread(at, g)
    return by, row_major(k, [loop_axes.extent(g) for g in groups])


def _squares(
    width: int, steps: int, channels: int, at: Callable[[Index, Index], Stmt]
) -> list[Stmt]:
    """Vectors along k, transposed."""
    whole, rest = divmod(steps, width)
    out: list[Stmt] = []
    if is_unknown(whole) or whole:
        square = Var("square", whole)
        out.append(For(square, whole, SERIAL, _square(width, channels, var(square) * width, at)))
    first = Index(const=whole * width)
    if is_unknown(rest):
        out += _square(width, channels, first, at, steps)
    elif rest:
        out += _square(rest, channels, first, at)
    return out


def _square(
    steps: int,
    channels: int,
    first: Index,
    at: Callable[[Index, Index], Stmt],
    total: int | None = None,
) -> list[Stmt]:
    """So many steps from the first on; with a total, those that are below it."""
    j, k = Var("j", channels), Var("k", steps)
    base = Index() if total is None else first
    lanes = For(k, steps, LANES, [at(first + var(k), var(j))], base=base, total=total)
    return [For(j, channels, UNROLL, [lanes])]


def _along(last: Var, channels: int, at: Callable[[Index, Index], Stmt]) -> list[Stmt]:
    """Vectors along the channels."""
    channel = Var("l", channels)
    return [
        For(
            last,
            last.extent,
            SERIAL,
            [For(channel, channels, LANES, [at(var(last), var(channel))])],
        )
    ]
