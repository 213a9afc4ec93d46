"""A chain of contractions taken apart. In: a chain Kernel. Out: its axes, the values of its
factors, what each stage computes.

    S[i, j] = sum_d Q[i, d] K[j, d]
    stage 0: max_j    stage 1: sum_j exp(...), kept as P
    O[i, c] = sum_j P[i, j] V[j, c]

A value's stage is the number of reductions along its row that it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, const
from ...ir.graph.index import Index, Mask, Var, unravel, var
from ...ir.graph.op import Op
from ...ir.graph.views import resolve
from ...ir.kernels.align import factor_vars
from ...ir.kernels.chain import Softmax, factor_of, in_blocks, is_online, softmax_of
from ...ir.kernels.kernel import Kernel, Unit, base_of, cost, is_widening, join
from ...ir.loops.loop import Stmt, Store
from ...ir.loops.walk import indices, postorder
from . import loop_axes
from .chain_mask import SpaceMask, mask_of
from .contraction import AxisGroups, groups_extent, spread_groups
from .evaluate import Evaluator, Place
from .kernel_axes import lane_width, place_values
from .loop_axes import Lanes, extent
from .stages import EXPENSIVE

KnownValues = dict[Node, Node]  # values that are known where an expression is evaluated
SpacePosition = dict[Var, Index]  # of the variables of the space


@dataclass(eq=False)
class Score:
    """A contraction that spans the space. `query` varies along the rows, `key` along the
    columns."""

    unit: Unit
    query: Node
    key: Node
    terms: AxisGroups

    @property
    def length(self) -> int:
        return groups_extent(self.terms)


@dataclass(eq=False)
class Result:
    """A contraction that sums `weight`, a value of the space, times `value` over the columns (or
    over the rows)."""

    unit: Unit
    weight: Node
    value: Node
    lanes: AxisGroups
    over_rows: bool

    @property
    def width(self) -> int:
        return groups_extent(self.lanes)


class ChainProblem:
    """Axes by role, and values at a position of the space."""

    def __init__(self, kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Lanes) -> None:
        assert kernel.chain is not None
        self.kernel, self.chain = kernel, kernel.chain
        self.inputs, self.outputs, self.buffers = place_values(kernel, strides)
        self.unit = {u.node: u for u in (*self.chain.scores, *self.chain.inner)}
        self.product = {
            u: next(p for p in kernel.units if p.node is u.node.src[0])
            for u in self.chain.contractions
        }
        self.softmax: Softmax | None = softmax_of(self.chain)
        self.maximum = self.softmax.maximum if self.softmax is not None else None
        # weights are then taken before the division by the sum of their row
        self.online = is_online(self.chain)
        self.dtype = self.chain.scores[0].node.dtype
        self.mask = mask_of(self.chain)
        self._collapse()
        self.width = lane_width(self._factors(), target)

    def _factors(self) -> list[Node]:
        """Both factors of every score, in terms of the axes themselves."""
        at, factors = self.own_position, [(s, f) for s in self.scores for f in (s.query, s.key)]
        return [self.term(s, f, at, [var(v) for g in s.terms for v in g]) for s, f in factors]

    def _collapse(self) -> None:
        """Neighbouring axes become one where every access walks them as one; rows are the lanes,
        others of their axes loops."""
        self.batch: AxisGroups = [[v] for v in self.chain.batch]
        self.others: AxisGroups = [[v] for v in self.chain.rows[:-1]]
        self.row, self.columns = [self.chain.rows[-1]], [[v] for v in self.chain.columns]
        self.scores = [self._score(u) for u in self.chain.scores]
        self.results = [self._result(u) for u in self.chain.results]
        self.own_position: SpacePosition = {
            v: var(v) for v in (*self.chain.batch, *self.chain.rows, *self.chain.columns)
        }
        accesses = self._accesses()
        self.batch = loop_axes.collapse(self.chain.batch, accesses)
        *self.others, self.row = loop_axes.collapse(self.chain.rows, accesses)
        self.columns = loop_axes.collapse(self.chain.columns, accesses)
        for s in self.scores:
            s.terms = loop_axes.collapse([v for g in s.terms for v in g], accesses)
        for r in self.results:
            r.lanes = loop_axes.collapse([v for g in r.lanes for v in g], accesses)

    def _accesses(self) -> list[Index]:
        """Where everything is read and written, in terms of the axes themselves."""
        held = {
            u.node: const(0, u.node.dtype)
            for u in (*self.chain.contractions, *self.chain.inner)
            if u.node.op is Op.REDUCE
        }
        nodes, out = self._factors(), list[Index]()
        for r in self.results:
            lanes = [var(v) for g in r.lanes for v in g]
            nodes += [
                self.weighted(r, self.own_position, lanes),
                self.weight(r, self.own_position, held),
            ]
            for place, index, value in (
                self.stored(n, self.own_position, lanes, held) for n in self.outputs_of(r)
            ):
                nodes.append(value)
                out.append(place.at(index))
        nodes += [
            self.reduced(u, self.own_position, held)
            for u in self.chain.inner
            if u.node.op is Op.REDUCE
        ]
        return out + [i for n in postorder(nodes) for i in indices(n)]

    def _score(self, u: Unit) -> Score:
        sides = factor_vars(u, self.product[u])
        assert sides is not None
        labels = self.chain.labels[u]
        first = self.chain.rows[-1] in {labels.get(v) for v in sides[0]}
        query, key = self.product[u].node.src if first else self.product[u].node.src[::-1]
        return Score(u, query, key, [[v] for v in u.inner_vars(u.kept_vars())])

    def _result(self, u: Unit) -> Result:
        weight = factor_of(self.chain, u)
        a, b = self.product[u].node.src
        lanes = [[v] for v in u.kept_vars() if v not in self.chain.labels[u]]
        return Result(u, weight, b if weight is a else a, lanes, self.chain.sums_rows(u))

    # ------------------------------------------------------------ positions

    @property
    def sums_rows(self) -> bool:
        """Is there a result that needs every row?"""
        return any(r.over_rows for r in self.results)

    @property
    def in_blocks(self) -> bool:
        """May the columns come in blocks?"""
        return in_blocks(self.chain)

    def rows(self) -> int:
        return extent(self.row)

    def length(self) -> int:
        return groups_extent(self.columns)

    def at(self, batch: Sequence[Index], row: Index, column: Index) -> SpacePosition:
        """A position of the space; `batch` also has those of the rows' other axes."""
        by = spread_groups([*self.batch, *self.others, self.row], [*batch, row])
        return by | spread_groups(
            self.columns, unravel(column, tuple(extent(g) for g in self.columns))
        )

    def _own(
        self, u: Unit, at: SpacePosition, others: AxisGroups, position: Sequence[Index]
    ) -> SpacePosition:
        own = {v: at[label] for v, label in self.chain.labels[u].items() if label in at}
        return own | spread_groups(others, position)

    def _split(self, groups: AxisGroups, position: Index | Sequence[Index]) -> Sequence[Index]:
        return (
            unravel(position, tuple(extent(g) for g in groups))
            if isinstance(position, Index)
            else position
        )

    # ------------------------------------------------------------ values

    def term(
        self,
        s: Score,
        factor: Node,
        at: SpacePosition,
        k: Index | Sequence[Index],
        guard: Mask = (),
        narrow: bool = False,
    ) -> Node:
        """A factor of a score at a step of its sum; 0 where a guard does not hold. `narrow`: the
        16-bit float that it widens."""
        groups = s.terms if isinstance(k, Index) else [[v] for g in s.terms for v in g]
        by = self._any(s.unit) | self._own(s.unit, at, groups, self._split(groups, k))
        return self._factor(factor, [e.substitute(by) for e in s.unit.coordinates()], guard, narrow)

    def weighted(
        self,
        r: Result,
        at: SpacePosition,
        lane: Index | Sequence[Index],
        guard: Mask = (),
        narrow: bool = False,
    ) -> Node:
        """The factor of a result that is not in the space."""
        groups = r.lanes if isinstance(lane, Index) else [[v] for g in r.lanes for v in g]
        by = self._any(r.unit) | self._own(r.unit, at, groups, self._split(groups, lane))
        return self._factor(
            r.value, [e.substitute(by) for e in r.unit.coordinates()], guard, narrow
        )

    def _factor(self, factor: Node, index: list[Index], guard: Mask, narrow: bool) -> Node:
        if narrow:
            n, index, ranges = resolve(factor, index)
            return self.value(n.src[0], index, {}, (*guard, *ranges))
        return self.value(factor, index, {}, guard)

    def narrow_dtype(self, factor: Node) -> DType | None:
        """The 16-bit float that a factor widens."""
        n, _, _ = resolve(factor, [Index() for _ in factor.shape])
        return n.src[0].dtype if is_widening(n) and n not in self.inputs else None

    def _any(self, u: Unit) -> SpacePosition:
        return {v: Index() for sub in u.axes for v in sub}

    def reduced(self, u: Unit, at: SpacePosition, held: KnownValues, guard: Mask = ()) -> Node:
        """What a reduction along the rows combines."""
        by = self._own(u, at, [], [])
        return self.value(u.node.src[0], [e.substitute(by) for e in u.coordinates()], held, guard)

    def of_space(self, u: Unit, at: SpacePosition, held: KnownValues, guard: Mask = ()) -> Node:
        """A map of the space."""
        by = self._own(u, at, [], [])
        return self.value(u.node, [join(sub).substitute(by) for sub in u.kept()], held, guard)

    def condition(self, mask: SpaceMask, at: SpacePosition) -> Node:
        """The condition of a mask."""
        by = self._own(mask.unit, at, [], [])
        return self.value(
            mask.condition, [join(sub).substitute(by) for sub in mask.unit.kept()], {}
        )

    def ruled_out(self, r: Result, at: SpacePosition) -> Node:
        """The weight of a place that the mask rules out, as far as that depends on values of its
        row from elsewhere."""
        assert self.mask is not None
        held = {u.node: const(0, u.node.dtype) for u in self.chain.scores}
        return self.weight(
            r, at, held | {base_of(self.mask.condition): const(not self.mask.live, dt.bool_)}
        )

    def weight(self, r: Result, at: SpacePosition, held: KnownValues, guard: Mask = ()) -> Node:
        """The factor of a result that is in the space, taken before a division that the result
        makes up for."""
        by = self._any(r.unit) | self._own(r.unit, at, [], [])
        index = [e.substitute(by) for e in r.unit.coordinates()]
        if not self.online or self.softmax is None:
            return self.value(r.weight, index, held, guard)
        quotients = self.softmax.quotients

        def local(n: Node, i: tuple[Index, ...]) -> Node | None:
            if n in quotients and n not in held:
                return ev.value(n.src[0], i, guard)
            return held.get(n)

        ev = Evaluator(self.inputs, local)
        return ev.value(r.weight, index, guard)

    def value(self, n: Node, index: Sequence[Index], held: KnownValues, guard: Mask = ()) -> Node:
        return Evaluator(self.inputs, lambda n, _: held.get(n)).value(n, index, guard)

    def stored(
        self,
        n: Node,
        at: SpacePosition,
        lane: Index | Sequence[Index],
        held: KnownValues,
        guard: Mask = (),
    ) -> tuple[Place, list[Index], Node]:
        """(place, index, value) of an output: of the rows, or of the map of a result."""
        unit = next(u for u in self.kernel.units if u.node is n)
        owner = self.chain.owner.get(unit, unit)
        if owner in self.chain.results:
            r = next(r for r in self.results if r.unit is owner)
            lanes = r.lanes if isinstance(lane, Index) else [[v] for g in r.lanes for v in g]
            of_result = self._own(owner, at, lanes, self._split(lanes, lane))
            by = {
                v: of_result[w]
                for v, w in zip(self.kernel.outer[unit], owner.kept_vars(), strict=True)
            }
        else:
            by = self._own(unit, at, [], [])
        index = [join(sub).substitute(by) for sub in unit.kept()]
        return self.outputs[n], index, self.value(n, index, held, guard)

    def writes(
        self,
        outputs: Iterable[Node],
        at: SpacePosition,
        lane: Index | Sequence[Index],
        held: KnownValues,
        guard: Mask = (),
    ) -> list[Stmt]:
        """Stores of outputs where the guard holds."""
        stored = (self.stored(n, at, lane, held, guard) for n in outputs)
        return [Store(place.buf, place.at(index), value, guard) for place, index, value in stored]

    def outputs_of(self, r: Result) -> list[Node]:
        units = {u.node: u for u in self.kernel.units}
        return [
            n for n in self.kernel.outputs if self.chain.owner.get(units[n], units[n]) is r.unit
        ]

    def row_outputs(self) -> list[Node]:
        return [n for n in self.kernel.outputs if n in self.unit]


@dataclass(eq=False)
class ChainStage:
    """What one pass over a block of the space computes."""

    reductions: list[Unit]
    weights: list[Result]
    kept: list[Unit]  # maps that later stages use, too costly to evaluate again
    free: list[Unit]  # scores and kept maps that no later stage needs


class StagePlan:
    """Stages of a chain: which reductions and weights wait for which, and what is kept from one to
    the next."""

    def __init__(self, p: ChainProblem) -> None:
        self.p = p
        self.level: dict[Unit, int] = dict.fromkeys(p.chain.scores, 0)
        for u in p.chain.inner:
            self.level[u] = max(
                (self.level[n] + (n.node.op is Op.REDUCE) for n in self.needs(u, False)), default=0
            )
        self.total: dict[Unit, int] = dict.fromkeys(p.chain.scores, 0)
        for u in p.chain.inner:
            below = sum(self.total[n] for n in self.needs(u, False) if n.node.op is not Op.REDUCE)
            self.total[u] = min(EXPENSIVE, cost(u.node) + below)
        self.stages = self._stages()

    def needs(self, u: Unit, divided: bool) -> list[Unit]:
        """The values of the space or its rows that a map or reduction reads."""
        s = self.p.softmax
        if divided and s is not None and u.node in s.quotients:
            return [self.p.unit[s.powers]]
        return [self.p.unit[r.base] for r in u.reads if r.base in self.p.unit]

    def root(self, r: Result) -> Unit:
        """The map whose values a result weighs with."""
        read = next(q for q in self.p.product[r.unit].reads if q.base in self.p.unit)
        return self.p.unit[read.base]

    def level_of(self, r: Result) -> int:
        units = self._walk([(self.root(r), self.p.online)], set())
        return max((self.level[u] + 1 for u in units if u.node.op is Op.REDUCE), default=0)

    def _walk(self, roots: Iterable[tuple[Unit, bool]], stop: set[Unit]) -> list[Unit]:
        """Everything that is evaluated for the roots; reductions, scores and `stop` are met, not
        entered."""
        units: dict[Unit, None] = {}
        stack = list(roots)
        while stack:
            u, divided = stack.pop()
            if u not in units:
                units[u] = None
                if u not in stop and u.node.op is not Op.REDUCE and u not in self.p.chain.scores:
                    stack += [(n, divided) for n in self.needs(u, divided)]
        return list(units)

    def _roots(
        self, reductions: Iterable[Unit], weights: Iterable[Result]
    ) -> list[tuple[Unit, bool]]:
        roots = [(n, False) for u in reductions for n in self.needs(u, False)]
        return roots + [(self.root(r), self.p.online) for r in weights]

    def _is_costly(self, u: Unit) -> bool:
        """Is it worth a strip of the space? Those have one dtype: of a costly mask, what it is made
        of is kept."""
        of_space = u.node.dtype is self.p.chain.scores[0].node.dtype
        return of_space and self.p.chain.spans(u) and self.total[u] >= EXPENSIVE

    def _stages(self) -> list[ChainStage]:
        rows = [u for u in self.p.chain.inner if u.node.op is Op.REDUCE]
        last = max([self.level_of(r) for r in self.p.results])
        # all at once: each then overwrites what only they still need
        at = dict.fromkeys(self.p.results, last)
        last = max([last, *(self.level[u] for u in rows)])
        kept: set[Unit] = set()
        # in order: the text must be the same in every process
        live = dict.fromkeys(self.p.chain.scores)
        out = []
        for s in range(last + 1):
            now = [u for u in rows if self.level[u] == s], [r for r in self.p.results if at[r] == s]
            later = self._roots(
                [u for u in rows if self.level[u] > s], [r for r in self.p.results if at[r] > s]
            )
            costly = {
                u
                for u in self._walk(self._roots(*now), kept)
                if self._is_costly(u) and u not in kept
            }
            fresh = [u for u in self._walk(later, kept | costly) if u in costly]
            kept |= set(fresh)
            needed = set(self._walk(later, kept))
            out.append(ChainStage(*now, fresh, [u for u in live if u not in needed]))
            live = {u: None for u in (*live, *fresh) if u in needed}
        return out


ValueAt = Callable[[Index, Index], Node]
