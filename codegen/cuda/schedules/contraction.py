"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops.

tiled     for block: tiles of both factors through shared memory, results in the registers of its threads; epilogue
naive     a thread a result: where nothing is summed, or so little that tiles would mostly wait
phases    one after the other, where residues of the axes make several problems of a contraction
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.graph import Node
from ....ir.kernels.kernel import Kernel
from ...kernels.contraction import Problem, analyse
from ...kernels.lowered import Lowered
from ...kernels.phases import in_turn
from ..contract.block import lower_tiled
from ..contract.tile import choose
from ..target import CudaTarget
from .naive import lower_naive_problem


def lower_contraction(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget) -> Lowered:
    """Loops of a contraction kernel: each of its problems in the schedule that suits it."""
    return in_turn([lower_problem(p, target) for p in analyse(kernel, strides, target)])


def lower_problem(p: Problem, target: CudaTarget) -> Lowered:
    """Tiles, unless a thread a result is estimated to take less time."""
    if not p.reduced:
        return lower_naive_problem(p)
    choice = choose(p, target)
    if choice.tile is not None:
        return lower_tiled(p, choice.tile, choice.why)
    naive = lower_naive_problem(p)
    return replace(naive, schedule=f"{naive.schedule}; {choice.why}")
