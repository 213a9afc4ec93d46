"""Axes of a kernel of maps and rows, in terms of loop variables. In: a Kernel. Out: axes, accesses,
Stages.

Stages with one variable per axis, the probe, show what is read and written, and where; axes that
every index walks as one collapse. A schedule maps these axes to its own loops, and gets the stages
of the kernel over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from math import prod
from typing import Self

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node
from ...ir.graph.index import Index, Var, row_major_strides, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import GLOBAL, UNROLL, Alloc, Buf, Reduce, Stmt, Store
from ...ir.loops.walk import Substitution, indices, postorder
from ...ir.symbolic.questions import has_several, is_unknown, value_of
from ...ir.symbolic.scope import Scope, scope_of
from . import loop_axes
from .choices import by_step
from .evaluate import Place
from .loop_axes import Access, Lanes
from .stages import (
    UNROLLED,
    AxisMap,
    InnerAxes,
    Reduction,
    RowLoop,
    Signature,
    Stage,
    StageBuilder,
    Write,
)

IDENTITY = {"add": 0, "mul": 1}
LONG_ROW = 32  # vectors of terms, beside which the sum of the lanes of one costs nothing
INNER_BONUS = (
    0.9  # lanes over inner axes keep sums in registers, and need no more blocks of a GPU than rows
)

Places = tuple[dict[Node, Place], dict[Node, Place], tuple[Buf, ...]]


def place_values(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Places:
    """Argument buffers of a kernel: (places of its inputs, places of its outputs, buffers in
    order)."""
    inputs, outputs = places_of(kernel.inputs, "in", strides), places_of(kernel.outputs, "out", {})
    return inputs, outputs, tuple(p.buf for p in [*inputs.values(), *outputs.values()])


def places_of(
    nodes: Iterable[Node], name: str, strides: dict[Node, tuple[int, ...]]
) -> dict[Node, Place]:
    """A buffer for each value; dense where no strides are given."""
    return {
        n: Place(
            Buf(f"{name}{i}", n.dtype, n.size, GLOBAL, n.site),
            strides.get(n) or row_major_strides(n.shape),
        )
        for i, n in enumerate(nodes)
    }


def identity(kind: str, dtype: DType) -> float | int | bool:
    """The value that changes nothing under add, mul or max."""
    return dt.lowest(dtype) if kind == "max" else IDENTITY[kind]


@dataclass
class Axes:
    """Loop axes, and the axes of a kernel in terms of them: the outer ones and, by signature, inner
    ones."""

    outer: list[Var]
    outer_at: list[Index]
    inner: dict[Signature, list[Var]] = field(default_factory=dict)
    inner_at: dict[Signature, list[Index]] = field(default_factory=dict)

    def add(self, signature: Signature) -> None:
        """Inner axes as they are."""
        self.inner[signature] = [Var(f"r{i}", d) for i, d in enumerate(signature)]
        self.inner_at[signature] = [var(v) for v in self.inner[signature]]


def own_axes(kernel: Kernel) -> Axes:
    """A loop for each axis of the kernel."""
    outer = [Var(f"o{i}", d) for i, d in enumerate(kernel.extents)]
    return Axes(outer, [var(v) for v in outer])


class KernelAxes:
    """A kernel over the loops of its schedules: first with one variable per axis, then over those
    of the chosen one."""

    def __init__(self, kernel: Kernel, places: Places, axes: Axes, scratch_bytes: int = 0) -> None:
        self.kernel, self.axes = kernel, axes
        self.inputs, self.outputs, self.buffers = places
        self.outer, self.inner = axes.outer, axes.inner
        self._probed: dict[Signature, InnerAxes] = {}
        self.probe = self.stages(
            AxisMap(axes.outer_at, self._own_inner, scratch_bytes=scratch_bytes)
        )

    def weigh(self, target: Lanes, in_order: bool = False) -> None:
        """What the choice of a schedule looks at. `in_order`: inner axes stay in their order."""
        self.weighed_for = target
        self.roots = [n for s in self.probe for n in roots_of(s)]
        nodes = postorder(self.roots)
        stores = [
            Access(w.index, w.buf.dtype.itemsize, True) for s in self.probe for w in writes_of(s)
        ]
        self.accesses = loop_axes.loads(nodes) + stores
        self.indices = [i for n in nodes for i in indices(n)] + [a.index for a in self.accesses]
        self.groups = loop_axes.collapse(self.outer, self.indices, stretched=True)
        self.inner_groups: dict[Signature, list[list[Var]]] = {}
        self.sum_groups: dict[Node, list[list[Var]]] = {}  # of sums which have others
        for signature, vs in self.inner.items():
            self._group_inner(signature, vs, in_order)
        self.width = lane_width(self.roots, target)
        self.body = loop_axes.work(nodes)

    def _group_inner(self, signature: Signature, axes: list[Var], in_order: bool) -> None:
        """Inner axes as loops walk them. In which order a sum adds up its terms follows from these
        alone, not from what else shares the kernel."""
        loops = [loop for s in self.probe for loop in s.loops if loop.axes == axes]
        sums = [r for loop in loops for r in loop.reductions if r.has_order and len(axes) > 1]
        terms = {r.node: self._evaluated(r.value) for r in sums}
        read = loop_axes.loads(n for nodes in terms.values() for n in nodes)
        loaded = [a.index for a in read or self.accesses if not a.store]
        ordered = axes if in_order else loop_axes.in_memory_order(axes, loaded)
        shared = loop_axes.collapse(ordered, self.indices, stretched=True)
        self.inner_groups[signature] = shared
        for sum_, nodes in terms.items():
            groups = loop_axes.collapse_of_sum(ordered, nodes, stretched=True)
            loop_axes.refuse_stretch(groups, [i for n in nodes for i in indices(n)])
            if groups != shared:
                self.sum_groups[sum_] = groups

    def _evaluated(self, value: Node) -> list[Node]:
        """What a value of the probe is made of, with what earlier stages keep for it."""
        kept = {w.buf: w.value for s in self.probe for w in writes_of(s) if w.buf.space != GLOBAL}
        nodes, roots = list[Node](), [value]
        while roots:
            below = postorder([roots.pop()])
            nodes += below
            held = [n.arg[0] for n in below if n.op is Op.LOAD and n.arg[0] in kept]
            roots += [kept.pop(buf) for buf in dict.fromkeys(held)]
        return nodes

    @property
    def reduces(self) -> bool:
        """Are there reductions? Else inner axes are short rows of maps."""
        return any(loop.reductions or loop.sums for s in self.probe for loop in s.loops)

    @property
    def why_inner(self) -> str:
        """Why some of its axes are inner ones."""
        return "there are reductions" if self.reduces else "there are short rows"

    def work(self) -> int:
        """Operations of the kernel."""
        return loop_axes.extent(self.outer) * self._inner() * max(1, self.body)

    def _inner(self) -> int:
        return sum(loop_axes.extent(vs) for vs in self.inner.values()) or 1

    def row_work(self) -> int:
        """Operations of a row: as many if a number is an input as if it is a constant."""
        nodes = [n for n in postorder(self.roots) if not loop_axes.is_number(n)]
        return self._inner() * max(1, loop_axes.work(nodes))

    def stages(self, axes: AxisMap) -> list[Stage]:
        return StageBuilder(self.kernel, self.inputs, self.outputs, axes).build()

    def axis_map(
        self, by: dict[Var, Index], acc_index: Index | None = None, lanes: int = 1, scratch: int = 0
    ) -> AxisMap:
        """Outer variables are as `by` says; a loop for each group of inner ones."""
        made: dict[tuple[tuple[Var, ...], ...], InnerAxes] = {}

        def inner(signature: Signature, n: Node) -> InnerAxes:
            groups = self.sum_groups.get(n, self.inner_groups[signature])
            key = tuple([tuple(g) for g in groups])
            if key not in made:
                made[key] = self._inner_axes(signature, groups, by)
            return made[key]

        return AxisMap(
            [e.substitute(by) for e in self.axes.outer_at],
            inner,
            acc_index or Index(),
            lanes,
            scratch,
        )

    def _inner_axes(
        self, signature: Signature, groups: list[list[Var]], by: dict[Var, Index]
    ) -> InnerAxes:
        by = dict(by)
        axes: list[Var] = []
        for g in groups:
            axis = Var("c" if not axes else f"c{len(axes)}", loop_axes.extent(g))
            axes.append(axis)
            by |= loop_axes.spread(var(axis), g)
        at = [e.substitute(by) for e in self.axes.inner_at[signature]]
        return InnerAxes(signature, axes, at)

    def map_groups(
        self,
        groups: Sequence[list[Var]],
        acc_index: Index | None = None,
        lanes: int = 1,
        scratch: int = 0,
    ) -> tuple[AxisMap, list[Var]]:
        """A map to one variable for each group of outer axes, and these variables."""
        units = [Var(f"u{i}", loop_axes.extent(g)) for i, g in enumerate(groups)]
        by: dict[Var, Index] = {}
        for g, unit in zip(groups, units, strict=True):
            by |= loop_axes.spread(var(unit), g)
        return self.axis_map(by, acc_index, lanes, scratch), units

    def stages_at(
        self, axes: AxisMap, units: Sequence[Var], at: Sequence[Index], join: bool = False
    ) -> list[Stage]:
        """The stages over a map of the axes, its variables in terms of others; `join`: a loop over
        inner axes has one axis.

        In two steps, so that what walks a group as one has an index of one term, also where that is
        a remainder in the end.
        """
        stages = self.stages(axes)
        known, lanes = dict(zip(units, at, strict=True)), dict[Var, Var]()
        for inner in {
            tuple(loop.axes): None
            for s in stages
            for loop in s.loops
            if join and len(loop.axes) > 1
        }:
            shape = tuple(v.extent for v in inner)
            lanes[inner[0]] = Var("c", prod(shape))
            known |= dict(zip(inner, unravel(var(lanes[inner[0]]), shape), strict=True))
        return [_substituted(s, Substitution(known), lanes) for s in stages]

    def rows_by(self, groups: list[list[Var]], position: Index) -> dict[Var, Index]:
        """The variables of groups from a position in them."""
        by: dict[Var, Index] = {}
        shape = tuple(loop_axes.extent(g) for g in groups)
        for g, at in zip(groups, unravel(position, shape), strict=True):
            by |= loop_axes.spread(at, g)
        return by

    @cached_property
    def outer_lanes(self) -> tuple[list[Var] | None, float]:
        """The collapsed outer axes along which lanes cost least, and the cost; the last of
        equals."""
        best: tuple[list[Var] | None, float] = (None, float("inf"))
        inner = {v for axes in self.inner.values() for v in axes}
        often = [a for a in self.accesses if not a.index.vars().isdisjoint(inner)] or self.accesses
        for g in self.groups:
            cost = self.group_cost(g, often)
            if has_several(loop_axes.extent(g)) and cost <= best[1]:
                best = (g, cost)
        return best

    def inner_cost(self, combining: Mapping[str, float] | None = None, partial: float = 0) -> float:
        """The cost of lanes along the inner axes, as it compares with that of outer ones.

        `combining`: cycles for the lanes of a vector, by the kind of reduction. `partial`: cycles
        more for an access of a part of a vector.
        """
        costs = list[tuple[float, int]]()
        for signature, groups in self.inner_groups.items():
            touching = [
                a
                for a in self.accesses
                if not a.index.vars().isdisjoint(v for g in groups for v in g)
            ]
            cost = self.group_cost(groups[-1], touching or self.accesses)
            terms = prod(loop_axes.extent(g) for g in groups)
            terms = value_of(terms) if is_unknown(terms) else terms
            if terms < LONG_ROW * self.width:
                each_row = self._combining(signature, combining or {})
                each_row += partial * len(touching) if terms % self.width else 0
                cost += each_row / _rounded(-(-terms // self.width))
            costs.append((cost, terms))
        if len(costs) == 1:
            return INNER_BONUS * costs[0][0]
        elements = sum(value_of(terms) for _, terms in costs)
        return INNER_BONUS * sum(c * value_of(n) for c, n in costs) / max(1, elements)

    def _combining(self, signature: Signature, cycles: Mapping[str, float]) -> float:
        """Of all reductions over some inner axes."""
        inner = self.inner[signature]
        loops = [loop for s in self.probe for loop in s.loops if loop.axes == inner]
        return sum(cycles.get(r.kind, 0) for loop in loops for r in loop.reductions)

    @cached_property
    def steps(self) -> int:
        """Of all reductions of a row together."""
        return sum(prod(v.extent for v in loop.axes) for s in self.probe for loop in s.loops)

    @property
    def scope(self) -> Scope | None:
        """That of its symbolic extents, if it has such."""
        inner = [v for axes in self.inner.values() for v in axes]
        return scope_of(v.extent for v in (*self.outer, *inner))

    @property
    def reductions(self) -> list[Reduction]:
        """Of all its stages."""
        return [r for s in self.probe for r in reductions_of(s)]

    def again(self) -> Self:
        """The same, weighed for the values that symbols have."""
        other = copy(self)
        for name in ("outer_lanes", "steps"):
            other.__dict__.pop(name, None)
        other.weigh(self.weighed_for)
        return other

    @property
    def has_few_steps(self) -> bool:
        """Can they stand in a row?"""
        return not is_unknown(self.steps) and self.steps <= UNROLLED

    def group_cost(self, group: list[Var], accesses: list[Access]) -> float:
        """Of the last variable of a collapsed group: it is the fastest of the group."""
        rows = bool(self.inner) and self.has_few_steps
        return loop_axes.lane_cost(group[-1], loop_axes.extent(group), accesses, self.width, rows)

    def _own_inner(self, signature: Signature, _: Node) -> InnerAxes:
        if signature not in self.inner:
            self.axes.add(signature)
        if signature not in self._probed:
            axes = self.inner[signature], self.axes.inner_at[signature]
            self._probed[signature] = InnerAxes(signature, *axes)
        return self._probed[signature]


def _rounded(vectors: int) -> int:
    """Up to a power of two: few questions tell costs of few vectors apart."""
    return next(1 << i for i in count() if 1 << i >= vectors)


def _substituted(s: Stage, by: Substitution, lanes: Mapping[Var, Var]) -> Stage:
    """A stage over other variables; loops whose first axis is in `lanes` have that one axis
    instead."""

    def over(writes: list[Write]) -> list[Write]:
        return [Write(w.buf, by.index(w.index), by.node(w.value)) for w in writes]

    loops = [
        RowLoop(
            [lanes[loop.axes[0]]] if loop.axes and loop.axes[0] in lanes else loop.axes,
            [replace(r, value=by.node(r.value)) for r in loop.reductions],
            over(loop.writes),
            [replace(t, index=by.index(t.index), value=by.node(t.value)) for t in loop.sums],
        )
        for loop in s.loops
    ]
    return Stage(loops, over(s.writes))


def lane_width(roots: Iterable[Node], target: Lanes) -> int:
    """The lanes that a loop over these expressions will have."""
    return target.lanes_of(n.dtype for n in postorder(roots) if n.op not in (Op.VAR, Op.CONST))


def roots_of(s: Stage) -> list[Node]:
    """Every expression of a stage."""
    return [n for loop in s.loops for n in loop.roots()] + [w.value for w in s.writes]


def writes_of(s: Stage) -> list[Write]:
    """Every write of a stage."""
    return [w for loop in s.loops for w in loop.writes] + s.writes


def reductions_of(s: Stage) -> list[Reduction]:
    """Every reduction of a stage."""
    return [r for loop in s.loops for r in loop.reductions]


def scratch_of(stages: list[Stage]) -> list[Buf]:
    """What stages keep for those that follow."""
    return [w.buf for s in stages for w in writes_of(s) if w.buf.space != GLOBAL]


def in_a_row(loop: RowLoop) -> list[Stmt]:
    """All steps of a loop, one after the other."""
    if not (loop.reductions or loop.sums):
        return by_step(loop.axes, [Store(w.buf, w.index, w.value) for w in loop.writes])
    return [loop_axes.nest(loop.axes, *row_statements(loop), kind=UNROLL)]


def in_registers(
    stages: Iterable[Stage], steps: Callable[[RowLoop], list[Stmt]] = in_a_row
) -> list[Stmt]:
    """Stages whose reductions are registers, for one lane or a few vectors of lanes; `steps`: all
    of a loop."""
    body: list[Stmt] = []
    for s in stages:
        body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
        for loop in s.loops:
            body += steps(loop)
        body += [Store(w.buf, w.index, w.value) for w in s.writes]
    return body


def row_statements(loop: RowLoop, at: Index | None = None) -> list[Stmt]:
    """What one step of a loop over a row does; `at`: elements of accumulators that it adds to."""
    at = Index() if at is None else at
    reduces: list[Stmt] = [r.into(r.acc, at, r.value) for r in loop.reductions]
    reduces += [Reduce(s.acc, s.index, s.node.arg[0], s.value) for s in loop.sums]
    return reduces + [Store(w.buf, w.index, w.value) for w in loop.writes]


def combined(r: Reduction, axis: Var, steps: list[Index], at: Index) -> Reduce:
    """Several steps of an inner axis as one Reduce into acc[at]: their values, the first added to
    the second, and so on. A single one is rounded first, as several are."""
    values = [Substitution({axis: step}).node(r.value) for step in steps]
    op = (
        Op.OR
        if r.value.dtype is dt.bool_
        else {"add": Op.ADD, "mul": Op.MUL, "max": Op.MAX}[r.kind]
    )
    total = values[0]
    for value in values[1:]:
        total = node(op, (total, value))
    return replace(r, rounded=True).into(r.acc, at, total)
