"""Kernels of maps and rows -> Loops: the choice of a schedule. In: a Kernel. Out: Loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...ir.graph.graph import Node
from ...ir.graph.index import Var
from ...ir.kernels.kernel import Kernel
from ...wording import plural
from ..kernels.kernel_axes import own_axes, place_values
from ..kernels.lowered import Lowered
from ..kernels.phases import in_phases
from ..kernels.row_classes import axes_by_class, terms_of
from ..kernels.schedule import Estimate, Refusal, Schedule
from ..kernels.stages import UNROLLED
from ..llvm.target import Target
from .chunks import Tuning
from .rows import RowLowering

# cycles for the lanes of a vector; a max hands on NaN
COMBINING = {"add": 7, "mul": 7, "max": 13}
PARTIAL = 2  # cycles more for an access of a part of a vector
UNIT = "cycles a vector"


def tiny(k: RowLowering) -> Estimate | Refusal:
    """A kernel of so few operations that compiling fast code would never pay."""
    return Estimate(k.tiny) if k.tuning.tiny else Refusal(k.tuning.why_lanes)


def flat(k: RowLowering) -> Estimate | Refusal:
    """A map whose axes all collapse."""
    if refusal := _refused(k, reduces=False):
        return refusal
    axes = len(k.groups)
    return Refusal(f"memory walks {axes} axes apart") if axes > 1 else _over_outer(k, k.flat)


def lines(k: RowLowering) -> Estimate | Refusal:
    """A map with broadcasts or strides."""
    if refusal := _refused(k, reduces=False):
        return refusal
    return _over_outer(k, k.lines) if len(k.groups) > 1 else Refusal("memory walks all axes as one")


def rows(k: RowLowering) -> Estimate | Refusal:
    """Reductions over contiguous axes, or whatever has one row."""
    one_row = not k.tuning.tiny and k.outer_lanes[0] is None
    if refusal := None if one_row else _refused(k, reduces=True):
        return refusal
    if k.lanes_add is False and not one_row:
        return Refusal("terms of its sums lie apart, so that lanes do not add them up")
    cycles = k.inner_cost(COMBINING, PARTIAL) if k.has_few_steps else k.inner_cost()
    return Estimate(k.rows, cycles, UNIT)


def short(k: RowLowering) -> Estimate | Refusal:
    """Reductions so short that their steps can stand in a row, as in pooling windows; maps of such
    rows, as pairs of the parts of complex values."""
    if refusal := _refused(k, reduces=True):
        return refusal
    steps = Refusal(f"{k.steps} steps of reductions, at most {UNROLLED} stand in a row")
    return _over_outer(k, k.short) if k.has_few_steps else steps


def columns(k: RowLowering) -> Estimate | Refusal:
    """Reductions over axes that are not contiguous."""
    if refusal := _refused(k, reduces=True):
        return refusal
    of = " of reductions" if k.reduces else ""
    steps = Refusal(f"{plural(k.steps, 'step')}{of} can stand in a row")
    return _over_outer(k, k.columns) if not k.has_few_steps else steps


def _refused(k: RowLowering, reduces: bool) -> Refusal | None:
    """Why no schedule with lanes takes a kernel, or none of those that reduce, or that do not."""
    if k.tuning.tiny:
        return Refusal("vectors do not pay in a tiny kernel")
    if reduces == bool(k.inner):
        return None
    return Refusal("nothing is reduced" if reduces else k.why_inner)


def _over_outer(k: RowLowering, lower: Callable[[list[Var]], Lowered]) -> Estimate | Refusal:
    lanes, cycles = k.outer_lanes
    return (
        Refusal("there is one row")
        if lanes is None
        else Estimate(partial(lower, lanes), cycles, UNIT)
    )


ROWS_AND_MAPS = (
    Schedule("tiny", tiny),
    Schedule("flat", flat),
    Schedule("lines", lines),
    Schedule("rows", rows),
    Schedule("short", short),
    Schedule("columns", columns),
)


def lower_rows(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a map or rows kernel."""
    classes = [own_axes(kernel)] if tuning.strict else axes_by_class(kernel)
    terms, places = terms_of(classes), place_values(kernel, strides)
    lowered = in_phases(
        [
            tuning.choose(ROWS_AND_MAPS, RowLowering(kernel, places, target, tuning, axes))
            for axes in classes
        ]
    )
    return replace(lowered, terms=terms)
