"""What a block of threads does for a block of rows of attention. In: a ChainProblem, Panels, Sizes. Out: statements.

copy queries[row][d]
for block of columns:
    copy columns[column][d], those of values too
    threads in a square:   space[row][column] = sum_d queries[row][d] * keys[column][d]
    a warp for each row:   m' = max(m, row of the block), sum, weights in place; sums and l times exp(m - m')
    threads in a square:   sums[row][c] += sum_column space[row][column] * values[column][c]       sums stay in registers
epilogue over the square
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....ir.graph import Node, const, node
from ....ir.index import Index, Mask, Range, Var, mask_of, unravel, var
from ....ir.kernel import Unit
from ....ir.loop import LANES, REG, SERIAL, THREAD, UNROLL, WARPS, Alloc, Buf, For, Reduce, Stmt, Store
from ....ir.op import Op
from ...chain.mask import FAR
from ...chain.problem import ChainProblem, Held, Position, Result, Score, StageOf, StagePlan
from ...chain.task import Sizes, Task, new_maximum, whole_sum
from ...evaluate import load
from ...framing import identity
from .flags import Check
from .panels import SIDE, THREADS, Panel, Panels
from .sizes import of_thread, strip_stride


class RowBlock(Task):
    """One block of rows of one batch element."""

    def __init__(self, p: ChainProblem, plan: StagePlan, panels: Panels, s: Sizes) -> None:
        super().__init__(p, s)
        self.plan, self.panels = plan, panels
        self.stride = strip_stride(p, s.columns)
        self.each_row, self.each_column = of_thread(s.rows), of_thread(s.columns)
        self.sums = {r: Buf(f"sums{i}", p.dtype, THREADS * self._per(r), THREAD) for i, r in enumerate(p.results)}
        self.scale = Buf("scale", p.dtype, 1, REG)  # exp(m - m') of the row of a warp
        self.thread = Var("t", THREADS)
        self.checks: list[Check] = []  # phases that run first
        self.across, self.along = var(self.thread) // SIDE, var(self.thread) % SIDE  # of the square: rows, columns

    def describe(self) -> str:
        s, p = self.s, self.p
        sums, widths = (" + ".join(map(str, found)) for found in ([q.length for q in p.scores], [r.width for r in p.results]))
        shape = f"{self.count // s.row_blocks} x {p.rows()} x {p.length()}"
        how = f"columns in {self.parts} blocks of {s.columns}" + ", rescaled" * p.online
        how += ", blocks that the mask rules out skipped" * bool(self.checks)
        return f"chain {shape}: sums of {sums}, results of {widths}, blocks of {s.rows} rows, {how}, {self.count} tasks"

    @property
    def parts(self) -> int:
        return -(-self.p.length() // self.s.columns)

    @property
    def operations(self) -> int:
        """Multiply-adds of all blocks."""
        terms = sum(q.length for q in self.p.scores) + sum(r.width for r in self.p.results)
        return self.count * self.s.rows * self.p.length() * terms

    def _per(self, r: Result) -> int:
        """Sums of a thread."""
        return self.each_row * self.panels.lanes(r).each

    def _strip(self, number: int) -> Buf:
        return self._scratch(f"space{number}", self.s.rows * self.stride)

    def _held(self, lane: Index, place: Index) -> Held:
        """What is known at a row and a place of the space; a row's registers are those of its warp."""
        held = {u.node: load(b, place) for u, b in self.strips.items()}
        return held | {u.node: load(b, Index() if b.space == REG else lane) for u, b in self.rows_known.items()}

    def _panel(self, panel: Panel, lines: int) -> Buf:
        return self.scratch.setdefault(panel.name, panel.buf(lines))

    # ------------------------------------------------------------ the block

    def body(self, position: Index) -> list[Stmt]:
        *self.batch, block = unravel(position, self.shape)
        self.first = block * self.s.rows
        part = Var("part", self.parts)
        work = self._start()
        columns = self._unless_ruled_out(position, var(part), self._columns(var(part) * self.s.columns))
        work += [For(part, self.parts, SERIAL, columns), *self._end()]
        return [*(Alloc(b) for b in (*self.scratch.values(), *self.sums.values())), *work]

    def _unless_ruled_out(self, position: Index, part: Index, body: list[Stmt]) -> list[Stmt]:
        """Nothing where the mask rules out a block of columns for all rows, unless an operand there is not finite."""
        if self._live(Index(), self.s.columns) and all(map(self._is_checkable, self.p.results)):
            checks = [Check(self.p, self.s, of_rows) for of_rows in (False, True)]
            self.checks = [c for c in checks if c.operands()]
        if not self.checks:
            return body
        flags = [c.flags.now(position, self.s.row_blocks, part) for c in self.checks]
        flag = flags[0] if len(flags) == 1 else node(Op.MAX, flags)
        return [self._where_live(part * self.s.columns, self.s.columns, flag, body)]

    def _start(self) -> list[Stmt]:
        """Queries; rows that have seen nothing."""
        rows = self.s.rows
        out = [q.copy(self._panel(q, rows), rows, lambda i: self._at(i, Index()), self._row_mask) for q in self.panels.rows]
        row = Var("l", rows)
        zeros = {b: const(identity(u.node.arg[0], b.dtype), b.dtype) for u, b in self.stats.items()}
        out += [For(row, rows, LANES, [Store(b, var(row), zero) for b, zero in zeros.items()])] if zeros else []
        return out + [self._square(self._each_sum(r, lambda _, __, s: [s.store(const(0, s.buf.dtype))])) for r in self.p.results]

    def _columns(self, first: Index) -> list[Stmt]:
        """A block of columns."""
        columns = self.s.columns

        def at(j: Index) -> Position:
            return self._at(Index(), first + j)

        def mask(j: Index) -> Mask:
            return self._column_mask(first + j)

        out = [panel.copy(self._panel(panel, columns), columns, at, mask) for panel in self.panels.columns]
        self.strips = {q.unit: self._strip(i) for i, q in enumerate(self.p.scores)}
        out += [self._score(q) for q in self.p.scores]
        out += self._weigh(first)
        return out + [self._add_result(r) for r in self.p.results]

    def _row_mask(self, row: Index) -> Mask:
        return mask_of([Range(self.first + row, 0, self.p.rows())]) if self.p.rows() % self.s.rows else ()

    def _column_mask(self, column: Index) -> Mask:
        return mask_of([Range(column, 0, self.p.length())]) if self._is_ragged else ()

    @property
    def _is_ragged(self) -> bool:
        """Does the last block have fewer columns?"""
        return self.p.length() % self.s.columns > 0

    # ------------------------------------------------------------ products

    def _square(self, body: list[Stmt]) -> Stmt:
        return For(self.thread, THREADS, LANES, body)

    def _score(self, q: Score) -> Stmt:
        """space[row][column] = sum of products, a tile for each thread."""
        query, key = self.panels.query[q], self.panels.key[q]
        queries, keys, strip = self.scratch[query.name], self.scratch[key.name], self.strips[q.unit]
        i, j, d, u = Var("i", self.each_row), Var("j", self.each_column), Var("d", query.steps), Var("u", query.vector)
        acc = Buf("acc", strip.dtype, i.extent * j.extent, REG)
        place = var(i) * j.extent + var(j)
        row, column = self.across * i.extent + var(i), self.along + var(j) * SIDE
        step = var(d) * query.vector + var(u)
        product = node(Op.MUL, (load(queries, row * query.stride + step), load(keys, column * key.stride + step)))
        add = nest([u, i, j], [Reduce(acc, place, "add", product)])
        put = nest([i, j], [Store(strip, row * self.stride + column, load(acc, place))])
        return self._square([Alloc(acc, 0), For(d, d.extent, SERIAL, [add]), put])

    def _each_sum(self, r: Result, body: Callable[[Index, Index, Sum], list[Stmt]]) -> list[Stmt]:
        """The sums of a thread, each with its row and its element of the result."""
        lanes = self.panels.lanes(r)
        i, v, n = Var("i", self.each_row), Var("v", lanes.vectors), Var("n", lanes.vector)
        place = var(self.thread) * self._per(r) + var(i) * lanes.each + var(v) * lanes.vector + var(n)
        row, element = self.across * self.each_row + var(i), lanes.at(self.along, var(v), var(n))
        return [nest([i, v, n], body(row, element, Sum(self.sums[r], place)))]

    def _add_result(self, r: Result) -> Stmt:
        """sums[row][c] = sums[row][c] * rescale[row] + the weights of a block times its values."""
        weights, panel = self.weights[r], self.panels.value[r]
        values = self.scratch[panel.name]
        column, u = Var("k", self.s.columns // panel.vector), Var("u", panel.vector)
        at = var(column) * panel.vector + var(u)

        def rescaled(row: Index, _: Index, total: Sum) -> list[Stmt]:
            return [total.store(node(Op.MUL, (total.now, load(self.scratch["rescale"], row))))]

        def added(row: Index, element: Index, total: Sum) -> list[Stmt]:
            product = node(Op.MUL, (load(weights, row * self.stride + at), load(values, at * panel.stride + element)))
            return [Reduce(total.buf, total.place, "add", product)]

        body = self._each_sum(r, rescaled) if self.p.online else []
        step = For(u, u.extent, UNROLL, self._each_sum(r, added))
        return self._square([*body, For(column, column.extent, SERIAL, [step])])

    # ------------------------------------------------------------ stages

    def _weigh(self, first: Index) -> list[Stmt]:
        """A warp for each row: reductions along the row, then weights in place of scores."""
        row, body = Var("row", self.s.rows), list[Stmt]()
        for stage in self.plan.stages:
            body += self._stage(stage, row, first)
        if self._is_ragged:
            c = Var("column", self.s.columns)
            zero, place = const(0, self.p.dtype), var(row) * self.stride + var(c)
            stores: list[Stmt] = [Store(b, place, zero, (Range(first + var(c), self.p.length(), FAR),)) for b in self._weighing]
            body.append(For(c, c.extent, LANES, stores))
        base, total = self._cut()
        return [For(row, row.extent, WARPS, body, base=base, total=total)] if body else []

    @property
    def _weighing(self) -> list[Buf]:
        return list(dict.fromkeys(self.weights.values()))

    def _stage(self, stage: StageOf, row: Var, first: Index) -> list[Stmt]:
        """One pass along a row of a block: reductions, then values that are kept or weigh."""
        accs = {u: Buf(f"row_{u.node.arg[0]}", u.node.dtype, 1, REG) for u in stage.reductions}
        c = Var("column", self.s.columns)
        at, place = self._at(var(row), first + var(c)), var(row) * self.stride + var(c)
        values = self._stage_values(stage, accs, at, Index(), place)
        base, total = (first, self.p.length()) if self._is_ragged else (Index(), None)
        out: list[Stmt] = [Alloc(b, identity(u.node.arg[0], b.dtype)) for u, b in accs.items()]
        out += [For(c, c.extent, LANES, values, base=base, total=total)] if values else []
        return out + [t for u, b in accs.items() for t in self._reduced(u, load(b, Index()), var(row))]

    def _reduced(self, u: Unit, now: Node, row: Index) -> list[Stmt]:
        """What the row of a block reduces to joins what is known of the row; a new maximum is kept in registers, too."""
        stat = self.stats[u]
        before = load(stat, row)
        if u.node is not self.p.maximum:
            return [Store(stat, row, node(Op.ADD, (node(Op.MUL, (before, load(self.scale, Index()))), now)))]
        found, safe = Buf("found", stat.dtype, 1, REG), Buf("safe", stat.dtype, 1, REG)
        known = (found, safe, self.scale)
        self.rows_known[u] = safe
        out: list[Stmt] = [Alloc(b) for b in known]
        out += [Store(b, Index(), value) for b, value in zip(known, new_maximum(before, now), strict=True)]
        out.append(Store(stat, row, load(found, Index())))
        return [*out, Store(self._scratch("rescale", self.s.rows), row, load(self.scale, Index()))]

    # ------------------------------------------------------------ epilogue

    def _end(self) -> list[Stmt]:
        """Sums of whole rows, then the outputs."""
        self.rows_known = dict(self.stats)
        row, whole = Var("l", self.s.rows), list[Stmt]()
        for u, stat in self.stats.items():
            if u.node is not self.p.maximum:
                (m,) = (b for v, b in self.stats.items() if v.node is self.p.maximum)
                whole.append(Store(stat, var(row), whole_sum(load(m, var(row)), load(stat, var(row)))))
        out: list[Stmt] = [For(row, row.extent, LANES, whole)] if whole else []
        return out + [t for r in self.p.results for t in self._write_result(r)] + self._write_rows()

    def _write_result(self, r: Result) -> list[Stmt]:
        """Outputs that follow a result."""
        outputs = self.p.outputs_of(r)

        def written(row: Index, element: Index, total: Sum) -> list[Stmt]:
            held, value = self._held(row, Index()), total.now
            if self.p.softmax is not None and self.p.online:
                value = node(Op.DIV, (value, held[self.p.softmax.total]))
            mask = self._row_mask(row) + mask_of([Range(element, 0, r.width)])
            at = self._at(row, Index())
            found = [self.p.stored(n, at, element, held | {r.unit.node: value}, mask) for n in outputs]
            return [Store(q.buf, q.at(index), v, mask) for q, index, v in found]

        return [self._square(self._each_sum(r, written))] if outputs else []

    def _write_rows(self) -> list[Stmt]:
        """Outputs that are values of the rows."""
        row, outputs = Var("l", self.s.rows), self.p.row_outputs()
        held = self._held(var(row), Index())
        found = [self.p.stored(n, self._at(var(row), Index()), Index(), held) for n in outputs]
        base, total = self._cut()
        body: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in found]
        return [For(row, row.extent, LANES, body, base=base, total=total)] if body else []


@dataclass(frozen=True)
class Sum:
    """One of a thread's sums."""

    buf: Buf
    place: Index

    @property
    def now(self) -> Node:
        return load(self.buf, self.place)

    def store(self, value: Node) -> Stmt:
        return Store(self.buf, self.place, value)


def nest(axes: list[Var], body: list[Stmt]) -> Stmt:
    """The body for every element of a small tile, as straight-line code."""
    *front, last = axes
    loop: Stmt = For(last, last.extent, UNROLL, body)
    for v in reversed(front):
        loop = For(v, v.extent, UNROLL, [loop])
    return loop
