"""Kernels of maps and rows -> Loops: the choice of a schedule. In: a Kernel. Out: Loops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ....ir.graph.graph import Node
from ....ir.kernels.kernel import Kernel
from ....ir.symbolic.integer import NotSymbolic
from ....ir.symbolic.questions import value_of
from ...kernels import loop_axes
from ...kernels.kernel_axes import KernelAxes, place_values
from ...kernels.lowered import Lowered
from ...kernels.phases import in_phases
from ...kernels.row_classes import axes_by_class, terms_of
from ...kernels.schedule import Estimate, Refusal, Schedule, choose, decide
from ..target import CudaTarget
from .columns import lower_columns
from .maps import lower_flat
from .rows import UNIT, block, block_order, warp
from .transposed import transposed

SHORT = 16  # steps of the reductions of a row that one thread does
FEW_ROWS = 1 << 12  # rows that are too few for a thread each


def flat(k: KernelAxes) -> Estimate | Refusal:
    """Any map."""
    return Refusal(k.why_inner) if k.inner else Estimate(partial(lower_flat, k, k.outer_lanes[0]))


def short(k: KernelAxes) -> Estimate | Refusal:
    """Enough rows for a thread each, and few steps in them, or windows that neighbours share."""
    lanes, cost = k.outer_lanes
    if not k.inner or lanes is None:
        return Refusal("there is one row" if k.inner else "nothing is reduced")
    along_outer, rows = cost < k.inner_cost(), loop_axes.extent(k.outer)
    most = 2 * SHORT if along_outer else SHORT
    if k.steps > most:
        return Refusal(f"{k.steps} steps of reductions, a thread does {most}")
    if not along_outer and value_of(rows) < FEW_ROWS:
        return Refusal(f"{rows} rows are too few for a thread each")
    return Estimate(partial(lower_flat, k, lanes))


def columns(k: KernelAxes) -> Estimate | Refusal:
    """Reductions over axes that are not contiguous."""
    lanes, cost = k.outer_lanes
    if not k.inner or lanes is None:
        return Refusal("there is one row" if k.inner else "nothing is reduced")
    return Estimate(partial(lower_columns, k, lanes), cost, UNIT)


ROWS_AND_MAPS = (
    Schedule("transposed", transposed),
    Schedule("flat", flat),
    Schedule("short", short),
    Schedule("warp", warp),
    Schedule("block", block),
    Schedule("columns", columns),
)


def order(k: KernelAxes) -> tuple[str, int]:
    """In which a kernel with reductions adds up: the schedule, and the threads of a row's block."""
    name = decide(ROWS_AND_MAPS, k).name
    return name, block_order(k) if name == "block" else 0


def chosen(k: KernelAxes) -> Lowered:
    """In the best schedule; of a kernel with symbolic extents, in one that adds up as the best one
    does for each size that the program serves."""
    scope = k.scope
    if scope is None or not k.reduces:
        return choose(ROWS_AND_MAPS, k)
    wanted = scope.settle(
        lambda: order(k.again()),
        lambda order: f"{k.kernel.name} adds up as {order[0]} does",
    )
    able = [s for s in ROWS_AND_MAPS if s.name == wanted[0]]
    if not isinstance(able[0].estimate(k), Estimate):
        raise NotSymbolic(f"{k.kernel.name}: only {wanted[0]} would do")
    return choose(able, k)


def lower_maps(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget) -> Lowered:
    """Loops of a map or rows kernel."""
    places = place_values(kernel, strides)
    classes = axes_by_class(kernel)
    parts, terms = [], terms_of(classes)
    for axes in classes:
        k = KernelAxes(kernel, places, axes)
        k.weigh(target)
        parts.append(chosen(k))
    return replace(in_phases(parts), terms=terms)
