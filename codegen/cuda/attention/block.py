"""Attention of one block of rows by one block of threads. In: a ChainProblem, Panels, Sizes. Out:
statements.

copy queries[row][d]
for block of columns:
    copy columns[column][d], those of values too
    scores[row][column] = sum_d queries[row][d] * keys[column][d]                  in registers
    the largest of a thread's scores in each of its rows, to shared memory; then m' = max(m, all of
        them) of each row
    weights[row][column] of the scores, to shared memory; their sums likewise; sums and l times
        exp(m - m')
    sums[row][c] += sum_column weights[row][column] * values[column][c]            in registers
epilogue
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Mask, Range, Var, mask_of, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import WORDS, Unit
from ....ir.loops.loop import (
    LANES,
    REG,
    SERIAL,
    Alloc,
    Buf,
    Commit,
    For,
    If,
    Matrix,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from ....wording import plural
from ...kernels.chain import ChainProblem, ChainStage, Result, Score, SpacePosition, StagePlan
from ...kernels.chain_task import Sizes, Task
from ...kernels.evaluate import load
from ...kernels.kernel_axes import identity
from .flags import Check
from .panels import Panel, Panels
from .sizes import weights_stride
from .tiles import Place


class RowBlock(Task):
    """One block of rows of one batch element."""

    def __init__(self, p: ChainProblem, plan: StagePlan, panels: Panels, s: Sizes) -> None:
        super().__init__(p, s)
        self.plan, self.panels = plan, panels
        self.stride = weights_stride(panels, s.columns)
        self.space = panels.tile(s.rows, s.columns, apart=True)
        self.tiles = {r: panels.tile(s.rows, r.width) for r in p.results}
        self.sums = {r: tile.buf(f"sums{i}") for i, (r, tile) in enumerate(self.tiles.items())}
        self.checks: list[Check] = []  # phases that run first
        self.position = Index()  # the number of the block

    @property
    def threads(self) -> int:
        return self.space.threads

    def describe(self) -> str:
        how = (
            f"columns in {plural(self.parts, 'block')} of {self.s.columns}"
            + ", rescaled" * self.p.online
        )
        how += ", blocks that the mask rules out skipped" * bool(self.checks)
        return self._described(how + " on tensor cores" * self.panels.tensor)

    @property
    def parts(self) -> int:
        return -(-self.p.length() // self.s.columns)

    @property
    def operations(self) -> int:
        """Multiply-adds of all blocks."""
        terms = sum(q.length for q in self.p.scores) + sum(r.width for r in self.p.results)
        return self.count * self.s.rows * self.p.length() * terms

    def _strip(self, number: int) -> Buf:
        """Values of a block of the space, in registers."""
        return self.scratch.setdefault(f"space{number}", self.space.buf(f"space{number}"))

    def _panel(self, panel: Panel, lines: int) -> Buf:
        return self.scratch.setdefault(panel.name, panel.buf(lines))

    # ------------------------------------------------------------ the block

    def body(self, position: Index) -> list[Stmt]:
        *self.batch, block = unravel(position, self.shape)
        self.first, self.position = block * self.s.rows, position
        if self._live(Index(), self.s.columns) and all(map(self._is_checkable, self.p.results)):
            checks = [Check(self.p, self.s, of_rows) for of_rows in (False, True)]
            self.checks = [c for c in checks if c.operands()]
        work = [*self._start(), *self._parts(), *self._end()]
        return [*(Alloc(b) for b in (*self.scratch.values(), *self.sums.values())), *work]

    def _parts(self) -> list[Stmt]:
        """All blocks of columns; while one is computed with, the next one arrives, if it can by
        itself."""
        part = Var("part", self.parts)
        if self.panels.slots == 1:
            each = self._copied(var(part)) + self._columns(var(part))
            return [For(part, self.parts, SERIAL, self._unless_ruled_out(var(part), each))]
        following = mask_of([Range(var(part) + 1, 0, self.parts)])
        ahead = self._unless_ruled_out(var(part) + 1, self._fetched(var(part) + 1))
        now = self._unless_ruled_out(var(part), self._columns(var(part)))
        # all have read what the next block overwrites
        body: list[Stmt] = [
            Wait(0),
            If(following, ahead),
            Commit(),
            *now,
        ]
        return [
            *self._unless_ruled_out(Index(), self._fetched(Index())),
            Commit(),
            For(part, self.parts, SERIAL, body),
        ]

    def _unless_ruled_out(self, part: Index, body: list[Stmt]) -> list[Stmt]:
        """Nothing where the mask rules out a block of columns for all rows, unless an operand there
        is not finite."""
        if not self.checks:
            return body
        flags = [c.flags.now(self.position, self.s.row_blocks, part) for c in self.checks]
        flag = flags[0] if len(flags) == 1 else node(Op.MAX, flags)
        return [self._where_live(part * self.s.columns, self.s.columns, flag, body)]

    def _start(self) -> list[Stmt]:
        """Queries; rows that have seen nothing."""
        rows = self.s.rows
        out = [
            q.copy(self._panel(q, rows), rows, lambda i: self._at(i, Index()), self._row_mask)
            for q in self.panels.rows
        ]
        row = Var("l", rows)
        zeros = {b: const(identity(u.node.arg[0], b.dtype), b.dtype) for u, b in self.stats.items()}
        out += (
            [For(row, rows, LANES, [Store(b, var(row), zero) for b, zero in zeros.items()])]
            if zeros
            else []
        )
        return out + [self.tiles[r].clear(sums) for r, sums in self.sums.items()]

    def _copied(self, part: Index) -> list[Stmt]:
        return [
            k.copy(self._columns_of(k), self.s.columns, *self._lines(part))
            for k in self.panels.columns
        ]

    def _fetched(self, part: Index) -> list[Stmt]:
        return [
            k.fetch(self._columns_of(k), self._slot(k, part), self.s.columns, *self._lines(part))
            for k in self.panels.columns
        ]

    def _columns_of(self, panel: Panel) -> Buf:
        return self._panel(panel, self.panels.slots * self.s.columns)

    def _slot(self, panel: Panel, part: Index) -> Index:
        """Where a panel's lines of a block of columns begin."""
        return part % self.panels.slots * (self.s.columns * panel.stride)

    def _lines(
        self, part: Index
    ) -> tuple[Callable[[Index], SpacePosition], Callable[[Index], Mask]]:
        """Where a line of a block of columns is, and whether it is there."""
        first = part * self.s.columns
        return lambda j: self._at(Index(), first + j), lambda j: self._column_mask(first + j)

    def _columns(self, part: Index) -> list[Stmt]:
        """A block of columns."""
        self.strips = {q.unit: self._strip(i) for i, q in enumerate(self.p.scores)}
        out = [t for q in self.p.scores for t in self._score(q, part)]
        out += [t for stage in self.plan.stages for t in self._stage(stage, part * self.s.columns)]
        return out + [t for r in self.p.results for t in self._add_result(r, part)]

    def _row_mask(self, row: Index) -> Mask:
        return (
            mask_of([Range(self.first + row, 0, self.p.rows())])
            if self.p.rows() % self.s.rows
            else ()
        )

    def _column_mask(self, column: Index) -> Mask:
        return mask_of([Range(column, 0, self.p.length())]) if self._is_ragged else ()

    @property
    def _is_ragged(self) -> bool:
        """Does the last block have fewer columns?"""
        return self.p.length() % self.s.columns > 0

    # ------------------------------------------------------------ products

    def _score(self, q: Score, part: Index) -> list[Stmt]:
        """Sums of products, a value of the space."""
        query, key, strip = self.panels.query[q], self.panels.key[q], self.strips[q.unit]
        rows = query.as_lines(self.scratch[query.name], Index())
        lanes = key.as_lines(self.scratch[key.name], self._slot(key, part))
        return [
            self.space.clear(strip),
            self.space.add(strip, rows, lanes, self.panels.steps(q.length)),
        ]

    def _add_result(self, r: Result, part: Index) -> list[Stmt]:
        """sums[row][c] = sums[row][c] * rescale[row] + the weights of a block times its values."""
        panel, tile, sums = self.panels.value[r], self.tiles[r], self.sums[r]
        weights = Matrix(self.weights[r], Index(), self.stride, 1)
        values = panel.as_steps(self.scratch[panel.name], self._slot(panel, part))

        def rescaled(p: Place) -> list[Stmt]:
            return [
                Store(
                    sums,
                    p.at,
                    node(Op.MUL, (load(sums, p.at), load(self.scratch["rescale"], p.row))),
                )
            ]

        rescale = [tile.by_threads(tile.each(rescaled))] if self.p.online else []
        return [*rescale, tile.add(sums, weights, values, self.s.columns)]

    # ------------------------------------------------------------ stages

    def _stage(self, stage: ChainStage, first: Index) -> list[Stmt]:
        """One pass over the scores of every thread: reductions, then values that are kept or
        weigh."""
        accs = {
            u: Buf(f"row_{WORDS[u.node.arg[0]]}", u.node.dtype, self.space.lines, REG, u.node.site)
            for u in stage.reductions
        }
        pitch = self.space.shares + 1
        parts = {
            u: self._scratch(f"parts{i}", self.s.rows * pitch, u.node.dtype)
            for i, u in enumerate(accs)
        }
        body: list[Stmt] = [Alloc(b, identity(u.node.arg[0], b.dtype)) for u, b in accs.items()]
        body += self.space.each(lambda p: self._values(stage, accs, first, p))
        body += self.space.each_line(
            lambda line, row, share: [
                Store(parts[u], row * pitch + share, load(b, line)) for u, b in accs.items()
            ]
        )
        row = Var("l", self.s.rows)
        whole = [
            t
            for u, b in parts.items()
            for t in self._join(u, self._joined(u, b, var(row) * pitch), var(row))
        ]
        if not (stage.reductions or stage.kept or stage.weights):
            return []
        return [
            self.space.by_threads(body),
            *([For(row, row.extent, LANES, whole)] if whole else []),
        ]

    def _values(
        self, stage: ChainStage, accs: dict[Unit, Buf], first: Index, place: Place
    ) -> list[Stmt]:
        """What a stage does with one score; past the last column the weight is 0."""
        p, at = self.p, self._at(place.row, first + place.element)
        mask = self._row_mask(place.row) + self._column_mask(first + place.element)
        held = {u.node: load(b, place.at) for u, b in self.strips.items()}
        held |= {u.node: load(b, place.row) for u, b in self.rows_known.items()}
        body: list[Stmt] = [
            Reduce(b, place.line, u.node.arg[0], p.reduced(u, at, held, mask), mask)
            for u, b in accs.items()
        ]
        kept = {u: p.of_space(u, at, held, mask) for u in stage.kept}
        weight_of = {r: p.weight(r, at, held, mask) for r in stage.weights}
        for number, value in enumerate(dict.fromkeys(weight_of.values())):
            weights = self._scratch(
                f"weights{number}", self.s.rows * self.stride, self.panels.dtype
            )
            self.weights |= {r: weights for r, v in weight_of.items() if v is value}
            body.append(
                Store(
                    weights, place.row * self.stride + place.element, narrowed(value, weights.dtype)
                )
            )
        places = self._places(list(kept.values()), place.at, [self.strips[u] for u in stage.free])
        self.strips |= {u: places[v] for u, v in kept.items()}
        return body + [
            Store(b, place.at, v) for v, b in places.items() if v is not load(b, place.at)
        ]

    def _joined(self, u: Unit, parts: Buf, first: Index) -> Node:
        """What all threads that share a row found."""
        shares = [load(parts, first + i) for i in range(self.space.shares)]
        op = {"max": Op.MAX, "add": Op.ADD}[u.node.arg[0]]
        while len(shares) > 1:
            shares = [node(op, (a, b)) for a, b in zip(shares[::2], shares[1::2], strict=True)]
        return shares[0]

    # ------------------------------------------------------------ epilogue

    def _end(self) -> list[Stmt]:
        """Sums of whole rows, then the outputs."""
        self.rows_known, self.strips = dict(self.stats), {}
        row = Var("l", self.s.rows)
        whole = self._whole_sums(var(row))
        out: list[Stmt] = [For(row, row.extent, LANES, whole)] if whole else []
        return out + [t for r in self.p.results for t in self._write_result(r)] + self._write_rows()

    def _write_result(self, r: Result) -> list[Stmt]:
        """Outputs that follow a result."""
        outputs, tile = self.p.outputs_of(r), self.tiles[r]

        def written(p: Place) -> list[Stmt]:
            held = self._with_result(r, load(self.sums[r], p.at), self._held(p.row, Index()))
            mask = self._row_mask(p.row) + mask_of([Range(p.element, 0, r.width)])
            return self.p.writes(outputs, self._at(p.row, Index()), p.element, held, mask)

        return [tile.by_threads(tile.each(written))] if outputs else []

    def _write_rows(self) -> list[Stmt]:
        """Outputs that are values of the rows."""
        row = Var("l", self.s.rows)
        body = self.p.writes(
            self.p.row_outputs(),
            self._at(var(row), Index()),
            Index(),
            self._held(var(row), Index()),
        )
        return [For(row, row.extent, LANES, body, 1, *self._cut())] if body else []


def narrowed(value: Node, dtype: DType) -> Node:
    """As a factor on tensor cores."""
    return value if value.dtype is dtype else node(Op.CAST, (value,), dtype)
