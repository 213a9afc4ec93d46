"""The schedule of a chain of contractions (attention): its space stays in scratch. In: a chain
Kernel. Out: Loops.

for task (batch, block of rows):                          rows are the lanes of the space
    pack queries[d][row]
    for block of columns:                                 keys and values are packed where they do
                                                          not lie as tiles read them
        tiles of columns x rows:  space[column][row] = sum_d key[column][d] * queries[d][row]
        stages:                   reductions down the columns, then weights[column][row] in place
        tiles of rows x lanes:    sums[row][c] += sum_column weights[column][row] * value[column][c]
    epilogue over the rows

With several blocks of columns a softmax is rescaled from one to the next: m' = max(m, block), sums
and l times exp(m - m').

Where the number of rows is not known, tasks are of two widths: wide blocks, all of whose rows are
there, and narrow ones. Columns that are not counted come in chunks of a constant number, and the
last of them in one that is as long as it happens to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Range, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.chain_sizes import MOST_HELD, MOST_SUMS
from ....ir.kernels.kernel import WORDS, Kernel, Unit
from ....ir.loops.loop import (
    LANES,
    REG,
    SERIAL,
    Alloc,
    Buf,
    For,
    If,
    Reduce,
    Stmt,
    Store,
    neutral,
)
from ....ir.loops.walk import Substitution
from ....ir.symbolic.integer import NotSymbolic
from ....ir.symbolic.questions import is_unknown, text, value_of
from ....ir.symbolic.scope import scope_of
from ....wording import plural
from ...kernels.chain import (
    ChainProblem,
    ChainStage,
    KnownValues,
    Result,
    SpacePosition,
    StagePlan,
    ValueAt,
)
from ...kernels.chain_task import CHUNK, ROW_VECTORS, Columns, Sizes, Task
from ...kernels.contraction import contiguous, is_plain
from ...kernels.evaluate import load
from ...kernels.kernel_axes import identity
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..cache_sets import LINE, lines_in_l1
from ..chunks import Chunks, Tuning
from .tiles import Product, every, product_loops, transposed

TASKS = 16  # wanted, to balance, whatever the number of threads
# by vectors of a block, beside 4 to 7: attention of 256 x 64, Zen 4
COST_OF_ROW = {
    1: 1.17,
    2: 1.06,
    3: 1.03,
}
# of a block where results sum over the rows, in an order that follows from it. Each block loads
# and stores these: attention's gradients took 1.2 times as long with 8 rows on Zen 1, 1.03 with 16
# there and on Zen 4. Those of 24 rows take 1.15 times as long as in one block on AVX2, for half of
# the second is empty. Also of the blocks after wide ones, where the number of rows is not known
FEW_ROWS = 16
MOST_VECTORS = 7  # of the rows of a block
MIN_COLUMNS = 256  # of a block, over which rescaling costs little


def choose(p: ChainProblem, strips: int, target: Target) -> Sizes:
    """Blocks of rows wide enough for tiles; the space of a block in a quarter of the level-2 cache,
    else in several blocks of columns. What bits depend on, blocks of columns and the rows of those
    that are summed, is the same for any sizes."""
    room = target.l2 // 4 // p.dtype.itemsize // strips
    columns, in_blocks = _columns(p, room)
    rows = _summed_rows(p) if p.sums_rows else _rows(p, min(columns, value_of(p.length())), room)
    return Sizes(rows, -(-p.rows() // rows), columns, in_blocks)


def _columns(p: ChainProblem, room: int) -> tuple[int, bool]:
    """(columns of a block, whether there are several); where their number is not known, all that
    there may be."""
    length = p.length()
    if not p.in_blocks or p.sums_rows:
        return _most_columns(p) if is_unknown(length) else length, False
    most = max(MIN_COLUMNS, room // (ROW_VECTORS * p.width)) // CHUNK * CHUNK
    several = is_unknown(length) or length > most
    return most if several else length, several


def _most_columns(p: ChainProblem) -> int:
    """Columns that scratch has room for."""
    summed = sum(r.width for r in p.results if r.over_rows) * p.dtype.itemsize
    most = min(MOST_HELD, MOST_SUMS // summed) if summed else MOST_HELD
    if p.length() > most:
        raise NotSymbolic(f"scratch has no room for {p.length()} columns")
    return most


def _summed_rows(p: ChainProblem) -> int:
    few = not is_unknown(p.rows()) and p.rows() <= p.width
    return p.width if few else max(p.width, FEW_ROWS)


def _rows(p: ChainProblem, columns: int, room: int) -> int:
    """Of a block, given the columns of one."""
    blocks = -(-p.rows() // (ROW_VECTORS * p.width))
    others = _others(p)
    while others * blocks < TASKS and blocks * p.width < p.rows():
        blocks *= 2
    if not p.in_blocks:
        while blocks * p.width < p.rows() and columns * _per_block(p, blocks) > room:
            blocks += 1
    return _least_work(p, _per_block(p, blocks), others, room // columns)


def _others(p: ChainProblem) -> int:
    """Tasks with all rows."""
    return value_of(prod(extent(g) for g in p.batch + p.others))


def _per_block(p: ChainProblem, blocks: int) -> int:
    per = -(-p.rows() // blocks)
    return -(-per // p.width) * p.width


def _least_work(p: ChainProblem, rows: int, others: int, most: int) -> int:
    """Rows of a block: fewer, or a few more, where the last block would be nearly empty."""

    def is_fit(r: int) -> bool:
        return r < rows or (others * -(-p.rows() // r) >= TASKS and r <= most)

    def cost(r: int) -> float:
        return COST_OF_ROW.get(r // p.width, 1.0)

    sizes = [v * p.width for v in range(MOST_VECTORS, 0, -1) if is_fit(v * p.width)]
    return min([rows, *sizes], key=lambda r: -(-p.rows() // r) * r * cost(r))


def lower_chain(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a chain of contractions."""
    p = ChainProblem(kernel, strides, target)
    plan = StagePlan(p)
    strips = max(len(p.scores), sum(len(stage.kept) for stage in plan.stages))
    of_many = is_unknown(p.rows()) and not p.sums_rows
    tasks = (_of_many_rows if of_many else _of_rows)(p, plan, strips, target)
    chunk = Chunks(tasks[0].count, tasks[0].work, tuning.min_chunks)
    shape = (*tasks[0].shape, 1) if p.sums_rows else tasks[0].shape
    *batch, block = unravel(chunk.position, shape)
    body = [t for task in tasks for t in task.body(batch, block)]
    return chunk.lowered(kernel, p.buffers, body, tasks[0].describe())


def _of_rows(p: ChainProblem, plan: StagePlan, strips: int, target: Target) -> list[_Chain]:
    """Blocks of rows of one width."""
    return [_Chain(p, plan, choose(p, strips, target), target)]


def _of_many_rows(p: ChainProblem, plan: StagePlan, strips: int, target: Target) -> list[_Chain]:
    """Wide blocks of rows, as many as there are whole ones, then narrow ones, the last of which is
    cut. None is wide where there would be too few tasks, or the space of one too large."""
    room = target.l2 // 4 // p.dtype.itemsize // strips
    columns, in_blocks = _columns(p, room)
    rows, narrow, scope = ROW_VECTORS * p.width, max(p.width, FEW_ROWS), scope_of([p.rows()])
    assert scope is not None

    def wide() -> int:
        blocks = p.rows() // rows
        is_fit = p.in_blocks or p.length() * rows <= room
        return blocks if is_fit and _others(p) * -(-p.rows() // rows) >= TASKS else 0

    def all_blocks() -> int:
        return wide() + -(-(p.rows() - wide() * rows) // narrow)

    count, blocks = scope.choose(wide, math.inf, 0), scope.choose(all_blocks, math.inf)
    s = Sizes(rows, blocks, columns, in_blocks)
    return [
        _Chain(p, plan, s, target, (0, count), is_whole=True),
        _Chain(p, plan, replace(s, rows=narrow), target, (count, blocks), count * rows),
    ]


class _Chain(Task):
    """One block of rows of one batch element, or all of them where results sum over the rows.

    `own`: the first and the last block, exclusive, where others are of another width; they begin at
    `first_row`. `is_whole`: no block is cut.
    """

    def __init__(
        self,
        p: ChainProblem,
        plan: StagePlan,
        s: Sizes,
        target: Target,
        own: tuple[int, int] | None = None,
        first_row: int = 0,
        is_whole: bool = False,
    ) -> None:
        super().__init__(p, s)
        self.plan, self.target, self.own = plan, target, own
        self.first_row, self.is_whole = first_row, is_whole

    def describe(self) -> str:
        s, p = self.s, self.p
        how = f"all {text(p.length())} columns in scratch"
        if s.blocks:
            parts = value_of(-(-p.length() // s.columns))
            how = f"columns in {plural(parts, 'block')} of {s.columns}" + ", rescaled" * p.online
        return self._described(how + ", chunks that the mask rules out skipped" * self.guarded)

    def _cut(self) -> tuple[Index, int | None]:
        return (Index(), None) if self.is_whole else super()._cut()

    # ------------------------------------------------------------ the task

    def body(self, batch: Sequence[Index], block: Index) -> list[Stmt]:
        """What it does at an index of the batch and a block."""
        self.batch, self.block = [*batch], block
        if self.own is not None:
            self.block = block - self.own[0]
        body = self._all_rows() if self.p.sums_rows else self._row_block()
        body = [*(Alloc(b) for b in self.scratch.values()), *body]
        return [If((Range(block, *self.own),), body)] if self.own else body

    def _all_rows(self) -> list[Stmt]:
        """Every row of a batch element, block by block: results that sum over the rows are then
        complete."""
        over_rows = [r for r in self.p.results if r.over_rows]
        at = Var("block", prod(self.others))
        *others, self.block = unravel(var(at), self.others)
        self.batch += others
        self.first = self.block * self.s.rows
        self._find_guard()
        body = self._check_operands()
        for r in over_rows:
            body += self._clear(self._sums(r), self.p.length() * self._lanes(r))
        body.append(For(at, at.extent, SERIAL, self._row_block()))
        return body + [t for r in over_rows for t in self._write_result(r)]

    def _row_block(self) -> list[Stmt]:
        self.first = self.block * self.s.rows + self.first_row
        self._find_guard()
        body = self._check_operands() if not self.p.sums_rows else []
        body += [t for i in range(len(self.p.scores)) for t in self._pack_query(i)]
        body += self._blocks() if self.s.blocks else self._one_block()
        return (
            body
            + [t for r in self.p.results if not r.over_rows for t in self._write_result(r)]
            + self._write_rows()
        )

    def _clear(self, buf: Buf, size: int) -> list[Stmt]:
        z, nothing = Var("z", size), const(neutral("add", buf.dtype), buf.dtype)
        return [For(z, size, LANES, [Store(buf, var(z), nothing)], ROW_VECTORS)]

    def _one_block(self) -> list[Stmt]:
        """All columns at once. What becomes of rows is the same as after several blocks."""
        body = self._block(self._all_columns())
        return body + self._end() if self.p.online else body

    def _all_columns(self) -> Columns:
        length = self.p.length()
        return Columns(Index(), self.s.columns, length if is_unknown(length) else None)

    def _blocks(self) -> list[Stmt]:
        """Blocks of columns one after the other; then what whole rows reduce to is known."""
        length, size = self.p.length(), self.s.columns
        if is_unknown(length):
            part = Var("part", -(-length // size))
            steps = self._block(Columns(var(part) * size, size, length))
            return [*self._start(), For(part, part.extent, SERIAL, steps), *self._end()]
        whole, rest = divmod(length, size)
        part = Var("part", whole)
        out = self._start()
        out.append(For(part, whole, SERIAL, self._block(Columns(var(part) * size, size))))
        out += self._block(Columns(Index(const=whole * size), rest)) if rest else []
        return out + self._end()

    def _block(self, columns: Columns) -> list[Stmt]:
        """A block of columns: scores, stages, results."""
        self.strips = {q.unit: self._strip(i) for i, q in enumerate(self.p.scores)}
        out = [t for i in range(len(self.p.scores)) for t in self._score(i, columns)]
        for stage in self.plan.stages:
            out += self._stage(stage, columns)
        return out + [t for r in self.p.results for t in self._add_result(r, columns)]

    # ------------------------------------------------------------ scores

    def _pack_query(self, number: int) -> list[Stmt]:
        """queries[d][row], transposed by squares where the terms are contiguous."""
        p, rows, q = self.p, self.s.rows, self.p.scores[number]
        panel = self._scratch(f"queries{number}", q.length * rows)

        def value(lane: Index, d: Index) -> Node:
            return p.term(q, q.query, self._at(lane, Index()), d)

        lane, d = Var("row", rows), Var("d", q.length)
        if contiguous(value(var(lane), var(d)), d):
            return transposed(panel, value, rows, q.length, p.width, self._cut())
        store = Store(panel, var(d) * rows + var(lane), value(var(lane), var(d)))
        return [For(d, q.length, SERIAL, [self._row_lanes(lane, [store])])]

    def _score(self, number: int, columns: Columns) -> list[Stmt]:
        rows, q = self.s.rows, self.p.scores[number]
        strip, panel = self.strips[q.unit], self._scratch(f"queries{number}", q.length * rows)

        def chunk(start: Index, count: int) -> list[Stmt]:
            packing, key, beyond = self._keys(number, columns.first + start, count)
            product = Product(
                count,
                rows,
                q.length,
                q.unit.node.dtype,
                key,
                lambda d, lane: load(panel, d * rows + lane),
                lambda column, lane, total: Store(strip, (start + column) * rows + lane, total),
                beyond=beyond,
            )
            return packing + product_loops(product, self.p.width, self.target.registers)

        return self._chunks(columns, chunk)

    def _keys(
        self, number: int, first: Index, columns: int
    ) -> tuple[list[Stmt], ValueAt, ValueAt | None]:
        """key(column, d), read in place if that is one load, else from scratch where a first loop
        puts it; and the same where there may be no such column: another one stands in for it."""
        q = self.p.scores[number]

        def key(column: Index, d: Index) -> Node:
            return self.p.term(q, q.key, self._at(Index(), first + column), d)

        def beyond(column: Index, d: Index) -> Node:
            there = (first + column) % self.p.length()
            return self.p.term(q, q.key, self._at(Index(), there), d)

        j, d = Var("j", columns), Var("d", q.length)
        if is_plain(one := key(var(j), var(d))) and not self._is_crowded(one, d):
            return [], key, beyond
        packed = self._scratch(f"keys{number}", self._space_lines() * q.length)
        pack: list[Stmt] = [
            For(
                j,
                columns,
                SERIAL,
                [For(d, q.length, LANES, [Store(packed, var(j) * q.length + var(d), one)])],
            )
        ]
        if self._turns(one, j, d):
            pack = transposed(
                packed, lambda lane, column: key(column, lane), q.length, columns, self.p.width
            )
        return pack, lambda at, k: load(packed, at * q.length + k), None

    def _is_crowded(self, key: Node, d: Var) -> bool:
        """Do the lines of a column's terms, of which the next columns are part, push each other out
        of the level-1 cache?

        Half of it holds the queries. On a Zen 4 1024 columns of 64 terms, 4 KB from term to term,
        are twice as fast packed.
        """
        pitch = value_of(abs(key.arg[1].coef(d))) * key.dtype.itemsize
        return pitch >= LINE and 2 * d.extent > lines_in_l1(pitch, self.target)

    def _turns(self, value: Node, line: Var, lane: Var) -> bool:
        """Does a panel lie the other way round in memory, in whole vectors of lanes?"""
        return (
            lane.extent % self.p.width == 0
            and contiguous(value, line)
            and not contiguous(value, lane)
        )

    # ------------------------------------------------------------ stages

    def _stage(self, stage: ChainStage, columns: Columns) -> list[Stmt]:
        """One pass down the columns of a block: reductions, then values that are kept or weigh."""
        accs = {
            u: Buf(f"row_{WORDS[u.node.arg[0]]}", u.node.dtype, self.s.rows, REG, u.node.site)
            for u in stage.reductions
        }
        column, lane = Var("column", columns.count), Var("l", self.s.rows)
        place = var(column) * self.s.rows + var(lane)
        values = self._stage_values(
            stage, accs, self._at(var(lane), columns.first + var(column)), var(lane), place
        )

        def chunk(start: Index, count: int) -> list[Stmt]:
            j = Var("column", count)
            body = Substitution({column: start + var(j)}).body(values)
            return [For(j, count, SERIAL, [self._row_lanes(lane, body)])]

        out: list[Stmt] = [Alloc(b, identity(u.node.arg[0], b.dtype)) for u, b in accs.items()]
        out += self._chunks(columns, chunk) if values else []
        return out + [t for u, b in accs.items() for t in self._reduced(u, b)]

    def _reduced(self, u: Unit, acc: Buf) -> list[Stmt]:
        """A reduction over a block of columns becomes known."""
        lane, stat = Var("l", self.s.rows), self.stats[u]
        now = load(acc, var(lane))
        self.rows_known[u] = stat
        joined = self._join if self.s.blocks else self._first
        return [For(lane, lane.extent, LANES, joined(u, now, var(lane)), ROW_VECTORS)]

    def _start(self) -> list[Stmt]:
        """Rows that have seen nothing."""
        lane, out = Var("l", self.s.rows), list[Stmt]()
        for u, stat in self.stats.items():
            zero = const(identity(u.node.arg[0], stat.dtype), stat.dtype)
            out.append(For(lane, lane.extent, LANES, [Store(stat, var(lane), zero)], ROW_VECTORS))
        sums = [self._sums(r) for r in self.p.results]
        return out + [t for b in sums for t in self._clear(b, b.size)]

    def _end(self) -> list[Stmt]:
        """Sums of whole rows."""
        lane = Var("l", self.s.rows)
        self.rows_known |= self.stats
        return [
            For(lane, lane.extent, LANES, [total], ROW_VECTORS)
            for total in self._whole_sums(var(lane))
        ]

    # ------------------------------------------------------------ results

    def _add_result(self, r: Result, columns: Columns) -> list[Stmt]:
        """sums[row][c] = or += the weights of a block times its values."""
        if r.over_rows:
            return self._add_columns(r)
        rows, lanes, weights, sums = self.s.rows, self._lanes(r), self.weights[r], self._sums(r)
        first, total = columns.first, columns.total
        packing, value = self._values(
            r,
            columns.count,
            lambda column: self._at(Index(), first + column),
            (Index(), None) if total is None else (first, total),
        )

        def finish(row: Index, lane: Index, total: Node) -> Stmt:
            at = row * lanes + lane
            if not self.p.online or not self.s.blocks:
                return Reduce(sums, at, "add", total) if self.s.blocks else Store(sums, at, total)
            before = node(Op.MUL, (load(sums, at), load(self._scratch("rescale", rows), row)))
            return Store(sums, at, node(Op.ADD, (before, total)))

        product = Product(
            rows,
            lanes,
            columns.count,
            sums.dtype,
            lambda row, j: load(weights, j * rows + row),
            value,
            finish,
            lambda step: self._chunks(columns, lambda start, count: every(count, start)(step)),
        )
        return packing + product_loops(product, self.p.width, self.target.registers)

    def _add_columns(self, r: Result) -> list[Stmt]:
        """sums[column][c] += the weights of a block of rows times their values."""
        rows, lanes, weights, sums = self.s.rows, self._lanes(r), self.weights[r], self._sums(r)
        packing, value = self._values(r, rows, lambda row: self._at(row, Index()), self._cut())

        def chunk(start: Index, count: int) -> list[Stmt]:
            product = Product(
                count,
                lanes,
                rows,
                sums.dtype,
                lambda column, row: load(weights, (start + column) * rows + row),
                value,
                lambda column, lane, total: Reduce(
                    sums, (start + column) * lanes + lane, "add", total
                ),
                every(rows, Index(), *self._cut()),
            )
            return product_loops(product, self.p.width, self.target.registers)

        return packing + self._chunks(self._all_columns(), chunk)

    def _values(
        self,
        r: Result,
        lines: int,
        at: Callable[[Index], SpacePosition],
        cut: tuple[Index, int | None] = (Index(), None),
    ) -> tuple[list[Stmt], ValueAt]:
        """value(line, lane), read in place if that is a vector, else from scratch."""
        lanes = self._lanes(r)

        def value(line: Index, lane: Index) -> Node:
            return self.p.weighted(r, at(line), lane)

        j, c = Var("j", lines), Var("c", r.width)
        one = value(var(j), var(c))
        if is_plain(one) and contiguous(one, c) and lanes == r.width:
            return [], value
        packed = self._scratch(
            f"values{self.p.results.index(r)}", max(lines, self.s.columns) * lanes
        )
        if cut[1] is None and self._turns(one, j, c):
            pack = transposed(
                packed, lambda lane, line: value(line, lane), lanes, lines, self.p.width
            )
            return pack, lambda at, lane: load(packed, at * lanes + lane)
        body: list[Stmt] = [For(c, r.width, LANES, [Store(packed, var(j) * lanes + var(c), one)])]
        if lanes > r.width:
            pad = Var("pad", lanes - r.width)
            zero = const(0, packed.dtype)
            body.append(
                For(
                    pad,
                    pad.extent,
                    LANES,
                    [Store(packed, var(j) * lanes + r.width + var(pad), zero)],
                )
            )
        by_line = For(j, lines, SERIAL, body, base=cut[0], total=cut[1])
        return [by_line], lambda at, lane: load(packed, at * lanes + lane)

    # ------------------------------------------------------------ epilogue

    def _write_result(self, r: Result) -> list[Stmt]:
        """Outputs that follow a result, line by line."""
        base, cut = (Index(), None) if r.over_rows else self._cut()
        line, c = Var("line", self.p.length() if r.over_rows else self.s.rows), Var("c", r.width)
        total = load(self._sums(r), var(line) * self._lanes(r) + var(c))
        held = KnownValues() if r.over_rows else self._held(var(line), Index())
        body = self.p.writes(
            self.p.outputs_of(r),
            self._at_line(r, var(line)),
            var(c),
            self._with_result(r, total, held),
        )
        return (
            [For(line, line.extent, SERIAL, [For(c, r.width, LANES, body)], base=base, total=cut)]
            if body
            else []
        )

    def _at_line(self, r: Result, line: Index) -> SpacePosition:
        """Where a line of a result belongs."""
        if not r.over_rows:
            return self._at(line, Index())
        return self.p.at(
            [*self.batch[: len(self.p.batch)], *(Index() for _ in self.p.others)], Index(), line
        )

    def _write_rows(self) -> list[Stmt]:
        """Outputs that are values of the rows."""
        lane = Var("l", self.s.rows)
        held = self._held(var(lane), Index())
        body = self.p.writes(self.p.row_outputs(), self._at(var(lane), Index()), Index(), held)
        return [self._row_lanes(lane, body)] if body else []
