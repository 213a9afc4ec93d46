"""Kernel -> Loops for maps and rows: axes collapse, one is vectorised, the rest become chunks of rows. In: a Kernel. Out: Loops.

rows          for chunk: for row: max over lanes; sum(exp) over lanes; write lanes
short         for chunk: for row: write lanes, each with its short reductions unrolled
rows + sums   for chunk: sums of each column; for row: as rows, and add to the sums; then leave them to codegen/cpu/column_sums.py
columns       for chunk: accumulators for a block of lanes; for each inner step: combine lanes
flat          for chunk: write lanes
tiny          for row: for element: combine; for element: write     one chunk, no lanes: the least code
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var, unravel, var
from ...ir.kernels.kernel import Kernel, work
from ...ir.loops.loop import GLOBAL, GRID, LANES, SERIAL, Alloc, Buf, For, Loops, Param, Reduce, Stmt, Store
from ...ir.loops.walk import postorder
from ...wording import plural
from ..kernels import axes as schedule
from ..kernels.cascade import cascade, cascade_groups, cascade_lanes
from ..kernels.evaluate import load
from ..kernels.framing import (
    Axes,
    Framing,
    Places,
    combined,
    identity,
    in_a_row,
    in_registers,
    reductions_of,
    row_statements,
    scratch_of,
)
from ..kernels.stages import UNROLLED, ColumnSum, RowLoop
from .prefetch import next_row, next_rows
from .row_order import has_order, ordered, unrolled
from .target import Target
from .tiny import nest

INNER_BONUS = 0.9  # lanes over inner axes keep sums in registers
COMBINING = 10  # cycles for the sum of the lanes of a vector
LEAST_SUMMED = 4  # rows that one partial sum covers at least: it is written and read once more
MOST_PARTS = 64  # partial sums of a column: enough tasks, and the last phase stays short
PART_ROWS = 256  # that a partial sum covers at most: more would lose accuracy
SHORT_BLOCK = 2048  # lanes of a task
STRAIGHT = 4  # vectors of lanes that are code without a loop


@dataclass
class Lowered:
    """Loops, the values of their params, how many operations each phase does, and what was chosen and why."""

    loops: Loops
    params: tuple[int, ...]
    work: list[int]
    schedule: str


Fastest = Callable[[Sequence[Lowered], Target], Lowered]  # picks among kernels that give the same bits


@dataclass
class Tuning:
    """At least this many chunks, which tests may force; whether the kernel is tiny; who times candidates, if anybody."""

    min_chunks: int = 1
    tiny: bool = False
    fastest: Fastest | None = None
    strict: bool = False  # reductions take one term after the other, in the order of their axes


class RowLowering(Framing):
    """Tries the kernel with one variable an axis, then lowers it again in the chosen frame."""

    def __init__(self, kernel: Kernel, places: Places, target: Target, tuning: Tuning, axes: Axes) -> None:
        super().__init__(kernel, places, axes, scratch_bytes=target.l1 // 2 if tuning.tiny else 0)
        self.target, self.tuning = target, tuning
        if not tuning.tiny:
            self.weigh(target, tuning.strict)

    def lower(self) -> Lowered:
        if self.tuning.tiny:
            return self._tiny()
        lane_group, cost = self.best_outer()
        if lane_group is None or (self.inner and INNER_BONUS * self._inner_cost() <= cost):
            return self._rows()
        if self.inner:
            return self._short(lane_group) if self._is_short() else self._columns(lane_group)
        return self._flat(lane_group) if len(self.groups) == 1 else self._lines(lane_group)

    # ------------------------------------------------------------ choices

    def _inner_cost(self) -> float:
        costs = []
        for groups in self.inner_groups.values():
            touching = [a for a in self.accesses if not a.index.vars().isdisjoint(v for g in groups for v in g)]
            vectors = -(-prod(schedule.extent(g) for g in groups) // self.width)
            combining = COMBINING / vectors if self._is_short() else 0
            costs.append(self.group_cost(groups[-1], touching or self.accesses) + combining)
        return max(costs)

    def _rows(self) -> Lowered:
        rows = schedule.extent(self.outer)
        chunk = Chunks(rows, self.work() / max(1, rows), self.tuning.min_chunks)
        body, _ = self._row_body(chunk)
        return self._finish(chunk, body, f"rows: lanes over the last of the inner axes, {chunk.describe()}")

    def rows_with_sums(self) -> tuple[Lowered, dict[Node, Buf]]:
        """Rows, each chunk of which leaves its sums over them: a line for each chunk in the buffers behind the arguments."""
        rows = schedule.extent(self.outer)
        work = min(self.work() / max(1, rows), schedule.CHUNK_WORK / LEAST_SUMMED)
        chunk = Chunks(rows, work, self.tuning.min_chunks, most=max(MOST_PARTS, rows // PART_ROWS))
        inner, sums = self._row_body(chunk)
        parts = {t.node: Buf(f"parts{i}", t.acc.dtype, chunk.count * t.acc.size, GLOBAL) for i, t in enumerate(sums)}
        body: list[Stmt] = [Alloc(t.acc, identity(t.node.arg[0], t.acc.dtype)) for t in sums]
        body += chunk.each(inner)
        for t in sums:
            c = Var("c", t.acc.size)
            part = Store(parts[t.node], var(chunk.grid) * t.acc.size + var(c), load(t.acc, var(c)))
            body.append(For(c, c.extent, LANES, [part], 4))
        text = f"summed rows: lanes over the last of the inner axes, {chunk.describe()}, partial sums over the rows of each"
        lowered = self._finish(chunk, body, text, wrap=False)
        lowered.loops.buffers += tuple(parts.values())
        return lowered, parts

    def _row_body(self, chunk: Chunks) -> tuple[list[Stmt], list[ColumnSum]]:
        """All stages of one row; what it adds to sums over the rows."""
        frame = self.frame(self.rows_by(self.groups, chunk.position), scratch=self.target.l1 // 2)
        body: list[Stmt] = []
        stages = self.stages(frame)
        hints = next_row([loop for s in stages for loop in s.loops], chunk.step, self.target)
        for buf in scratch_of(stages):
            body.append(Alloc(buf))
        for s in stages:
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                body += self._nest(loop, hints.get(id(loop), []))
            body += [Store(w.buf, w.index, w.value) for w in s.writes]
        return body, [t for s in stages for loop in s.loops for t in loop.sums]

    def _tiny(self) -> Lowered:
        """A loop for every axis, as in the trial; for as many as elsewhere where the order of a sum follows from them."""
        stages = self.trial
        loops = [loop for s in stages for loop in s.loops if len(loop.axes) > 1]
        if not self.tuning.strict and any(has_order(r) for loop in loops for r in loop.reductions):
            self.weigh(self.target)
            stages = self.stages(self.frame({v: var(v) for v in self.outer}, scratch=self.target.l1 // 2))
        body: list[Stmt] = [Alloc(buf) for buf in scratch_of(stages)]
        for s in stages:
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                if self.tuning.strict:
                    body.append(schedule.nest(loop.axes, *row_statements(loop)))
                else:
                    body += ordered(loop, self._apart(loop))
            body += [Store(w.buf, w.index, w.value) for w in s.writes]
        return one_chunk(self.kernel, self.buffers, *nest(self.outer, body))

    def _nest(self, loop: RowLoop, hints: Sequence[Stmt] = ()) -> list[Stmt]:
        *others, lane = loop.axes
        work = schedule.work(postorder(loop.roots()))
        amount, apart = schedule.unroll(work, lane.extent, self.width), 0
        if any(map(has_order, loop.reductions)):
            apart = self._apart(loop)
            most = max(1, apart // self.width)
            amount = most if work <= schedule.CHEAP else min(amount, most)
        body = [*hints, *row_statements(loop)]
        if self.tuning.strict and loop.reductions:
            return [schedule.nest(loop.axes, *body)]

        def lanes(v: Var, body: list[Stmt]) -> For:
            return For(v, v.extent, LANES, body, amount, apart=apart)

        return cascade(others, cascade_lanes(lane, apart, lanes, body, any(v.extent > 1 for v in others)))

    def _columns(self, lane_group: list[Var]) -> Lowered:
        n = schedule.extent(lane_group)
        others = [g for g in self.groups if g is not lane_group]
        rows = prod(schedule.extent(g) for g in others)
        itemsize = max(r.acc.dtype.itemsize for s in self.trial for r in reductions_of(s))
        block = schedule.lane_block(n, itemsize, rows)
        shape = (rows, -(-n // block))
        chunk = Chunks(prod(shape), self.work() / max(1, prod(shape)), self.tuning.min_chunks)
        row, part = unravel(chunk.position, shape) if shape[1] > 1 else (chunk.position, Index())
        lane = Var("l", block)
        by = self.rows_by(others, row) | schedule.spread(part * block + var(lane), lane_group)
        bounds = (part * block, n) if n % block else None
        text = f"lanes over an outer axis in blocks of {block}, {chunk.describe()}"
        strict = self.tuning.strict
        if block <= STRAIGHT * self.width:
            stages = self.stages(self.frame(by))
            inside = in_registers(stages, lambda loop: cascade(loop.axes, row_statements(loop), in_order=strict))
            base, total = bounds or (Index(), None)
            return self._finish(chunk, [For(lane, block, LANES, inside, 1, base, total)], f"columns: {text}, sums in registers")
        frame = self.frame(by, var(lane), block)
        body: list[Stmt] = []
        for s in self.stages(frame):
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                body += self._column_nest(loop, lane, bounds)
            if s.writes:
                body.append(self._lane_loop(lane, bounds, [Store(w.buf, w.index, w.value) for w in s.writes]))
        return self._finish(chunk, body, f"columns: {text}")

    def _is_short(self) -> bool:
        """Are the reductions so short that their steps can stand in a row, as in pooling windows?"""
        loops = [loop for s in self.trial for loop in s.loops]
        return sum(prod(v.extent for v in loop.axes) for loop in loops) <= UNROLLED

    def _short(self, lane_group: list[Var]) -> Lowered:
        """Lanes over an outer axis, all reductions of a lane in registers."""
        others, n = [g for g in self.groups if g is not lane_group], schedule.extent(lane_group)
        rows = prod(schedule.extent(g) for g in others)
        block = n if rows > 1 else min(n, max(SHORT_BLOCK, -(-n // schedule.MAX_CHUNKS)))
        parts = -(-n // block)
        chunk = Chunks(rows * parts, self.work() / max(1, rows * parts), self.tuning.min_chunks)
        row, part = unravel(chunk.position, (rows, parts)) if parts > 1 else (chunk.position, Index())
        lane = Var("l", block)
        frame = self.frame(self.rows_by(others, row) | schedule.spread(part * block + var(lane), lane_group))
        body = in_registers(self.stages(frame), self._unrolled)
        text = f"short: lanes over an outer axis of {n}, short reductions in registers, {chunk.describe()}"
        return self._finish(chunk, [For(lane, block, LANES, body, 1, part * block, n if n % block else None)], text)

    def _unrolled(self, loop: RowLoop) -> list[Stmt]:
        if self.tuning.strict:
            return in_a_row(loop)
        return unrolled(loop, self._apart(loop))

    def _apart(self, loop: RowLoop) -> int:
        return schedule.apart(loop.axes[-1].extent, self.target.lanes(32)) if loop.axes else 1

    def _column_nest(self, loop: RowLoop, lane: Var, bounds: tuple[Index, int] | None) -> list[Stmt]:
        def fold(into: Buf, part: Buf) -> Stmt:
            return self._lane_loop(lane, bounds, [Reduce(into, var(lane), "add", load(part, var(lane)))])

        if loop.writes or not loop.reductions or self.tuning.strict:
            inner: list[Stmt] = [r.into(r.acc, var(lane), r.value) for r in loop.reductions]
            inner += [Store(w.buf, w.index, w.value) for w in loop.writes]
            return cascade(loop.axes, [self._lane_loop(lane, bounds, inner)], fold, self.tuning.strict)
        *front, last = loop.axes

        def terms(axes: list[Var], steps: list[Index]) -> Stmt:
            reduces: list[Stmt] = [combined(r, last, steps, var(lane)) for r in loop.reductions]
            return self._lane_loop(lane, bounds, [*next_rows(loop.roots(), last, axes, steps, lane, self.target), *reduces])

        return cascade(front, cascade_groups(last, terms, fold, any(v.extent > 1 for v in front)), fold)

    def _lane_loop(self, lane: Var, bounds: tuple[Index, int] | None, body: list[Stmt]) -> For:
        base, total = bounds or (Index(), None)
        roots = [s.value for s in body if isinstance(s, Store | Reduce)]
        amount = schedule.unroll(schedule.work(postorder(roots)), lane.extent, self.width)
        return For(lane, lane.extent, LANES, body, amount, base, total)

    def _flat(self, lane_group: list[Var]) -> Lowered:
        n = schedule.extent(lane_group)
        chunk = Chunks(n, max(1, self.body), self.tuning.min_chunks, multiple=self.width * 4)
        lane = Var("l", chunk.size)
        frame = self.frame(schedule.spread(chunk.first + var(lane), lane_group))
        writes: list[Stmt] = [Store(w.buf, w.index, w.value) for s in self.stages(frame) for w in s.writes]
        loop = self._lane_loop(lane, (chunk.first, n), writes)
        loop.total = chunk.total
        return self._finish(chunk, [loop], f"flat: lanes over all {n} elements, {chunk.describe()}", wrap=False)

    def _lines(self, lane_group: list[Var]) -> Lowered:
        others = [g for g in self.groups if g is not lane_group]
        n = schedule.extent(lane_group)
        rows = prod(schedule.extent(g) for g in others)
        chunk = Chunks(rows, n * max(1, self.body), self.tuning.min_chunks)
        lane = Var("l", n)
        frame = self.frame(self.rows_by(others, chunk.position) | schedule.spread(var(lane), lane_group))
        writes: list[Stmt] = [Store(w.buf, w.index, w.value) for s in self.stages(frame) for w in s.writes]
        return self._finish(
            chunk,
            [self._lane_loop(lane, None, writes)],
            f"lines: lanes over {n} elements of each of {rows} lines, {chunk.describe()}",
        )

    def _finish(self, chunk: Chunks, body: list[Stmt], text: str, wrap: bool = True) -> Lowered:
        phase = chunk.phase(body, wrap)
        loops = Loops(self.kernel.name, self.buffers, chunk.params, [phase])
        return Lowered(loops, chunk.values, [self.work()], text)


class Chunks:
    """Rows handed out in chunks: `position` is the row in terms of the chunk and row variables, its number an argument."""

    def __init__(
        self, rows: int, row_work: float, minimum: int, multiple: int = 1, most: int = schedule.MAX_CHUNKS
    ) -> None:
        count, size = schedule.chunks(rows, row_work, minimum, most)
        if size % multiple and size > multiple:
            size = -(-size // multiple) * multiple
            count = -(-rows // size)
        self.count, self.size, self.rows, self.row_work = count, size, rows, row_work
        # the bound of g does not tell how many chunks there are: other numbers of rows give the same kernel
        self.grid, self.row = Var("g", max(count, schedule.MAX_CHUNKS)), Var("row", size)
        self.first = var(self.grid) * size
        self.step = self.row if size > 1 else self.grid  # the variable of the next row
        self.position = self.first + var(self.row) if size > 1 else self.first
        self.total = Param("rows")
        self.params = (Param("chunks"), self.total)
        self.values = (count, rows)

    def phase(self, body: list[Stmt], wrap: bool = True) -> For:
        return For(self.grid, self.params[0], GRID, self.each(body) if wrap else body)

    def each(self, body: list[Stmt]) -> list[Stmt]:
        """The body for every row of a chunk."""
        return [For(self.row, self.size, SERIAL, body, base=self.first, total=self.total)] if self.size > 1 else body

    def describe(self) -> str:
        return f"{plural(self.count, 'chunk')} of {self.size}"

    def lowered(
        self, kernel: Kernel, buffers: tuple[Buf, ...], body: list[Stmt], text: str, given: Mapping[Param, int] | None = None
    ) -> Lowered:
        """A kernel that does the body for every row, and nothing else; `given` are the params of the body, with their values."""
        given = given or {}
        loops = Loops(kernel.name, buffers, (*self.params, *given), [self.phase(body)])
        return Lowered(loops, (*self.values, *given.values()), [int(self.rows * self.row_work)], text)


def one_chunk(
    kernel: Kernel, buffers: tuple[Buf, ...], body: list[Stmt], params: tuple[Param, ...], values: tuple[int, ...]
) -> Lowered:
    """A tiny kernel: all of it in one chunk."""
    phase = For(Var("g", 1), 1, GRID, body)
    loops = Loops(kernel.name, buffers, params, [phase])
    return Lowered(loops, values, [work(u.node for u in kernel.units)], "tiny: one lane, one chunk")
