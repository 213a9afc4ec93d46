"""Kernel -> Stages: what each pass over a row computes. In: a map or rows Kernel. Out: reductions
and stores, by level.

    max | exp(x - max), sum | write     three stages over the same row

A value's level is the number of reductions of this kernel it has to wait for; stage k reduces and
stores what has level k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from ...ir.graph.graph import Node, is_deviation_squared
from ...ir.graph.index import Index, Var, row_major, var
from ...ir.graph.op import ELEMENTWISE, Op
from ...ir.kernels.kernel import WORDS, Kernel, Unit, cost, join
from ...ir.kernels.sum_order import has_order, lanes_add, term_stride
from ...ir.loops.loop import REG, SCRATCH, Buf, Reduce
from ...ir.symbolic.integer import NotSymbolicHere, Symbolic
from ...ir.symbolic.questions import is_same, is_unknown, value_of
from .evaluate import Evaluator, Place, load

Signature = tuple[int, ...]
ROOM = 8  # times a row whose length is not known: longer ones have a program of their own
UNROLLED = 32  # steps of short reductions that may stand in a row
# terms that have a partial sum each in four of the widest vectors: rows of a known length may have
# half as many sums, which gives the same bits unless FMAs add the terms
FEW_TERMS = 64
EXPENSIVE = 8  # operations from which a value is kept in scratch rather than computed again


@dataclass
class Reduction:
    """`rounded`: are terms that are products rounded before they are added, as if they came from
    memory."""

    node: Node
    acc: Buf
    value: Node
    rounded: bool

    @property
    def kind(self) -> str:
        """One of graph.REDUCTIONS."""
        kind: str = self.node.arg[0]
        return kind

    @property
    def has_order(self) -> bool:
        """Does its value depend on the order of its terms?"""
        return has_order(self.kind, self.acc.dtype)

    @property
    def in_lanes(self) -> bool:
        """Do lanes add up its terms, if these have an order? Asks."""
        return lanes_add(term_stride(self.node))

    def into(self, acc: Buf, at: Index, value: Node) -> Reduce:
        """Adds a value to an element of an accumulator."""
        reduce = Reduce(acc, at, self.kind, value)
        return replace(reduce, rounded=True) if self.rounded and reduce.fuses else reduce


@dataclass
class Write:
    buf: Buf
    index: Index
    value: Node


@dataclass
class ColumnSum:
    """A reduction over the rows: `acc` has an element for each column."""

    node: Node
    acc: Buf
    index: Index
    value: Node


@dataclass
class RowLoop:
    """One loop nest over inner axes."""

    axes: list[Var]
    reductions: list[Reduction] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    sums: list[ColumnSum] = field(default_factory=list)

    def roots(self) -> list[Node]:
        return (
            [r.value for r in self.reductions]
            + [s.value for s in self.sums]
            + [w.value for w in self.writes]
        )


@dataclass
class Stage:
    """Loops over the row, then writes of row values that wait for no more reductions than the loops
    do."""

    loops: list[RowLoop] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)


@dataclass(eq=False)
class InnerAxes:
    """The axes of a loop, and the inner axes of units of a signature in terms of them."""

    signature: Signature
    axes: list[Var]
    at: list[Index]

    @property
    def position(self) -> Index:
        """Of a step, counted in the order of the loop."""
        return row_major([var(v) for v in self.axes], [v.extent for v in self.axes])


@dataclass
class AxisMap:
    """How the axes of a kernel are expressed: an Index for each outer axis, loop axes for each
    inner signature. A reduction may have axes of its own."""

    outer: Sequence[Index]
    inner: Callable[[Signature, Node], InnerAxes]
    acc_index: Index = field(default_factory=Index)
    lanes: int = 1  # elements of each accumulator: 1, or a block of outer lanes
    scratch_bytes: int = 0  # how much a row may keep
    keep: str = SCRATCH  # where
    keeps_unknown: bool = True  # rows whose length is not known, too


Loops = dict[InnerAxes, RowLoop]


class StageBuilder:
    """Evaluates every unit of a kernel over one AxisMap."""

    def __init__(
        self, kernel: Kernel, places: dict[Node, Place], outputs: dict[Node, Place], axes: AxisMap
    ) -> None:
        self.kernel, self.axes, self.outputs = kernel, axes, outputs
        self.unit = {u.node: u for u in kernel.units}
        reduces = [
            u.node for u in kernel.units if u.node.op is Op.REDUCE and u not in kernel.columns
        ]
        sums = [u for u in kernel.units if u in kernel.columns]
        self.sums = {
            u.node: Buf(f"sums{i}", u.node.dtype, u.node.size, SCRATCH, u.node.site)
            for i, u in enumerate(sums)
        }
        space = REG if axes.lanes == 1 else SCRATCH
        self.accs = {
            n: Buf(f"{WORDS[n.arg[0]]}{i}", n.dtype, axes.lanes, space, n.site)
            for i, n in enumerate(reduces)
        }
        self.level = self._levels()
        self.needed = self._needed()
        self.total = self._totals()
        self.finished: set[Node] = set()
        self.saved: dict[Node, Buf] = {}
        self.in_row: dict[tuple[Node, InnerAxes], tuple[Index, ...]] = {}
        self.here = InnerAxes((), [], [])  # of what is evaluated
        self.eval = Evaluator(places, self._local)

    def _local(self, n: Node, at: tuple[Index, ...]) -> Node | None:
        if n in self.finished:
            return load(self.accs[n], self.axes.acc_index)
        if n in self.saved and at == self._own_place(n):
            return load(self.saved[n], self.here.position)
        return None

    def _own_place(self, n: Node) -> tuple[Index, ...] | None:
        """Where a value is evaluated for a step of the loop at hand, if it has that loop's axes."""
        u, key = self.unit[n], (n, self.here)
        if key not in self.in_row:
            if self._signature(u) != self.here.signature:
                return None
            self.in_row[key] = tuple(self._position(u, self._by(u, self.here)))
        return self.in_row[key]

    def _levels(self) -> dict[Node, int]:
        level: dict[Node, int] = {}
        for u in self.kernel.units:
            waits = [level[r.base] + (r.base.op is Op.REDUCE) for r in u.reads if r.base in level]
            level[u.node] = max(waits, default=0)
        return level

    def value_level(self, n: Node) -> int:
        """The stage in which a value is stored: the next one where a sum of its stage walks the
        same elements otherwise."""
        level, signature = self.level[n], self._signature(self.unit[n])
        if n in self.accs or not signature:
            return level + (n in self.accs)
        own = self.axes.inner(signature, n)
        return level + any(
            self.level[r] == level
            and self._signature(self.unit[r]) == signature
            and self.axes.inner(signature, r) is not own
            for r in self.accs
        )

    def _needed(self) -> dict[Node, set[int]]:
        """The stages that evaluate each map."""
        needed: dict[Node, set[int]] = {u.node: set() for u in self.kernel.units}
        for n in self.kernel.outputs:
            needed[n].add(self.value_level(n))
        for u in reversed(self.kernel.units):
            here = {self.level[u.node]} if u.node.op is Op.REDUCE else needed[u.node]
            for r in u.reads:
                if r.base in needed and r.base.op is not Op.REDUCE:
                    needed[r.base] |= here
        return needed

    def build(self) -> list[Stage]:
        last = max((self.value_level(u.node) for u in self.kernel.units), default=0)
        return [self._stage(number) for number in range(last + 1)]

    def _stage(self, number: int) -> Stage:
        stage, loops = Stage(), Loops()
        members = [
            u for u in self.kernel.units if self.level[u.node] == number and u.node.op is Op.REDUCE
        ]
        for u in members:
            self._reduce(u, loops)
        for n in self.kernel.outputs:
            if self.value_level(n) == number:
                self._write(self.unit[n], loops, stage)
        self._save_expensive(number, loops)
        stage.loops = list(loops.values())
        self.finished |= {u.node for u in members}
        self.eval.memo.clear()
        return stage

    def _signature(self, u: Unit) -> Signature:
        return tuple(v.extent for v in u.inner_vars(self.kernel.outer[u]))

    def _by(self, u: Unit, inner: InnerAxes) -> dict[Var, Index]:
        outer = self.kernel.outer[u]
        by = dict(zip(outer, self.axes.outer, strict=True))
        return by | dict(zip(u.inner_vars(outer), inner.at, strict=True))

    def _enter(self, u: Unit) -> dict[Var, Index]:
        """The axes of a unit, in the loop that is to evaluate it."""
        signature = self._signature(u)
        self.here = self.axes.inner(signature, u.node) if signature else InnerAxes((), [], [])
        return self._by(u, self.here)

    def _loop(self, loops: Loops) -> RowLoop:
        return loops.setdefault(self.here, RowLoop(list(self.here.axes)))

    def _reduce(self, u: Unit, loops: Loops) -> None:
        by = self._enter(u)
        value = self.eval.value(u.node.src[0], [e.substitute(by) for e in u.coordinates()])
        loop = self._loop(loops)
        if u.node in self.sums:
            index = row_major(self._position(u, by), u.node.shape)
            loop.sums.append(ColumnSum(u.node, self.sums[u.node], index, value))
        else:
            loop.reductions.append(Reduction(u.node, self.accs[u.node], value, _rounds(u.node)))

    def _position(self, u: Unit, by: dict[Var, Index]) -> list[Index]:
        return [join(sub).substitute(by) for sub in u.kept()]

    def _write(self, u: Unit, loops: Loops, stage: Stage) -> None:
        at = self._position(u, self._enter(u))
        place = self.outputs[u.node]
        write = Write(place.buf, place.at(at), self.eval.value(u.node, at))
        row_value = u.node.op is Op.REDUCE or not self.here.signature
        (stage.writes if row_value else self._loop(loops).writes).append(write)

    def _save_expensive(self, number: int, loops: Loops) -> None:
        """Keeps costly row values for the stages that follow, as long as the row fits."""
        for u in self._frontier(number):
            signature = self._signature(u)
            size = prod(signature) * u.node.dtype.itemsize
            room = self.axes.scratch_bytes
            if isinstance(size, Symbolic):
                room = min(room, ROOM << value_of(size).bit_length())
            here = next((i for i in loops if i.signature == signature), None)
            if here is None or size > room:
                continue
            if is_unknown(size) and not self.axes.keeps_unknown:
                _refuse_product(u.node)
                continue
            self.here = here
            size = room if isinstance(size, Symbolic) else size
            at = self._position(u, self._by(u, self.here))
            buf = Buf(
                f"{u.node.op.value}_row{len(self.saved)}",
                u.node.dtype,
                size // u.node.dtype.itemsize,
                self.axes.keep,
                u.node.site,
            )
            value = self.eval.value(u.node, at)
            loops[self.here].writes.append(Write(buf, self.here.position, value))
            self.axes.scratch_bytes -= size
            self.saved[u.node] = buf

    def _frontier(self, number: int) -> list[Unit]:
        """Costly maps computed in this stage that later stages read directly: what they are made of
        need not be kept."""
        wanted, costly = set[Node](), []
        for u in reversed(self.kernel.units):
            stages = self.needed[u.node] if u.node.op is not Op.REDUCE else {self.level[u.node]}
            root = u.node.op is Op.REDUCE or u.node in self.kernel.outputs
            if max(stages, default=0) <= number or not (root or u.node in wanted):
                continue
            keep = u.node.op in ELEMENTWISE and number in stages and self.total[u.node] >= EXPENSIVE
            if keep and u.node not in self.saved:
                costly.append(u)
            elif u.node not in self.saved:
                wanted |= {
                    r.base for r in u.reads if r.base in self.unit and r.base.op is not Op.REDUCE
                }
        return costly[::-1]

    def _totals(self) -> dict[Node, int]:
        """Operations to evaluate each map from what is in memory or accumulated (at most EXPENSIVE
        counts)."""
        total: dict[Node, int] = {}
        for u in self.kernel.units:
            below = sum(total.get(r.base, 0) for r in u.reads if r.base.op is not Op.REDUCE)
            total[u.node] = min(EXPENSIVE, cost(u.node) + below)
        return total


def _refuse_product(n: Node) -> None:
    """A product that is kept is rounded, one that is computed again may not be."""
    if n.op is Op.MUL and n.dtype.is_float:
        raise NotSymbolicHere(f"rows of a length that is not known keep no {n}")


def _rounds(n: Node) -> bool:
    """Are its terms, where they are products, rounded before they are added? They are where every
    schedule adds them so, and where there are few."""
    (x,) = n.src
    in_rows = is_same(term_stride(n), 1)
    return not is_deviation_squared(x) or not in_rows or x.size <= FEW_TERMS * n.size
