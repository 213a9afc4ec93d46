"""Sorting kernels -> Loops. In: a Kernel of one ARGSORT. Out: Loops.

ranks         for block: for warp: a line, whose elements' places are counts of the elements before
              them
tiles         for block: a line, by a network in shared memory
merge         tiles of a line, then passes that merge two runs (merge_sort.py)
"""

from __future__ import annotations

from ....ir.graph import dtype as dt
from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import (
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    Alloc,
    Buf,
    For,
    Loops,
    Reduce,
    Stmt,
    Store,
)
from ...kernels.evaluate import counter, load
from ...kernels.lowered import Lowered
from ...kernels.sorting import Sorting, place_at
from ..target import WARP
from .grid import Blocks
from .merge_sort import TILE, Record, Records

RANK_LIMIT = 64  # elements up to which counting beats a network
WARPS_OF_BLOCK = 4


def lower_sort(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Lowered:
    """Loops of an ARGSORT; the schedule depends on the shape alone."""
    s = Sorting.of(kernel, strides)
    if s.n <= RANK_LIMIT:
        return _ranks(s)

    def done(line: Index, at: Index, record: Record) -> list[Stmt]:
        return [Store(s.out.buf, s.out.at(s.at(line, at)), record[1])]

    p = Records(s.lines, s.n, s.key, done).phases()
    loops = Loops(kernel.name, (*s.buffers, *p.buffers), (), p.phases, threads=tuple(p.threads))
    passes = len(p.phases) - 1
    text = f": tiles of at most {TILE} of each of {s.lines} lines of {s.n} in shared memory"
    return Lowered(
        loops, (), p.work, f"{text}, then {passes} passes that merge runs" if passes else text
    )


def _ranks(s: Sorting) -> Lowered:
    """A warp a line."""
    blocks = Blocks(s.lines, min(WARPS_OF_BLOCK, s.lines))
    warp, i, j = Var("w", blocks.size), Var("i", s.n), Var("j", s.n)
    line = blocks.first + var(warp) if s.lines > 1 else Index()
    key = s.key(line, var(i) if s.n > 1 else Index())
    keys, rank = Buf("keys", key.dtype, s.n, SCRATCH), Buf("rank", dt.int32, 1, REG)
    mine, other = load(keys, var(i)), load(keys, var(j))
    earlier = node(
        Op.AND, (node(Op.EQ, (other, mine)), node(Op.LT, (counter(var(j)), counter(var(i)))))
    )
    before = node(Op.OR, (node(Op.LT, (other, mine)), earlier))
    count = node(Op.WHERE, (before, const(1, dt.int32), const(0, dt.int32)))
    result = Store(
        s.out.buf, s.out.at(s.at(line, place_at(load(rank, Index()), s.n))), counter(var(i))
    )
    body: list[Stmt] = [
        Alloc(keys),
        For(i, s.n, LANES, [Store(keys, var(i), key)]),
        For(
            i,
            s.n,
            LANES,
            [Alloc(rank, 0), For(j, s.n, SERIAL, [Reduce(rank, Index(), "add", count)]), result],
        ),
    ]
    text = f": ranks over {s.lines} lines of {s.n}, a warp a line"
    return blocks.lowered(
        s.kernel,
        s.buffers,
        [blocks.warps(warp, body)],
        blocks.size * WARP,
        s.lines * s.n * s.n * 4,
        text,
    )
