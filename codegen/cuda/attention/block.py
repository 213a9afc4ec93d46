"""What a block of threads does for a block of rows of attention. In: a ChainProblem, Panels, Sizes. Out: statements.

copy queries[row][d]
for block of columns:
    copy columns[column][d], those of values too
    space[row][column] = sum_d queries[row][d] * keys[column][d]                   in registers, then in shared memory
    a warp for each row: m' = max(m, row of the block), sum, weights in place; sums and l times exp(m - m')
    sums[row][c] += sum_column weights[row][column] * values[column][c]            in registers
epilogue
"""

from __future__ import annotations

from ....ir.dtype import DType
from ....ir.graph import Node, const, node
from ....ir.index import Index, Mask, Range, Var, mask_of, unravel, var
from ....ir.kernel import Unit
from ....ir.loop import LANES, REG, SERIAL, WARPS, Alloc, Buf, For, Matrix, Stmt, Store
from ....ir.op import Op
from ...chain.mask import FAR
from ...chain.problem import ChainProblem, Held, Position, Result, Score, StageOf, StagePlan
from ...chain.task import Sizes, Task, new_maximum, whole_sum
from ...evaluate import load
from ...framing import identity
from .flags import Check
from .panels import Panel, Panels
from .sizes import strip_stride
from .tiles import Sum


class RowBlock(Task):
    """One block of rows of one batch element."""

    def __init__(self, p: ChainProblem, plan: StagePlan, panels: Panels, s: Sizes) -> None:
        super().__init__(p, s)
        self.plan, self.panels = plan, panels
        self.stride = strip_stride(panels, s.columns)
        self.scores = {q: panels.tile(f"scores{i}", s.rows, s.columns, apart=True) for i, q in enumerate(p.scores)}
        self.sums = {r: panels.tile(f"sums{i}", s.rows, r.width) for i, r in enumerate(p.results)}
        self.scale = Buf("scale", p.dtype, 1, REG)  # exp(m - m') of the row of a warp
        self.checks: list[Check] = []  # phases that run first

    @property
    def threads(self) -> int:
        return next(iter(self.sums.values())).threads

    def describe(self) -> str:
        s, p = self.s, self.p
        sums, widths = (" + ".join(map(str, found)) for found in ([q.length for q in p.scores], [r.width for r in p.results]))
        shape = f"{self.count // s.row_blocks} x {p.rows()} x {p.length()}"
        how = f"columns in {self.parts} blocks of {s.columns}" + ", rescaled" * p.online
        how += ", blocks that the mask rules out skipped" * bool(self.checks)
        how += " on tensor cores" * self.panels.tensor
        return f"chain {shape}: sums of {sums}, results of {widths}, blocks of {s.rows} rows, {how}, {self.count} tasks"

    @property
    def parts(self) -> int:
        return -(-self.p.length() // self.s.columns)

    @property
    def operations(self) -> int:
        """Multiply-adds of all blocks."""
        terms = sum(q.length for q in self.p.scores) + sum(r.width for r in self.p.results)
        return self.count * self.s.rows * self.p.length() * terms

    def _strip(self, number: int, dtype: DType | None = None) -> Buf:
        return self._scratch(f"space{number}", self.s.rows * self.stride, dtype)

    def _weight(self, r: Result, at: Position, held: Held) -> Node:
        weight = self.p.weight(r, at, held)
        return weight if weight.dtype is self.panels.dtype else node(Op.CAST, (weight,), self.panels.dtype)

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
        tiles = [*self.scores.values(), *self.sums.values()]
        return [*(Alloc(b) for b in (*self.scratch.values(), *(tile.sums for tile in tiles))), *work]

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
        return out + [tile.clear() for tile in self.sums.values()]

    def _columns(self, first: Index) -> list[Stmt]:
        """A block of columns."""
        columns = self.s.columns

        def at(j: Index) -> Position:
            return self._at(Index(), first + j)

        def mask(j: Index) -> Mask:
            return self._column_mask(first + j)

        out = [panel.copy(self._panel(panel, columns), columns, at, mask) for panel in self.panels.columns]
        self.strips = {q.unit: self._strip(i) for i, q in enumerate(self.p.scores)}
        out += [t for q in self.p.scores for t in self._score(q)]
        out += self._weigh(first)
        return out + [t for r in self.p.results for t in self._add_result(r)]

    def _row_mask(self, row: Index) -> Mask:
        return mask_of([Range(self.first + row, 0, self.p.rows())]) if self.p.rows() % self.s.rows else ()

    def _column_mask(self, column: Index) -> Mask:
        return mask_of([Range(column, 0, self.p.length())]) if self._is_ragged else ()

    @property
    def _is_ragged(self) -> bool:
        """Does the last block have fewer columns?"""
        return self.p.length() % self.s.columns > 0

    # ------------------------------------------------------------ products

    def _score(self, q: Score) -> list[Stmt]:
        """space[row][column] = sum of products."""
        query, key, tile = self.panels.query[q], self.panels.key[q], self.scores[q]
        rows, lanes = query.as_lines(self.scratch[query.name]), key.as_lines(self.scratch[key.name])
        strip = self.strips[q.unit]

        def put(row: Index, column: Index, total: Sum) -> list[Stmt]:
            return [Store(strip, row * self.stride + column, total.now)]

        return [tile.clear(), tile.add(rows, lanes, self.panels.steps(q.length)), tile.each(put)]

    def _add_result(self, r: Result) -> list[Stmt]:
        """sums[row][c] = sums[row][c] * rescale[row] + the weights of a block times its values."""
        panel, tile = self.panels.value[r], self.sums[r]
        weights, values = Matrix(self.weights[r], Index(), self.stride, 1), panel.as_steps(self.scratch[panel.name])

        def rescaled(row: Index, _: Index, total: Sum) -> list[Stmt]:
            return [total.store(node(Op.MUL, (total.now, load(self.scratch["rescale"], row))))]

        return [*([tile.each(rescaled)] if self.p.online else []), tile.add(weights, values, self.s.columns)]

    # ------------------------------------------------------------ stages

    def _weigh(self, first: Index) -> list[Stmt]:
        """A warp for each row: reductions along the row, then weights in place of scores."""
        row, body = Var("row", self.s.rows), list[Stmt]()
        for stage in self.plan.stages:
            body += self._stage(stage, row, first)
        if self._is_ragged:
            c = Var("column", self.s.columns)
            place, beyond = var(row) * self.stride + var(c), (Range(first + var(c), self.p.length(), FAR),)
            weighing = dict.fromkeys(self.weights.values())
            stores: list[Stmt] = [Store(b, place, const(0, b.dtype), beyond) for b in weighing]
            body.append(For(c, c.extent, LANES, stores))
        base, total = self._cut()
        return [For(row, row.extent, WARPS, body, base=base, total=total)] if body else []

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

        return [self.sums[r].each(written)] if outputs else []

    def _write_rows(self) -> list[Stmt]:
        """Outputs that are values of the rows."""
        row, outputs = Var("l", self.s.rows), self.p.row_outputs()
        held = self._held(var(row), Index())
        found = [self.p.stored(n, self._at(var(row), Index()), Index(), held) for n in outputs]
        base, total = self._cut()
        body: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in found]
        return [For(row, row.extent, LANES, body, base=base, total=total)] if body else []
