"""A contraction taken apart: which axes are rows, lanes, batch and reduced. In: a contraction
Kernel. Out: Problems.

    out[b, i, j] = sum_k A[b, i, k] * B[b, j, k]      i rows, j lanes, k reduced, each possibly
                                                      several axes

The lane side is the factor that holds the output's contiguous axis. Convolutions, their gradients
and matrix products differ only in the indices that `ir/graph/views.py: push` gives: implicit GEMM.
A contraction is several problems where a factor is 0 at most indices for a reason that residues
tell (codegen/kernels/residues.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from ...ir.graph.graph import Node, const, node
from ...ir.graph.index import Index, Var, mask_of, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.box import box_of
from ...ir.kernels.kernel import Kernel, Unit, join, zero_outside
from ...ir.kernels.pooled_epilogue import pooled_vars
from ...ir.loops.loop import Buf, Stmt, Store
from ...ir.loops.walk import indices, postorder, variables
from ...ir.symbolic.questions import value_of
from . import loop_axes
from .evaluate import Evaluator, Place
from .kernel_axes import lane_width, place_values
from .loop_axes import Lanes, extent, itemsize_in_memory
from .residues import Residues, classes

AxisGroups = list[list[Var]]

MIN_LANES = (
    4  # fewer would leave most of a vector empty: lanes are then taken from the other factor
)


@dataclass
class Problem:
    """A contraction taken apart: its axes by role, collapsed where every access walks them as one.

    `at` gives the variables of the anchor in terms of these axes: the same ones, or those of a
    residue class.
    """

    kernel: Kernel
    product: Node
    anchor: Unit
    inputs: dict[Node, Place]
    outputs: dict[Node, Place]
    buffers: tuple[Buf, ...]
    at: dict[Var, Index]
    row_factor: Node
    lane_factor: Node
    width: int = 0
    batch: AxisGroups = field(default_factory=list)
    rows: AxisGroups = field(default_factory=list)
    lanes: AxisGroups = field(default_factory=list)
    reduced: AxisGroups = field(default_factory=list)

    @property
    def m(self) -> int:
        return groups_extent(self.rows)

    @property
    def n(self) -> int:
        return groups_extent(self.lanes)

    @property
    def k(self) -> int:
        return groups_extent(self.reduced)

    @property
    def terms(self) -> int:
        """The products that are added up."""
        return groups_extent(self.batch) * self.m * self.n * self.k if self.reduced else 0

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Of batch, rows, lanes and k."""
        return groups_extent(self.batch), self.m, self.n, self.k

    @property
    def itself(self) -> dict[Var, Index]:
        """Every variable of the problem as itself."""
        return {v: var(v) for g in self.batch + self.rows + self.lanes + self.reduced for v in g}

    def steps(self) -> list[Var]:
        """A loop variable for each reduced axis."""
        return [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(self.reduced)]

    @property
    def pooled(self) -> list[Var]:
        """The variables of the result within windows of a pool: the epilogue reduces over them."""
        return pooled_vars(self.anchor, self.kernel.outer[self.anchor])

    def coordinates(self, by: dict[Var, Index]) -> list[Index]:
        """The index of the product from an index for every axis of the problem."""
        of_anchor = self.of_anchor(by)
        return [e.substitute(of_anchor) for e in self.anchor.coordinates()]

    def factor(self, which: Node, by: dict[Var, Index]) -> Node:
        """A factor of the product at an index for every axis of the problem."""
        return Evaluator(self.inputs).value(which, self.coordinates(by))

    def of_anchor(self, by: dict[Var, Index]) -> dict[Var, Index]:
        """The variables of the anchor, given those of the problem."""
        return {v: e.substitute(by) for v, e in self.at.items()}

    def epilogue(
        self, by: dict[Var, Index], accumulated: Node
    ) -> list[tuple[Place, list[Index], Node]]:
        """(place, index, value) of every output, the sum standing in for the anchor."""
        ev = Evaluator(self.inputs, lambda n, index: accumulated if n is self.anchor.node else None)
        return [(self.outputs[n], at, ev.value(n, at)) for n, at in self.results(by)]

    def results(self, by: dict[Var, Index]) -> list[tuple[Node, list[Index]]]:
        """Every output, and its index."""
        of_anchor, mine = self.of_anchor(by), self.kernel.outer[self.anchor]
        out = []
        for n in self.kernel.outputs:
            unit = next(u for u in self.kernel.units if u.node is n)
            own = {v: of_anchor[w] for v, w in zip(self.kernel.outer[unit], mine, strict=True)}
            out.append((n, [join(sub).substitute(own) for sub in unit.kept()]))
        return out

    def writes(self, by: dict[Var, Index], accumulated: Node) -> list[Stmt]:
        """The epilogue as statements."""
        return [
            Store(place.buf, place.at(index), value)
            for place, index, value in self.epilogue(by, accumulated)
        ]

    def if_known(self) -> Callable[[], Problem]:
        """What gives the same with axes grouped as they would be if sizes were the numbers at
        hand."""
        by = self.itself
        nodes, stored = self.walked(by, [self.factor(f, by) for f in self.product.src])
        roles = ("batch", "rows") if self.pooled else ("batch", "rows", "lanes")
        merging = [r for r in roles if loop_axes.may_merge(getattr(self, r), nodes, stored)]

        def grouped() -> Problem:
            groups: dict[str, Any] = {
                r: loop_axes.groups_if_known(getattr(self, r), nodes, stored) for r in merging
            }
            return replace(self, **groups)

        return grouped

    def walked(self, by: dict[Var, Index], factors: list[Node]) -> tuple[list[Node], list[Index]]:
        """What evaluates the factors and the epilogue, and where results are stored; of a pool the
        factors, and all places that they are read at: windows must stay affine."""
        if self.pooled:
            box = box_of(self.lane_factor, self.coordinates(by))
            assert box is not None, "pooled results of a contraction without windows"
            return postorder(factors), [*box.at]
        stored = self.epilogue(by, node(Op.MUL, factors))
        nodes = postorder([*factors, *(value for _, _, value in stored)])
        return nodes, [place.at(at) for place, at, _ in stored]

    def accesses(self, by: dict[Var, Index], factors: list[Node]) -> list[Index]:
        """Every index at which these read and write."""
        nodes, stored = self.walked(by, factors)
        return [i for n in nodes for i in indices(n)] + stored


def groups_extent(groups: AxisGroups) -> int:
    return prod(extent(g) for g in groups)


def lies_beyond(p: Problem, value: Node, cache: int) -> bool:
    """Whether the lane factor does not stay in a cache of so many bytes."""
    return value_of(groups_extent(p.batch) * p.n * p.k) * itemsize_in_memory(value) > cache


def analyse(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Lanes) -> list[Problem]:
    """The problems a contraction consists of: one, or one for each residue class of its axes."""
    assert kernel.anchor is not None
    anchor = kernel.anchor
    product = next(u for u in kernel.units if u.node is anchor.node.src[0]).node
    kept, reduced = anchor.kept_vars(), anchor.inner_vars(anchor.kept_vars())
    values = place_values(kernel, strides)
    mask = mask_of(zero_outside(product, anchor.coordinates()))
    a, b = product.src
    return [
        _with_roles(Problem(kernel, product, anchor, *values, c.at, a, b), c, target)
        for c in classes(kept, reduced, mask)
    ]


def _with_roles(p: Problem, c: Residues, target: Lanes) -> Problem:
    """Finds the roles of the axes."""
    if c.reduced is None:
        return _without_sum(p, c, target)
    by = {v: var(v) for v in [*c.kept, *c.reduced]}
    term = [p.factor(f, by) for f in p.product.src]
    sides = [_variables_of(value) for value in term]
    only = [[v for v in c.kept if v in sides[s] and v not in sides[1 - s]] for s in (0, 1)]
    # a pool is along lanes
    lane_side = int(c.kept[-1] in only[1]) if p.pooled else _lane_side(p, by, only, term)
    rows, lanes = only[1 - lane_side], only[lane_side]
    p.row_factor, p.lane_factor = p.product.src[1 - lane_side], p.product.src[lane_side]
    accesses = p.accesses(by, term)
    batch = [v for v in c.kept if v not in rows and v not in lanes]
    p.width = lane_width(term, target)
    p.batch = loop_axes.collapse(batch, accesses)
    p.rows, p.lanes = (
        loop_axes.collapse(axes or [Var("one", 1)], accesses) for axes in (rows, lanes)
    )
    p.reduced = loop_axes.collapse_of_sum(c.reduced or [Var("one", 1)], postorder(term))
    if p.pooled:  # a window is part of an axis, so that each axis is one
        p.lanes = [axis for sub in p.anchor.kept() if (axis := [v for v in sub if v in lanes])]
    return p


def _lane_side(p: Problem, by: dict[Var, Index], only: list[list[Var]], term: list[Node]) -> int:
    """Which factor provides the lanes: that whose axes have neighbours nearest to each other where
    most outputs are stored, unless there are few and the other has more."""
    stored = [p.outputs[n].at(at) for n, at in p.results(by)]
    sides = [s for at in stored for s in _nearest(at, only)]
    side = max((0, 1), key=sides.count) if sides else int(not only[0])
    few, many = only[side], only[1 - side]
    return (
        1 - side
        if extent(few) < MIN_LANES <= extent(many) and contiguous(term[1 - side], many[-1])
        else side
    )


def _nearest(stored: Index, only: list[list[Var]]) -> list[int]:
    """The side of the axis along which elements lie nearest to each other."""
    apart = [(abs(stored.coef(v)), s) for s, vs in enumerate(only) for v in vs if v.extent > 1]
    return [s for _, s in sorted(a for a in apart if a[0])[:1]]


def _without_sum(p: Problem, c: Residues, target: Lanes) -> Problem:
    """The results of a class in which nothing is summed: all axes are lanes."""
    zero = const(0, p.anchor.node.dtype)
    p.lanes = loop_axes.collapse(
        c.kept or [Var("one", 1)], p.accesses({v: var(v) for v in c.kept}, [zero, zero])
    )
    p.width = lane_width([zero], target)
    return p


def _variables_of(value: Node) -> set[Var]:
    return {v for n in postorder([value]) for v in variables(n)}


def spread_groups(groups: AxisGroups, position: Sequence[Index]) -> dict[Var, Index]:
    """Every variable of collapsed groups from one position a group."""
    by: dict[Var, Index] = {}
    for g, at in zip(groups, position, strict=True):
        by |= loop_axes.spread(at, g)
    return by


def groups_at(groups: AxisGroups, position: Index) -> dict[Var, Index]:
    """Every variable of the groups from one position in all of them."""
    return spread_groups(groups, unravel(position, tuple(extent(g) for g in groups)))


def is_affine(value: Node) -> bool:
    """A load and nothing else, at an affine index."""
    return value.op is Op.LOAD and bool(value.arg[1].is_affine)


def is_plain(value: Node) -> bool:
    """The same, unmasked."""
    return is_affine(value) and not value.arg[2]


def contiguous(value: Node, v: Var) -> bool:
    """Do all loads under a value step by one element (or none) with v?"""
    places = [n.arg[1] for n in postorder([value]) if n.op is Op.LOAD]
    return all(
        not loop_axes.divides(i, v) and not i.values() and i.coef(v) in (0, 1) for i in places
    )


def read_once(value: Node, p: Problem) -> bool:
    """Is the lane factor a matrix in memory, unmasked, with an element for each lane and step of
    k?"""
    loads = [n.arg for n in postorder([value]) if n.op is Op.LOAD]
    affine = all(not mask and at.is_affine for _, at, mask in loads)
    return affine and any(buf.size >= groups_extent(p.batch) * p.n * p.k for buf, _, _ in loads)
