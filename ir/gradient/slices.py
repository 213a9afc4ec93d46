"""Cotangents of slices of one value, joined. In: padded Nodes whose sum is wanted. Out: Nodes of
the same sum, fewer.

    before   pad(a) + pad(b) + pad(c)                                what x[0], x[2] and x[5] give
                                                                     back to x
    after    where(i < 2, pad(a), where(i < 5, pad(b), pad(c)))

In a sum of T parts every element has T terms, and in a join it is found by comparing its position.
Parts that overlap are joined in layers, so that all windows x[i : i + 2] are the sum of two joins.
Parts that interleave, as x[::2] and x[1::2] do, lie beside each other in rows of two; along the
last axis they stay a sum, as a join would take the vectors of both apart. So does what no cut
across an axis separates. A -0.0 stays -0.0, where a sum adds it to the 0.0 of other parts, which
gives 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from ..graph.graph import Node, node, reshape
from ..graph.op import Op
from ..ops.join import join

Margin = tuple[int, int, int]  # (lo, hi, interior), as in a PAD
NONE: Margin = (0, 0, 0)


class Part(NamedTuple):
    """Zeros around, and between, the elements of a value, or around several parts in order along an
    axis."""

    margins: tuple[Margin, ...]
    value: Node | tuple[Part, ...]
    axis: int = 0


def is_part(n: Node) -> bool:
    return n.op is Op.PAD and n.src[0].size > 0


def joined(pads: Sequence[Node]) -> list[Node]:
    """Nodes of one shape, the sum of which is that of the PADs."""
    if len(pads) < 2:
        return list(pads)
    shape = pads[0].shape
    return [
        _written(p, (NONE,) * len(shape), shape)
        for p in _joined([Part(p.arg, p.src[0]) for p in pads], shape)
    ]


def _written(p: Part, around: tuple[Margin, ...], shape: tuple[int, ...]) -> Node:
    """A part of a value of this shape, but for what is around."""
    if isinstance(p.value, Node):
        margins = tuple(
            (lo - a, hi - b, interior)
            for (lo, hi, interior), (a, b, _) in zip(p.margins, around, strict=True)
        )
        return p.value if all(m == NONE for m in margins) else node(Op.PAD, (p.value,), margins)
    before, behind, _ = around[p.axis]
    placed = []
    for part in p.value:
        lo, hi, _ = part.margins[p.axis]
        placed.append((lo - before, _written(part, _replaced(around, p.axis, (lo, hi, 0)), shape)))
    return join(placed, p.axis, shape[p.axis] - before - behind)


def _joined(parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
    """Those that interleave, then those that differ along one axis only, then whatever lies apart
    on an axis."""
    axes = range(len(shape))
    for axis in axes[:-1]:
        parts = _interleaved(axis, parts, shape)
    for axis in reversed(axes):
        beside: dict[tuple[Margin, ...], list[Part]] = {}
        for p in parts:
            beside.setdefault(_replaced(p.margins, axis), []).append(p)
        parts = [p for group in beside.values() for p in _joined_along(axis, group, shape[axis])]
    for axis in axes:
        parts = _joined_along(axis, parts, shape[axis])
    return parts


def _replaced(margins: tuple[Margin, ...], axis: int, *new: Margin) -> tuple[Margin, ...]:
    return (*margins[:axis], *new, *margins[axis + 1 :])


# ---------------------------------------------------------------- parts with a step


def _interleaved(axis: int, parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
    """Parts of the same step along an axis become parts of its rows of so many elements."""
    by_step: dict[int, list[Part]] = {}
    for p in parts:
        by_step.setdefault(p.margins[axis][2] + 1, []).append(p)
    out = by_step.pop(1, [])
    for step, group in by_step.items():
        phases = {p.margins[axis][0] % step for p in group}
        out += _from_rows(axis, step, group, shape) if len(phases) > 1 else group
    return out


def _from_rows(axis: int, step: int, parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
    count = -(-shape[axis] // step)
    in_rows, long = (
        (*shape[:axis], count, step, *shape[axis + 1 :]),
        (*shape[:axis], count * step, *shape[axis + 1 :]),
    )
    out = []
    for whole in _joined([_in_rows(axis, step, count, p) for p in parts], in_rows):
        value = reshape(_written(whole, (NONE,) * len(in_rows), in_rows), long)
        if long != shape:
            value = node(Op.SLICE, (value,), tuple((0, d, 1) for d in shape))
        out.append(Part((NONE,) * len(shape), value))
    return out


def _in_rows(axis: int, step: int, count: int, p: Part) -> Part:
    """A part that has one element of each of some rows."""
    assert isinstance(p.value, Node)
    extents = p.value.shape
    row, phase = divmod(p.margins[axis][0], step)
    margins = _replaced(
        p.margins, axis, (row, count - row - extents[axis], 0), (phase, step - 1 - phase, 0)
    )
    return Part(margins, reshape(p.value, (*extents[: axis + 1], 1, *extents[axis + 1 :])))


# ---------------------------------------------------------------- parts that lie apart


def _joined_along(axis: int, parts: list[Part], extent: int) -> list[Part]:
    """As few parts as there are layers: each takes the next part that begins where its last one has
    ended."""
    layers: list[list[Part]] = []
    ends: list[tuple[int, int]] = []  # (where it ends, number of a layer)
    for p in sorted(parts, key=lambda p: p.margins[axis][0]):
        begin, behind, _ = p.margins[axis]
        if ends and ends[0][0] <= begin:
            _, number = heappop(ends)
        else:
            number = len(layers)
            layers.append([])
        layers[number].append(p)
        heappush(ends, (extent - behind, number))
    return [
        layer[0] if len(layer) == 1 else Part(_around(layer), tuple(layer), axis)
        for layer in layers
    ]


def _around(parts: list[Part]) -> tuple[Margin, ...]:
    """The margins of all together."""
    out = []
    for margins in zip(*(p.margins for p in parts), strict=True):
        alike = margins.count(margins[0]) == len(margins)
        out.append(
            margins[0]
            if alike
            else (min(lo for lo, _, _ in margins), min(hi for _, hi, _ in margins), 0)
        )
    return tuple(out)
