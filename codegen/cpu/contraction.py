"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops.

packed    for task: pack lanes B[k][j]; for tiles of rows x lanes: accumulate in registers; epilogue
dot       for task: tiles of rows x columns, lanes over k; combine; epilogue
stream    for task: lanes of a matrix that few rows meet, sums in L1     outer    few steps of k, straight to the output
windows   for task: copy what the windows cover; tiles of places x channels, all of k in registers; epilogue, pools included
phases    one after the other, where residues of the axes make several problems of a contraction
"""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.graph.index import var
from ...ir.kernels.kernel import Kernel
from ..kernels.contraction import Problem, analyse, contiguous
from ..kernels.loop_axes import extent
from ..kernels.lowered import Lowered
from ..kernels.phases import in_phases
from ..llvm.target import Target
from .chunks import Tuning
from .contract.dot import lower_dot
from .contract.empty import lower_empty
from .contract.packed import lower_packed
from .contract.skinny import lower_skinny
from .window.window import lower_window

MIN_ROWS = 16  # rows for which transposing the lane factor pays: 0.3 cycles an element, gained back at 0.03 a row
FEW_ROWS = 8  # rows for which it does not even where k is short
SHORT = 8  # vectors of k: dot products spend much of their time on adding up the lanes


def lower_contraction(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning) -> Lowered:
    """Loops of a contraction kernel: each of its problems in the schedule that suits it."""
    return in_phases([lower_problem(p, target, tuning) for p in analyse(kernel, strides, target)])


def lower_problem(p: Problem, target: Target, tuning: Tuning) -> Lowered:
    """Windows where there are some, dot where only k is contiguous, else packed lanes."""
    if not p.reduced:
        return lower_empty(p, tuning)
    windows = lower_window(p, target, tuning)
    if windows is not None:
        return windows
    skinny = lower_skinny(p, target, tuning)
    if skinny is not None:
        return skinny
    by = {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}
    row_value, lane_value = p.factor(p.row_factor, by), p.factor(p.lane_factor, by)
    last_k = p.reduced[-1][-1]
    k_line, lane_line = extent(p.reduced[-1]), extent(p.lanes[-1])
    along_k = contiguous(row_value, last_k) and contiguous(lane_value, last_k)
    along_lanes = contiguous(lane_value, p.lanes[-1][-1])
    few = p.m < (MIN_ROWS if k_line >= SHORT * p.width else FEW_ROWS)
    if along_k and not along_lanes and 2 * k_line >= p.width and few:
        return lower_dot(p, target, tuning, "both factors are contiguous along k, the lane factor only there")
    if along_k and lane_line < min(k_line, p.width):
        return lower_dot(p, target, tuning, f"k is contiguous over {k_line} and the lanes only over {lane_line}")
    return lower_packed(p, target, tuning)
