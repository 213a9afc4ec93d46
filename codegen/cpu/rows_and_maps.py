"""Kernels of maps and rows -> Loops: the choice of a schedule. In: a Kernel. Out: Loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir.graph.graph import Node
from ...ir.graph.index import Var
from ...ir.kernels.kernel import Kernel
from ...wording import plural
from ..kernels.framing import own_axes, place_values
from ..kernels.lowered import Lowered
from ..kernels.phases import in_phases
from ..kernels.row_classes import axes_by_class
from ..kernels.schedule import Estimate, Refusal, Schedule, choose
from ..kernels.stages import UNROLLED
from ..llvm.target import Target
from .chunks import Tuning
from .rows import RowLowering

COMBINING = 10  # cycles for the sum of the lanes of a vector
UNIT = "cycles a vector"


def tiny(f: RowLowering) -> Estimate | Refusal:
    """A kernel of so few operations that compiling fast code would never pay."""
    return Estimate(f.tiny) if f.tuning.tiny else Refusal(f.tuning.why_lanes)


def flat(f: RowLowering) -> Estimate | Refusal:
    """A map whose axes all collapse."""
    if refusal := _refused(f, reduces=False):
        return refusal
    axes = len(f.groups)
    return Refusal(f"memory walks {axes} axes apart") if axes > 1 else _over_outer(f, f.flat)


def lines(f: RowLowering) -> Estimate | Refusal:
    """A map with broadcasts or strides."""
    if refusal := _refused(f, reduces=False):
        return refusal
    return _over_outer(f, f.lines) if len(f.groups) > 1 else Refusal("memory walks all axes as one")


def rows(f: RowLowering) -> Estimate | Refusal:
    """Reductions over contiguous axes, or whatever has one row."""
    one_row = not f.tuning.tiny and f.outer_lanes[0] is None
    if refusal := None if one_row else _refused(f, reduces=True):
        return refusal
    return Estimate(f.rows, f.inner_cost(COMBINING if f.steps <= UNROLLED else 0.0), UNIT)


def short(f: RowLowering) -> Estimate | Refusal:
    """Reductions so short that their steps can stand in a row, as in pooling windows."""
    if refusal := _refused(f, reduces=True):
        return refusal
    steps = Refusal(f"{f.steps} steps of reductions, at most {UNROLLED} stand in a row")
    return _over_outer(f, f.short) if f.steps <= UNROLLED else steps


def columns(f: RowLowering) -> Estimate | Refusal:
    """Reductions over axes that are not contiguous."""
    if refusal := _refused(f, reduces=True):
        return refusal
    steps = Refusal(f"{plural(f.steps, 'step')} of reductions can stand in a row")
    return _over_outer(f, f.columns) if f.steps > UNROLLED else steps


def _refused(f: RowLowering, reduces: bool) -> Refusal | None:
    """Why no schedule with lanes takes a kernel, or none of those that reduce, or that do not."""
    if f.tuning.tiny:
        return Refusal("vectors do not pay in a tiny kernel")
    if reduces == bool(f.inner):
        return None
    return Refusal("nothing is reduced" if reduces else "there are reductions")


def _over_outer(f: RowLowering, lower: Callable[[list[Var]], Lowered]) -> Estimate | Refusal:
    lanes, cycles = f.outer_lanes
    return Refusal("there is one row") if lanes is None else Estimate(partial(lower, lanes), cycles, UNIT)


ROWS_AND_MAPS = (
    Schedule("tiny", tiny),
    Schedule("flat", flat),
    Schedule("lines", lines),
    Schedule("rows", rows),
    Schedule("short", short),
    Schedule("columns", columns),
)


def lower_rows(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning) -> Lowered:
    """Loops of a map or rows kernel."""
    found = [own_axes(kernel)] if tuning.tiny or tuning.strict else axes_by_class(kernel)
    places = place_values(kernel, strides)
    return in_phases([choose(ROWS_AND_MAPS, RowLowering(kernel, places, target, tuning, axes)) for axes in found])
