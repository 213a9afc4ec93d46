"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops.

tiled     for block: tiles of both factors through shared memory, results in the registers of its threads; epilogue
naive     a thread a result: where nothing is summed, or too little for tiles
phases    one after the other, where residues of the axes make several problems of a contraction
"""

from __future__ import annotations

from ...ir.graph import Node
from ...ir.kernel import Kernel
from ..contract.problem import Problem, analyse, groups_extent
from ..lower import Lowered
from ..phases import in_turn
from .contract.block import lower_tiled
from .naive import lower_naive_problem
from .target import CudaTarget

LITTLE = 1 << 15  # products that a tile would mostly wait for
SHORT = 4  # steps of k: a tile of results takes longer to write


def lower_contraction(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget) -> Lowered:
    """Loops of a contraction kernel: each of its problems in the schedule that suits it."""
    return in_turn([lower_problem(p, target) for p in analyse(kernel, strides, target)])


def lower_problem(p: Problem, target: CudaTarget) -> Lowered:
    """Tiles, where there is enough to sum."""
    if not p.reduced or p.k <= SHORT or groups_extent(p.batch) * p.m * p.n * p.k < LITTLE:
        return lower_naive_problem(p)
    return lower_tiled(p, target)
