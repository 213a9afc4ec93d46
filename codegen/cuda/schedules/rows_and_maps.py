"""Kernels of maps and rows -> Loops: the choice of a schedule. In: a Kernel. Out: Loops."""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node
from ....ir.kernels.kernel import Kernel
from ...kernels import loop_axes
from ...kernels.framing import Framing, place_values
from ...kernels.lowered import Lowered
from ...kernels.phases import in_phases
from ...kernels.row_classes import axes_by_class
from ..target import CudaTarget
from .columns import lower_columns
from .maps import lower_flat
from .rows import lower_rows
from .transposed import lower_transposed

SHORT = 16  # steps of the reductions of a row that one thread does
FEW_ROWS = 1 << 12  # rows that are too few for a thread each
INNER_BONUS = 0.9  # lanes over inner axes need no more blocks than rows


def lower_maps(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget) -> Lowered:
    """Loops of a map or rows kernel."""
    places = place_values(kernel, strides)
    parts = []
    for axes in axes_by_class(kernel):
        f = Framing(kernel, places, axes)
        f.weigh(target)
        parts.append(lower_framed(f))
    return in_phases(parts)


def lower_framed(f: Framing) -> Lowered:
    """Lanes over the axes that are contiguous in memory."""
    lane_group, cost = f.best_outer()
    if not f.inner:
        return (lane_group and lower_transposed(f, lane_group)) or lower_flat(f, lane_group)
    if lane_group is not None and _is_short(f, cost):
        return lower_flat(f, lane_group)
    if lane_group is None or INNER_BONUS * _inner_cost(f) <= cost:
        return lower_rows(f)
    return lower_columns(f, lane_group)


def _is_short(f: Framing, cost: float) -> bool:
    """Are there enough rows for a thread each, and few steps in them, or windows that neighbours share?"""
    steps = sum(prod(v.extent for v in loop.axes) for s in f.trial for loop in s.loops)
    along_outer = cost < INNER_BONUS * _inner_cost(f)
    return steps <= (2 * SHORT if along_outer else SHORT) and (along_outer or loop_axes.extent(f.outer) >= FEW_ROWS)


def _inner_cost(f: Framing) -> float:
    costs = []
    for groups in f.inner_groups.values():
        touching = [a for a in f.accesses if not a.index.vars().isdisjoint(v for g in groups for v in g)]
        costs.append(f.group_cost(groups[-1], touching or f.accesses))
    return max(costs)
