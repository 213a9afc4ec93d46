"""Reductions along rows, and what is computed of them -> Loops. In: a KernelAxes. Out: Loops.

warp rows     for block: for warp: one row: max over its lanes; sum(exp) over its lanes; write its
              lanes
block rows    for block: one row: the same, by all threads

What several stages read of a row stays in registers, each element with the thread that will need it
again: one read, one write.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import prod

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import GLOBAL, LANES, THREAD, Alloc, Buf, For, Stmt, Store
from ....ir.loops.walk import Substitution, indices, postorder
from ....ir.symbolic.decisions import require_as_known
from ....ir.symbolic.integer import NotSymbolic
from ....ir.symbolic.multiples import factored, multiples
from ....ir.symbolic.questions import is_same, is_unknown, value_of
from ....ir.symbolic.scope import scope_of
from ...kernels import loop_axes
from ...kernels.evaluate import load
from ...kernels.kernel_axes import KernelAxes, identity, reductions_of, row_statements, scratch_of
from ...kernels.loop_axes import Access
from ...kernels.lowered import Lowered
from ...kernels.schedule import Estimate, Refusal
from ...kernels.stages import ColumnSum, RowLoop, Stage
from ..target import WARP
from .grid import Blocks
from .vectors import vector

WARP_ROW = 1024  # elements up to which one warp keeps a row in registers
MANY_ROWS = 1024  # rows that keep all multiprocessors busy with a warp each
SHORT_ROW = 128  # elements of which a warp has few for each thread
WARPS_OF_BLOCK = 8
SHARE = 16  # elements a thread, where there are many rows
FEW_SHARE = 4  # where there are few: more threads on each
LEAST_THREADS, MOST_THREADS = 64, 1024
KEPT = 64  # registers of a thread that hold elements of its row
UNIT = "cycles a vector"
REGISTERS = 65536  # of a multiprocessor, and of the largest block


def warp(k: KernelAxes) -> Estimate | Refusal:
    """Rows of which there are enough for a warp each, which keeps its row in registers."""
    if not k.inner:
        return Refusal("nothing is reduced")
    rows, length = loop_axes.extent(k.outer), _length(k)
    if length > WARP_ROW:
        return Refusal(f"rows of {length}, of which a warp holds {WARP_ROW}")
    if value_of(rows) < MANY_ROWS and length > SHORT_ROW:
        return Refusal(f"{rows} rows are too few for a warp each")
    return Estimate(partial(_warp_rows, k, rows, length), k.inner_cost(), UNIT)


def block(k: KernelAxes) -> Estimate | Refusal:
    """Other rows."""
    if not k.inner:
        return Refusal("nothing is reduced")
    if isinstance(warp(k), Estimate):
        return Refusal("a warp is enough for a row")
    return Estimate(
        partial(_block_rows, k, loop_axes.extent(k.outer), _length(k)), k.inner_cost(), UNIT
    )


def _warp_rows(k: KernelAxes, rows: int, length: int) -> Lowered:
    warps = WARPS_OF_BLOCK
    while warps > 1 and value_of(rows) < MANY_ROWS // WARPS_OF_BLOCK * warps:
        warps //= 2
    blocks = Blocks(rows, warps)
    row = Var("row", warps)
    body = RowBody(k, blocks.first + var(row), WARP)
    text = f" rows: a warp for each of {rows} rows of {length}, {body.describe()}"
    return blocks.lowered(
        k.kernel, k.buffers, [blocks.warps(row, body.statements())], warps * WARP, k.work(), text
    )


def _block_rows(k: KernelAxes, rows: int, length: int) -> Lowered:
    threads = block_threads(value_of(rows), value_of(length))  # of an order that is settled
    blocks = Blocks(rows, 1)
    body = RowBody(k, blocks.first, threads)
    text = f" rows: a block for each of {rows} rows of {length}, {body.describe()}"
    return blocks.lowered(k.kernel, k.buffers, body.statements(), threads, k.work(), text)


def block_threads(rows: int, length: int) -> int:
    """Of a block that has one of so many rows."""
    return threads_of_row(length, SHARE if value_of(rows) >= MANY_ROWS else FEW_SHARE)


def block_order(k: KernelAxes) -> int:
    """Threads of the block of a row: what the order of its sums depends on besides the row."""
    return block_threads(loop_axes.extent(k.outer), _length(k))


def threads_of_row(length: int, share: int) -> int:
    """A power of two, so that a thread has about `share` elements of a row."""
    wanted = 1 << max(0, (length - 1) // share).bit_length()
    return max(LEAST_THREADS, min(MOST_THREADS, wanted))


def _length(k: KernelAxes) -> int:
    return max(prod(v.extent for v in axes) for axes in k.inner.values())


class RowBody:
    """All stages of one row by so many threads."""

    def __init__(self, k: KernelAxes, position: Index, threads: int, kept: int = KEPT) -> None:
        self.left = min(kept, REGISTERS // threads // 2) * 4 * threads  # bytes
        row = unravel(position, tuple(loop_axes.extent(g) for g in k.groups))
        axes, units = k.map_groups(k.groups, scratch=self.left)
        axes.keep, axes.keeps_unknown = THREAD, False
        self.stages = k.stages_at(axes, units, row, join=True)
        self.left = axes.scratch_bytes
        self.unroll = {axis: _vector(self.stages, axis, k.body) for axis in _lanes(self.stages)}
        self.kept: dict[Node, Buf] = {}
        self._keep_loads()

    @property
    def sums(self) -> list[ColumnSum]:
        """What the row adds to sums over all rows."""
        return [t for s in self.stages for loop in s.loops for t in loop.sums]

    def describe(self) -> str:
        held = [*scratch_of(self.stages), *self.kept.values()]
        sizes = sorted(set(self.unroll.values()))
        text = f"{' or '.join(map(str, sizes))} at a time"
        return f"{text}, {len(held)} values of the row in registers" if held else text

    def _keep_loads(self) -> None:
        """What the loops of several stages read, as far as there are registers."""
        for axis in _lanes(self.stages):
            loops = [loop for s in self.stages for loop in s.loops if loop.axes[-1] is axis]
            times = Counter(n for loop in loops for n in _row_loads(loop, axis))
            for n in (n for n, count in times.items() if count > 1):
                size = axis.extent * n.dtype.itemsize
                if not is_unknown(size) and size <= self.left:
                    self.left -= size
                    self.kept[n] = Buf(f"kept{len(self.kept)}", n.dtype, axis.extent, THREAD)

    def statements(self) -> list[Stmt]:
        """The row's loops and stores."""
        body: list[Stmt] = [Alloc(buf) for buf in [*scratch_of(self.stages), *self.kept.values()]]
        known: set[Node] = set()
        for s in self.stages:
            body += [Alloc(r.acc, identity(r.kind, r.acc.dtype)) for r in reductions_of(s)]
            body += [self._loop(loop, known) for loop in s.loops]
            body += [Store(w.buf, w.index, w.value) for w in s.writes]
        return body

    def _loop(self, loop: RowLoop, known: set[Node]) -> Stmt:
        lane = loop.axes[-1]
        loads = [n for n in _row_loads(loop, lane) if n in self.kept]
        stores: list[Stmt] = [Store(self.kept[n], var(lane), n) for n in loads if n not in known]
        again = Substitution({})
        again.done = {n: load(self.kept[n], var(lane)) for n in loads if n in known}
        known |= set(loads)
        return For(
            lane,
            lane.extent,
            LANES,
            [*stores, *again.body(row_statements(loop))],
            self.unroll[lane],
        )


def _lanes(stages: list[Stage]) -> list[Var]:
    return list(dict.fromkeys(loop.axes[-1] for s in stages for loop in s.loops))


def _row_loads(loop: RowLoop, axis: Var) -> list[Node]:
    """What a loop reads at each of its elements."""
    loads = [n for n in postorder(loop.roots()) if n.op is Op.LOAD and n.arg[0].space == GLOBAL]
    return [n for n in loads if any(axis in i.vars() for m in postorder([n]) for i in indices(m))]


def _vector(stages: list[Stage], axis: Var, work: int) -> int:
    """Elements of a row that a thread takes at a time."""
    loops = [loop for s in stages for loop in s.loops if loop.axes[-1] is axis]
    stored = [
        Access(w.index, w.buf.dtype.itemsize, True)
        for loop in loops
        for w in loop.writes
        if w.buf.space == GLOBAL
    ]
    accesses = [a for loop in loops for a in loop_axes.loads(postorder(loop.roots()))] + stored
    size = vector(accesses, axis, work, axis.extent)
    steps = [s for a in accesses for s in (a.index.const, *(c for _, c in a.index.terms))]
    numbers = [axis.extent, *steps]

    def size_if_known() -> int:
        lane = Var(axis.name, value_of(axis.extent))
        return vector([a.at_hand({axis: lane}) for a in accesses], lane, work, lane.extent)

    require_as_known(
        size, size_if_known, numbers, lambda n: f"a thread takes {n} elements of a row at a time"
    )
    while size > 1 and axis.extent < WARP * size:
        size //= 2
    scope = scope_of(numbers)
    known = multiples(scope.guards) if scope else {}
    if any(is_unknown(s) and not is_same(factored(s, known) % size, 0) for s in steps):
        raise NotSymbolic(f"rows may lie where {size} elements at a time are no vector")
    return size
