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
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import WORDS, Kernel, Unit
from ....ir.loops.loop import LANES, REG, SERIAL, Alloc, Buf, For, Reduce, Stmt, Store
from ....ir.loops.walk import Substitution
from ....ir.symbolic.questions import value_of
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
from ...kernels.chain_task import ROW_VECTORS, Sizes, Task
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
# / rows squared: what a row of a block costs more where results sum over the rows, since each block
# loads and stores these. 1.2 for 8 rows of attention's gradients on Zen 1, 1.03 for 16 there and on
# Zen 4, also of 577 and 1030 rows
COST_OF_SUMMED_ROW = 12.0
MOST_VECTORS = 7  # of the rows of a block
MIN_COLUMNS = 256  # of a block, over which rescaling costs little


def choose(p: ChainProblem, strips: int, target: Target) -> Sizes:
    """Blocks of rows wide enough for tiles; the space of a block in a quarter of the level-2 cache,
    else in several blocks."""
    blocks = -(-p.rows() // (ROW_VECTORS * p.width))
    others = value_of(prod(extent(g) for g in p.batch + p.others))
    while not p.sums_rows and others * blocks < TASKS and blocks * p.width < p.rows():
        blocks *= 2
    room = target.l2 // 4 // p.dtype.itemsize // strips
    if not p.in_blocks or p.sums_rows:
        while blocks * p.width < p.rows() and p.length() * _rows(p, blocks) > room:
            blocks += 1
    rows, columns = _least_work(p, _rows(p, blocks), others, room), p.length()
    if p.in_blocks and not p.sums_rows and columns * rows > room:
        parts = -(-columns // max(MIN_COLUMNS, room // rows))
        columns = -(-columns // parts)
    return Sizes(rows, -(-p.rows() // rows), columns, columns < p.length())


def _rows(p: ChainProblem, blocks: int) -> int:
    per = -(-p.rows() // blocks)
    return -(-per // p.width) * p.width


def _least_work(p: ChainProblem, rows: int, others: int, room: int) -> int:
    """Rows of a block: fewer, or a few more, where the last block would be nearly empty.

    More only where no result sums over the rows: gradients of 256 rows took twice as long in blocks
    of 80 as in those of 64.
    """

    def is_fit(r: int) -> bool:
        return r < rows or (
            not p.sums_rows and others * -(-p.rows() // r) >= TASKS and p.length() * r <= room
        )

    def cost(r: int) -> float:
        if p.sums_rows:
            return 1 + COST_OF_SUMMED_ROW / r**2
        return COST_OF_ROW.get(r // p.width, 1.0)

    sizes = [v * p.width for v in range(MOST_VECTORS, 0, -1) if is_fit(v * p.width)]
    return min([rows, *sizes], key=lambda r: -(-p.rows() // r) * r * cost(r))


def lower_chain(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a chain of contractions."""
    p = ChainProblem(kernel, strides, target)
    plan = StagePlan(p)
    s = choose(p, max(len(p.scores), sum(len(stage.kept) for stage in plan.stages)), target)
    task = _Chain(p, plan, s, target)
    chunk = Chunks(task.count, task.work, tuning.min_chunks)
    return chunk.lowered(kernel, p.buffers, task.body(chunk.position), task.describe())


class _Chain(Task):
    """One block of rows of one batch element, or all of them where results sum over the rows."""

    def __init__(self, p: ChainProblem, plan: StagePlan, s: Sizes, target: Target) -> None:
        super().__init__(p, s)
        self.plan, self.target = plan, target

    def describe(self) -> str:
        s, p = self.s, self.p
        how = f"all {s.columns} columns in scratch"
        if s.blocks:
            how = (
                f"columns in {plural(-(-p.length() // s.columns), 'block')} of {s.columns}"
                + ", rescaled" * p.online
            )
        return self._described(how + ", chunks that the mask rules out skipped" * self.guarded)

    # ------------------------------------------------------------ the task

    def body(self, position: Index) -> list[Stmt]:
        *self.batch, self.block = unravel(
            position, self.shape if not self.p.sums_rows else (*self.shape, 1)
        )
        body = self._all_rows() if self.p.sums_rows else self._row_block()
        return [*(Alloc(b) for b in self.scratch.values()), *body]

    def _all_rows(self) -> list[Stmt]:
        """Every row of a batch element, block by block: results that sum over the rows are then
        complete."""
        over_rows = [r for r in self.p.results if r.over_rows]
        at = Var("block", prod(self.others))
        *others, self.block = unravel(var(at), self.others)
        self.batch += others
        self.first = self.block * self.s.rows
        self._find_guard()
        body = self._check_operands() + [t for r in over_rows for t in self._clear(self._sums(r))]
        body.append(For(at, at.extent, SERIAL, self._row_block()))
        return body + [t for r in over_rows for t in self._write_result(r)]

    def _row_block(self) -> list[Stmt]:
        self.first = self.block * self.s.rows
        self._find_guard()
        body = self._check_operands() if not self.p.sums_rows else []
        body += [t for i in range(len(self.p.scores)) for t in self._pack_query(i)]
        body += self._blocks() if self.s.blocks else self._block(Index(), self.s.columns)
        return (
            body
            + [t for r in self.p.results if not r.over_rows for t in self._write_result(r)]
            + self._write_rows()
        )

    def _clear(self, buf: Buf) -> list[Stmt]:
        z = Var("z", buf.size)
        return [For(z, buf.size, LANES, [Store(buf, var(z), const(0, buf.dtype))], ROW_VECTORS)]

    def _blocks(self) -> list[Stmt]:
        """Blocks of columns one after the other; then what whole rows reduce to is known."""
        whole, rest = divmod(self.p.length(), self.s.columns)
        part = Var("part", whole)
        out = self._start()
        out.append(
            For(part, whole, SERIAL, self._block(var(part) * self.s.columns, self.s.columns))
        )
        out += self._block(Index(const=whole * self.s.columns), rest) if rest else []
        return out + self._end()

    def _block(self, first: Index, columns: int) -> list[Stmt]:
        """A block of columns: scores, stages, results."""
        self.strips = {q.unit: self._strip(i) for i, q in enumerate(self.p.scores)}
        out = [t for i in range(len(self.p.scores)) for t in self._score(i, first, columns)]
        for stage in self.plan.stages:
            out += self._stage(stage, first, columns)
        return out + [t for r in self.p.results for t in self._add_result(r, first, columns)]

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

    def _score(self, number: int, first: Index, columns: int) -> list[Stmt]:
        rows, q = self.s.rows, self.p.scores[number]
        strip, panel = self.strips[q.unit], self._scratch(f"queries{number}", q.length * rows)

        def chunk(start: Index, count: int) -> list[Stmt]:
            packing, key = self._keys(number, first + start, count)
            product = Product(
                count,
                rows,
                q.length,
                q.unit.node.dtype,
                key,
                lambda d, lane: load(panel, d * rows + lane),
                lambda column, lane, total: Store(strip, (start + column) * rows + lane, total),
            )
            return packing + product_loops(product, self.p.width, self.target.registers)

        return self._chunks(first, columns, chunk)

    def _keys(self, number: int, first: Index, columns: int) -> tuple[list[Stmt], ValueAt]:
        """key(column, d), read in place if that is one load, else from scratch where a first loop
        puts it."""
        q = self.p.scores[number]

        def key(column: Index, d: Index) -> Node:
            return self.p.term(q, q.key, self._at(Index(), first + column), d)

        j, d = Var("j", columns), Var("d", q.length)
        if is_plain(one := key(var(j), var(d))) and not self._is_crowded(one, d):
            return [], key
        packed = self._scratch(f"keys{number}", self.s.columns * q.length)
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
        return pack, lambda at, k: load(packed, at * q.length + k)

    def _is_crowded(self, key: Node, d: Var) -> bool:
        """Do the lines of a column's terms, of which the next columns are part, push each other out
        of the level-1 cache?

        Half of it holds the queries. On a Zen 4 1024 columns of 64 terms, 4 KB from term to term,
        are twice as fast packed.
        """
        pitch = abs(key.arg[1].coef(d)) * key.dtype.itemsize
        return pitch >= LINE and 2 * d.extent > lines_in_l1(pitch, self.target)

    def _turns(self, value: Node, line: Var, lane: Var) -> bool:
        """Does a panel lie the other way round in memory, in whole vectors of lanes?"""
        return (
            lane.extent % self.p.width == 0
            and contiguous(value, line)
            and not contiguous(value, lane)
        )

    # ------------------------------------------------------------ stages

    def _stage(self, stage: ChainStage, first: Index, columns: int) -> list[Stmt]:
        """One pass down the columns of a block: reductions, then values that are kept or weigh."""
        accs = {
            u: Buf(f"row_{WORDS[u.node.arg[0]]}", u.node.dtype, self.s.rows, REG, u.node.site)
            for u in stage.reductions
        }
        column, lane = Var("column", columns), Var("l", self.s.rows)
        place = var(column) * self.s.rows + var(lane)
        values = self._stage_values(
            stage, accs, self._at(var(lane), first + var(column)), var(lane), place
        )

        def chunk(start: Index, count: int) -> list[Stmt]:
            j = Var("column", count)
            body = Substitution({column: start + var(j)}).body(values)
            return [For(j, count, SERIAL, [self._row_lanes(lane, body)])]

        out: list[Stmt] = [Alloc(b, identity(u.node.arg[0], b.dtype)) for u, b in accs.items()]
        out += self._chunks(first, columns, chunk) if values else []
        return out + [t for u, b in accs.items() for t in self._reduced(u, b)]

    def _reduced(self, u: Unit, acc: Buf) -> list[Stmt]:
        """A reduction over a block of columns becomes known."""
        lane, stat = Var("l", self.s.rows), self.stats[u]
        now = load(acc, var(lane))
        self.rows_known[u] = stat
        if not self.s.blocks:
            return [For(lane, lane.extent, LANES, [Store(stat, var(lane), now)], ROW_VECTORS)]
        return [For(lane, lane.extent, LANES, self._join(u, now, var(lane)), ROW_VECTORS)]

    def _start(self) -> list[Stmt]:
        """Rows that have seen nothing."""
        lane, out = Var("l", self.s.rows), list[Stmt]()
        for u, stat in self.stats.items():
            zero = const(identity(u.node.arg[0], stat.dtype), stat.dtype)
            out.append(For(lane, lane.extent, LANES, [Store(stat, var(lane), zero)], ROW_VECTORS))
        return out + [t for r in self.p.results for t in self._clear(self._sums(r))]

    def _end(self) -> list[Stmt]:
        """Sums of whole rows."""
        lane = Var("l", self.s.rows)
        self.rows_known |= self.stats
        return [
            For(lane, lane.extent, LANES, [total], ROW_VECTORS)
            for total in self._whole_sums(var(lane))
        ]

    # ------------------------------------------------------------ results

    def _add_result(self, r: Result, first: Index, columns: int) -> list[Stmt]:
        """sums[row][c] = or += the weights of a block times its values."""
        if r.over_rows:
            return self._add_columns(r)
        rows, lanes, weights, sums = self.s.rows, self._lanes(r), self.weights[r], self._sums(r)
        packing, value = self._values(r, columns, lambda column: self._at(Index(), first + column))

        def finish(row: Index, lane: Index, total: Node) -> Stmt:
            at = row * lanes + lane
            if not self.p.online or not self.s.blocks:
                return Reduce(sums, at, "add", total) if self.s.blocks else Store(sums, at, total)
            before = node(Op.MUL, (load(sums, at), load(self._scratch("rescale", rows), row)))
            return Store(sums, at, node(Op.ADD, (before, total)))

        product = Product(
            rows,
            lanes,
            columns,
            sums.dtype,
            lambda row, j: load(weights, j * rows + row),
            value,
            finish,
            lambda step: self._chunks(
                first, columns, lambda start, count: every(count, start)(step)
            ),
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

        return packing + self._chunks(Index(), self.s.columns, chunk)

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
        line, c = Var("line", self.s.columns if r.over_rows else self.s.rows), Var("c", r.width)
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
