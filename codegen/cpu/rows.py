"""Schedules of maps and rows: axes collapse, one is vectorised, the rest become chunks of rows. In:
a Kernel. Out: Loops.

rows          for chunk: for row: max over lanes; sum(exp) over lanes; write lanes; of a length
              that is not known: by code for one vector, for two, for four, or for any number
short         for chunk: for row: write lanes, each with its short reductions unrolled, or its short
              row
rows + sums   for chunk: sums of each column; for row: as rows, and add to the sums; then leave them
              to codegen/cpu/column_sums.py
columns       for chunk: accumulators for a block of lanes; for each inner step: combine lanes; as
              many accumulators as partial sums where lanes would add up the terms
flat          for chunk: write lanes
tiny          for row: for element: combine; for element: write; one chunk, no lanes: the least code
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir.graph.graph import Node
from ...ir.graph.index import ANYWHERE, Index, Range, Var, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import GLOBAL, LANES, Alloc, Buf, For, If, Loops, Reduce, Stmt, Store
from ...ir.loops.walk import postorder
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import has_several, is_same, is_unknown, value_of
from ...ir.symbolic.scope import scope_of
from ..kernels import loop_axes
from ..kernels.cascade import TERMS, cascade, cascade_groups, cascade_lanes
from ..kernels.choices import by_position
from ..kernels.evaluate import load
from ..kernels.kernel_axes import (
    Axes,
    KernelAxes,
    Places,
    combined,
    identity,
    in_a_row,
    in_registers,
    reductions_of,
    row_statements,
    scratch_of,
)
from ..kernels.lowered import Lowered
from ..kernels.stages import RowLoop, Stage
from ..llvm.target import Target
from .chunks import Chunks, Tuning, one_chunk
from .prefetch import next_row, next_rows
from .row_order import Accumulators, ordered, unrolled
from .tiny import nest

SUMMED_WORK = 16  # operations an element of a row that is summed, whatever they are
LEAST_SUMMED = 4  # rows that one partial sum covers at least: it is written and read once more
MOST_PARTS = 64  # partial sums of a column: enough tasks, and the last phase stays short
PART_ROWS = 256  # that a partial sum covers at most: more would lose accuracy
SHORT_BLOCK = 2048  # lanes of a task
PARTIAL_BYTES = 64 << 10  # of the partial sums of a block of columns
# that a row of a length that is not known fills at most, to have code without loops over them
FEW_VECTORS = (1, 2, 4)
STRAIGHT = 4  # vectors of lanes that are code without a loop


class RowLowering(KernelAxes):
    """Loops of a kernel by each schedule, given what its probe shows."""

    def __init__(
        self, kernel: Kernel, places: Places, target: Target, tuning: Tuning, axes: Axes
    ) -> None:
        super().__init__(kernel, places, axes, scratch_bytes=target.l1 // 2 if tuning.tiny else 0)
        self.target, self.tuning = target, tuning
        if not tuning.tiny:
            self.weigh(target, tuning.strict)

    @property
    def lanes_add(self) -> bool | None:
        """Do lanes add up the terms of its sums? None where they have no order, or that of their
        axes. Asks."""
        sums = () if self.tuning.strict else self.reductions
        return next((r.in_lanes for r in sums if r.has_order), None)

    def rows(self) -> Lowered:
        rows = loop_axes.extent(self.outer)
        chunk = Chunks(rows, self.work() / max(1, rows), self.tuning.min_chunks)
        stages = self._row_stages(chunk)
        body, length = chunk.each(self._row_body(stages, chunk)), _length(stages)
        if is_unknown(length) and not self.tuning.strict:
            body = self._by_length(chunk, length, body)
        text = f": lanes over the last of the inner axes, {chunk.describe()}"
        return self._finish(chunk, body, text, wrap=False)

    def _by_length(self, chunk: Chunks, length: int, long: list[Stmt]) -> list[Stmt]:
        """A chunk of rows: if these fill no more than a few vectors, by code without loops over
        them."""
        out, least, at = list[Stmt](), 0, Index(const=length)
        for vectors in FEW_VECTORS:
            short = self._row_body(self._row_stages(chunk), chunk, vectors)
            most = vectors * self.width + 1
            out.append(If((Range(at, least, most),), chunk.each(short)))
            least = most
        return [*out, If((Range(at, least, ANYWHERE),), long)]

    def rows_with_sums(self) -> tuple[Lowered, dict[Node, Buf]]:
        """Rows, each chunk of which leaves its sums over them: a line for each chunk in the buffers
        behind the arguments."""
        chunk = self._chunk_of_sums()
        stages = self._row_stages(chunk)
        inner = self._row_body(stages, chunk)
        sums = [t for s in stages for loop in s.loops for t in loop.sums]
        parts = {
            t.node: Buf(f"parts{i}", t.acc.dtype, chunk.count * t.acc.size, GLOBAL)
            for i, t in enumerate(sums)
        }
        body: list[Stmt] = [Alloc(t.acc, identity(t.node.arg[0], t.acc.dtype)) for t in sums]
        body += chunk.each(inner)
        for t in sums:
            c = Var("c", t.acc.size)
            part = Store(parts[t.node], var(chunk.grid) * t.acc.size + var(c), load(t.acc, var(c)))
            body.append(For(c, c.extent, LANES, [part], 4))
        text = (
            f" rows: lanes over the last of the inner axes, {chunk.describe()}, partial sums over"
            " the rows of each"
        )
        lowered = self._finish(chunk, body, text, wrap=False)
        lowered.loops.buffers += tuple(parts.values())
        return lowered, parts

    def _chunk_of_sums(self) -> Chunks:
        """Bits depend on how many rows a chunk has, so that follows from shapes alone: whatever
        else a kernel computes, it adds up in the same order."""
        rows = loop_axes.extent(self.outer)
        columns = max(u.node.size for u in self.kernel.columns if u.node.op is Op.REDUCE)

        def chunk() -> Chunks:
            work = min(float(SUMMED_WORK * columns), loop_axes.CHUNK_WORK / LEAST_SUMMED)
            most = max(MOST_PARTS, rows // PART_ROWS)
            return Chunks(rows, work, self.tuning.min_chunks, most=most)

        if scope := scope_of([rows, columns]):
            scope.settle(
                lambda: chunk().size,
                lambda size: f"{self.kernel.name} adds up rows in chunks of {size}",
            )
        return chunk()

    def _row_stages(self, chunk: Chunks) -> list[Stage]:
        """Those of one row. Costly values, as those of exp, are kept for a later stage where they
        leave room in the level-2 cache."""
        by = self.rows_by(self.groups, chunk.position)
        return self.stages(self.axis_map(by, scratch=self.target.l2 // 4))

    def _row_body(self, stages: list[Stage], chunk: Chunks, vectors: int = 0) -> list[Stmt]:
        """One row, of so many `vectors` of lanes at most, if they are given."""
        hints = next_row([loop for s in stages for loop in s.loops], chunk.step, self.target)
        body: list[Stmt] = [Alloc(buf) for buf in scratch_of(stages)]
        for s in stages:
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                body += self._nest(loop, hints.get(id(loop), []), vectors)
            body += [Store(w.buf, w.index, w.value) for w in s.writes]
        return body

    def tiny(self) -> Lowered:
        """A loop for every axis, as in the probe; for as many as elsewhere where the order of a sum
        follows from them."""
        stages = self.probe
        loops = [loop for s in stages for loop in s.loops if len(loop.axes) > 1]
        if not self.tuning.strict and any(r.has_order for loop in loops for r in loop.reductions):
            self.weigh(self.target)
            stages = self.stages(
                self.axis_map({v: var(v) for v in self.outer}, scratch=self.target.l1 // 2)
            )
        body: list[Stmt] = [Alloc(buf) for buf in scratch_of(stages)]
        for s in stages:
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                if self.tuning.strict:
                    body.append(loop_axes.nest(loop.axes, *row_statements(loop)))
                else:
                    body += ordered(loop, self._apart(loop))
            body += [Store(w.buf, w.index, w.value) for w in s.writes]
        return one_chunk(self.kernel, self.buffers, *nest(self.outer, body))

    def _nest(self, loop: RowLoop, hints: Sequence[Stmt] = (), vectors: int = 0) -> list[Stmt]:
        *others, lane = loop.axes
        body = [*hints, *row_statements(loop)]
        if self.tuning.strict and loop.reductions:
            return [loop_axes.nest(loop.axes, *body)]
        apart = self._apart(loop) if any(r.has_order for r in loop.reductions) else 0
        if vectors:
            most = vectors * self.width
            masked = For(lane, most, LANES, body, total=lane.extent, apart=min(apart, most))
            return cascade(others, [masked])
        work = loop_axes.work(postorder(loop.roots()))
        amount = loop_axes.unroll(work, lane.extent, self.width)
        if apart:
            most = max(1, apart // self.width)
            amount = most if work <= loop_axes.CHEAP else min(amount, most)

        def lanes(v: Var, body: list[Stmt]) -> list[Stmt]:
            return [For(v, v.extent, LANES, body, amount, apart=apart)]

        return cascade(
            others,
            cascade_lanes(lane, apart, lanes, body, any(has_several(v.extent) for v in others)),
        )

    def columns(self, lane_group: list[Var]) -> Lowered:
        n = loop_axes.extent(lane_group)
        others = [g for g in self.groups if g is not lane_group]
        rows = prod(loop_axes.extent(g) for g in others)
        block = self._column_block(n, rows)
        shape = (rows, -(-n // block))
        chunk = Chunks(prod(shape), self.work() / max(1, prod(shape)), self.tuning.min_chunks)
        row, part = (
            unravel(chunk.position, shape) if has_several(shape[1]) else (chunk.position, Index())
        )
        lane = Var("l", block)
        by = self.rows_by(others, row) | loop_axes.spread(part * block + var(lane), lane_group)
        bounds = None if is_same(n % block, 0) else (part * block, n)
        text = f"lanes over an outer axis in blocks of {block}, {chunk.describe()}"
        strict = self.tuning.strict
        if block <= STRAIGHT * self.width and not self.lanes_add:
            stages = self.stages(self.axis_map(by))
            inside = in_registers(
                stages, lambda loop: cascade(loop.axes, row_statements(loop), in_order=strict)
            )
            base, total = bounds or (Index(), None)
            return self._finish(
                chunk,
                [For(lane, block, LANES, inside, 1, base, total)],
                f": {text}, sums in registers",
            )
        body: list[Stmt] = []
        for s in self.stages(self.axis_map(by, var(lane), block)):
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            for loop in s.loops:
                body += self._column_nest(loop, lane, bounds)
            if s.writes:
                body.append(
                    self._lane_loop(
                        lane, bounds, [Store(w.buf, w.index, w.value) for w in s.writes]
                    )
                )
        return self._finish(chunk, body, f": {text}")

    def _column_block(self, n: int, rows: int) -> int:
        """Lanes of a block of columns: fewer where partial sums of each are on the stack."""
        sizes = [r.acc.dtype.itemsize for r in self.reductions]
        if not self.lanes_add:
            return loop_axes.lane_block(n, max(sizes), rows)
        block = loop_axes.lane_block(n, max(sizes), rows, loop_axes.LEAST_BLOCK_BYTES)
        each = sum(sizes) * max(self._apart(loop) for s in self.probe for loop in s.loops)
        return min(block, max(self.width, loop_axes.power_of_two(PARTIAL_BYTES / each)))

    def short(self, lane_group: list[Var]) -> Lowered:
        """Lanes over an outer axis, all reductions of a lane in registers, or a short row of
        each."""
        others, n = [g for g in self.groups if g is not lane_group], loop_axes.extent(lane_group)
        rows = prod(loop_axes.extent(g) for g in others)
        most = max(SHORT_BLOCK, -(-value_of(n) // loop_axes.MAX_CHUNKS))
        block = n if rows > 1 else most if isinstance(n, Symbolic) else min(n, most)
        parts = -(-n // block)
        chunk = Chunks(rows * parts, self.work() / max(1, rows * parts), self.tuning.min_chunks)
        row, part = (
            unravel(chunk.position, (rows, parts)) if parts > 1 else (chunk.position, Index())
        )
        lane = Var("l", block)
        axes = self.axis_map(
            self.rows_by(others, row) | loop_axes.spread(part * block + var(lane), lane_group)
        )
        body = in_registers(self.stages(axes), self._unrolled)
        what = "short reductions in registers" if self.reduces else "short rows unrolled"
        text = f": lanes over an outer axis of {n}, {what}, {chunk.describe()}"
        total = None if is_same(n % block, 0) else n
        return self._finish(chunk, [For(lane, block, LANES, body, 1, part * block, total)], text)

    def _unrolled(self, loop: RowLoop) -> list[Stmt]:
        if self.tuning.strict or not loop.reductions:
            return in_a_row(loop)
        return unrolled(loop, self._apart(loop))

    def _apart(self, loop: RowLoop) -> int:
        if not loop.axes:
            return 1
        return loop_axes.apart(loop.axes[-1].extent, self.target.lanes(32), len(loop.axes) == 1)

    def _column_nest(
        self, loop: RowLoop, lane: Var, bounds: tuple[Index, int] | None
    ) -> list[Stmt]:
        def fold(into: Buf, part: Buf, kind: str) -> Stmt:
            return self._lane_loop(
                lane, bounds, [Reduce(into, var(lane), kind, load(part, var(lane)))]
            )

        *front, last = loop.axes
        if self.lanes_add and any(r.has_order for r in loop.reductions):

            def each(body: list[Stmt], part: Var) -> Stmt:
                roots = [s.value for s in body if isinstance(s, Reduce)]
                hints = next_rows(roots, part, [part], [var(part)], lane, self.target)
                return self._lane_loop(lane, bounds, [*hints, *body])

            into = Accumulators(lane.extent, var(lane), TERMS, each)
            return ordered(loop, self._apart(loop), into)
        if loop.writes or not loop.reductions or self.tuning.strict:
            inner = self._lane_loop(lane, bounds, row_statements(loop, var(lane)))
            return cascade(loop.axes, [inner], fold, self.tuning.strict)

        def terms(axes: list[Var], steps: list[Index]) -> Stmt:
            reduces: list[Stmt] = [combined(r, last, steps, var(lane)) for r in loop.reductions]
            return self._lane_loop(
                lane,
                bounds,
                [*next_rows(loop.roots(), last, axes, steps, lane, self.target), *reduces],
            )

        return cascade(
            front,
            cascade_groups(last, terms, fold, any(has_several(v.extent) for v in front)),
            fold,
        )

    def _lane_loop(self, lane: Var, bounds: tuple[Index, int] | None, body: list[Stmt]) -> For:
        base, total = bounds or (Index(), None)
        roots = [s.value for s in body if isinstance(s, Store | Reduce)]
        amount = loop_axes.unroll(loop_axes.work(postorder(roots)), lane.extent, self.width)
        return For(lane, lane.extent, LANES, body, amount, base, total)

    def flat(self, lane_group: list[Var]) -> Lowered:
        n = loop_axes.extent(lane_group)
        chunk = Chunks(n, max(1, self.body), self.tuning.min_chunks, multiple=self.width * 4)
        lane = Var("l", chunk.size)
        axes = self.axis_map(loop_axes.spread(chunk.first + var(lane), lane_group))
        writes: list[Stmt] = [
            Store(w.buf, w.index, w.value) for s in self.stages(axes) for w in s.writes
        ]
        loop = self._lane_loop(lane, (chunk.first, n), writes)
        loop.total = chunk.total
        return self._finish(
            chunk, [loop], f": lanes over all {n} elements, {chunk.describe()}", wrap=False
        )

    def lines(self, lane_group: list[Var]) -> Lowered:
        others = [g for g in self.groups if g is not lane_group]
        n = loop_axes.extent(lane_group)
        rows = prod(loop_axes.extent(g) for g in others)
        chunk = Chunks(rows, n * max(1, self.body), self.tuning.min_chunks)
        lane = Var("l", n)
        axes = self.axis_map(
            self.rows_by(others, chunk.position) | loop_axes.spread(var(lane), lane_group)
        )
        writes = [Store(w.buf, w.index, w.value) for s in self.stages(axes) for w in s.writes]
        return self._finish(
            chunk,
            by_position(lane, writes, lambda lane, body: self._lane_loop(lane, None, body)),
            f": lanes over {n} elements of each of {rows} lines, {chunk.describe()}",
        )

    def _finish(self, chunk: Chunks, body: list[Stmt], text: str, wrap: bool = True) -> Lowered:
        phase = chunk.phase(body, wrap)
        loops = Loops(self.kernel.name, self.buffers, chunk.params, [phase])
        return Lowered(loops, chunk.values, [self.work()], text)


def _length(stages: Sequence[Stage]) -> int:
    """How many lanes all loops run over, if these are as many everywhere, else 0."""
    lengths = {loop.axes[-1].extent for s in stages for loop in s.loops if loop.axes}
    return lengths.pop() if len(lengths) == 1 else 0
