"""Maps, and rows so short that one thread does each -> Loops. In: a KernelAxes. Out: Loops.

flat          for block: lanes over all elements, 16 bytes at a time, a few times a thread
short         for block: lanes over all rows, the reductions of each in registers
scalar        one thread
"""

from __future__ import annotations

from ....ir.graph.index import Index, Var, unravel, var
from ....ir.loops.loop import GLOBAL, Stmt
from ....ir.loops.walk import postorder
from ....ir.symbolic.questions import is_same, is_unknown, value_of
from ...kernels import loop_axes
from ...kernels.kernel_axes import (
    KernelAxes,
    in_a_row,
    in_registers,
    roots_of,
    row_statements,
    writes_of,
)
from ...kernels.loop_axes import Access
from ...kernels.lowered import Lowered
from ...kernels.stages import RowLoop, Stage
from .grid import Blocks, threads_for
from .vectors import vector

THREADS = 256
FEW_THREADS = 128  # of a block where there are not many blocks
MANY = 1 << 14  # threads: about 128 for each multiprocessor; with fewer, a thread takes less
MANY_BLOCKS = 1024  # several for each multiprocessor; with fewer, a thread works in fewer rounds
# (most operations an element, rounds of a thread): loads under way at once
ROUNDS = (
    (12, 4),
    (60, 2),
)


def lower_flat(k: KernelAxes, lane_group: list[Var] | None) -> Lowered:
    """Lanes over all elements, those along `lane_group` next to each other."""
    count = loop_axes.extent(k.outer)
    rows = f"{count} rows, the reductions of each in registers" if k.reduces else f"{count} rows"
    what = rows if k.inner else f"all {count} elements"
    if is_same(count, 1):
        body = in_registers(_at(k, k.groups, Index()), _in_turn)
        return Blocks(1, 1).lowered(
            k.kernel, k.buffers, body, threads_for(1), k.work(), f": {what}, one thread"
        )
    groups = [*(g for g in k.groups if g is not lane_group), *([lane_group] if lane_group else [])]
    size, rounds, threads = _shares(k, groups, count)
    blocks = Blocks(count, threads * size * rounds)
    lane = Var("l", blocks.size)
    body = in_registers(_at(k, groups, blocks.first + var(lane)), _in_turn)
    text = f": lanes over {what}, {size} at a time, {rounds} times a thread"
    return blocks.lowered(
        k.kernel, k.buffers, [blocks.lanes(lane, body, size)], threads, k.work(), text
    )


def _in_turn(loop: RowLoop) -> list[Stmt]:
    """All steps of a loop: in a row, where it is known how many there are."""
    if not any(is_unknown(v.extent) for v in loop.axes):
        return in_a_row(loop)
    return [loop_axes.nest(loop.axes, *row_statements(loop))]


def accesses_of(stages: list[Stage]) -> list[Access]:
    """What stages read and write in memory."""
    writes = [w for s in stages for w in writes_of(s) if w.buf.space == GLOBAL]
    loads = loop_axes.loads(postorder(n for s in stages for n in roots_of(s)))
    return loads + [Access(w.index, w.buf.dtype.itemsize, True) for w in writes]


def _at(k: KernelAxes, groups: list[list[Var]], position: Index) -> list[Stage]:
    return k.stages_at(
        *k.map_groups(groups), unravel(position, tuple(loop_axes.extent(g) for g in groups))
    )


def _shares(k: KernelAxes, groups: list[list[Var]], count: int) -> tuple[int, int, int]:
    """(neighbours that a thread takes at a time, how often, threads of a block)."""
    lane = Var("l", count)
    accesses = accesses_of(_at(k, groups, var(lane)))
    size = vector(accesses, lane, max(1, k.body))
    here = value_of(count)
    while size > 1 and here // size < MANY:
        size //= 2
    threads = threads_for(-(-count // size), THREADS if here // size >= 2 * MANY else FEW_THREADS)
    rounds = next((r for limit, r in ROUNDS if k.body <= limit), 1)
    while rounds > 1 and here // (threads * size * rounds) < MANY_BLOCKS:
        rounds //= 2
    return size, rounds, threads
