"""A contraction taken apart: which axes are rows, lanes, batch and reduced. In: a contraction Kernel. Out: a Problem.

    out[b, i, j] = sum_k A[b, i, k] * B[b, j, k]      i rows, j lanes, k reduced, each possibly several axes

The lane side is the factor that holds the output's contiguous axis. Convolutions, their gradients and
matrix products differ only in the indices that `ir/views.py: push` gives: implicit GEMM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..ir.align import factor_vars
from ..ir.graph import Node, Op, node
from ..ir.index import Index, Var, var
from ..ir.kernel import Kernel, Unit, join
from ..ir.loop import Buf
from ..ir.loop_walk import indices, postorder
from . import schedule
from .evaluate import Evaluator, Place
from .lower import lane_width, place_values
from .schedule import extent
from .target import Target

Groups = list[list[Var]]


@dataclass
class Problem:
    """A contraction taken apart: its axes by role, collapsed where every access walks them as one."""

    kernel: Kernel
    product: Node
    anchor: Unit
    inputs: dict[Node, Place]
    outputs: dict[Node, Place]
    buffers: tuple[Buf, ...]
    width: int
    batch: Groups
    rows: Groups
    lanes: Groups
    reduced: Groups
    row_factor: Node
    lane_factor: Node

    @property
    def m(self) -> int:
        return groups_extent(self.rows)

    @property
    def n(self) -> int:
        return groups_extent(self.lanes)

    @property
    def k(self) -> int:
        return groups_extent(self.reduced)

    def factor(self, which: Node, by: dict[Var, Index]) -> Node:
        """A factor of the product at an index given for every axis of the anchor."""
        at = [e.substitute(by) for e in self.anchor.coordinates()]
        return Evaluator(self.inputs, lambda n, index: None).value(which, at)

    def epilogue(self, by: dict[Var, Index], accumulated: Node) -> list[tuple[Place, list[Index], Node]]:
        """(place, index, value) of every output, the sum standing in for the anchor."""
        ev = Evaluator(self.inputs, lambda n, index: accumulated if n is self.anchor.node else None)
        mine = self.kernel.outer[self.anchor]
        out = []
        for n in self.kernel.outputs:
            unit = next(u for u in self.kernel.units if u.node is n)
            own = {v: by[w] for v, w in zip(self.kernel.outer[unit], mine, strict=True)}
            at = [join(sub).substitute(own) for sub in unit.kept()]
            out.append((self.outputs[n], at, ev.value(n, at)))
        return out


def groups_extent(groups: Groups) -> int:
    return prod(extent(g) for g in groups)


def analyse(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target) -> Problem:
    """Finds the roles of a contraction's axes and which factor provides the lanes."""
    assert kernel.anchor is not None
    anchor = kernel.anchor
    product = next(u for u in kernel.units if u.node is anchor.node.src[0])
    sides = factor_vars(anchor, product)
    assert sides is not None
    kept, reduced = list(anchor.kept_vars()), list(anchor.inner_vars(anchor.kept_vars()))
    inputs, outputs, buffers = place_values(kernel, strides)
    only = [[v for v in kept if v in sides[s] and v not in sides[1 - s]] for s in (0, 1)]
    lane_side = 1 if kept[-1] in only[1] or kept[-1] not in only[0] else 0
    rows, lanes = only[1 - lane_side], only[lane_side]
    batch = [v for v in kept if v not in rows and v not in lanes]
    p = Problem(
        kernel,
        product.node,
        anchor,
        inputs,
        outputs,
        buffers,
        0,
        [],
        [],
        [],
        [],
        product.node.src[1 - lane_side],
        product.node.src[lane_side],
    )
    by = {v: var(v) for v in kept + reduced}
    row_value, lane_value = p.factor(p.row_factor, by), p.factor(p.lane_factor, by)
    stored = p.epilogue(by, node(Op.MUL, (row_value, lane_value)))
    accesses = [i for n in postorder([row_value, lane_value, *(v for _, _, v in stored)]) for i in indices(n)]
    accesses += [place.at(at) for place, at, _ in stored]
    p.width = lane_width([row_value, lane_value], target)
    p.batch, p.rows = schedule.collapse(batch, accesses), schedule.collapse(rows, accesses)
    p.lanes, p.reduced = schedule.collapse(lanes, accesses), schedule.collapse(reduced, accesses)
    return p


def spread_groups(groups: Groups, position: Sequence[Index]) -> dict[Var, Index]:
    """Every variable of collapsed groups from one position a group."""
    by: dict[Var, Index] = {}
    for g, at in zip(groups, position, strict=True):
        by |= schedule.spread(at, g)
    return by


def is_plain(value: Node) -> bool:
    """A load and nothing else, at an affine index, unmasked."""
    return value.op is Op.LOAD and not value.arg[2] and all(isinstance(t, Var) for t, _ in value.arg[1].terms)


def contiguous(value: Node, v: Var) -> bool:
    """Do all loads under a value step by one element (or none) with v?"""
    found = [n.arg[1] for n in postorder([value]) if n.op is Op.LOAD]
    return all(not schedule.divides(i, v) and not i.values() and i.coef(v) in (0, 1) for i in found)
