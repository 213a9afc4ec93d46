"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops.

tiled     for block: tiles of both factors through shared memory, results in the registers of its
          threads; epilogue
naive     a thread a result: where nothing is summed, or so little that tiles would mostly wait
phases    one after the other, where residues of the axes make several problems of a contraction
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil

from ....ir.graph.graph import Node
from ....ir.kernels.kernel import Kernel
from ....ir.symbolic.scope import scope_of
from ...kernels.contraction import Problem, analyse
from ...kernels.lowered import Lowered
from ...kernels.phases import in_turn
from ...kernels.schedule import Estimate, Refusal, Schedule, choose, decide
from ..contract.block import lower_tiled
from ..contract.tile import fastest_tile, naive_cycles
from ..target import CudaTarget
from .naive import lower_naive


def tiled(p: Problem, target: CudaTarget) -> Estimate | Refusal:
    """Enough products for tiles."""
    if not p.reduced:
        return Refusal("nothing is summed")
    tile, cycles, most = fastest_tile(p, target)
    return Estimate(
        partial(lower_tiled, p, tile, f"about {cycles:.0f} cycles, most for {most}"), cycles
    )


def naive(p: Problem, target: CudaTarget) -> Estimate:
    """Any contraction."""
    cycles = naive_cycles(p)

    def lower() -> Lowered:
        lowered = lower_naive(p)
        return (
            replace(lowered, schedule=f"{lowered.schedule}; about {cycles:.0f} cycles")
            if p.reduced
            else lowered
        )

    return Estimate(lower, cycles)


def order(p: Problem, target: CudaTarget) -> str:
    """In which the products of a sum are added up by the schedule that suits best."""
    if not p.reduced or decide(CONTRACTIONS, p, target).name == "naive":
        return "in order"
    tile, _, _ = fastest_tile(p, target)
    kind = f"on tensor cores by {tile.k}" if tile.tensor else "in order"
    share = ceil(p.k / (tile.k * tile.parts)) * tile.k
    return f"{kind}, {share} in each part" if tile.parts > 1 else kind


def chosen(p: Problem, target: CudaTarget) -> Lowered:
    """In the schedule that suits the sizes at hand, for all sizes whose own one adds up in the same
    order."""
    scope = scope_of(p.extents)
    if scope is None:
        return choose(CONTRACTIONS, p, target)
    name = p.kernel.name
    scope.settle(partial(order, p, target), lambda order: f"{name} adds up products {order}")
    with scope.at_hand():
        decision = decide(CONTRACTIONS, p, target)
    return decision.lowered()


CONTRACTIONS = (Schedule("tiled", tiled), Schedule("naive", naive))


def lower_contraction(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget
) -> Lowered:
    """Loops of a contraction kernel: each of its problems in the schedule that suits it."""
    problems = analyse(kernel, strides, target)
    return replace(
        in_turn([chosen(p, target) for p in problems]),
        terms=sum(p.terms for p in problems),
    )
