"""Pooling of the results of a convolution while they are in the cache. In: Windows, some lines of results. Out: Stages.

    max over i, j of relu(conv[2*y + i, 2*x + j] + bias)       lanes over x; i, j unrolled
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.index import Index, Var, var
from ....ir.loops.walk import Substitution
from ...kernels.evaluate import Place
from ...kernels.stages import Frame, Signature, Stage, StageBuilder
from .problem import Windows


def pool_stages(w: Windows, at: dict[Var, Index], results: Place) -> list[Stage]:
    """The epilogue for the window that begins at a place: reductions over it, and stores of what they give."""
    p, kernel = w.p, w.p.kernel
    to, of_anchor = Substitution(w.places_of(at)), p.of_anchor(w.by)
    outer = [to.index(of_anchor[v]) for v in kernel.outer[p.anchor]]
    axes: dict[Signature, list[Var]] = {}

    def inner(signature: Signature) -> tuple[list[Var], list[Index]]:
        loop = axes.setdefault(signature, [Var(f"w{i}", d) for i, d in enumerate(signature)])
        return loop, [var(v) for v in loop]

    units = [u for u in kernel.units if u in kernel.outer and u is not p.anchor]
    epilogue = replace(kernel, units=units)
    return StageBuilder(epilogue, p.inputs | {p.anchor.node: results}, p.outputs, Frame(outer, inner)).build()
