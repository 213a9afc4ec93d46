"""One task of a chain of contractions: scratch, positions, loops over columns. In: a ChainProblem,
Sizes. Out: statements.

A block of rows is the lanes of every value of the space, columns are lines of scratch. What a mask
rules out is left out in chunks of columns, unless an operand is not finite: 0 times it would be
NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, const, node
from ...ir.graph.index import Gathered, Index, Mask, Range, Var, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import WORDS, Unit
from ...ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    Alloc,
    Buf,
    For,
    If,
    Reduce,
    Stmt,
    Store,
)
from ...ir.loops.walk import indices, postorder
from ...ir.symbolic.questions import is_unknown, text, value_of
from ...ir.symbolic.scope import scope_of
from ...wording import plural
from .chain import ChainProblem, ChainStage, KnownValues, Result, Score, SpacePosition, ValueAt
from .chain_mask import FAR, holds_always, may_hold
from .evaluate import load
from .loop_axes import cut, extent

ROW_VECTORS = 4  # vectors of rows in a block: what straight-line code of a stage holds in registers
CHUNK = 64  # columns that a mask may rule out at once
MOST_TILE_ROWS = 12  # of a register tile
# operations an element of the space, beside those of the sums: an exponential, a maximum, a sum
STAGE_WORK = 40


@dataclass
class Sizes:
    """Extents of the schedule, fixed by shape and target."""

    rows: int  # of a block, padded to whole vectors
    row_blocks: int
    columns: int  # of a block; at most, where their number is not known
    blocks: bool  # of columns, more than one


@dataclass(frozen=True)
class Columns:
    """A block of them, or what is left of one at the `total`, where that is not known."""

    first: Index
    count: int
    total: int | None = None


class Task:
    """One block of rows of one batch element."""

    def __init__(self, p: ChainProblem, s: Sizes) -> None:
        self.p, self.s = p, s
        self.others = (*(extent(g) for g in p.others), s.row_blocks)
        self.shape = (*(extent(g) for g in p.batch), *(() if p.sums_rows else self.others))
        self.count = prod(self.shape)
        terms = sum(q.length for q in p.scores) + sum(r.width for r in p.results) + STAGE_WORK
        self.work = (
            float(s.rows * p.length() * terms) / 4 * (prod(self.others) if p.sums_rows else 1)
        )
        self.scratch: dict[str, Buf] = {}
        reductions = [u for u in p.chain.inner if u.node.op is Op.REDUCE]
        self.stats = {
            u: self._scratch(f"{WORDS[u.node.arg[0]]}{i}", s.rows, u.node.dtype)
            for i, u in enumerate(reductions)
        }
        self.guarded = False  # may a mask rule out chunks of columns?
        self.rest: int | None = None  # columns of the last chunk
        self.batch: list[Index] = []  # where the task is, and the other axes of its rows
        self.first = Index()  # row of the block
        self.rows_known: dict[Unit, Buf] = {}
        self.strips: dict[Unit, Buf] = {}
        self.weights: dict[Result, Buf] = {}

    def _scratch(self, name: str, size: int, dtype: DType | None = None) -> Buf:
        """A buffer of the task; each name is one buffer."""
        if name not in self.scratch:
            self.scratch[name] = Buf(name, dtype or self.p.dtype, size, SCRATCH)
        return self.scratch[name]

    def _sums(self, r: Result) -> Buf:
        lines = self._space_lines() if r.over_rows else self.s.rows
        return self._scratch(f"sums{self.p.results.index(r)}", lines * self._lanes(r))

    def _lanes(self, r: Result) -> int:
        """Lanes of a result, padded to whole vectors."""
        return -(-r.width // self.p.width) * self.p.width

    def _described(self, how: str) -> str:
        """What the task is, and how it comes by its columns."""
        p = self.p
        sums, widths = (
            " + ".join(map(str, extents))
            for extents in ([q.length for q in p.scores], [r.width for r in p.results])
        )
        sizes = prod(extent(g) for g in p.batch + p.others), p.rows(), p.length()
        head = f" {' x '.join(map(text, sizes))}: sums of {sums}, results of {widths}"
        tasks = plural(value_of(self.count), "task")
        return f"{head}, blocks of {plural(self.s.rows, 'row')}, {how}, {tasks}"

    # ------------------------------------------------------------ positions and loops

    def _at(self, lane: Index, column: Index) -> SpacePosition:
        return self.p.at(self.batch, self.first + lane, column)

    def _held(self, lane: Index, place: Index) -> KnownValues:
        """What is known at a row of the block, and at a place of the space."""
        held = {u.node: load(b, place) for u, b in self.strips.items()}
        return held | {u.node: load(b, lane) for u, b in self.rows_known.items()}

    def _cut(self) -> tuple[Index, int | None]:
        """Base and total of a loop over the rows of a block."""
        return cut(self.first, self.p.rows(), self.s.rows)

    def _row_lanes(self, lane: Var, body: list[Stmt]) -> For:
        """All rows of a block as lanes; those past the last row only where nothing outside of
        scratch is touched."""
        values = postorder([t.value for t in body if isinstance(t, Store | Reduce)])
        outside = any(
            n.op is Op.LOAD and n.arg[0].space == GLOBAL and depends(n.arg[1], lane) for n in values
        )
        outside |= any(isinstance(t, Store) and t.buf.space == GLOBAL for t in body)
        base, total = self._cut() if outside else (Index(), None)
        return For(lane, self.s.rows, LANES, body, ROW_VECTORS, base=base, total=total)

    # ------------------------------------------------------------ stages

    def _strip(self, number: int) -> Buf:
        return self._scratch(f"space{number}", self._space_lines() * self.s.rows)

    def _space_lines(self) -> int:
        """Those of scratch for a block of columns: tiles may go beyond a number that is not
        known."""
        return self.s.columns + MOST_TILE_ROWS * is_unknown(self.p.length())

    def _stage_values(
        self, stage: ChainStage, accs: dict[Unit, Buf], at: SpacePosition, lane: Index, place: Index
    ) -> list[Stmt]:
        """What a stage does at one place of the space; `lane` is that of the sums."""
        held = self._held(lane, place)
        body: list[Stmt] = [
            Reduce(b, lane, u.node.arg[0], self.p.reduced(u, at, held)) for u, b in accs.items()
        ]
        kept = {u: self.p.of_space(u, at, held) for u in stage.kept}
        weights = {r: self.p.weight(r, at, held) for r in stage.weights}
        places = self._places(
            [*kept.values(), *weights.values()], place, [self.strips[u] for u in stage.free]
        )
        self.strips |= {u: places[v] for u, v in kept.items()}
        self.weights |= {r: places[v] for r, v in weights.items()}
        return body + [Store(b, place, v) for v, b in places.items() if v is not load(b, place)]

    def _places(self, values: Sequence[Node], place: Index, free: list[Buf]) -> dict[Node, Buf]:
        """Where each value of the space goes, in the order of the stores: where it is, over what
        only it still needs, or anew."""
        out: dict[Node, Buf] = {}
        left = dict.fromkeys(values)
        for v in list(left):
            is_there = next((b for b in self.scratch.values() if v is load(b, place)), None)
            if is_there is not None:
                out[v] = is_there
                del left[v]
        while left:
            v, b = self._overwrites(list(left), [b for b in free if b not in out.values()])
            out[v] = b
            del left[v]
        return out

    def _overwrites(self, values: list[Node], free: list[Buf]) -> tuple[Node, Buf]:
        """A value and a strip that no other value of the stage is made of; a new strip if there is
        none."""
        read = {v: {n.arg[0] for n in postorder([v]) if n.op is Op.LOAD} for v in values}
        for v in values:
            for b in free:
                if b.dtype is v.dtype and not any(b in read[w] for w in values if w is not v):
                    return v, b
        return values[0], self._new_strip()

    def _new_strip(self) -> Buf:
        taken = {b.name for b in self.scratch.values()}
        return self._strip(next(i for i in range(len(taken) + 1) if f"space{i}" not in taken))

    # ------------------------------------------------------------ rows

    def _first(self, u: Unit, now: Node, row: Index) -> list[Stmt]:
        """What all columns at once reduce to, as after the first of several blocks."""
        known: list[Stmt] = [Store(self.stats[u], row, now)]
        if not self.p.online or u.node is not self.p.maximum:
            return known
        safe = self.rows_known[u] = self._scratch("safe", self.s.rows)
        return [*known, Store(safe, row, without_lowest(now))]

    def _join(self, u: Unit, now: Node, row: Index) -> list[Stmt]:
        """What a block of columns reduces to joins what is known of the row."""
        stat, rescale = self.stats[u], self._scratch("rescale", self.s.rows)
        before = load(stat, row)
        if u.node is not self.p.maximum:
            return [
                Store(stat, row, node(Op.ADD, (node(Op.MUL, (before, load(rescale, row))), now)))
            ]
        safe = self.rows_known[u] = self._scratch("safe", self.s.rows)
        maximum, of_safe, ratio = new_maximum(before, now)
        return [Store(rescale, row, ratio), Store(safe, row, of_safe), Store(stat, row, maximum)]

    def _whole_sums(self, row: Index) -> list[Stmt]:
        """The sums of a whole row."""
        maximum = next((b for u, b in self.stats.items() if u.node is self.p.maximum), None)
        sums = [b for u, b in self.stats.items() if u.node is not self.p.maximum]
        return [
            Store(b, row, whole_sum(load(maximum, row), load(b, row)))
            for b in sums
            if maximum is not None
        ]

    def _with_result(self, r: Result, total: Node, held: KnownValues) -> KnownValues:
        """The same with a result known, which was summed without the division of its weights."""
        if self.p.softmax is not None and self.p.online:
            total = node(Op.DIV, (total, held[self.p.softmax.total]))
        return held | {r.unit.node: total}

    # ------------------------------------------------------------ masks

    def _find_guard(self) -> None:
        """Chunks of columns can be left out if the first one never is: there, rows without any
        column become NaN."""
        ranges = self._live(Index(), min(CHUNK, self.s.columns))
        certain = not self.p.chain.reduces or all(map(holds_always, ranges))
        self.guarded = (
            self.p.mask is not None
            and bool(ranges)
            and certain
            and all(map(self._is_checkable, self.p.results))
        )

    def _live(self, first: Index, columns: int) -> Mask:
        """Ranges outside of which a chunk of columns is ruled out for all rows of the block."""
        if self.p.mask is None:
            return ()
        lane, column = Var("l", self.s.rows), Var("column", columns)
        condition = self.p.condition(self.p.mask, self._at(var(lane), first + var(column)))
        return may_hold(condition, (lane, column), self.p.mask.live)

    def _chunks(self, columns: Columns, body: Callable[[Index, int], list[Stmt]]) -> list[Stmt]:
        """The body for a block of columns: in chunks that a mask may rule out, or of which the last
        one is as long as it happens to be, else at once."""
        if columns.total is not None:
            return self._chunks_to(columns, columns.total, body)
        if not self.guarded:
            return body(Index(), columns.count)
        at, out = Var("chunk", columns.count // CHUNK), list[Stmt]()
        if at.extent:
            out.append(
                For(at, at.extent, SERIAL, self._if_live(columns, var(at) * CHUNK, CHUNK, body))
            )
        start, rest = at.extent * CHUNK, columns.count % CHUNK
        return out + (self._if_live(columns, Index(const=start), rest, body) if rest else [])

    def _chunks_to(
        self, columns: Columns, total: int, body: Callable[[Index, int], list[Stmt]]
    ) -> list[Stmt]:
        """The same up to a number of columns that is not known. Blocks are whole chunks."""
        at, whole = Var("chunk", columns.count // CHUNK), total // CHUNK
        step = self._if_live(columns, var(at) * CHUNK, CHUNK, body)
        start = Index(const=whole * CHUNK) - columns.first
        rest = self._if_live(columns, start, self._rest(total), body)
        here = Range(start, 0, columns.count)
        return [
            For(at, at.extent, SERIAL, step, base=columns.first // CHUNK, total=whole),
            *([If((here,), rest)] if columns.first.terms else rest),
        ]

    def _rest(self, total: int) -> int:
        """What is left of so many columns after whole chunks, as an integer that is known to be
        small."""
        scope = scope_of([total])
        if self.rest is None and scope is not None:
            self.rest = scope.choose(lambda: total % CHUNK, CHUNK - 1, 0)
        assert self.rest is not None
        return self.rest

    def _if_live(
        self, columns: Columns, start: Index, count: int, body: Callable[[Index, int], list[Stmt]]
    ) -> list[Stmt]:
        if not self.guarded:
            return body(start, count)
        flag = load(self._flag(), Index())
        return [self._where_live(columns.first + start, count, flag, body(start, count))]

    def _where_live(self, first: Index, columns: int, flag: Node, body: list[Stmt]) -> Stmt:
        """The body, unless the mask rules out all these columns and the flag is 0."""
        far = Index({Gathered(flag, 2): FAR // 2})
        live = self._live(first, columns)
        return If(
            tuple(replace(r, index=r.index + far if r.lo == 0 else r.index - far) for r in live),
            body,
        )

    def _flag(self) -> Buf:
        """1 if an operand is not finite: 0 times it is NaN, so that nothing is left out."""
        return self._scratch("flag", 1, dt.int64)

    def _check_operands(self) -> list[Stmt]:
        """flag = does 0 times any operand of the task differ from 0?"""
        if not self.guarded:
            return []
        acc, zero = Buf("zeros", self.p.dtype, 1, REG), const(0, self.p.dtype)
        out: list[Stmt] = [Alloc(acc, 0)]
        for lines, width, value in self._operands():
            line, c = Var("line", lines), Var("c", width)
            term = Reduce(acc, Index(), "add", node(Op.MUL, (value(var(line), var(c)), zero)))
            out.append(For(line, lines, SERIAL, [For(c, width, LANES, [term], ROW_VECTORS)]))
        total = load(acc, Index())
        is_zero = node(Op.EQ, (total, total))
        return [
            *out,
            Store(
                self._flag(),
                Index(),
                node(Op.WHERE, (is_zero, const(0, dt.int64), const(1, dt.int64))),
            ),
        ]

    def _operands(self) -> list[tuple[int, int, ValueAt]]:
        """(lines, elements of each, value) of what is multiplied by weights; of all rows and scores
        if a task walks them all."""
        p, out = self.p, list[tuple[int, int, ValueAt]]()
        for r in p.results:
            out.append((self._all() if r.over_rows else p.length(), r.width, self._value_of(r)))
        if p.sums_rows:
            for q in p.scores:
                out += [
                    (p.length(), q.length, self._key_of(q)),
                    (self._all(), q.length, self._query_of(q)),
                ]
        return out + [
            ruled_out for r in p.results if not p.chain.reduces for ruled_out in self._ruled_out(r)
        ]

    def _is_checkable(self, r: Result) -> bool:
        """Does the weight of a place that is ruled out depend on its row alone, or on its column
        alone?"""
        return self.p.chain.reduces or not all(self._follows(r))

    def _follows(self, r: Result) -> tuple[bool, bool]:
        """Whether the weight of a place that is ruled out depends on (its row, its column)."""
        weight = postorder([self.p.ruled_out(r, self.p.own_position)])
        met = {v for n in weight for i in indices(n) for v in i.vars()}
        return not met.isdisjoint(self.p.chain.rows), not met.isdisjoint(self.p.chain.columns)

    def _ruled_out(self, r: Result) -> list[tuple[int, int, ValueAt]]:
        """Such weights: 0 unless a value of their row (or column) from elsewhere is not finite."""
        row, column = self._follows(r)
        if column:
            return [(1, self.p.length(), lambda _, j: self.p.ruled_out(r, self._at_column(j)))]
        return [(1, self._all(), lambda _, i: self.p.ruled_out(r, self._at_row(i)))] if row else []

    def _value_of(self, r: Result) -> ValueAt:
        where = self._at_row if r.over_rows else self._at_column
        return lambda line, c: self.p.weighted(r, where(line), c)

    def _key_of(self, q: Score) -> ValueAt:
        return lambda j, d: self.p.term(q, q.key, self._at_column(j), d)

    def _query_of(self, q: Score) -> ValueAt:
        return lambda i, d: self.p.term(q, q.query, self._at_row(i), d)

    def _at_column(self, column: Index) -> SpacePosition:
        return self._at(Index(), column)

    def _all(self) -> int:
        """Rows of a batch element."""
        return prod(extent(g) for g in self.p.others) * self.p.rows()

    def _at_row(self, row: Index) -> SpacePosition:
        *others, last = unravel(row, (*(extent(g) for g in self.p.others), self.p.rows()))
        return self.p.at([*self.batch[: len(self.p.batch)], *others], last, Index())


def depends(index: Index, v: Var) -> bool:
    """Does an index change with a variable, be it through a gathered value?"""
    nodes = postorder(index.values())
    return any(v in i.vars() for i in [index, *(i for n in nodes for i in indices(n))])


def new_maximum(before: Node, now: Node) -> tuple[Node, Node, Node]:
    """(m' = max(m, block), what stands for it in exponents, exp(m - m') that rescales).

    While a row has seen -inf alone, 0 stands for it: exp(-inf - 0) = 0.
    """
    maximum = node(Op.MAX, (before, now))
    safe = without_lowest(maximum)
    return maximum, safe, node(Op.EXP, (node(Op.SUB, (before, safe)),))


def without_lowest(maximum: Node) -> Node:
    """0 for -inf."""
    lowest = node(Op.EQ, (maximum, const(float("-inf"), maximum.dtype)))
    return node(Op.WHERE, (lowest, const(0, maximum.dtype), maximum))


def whole_sum(maximum: Node, total: Node) -> Node:
    """The sum of a row. That of a row that saw -inf alone is NaN, as that of exp(-inf - -inf)."""
    empty = node(Op.EQ, (maximum, const(float("-inf"), maximum.dtype)))
    return node(Op.WHERE, (empty, const(float("nan"), total.dtype), total))
