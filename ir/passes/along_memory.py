"""Graph -> Graph: reductions over axes in the order of memory. In: roots, how inputs lie in memory.
Out: roots.

    before    sum(permute(x, (1, 0)), 0)    terms seem to lie apart
    after     sum(x, 1)                     they are neighbours

Whether lanes add up the terms of a sum follows from its axes alone (ir/kernels/sum_order.py), so
neighbours in memory should be neighbours by index, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Node, permute, reduce, toposort
from ..graph.index import Var, row_major_strides, var
from ..graph.op import Op
from ..graph.rewrite import is_sum_of_products, mapped
from ..graph.views import resolve
from ..symbolic.questions import has_several
from .split import Strides, maps_of, operands_of, viewed

Order = tuple[int, ...]


def along_memory(roots: Sequence[Node], strides: Strides) -> list[Node]:
    """Reductions of what are neighbours in memory, but not by index, over the same values in the
    order of memory."""
    nodes = toposort(roots)
    orders = {n: order for n in nodes if n.op is Op.REDUCE and (order := _order(n, strides))}
    if not orders:
        return list(roots)
    return mapped(roots, nodes, lambda old, n: _turned(n, orders[old]) if old in orders else n)


def _turned(n: Node, order: Order) -> Node:
    """The same reduction over axes in another order."""
    kind, axes = n.arg
    x = viewed(n.src[0], lambda operand: permute(operand, order))
    total = reduce(kind, x, [i for i, a in enumerate(order) if a in axes])
    kept = [a for a in order if a not in axes]
    return permute(total, tuple([kept.index(a) for a in sorted(kept)]))


def _order(n: Node, strides: Strides) -> Order | None:
    """The axes of what is reduced, the outermost in memory first, if that is to be their order."""
    (x,), (_, axes) = n.src, n.arg
    real = [a for a, d in enumerate(x.shape) if has_several(d)]
    whole = all(a in axes for a in real)
    if len(real) < 2 or (real[-1] in axes and not whole):
        return None
    steps = dict(zip(real, _steps(n, real, strides), strict=False))
    if not any(step < steps[real[-1]] for step in steps.values()):
        return None
    order = sorted(real, key=lambda a: -steps[a])
    outer = [a for a in range(x.ndim) if a not in real]
    return (*outer, *order) if order[-1] in axes else None


def _steps(n: Node, axes: Sequence[int], strides: Strides) -> list[int]:
    """Elements in memory from neighbour to neighbour along each axis, of all values that differ
    along each. None where there are no such values, nor where a factor is repeated, as those of
    matrix products are: what is read again decides."""
    total = [0] * len(axes)
    for factor in n.src[0].src if is_sum_of_products(n) else n.src:
        leaves = operands_of(set(maps_of(factor))) or {factor}
        found = [_steps_of(leaf, axes, strides) for leaf in leaves]
        whole = [steps for steps in found if all(steps)]
        if not whole and any(any(steps) for steps in found):
            return []
        total = [sum(steps) for steps in zip(total, *whole, strict=True)]
    return total


def _steps_of(x: Node, axes: Sequence[int], strides: Strides) -> list[int]:
    """Those of a view; 0 along what it repeats, or walks in uneven steps."""
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    base, places, _ = resolve(x, [var(v) for v in at])
    in_memory = strides.get(base, row_major_strides(base.shape))
    return [
        sum(abs(place.coef(at[a])) * step for place, step in zip(places, in_memory, strict=True))
        for a in axes
    ]
