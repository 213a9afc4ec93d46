"""Kernels with loops of their own -> Loops: scans, scatters and bounds checks. In: a Kernel or
checks. Out: Loops."""

from __future__ import annotations

from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const
from ...ir.graph.index import Index, Range, Var, unravel, var
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import (
    GRID,
    LANES,
    REG,
    SERIAL,
    Alloc,
    Buf,
    For,
    If,
    Loops,
    Reduce,
    Stmt,
    Store,
)
from ...wording import plural
from ..kernels import loop_axes
from ..kernels.evaluate import load
from ..kernels.lowered import Lowered
from ..kernels.single_op import Checks, Put, Scan, Scatter, owner_of
from .chunks import Chunks, Tuning

# chunks in which single numbers are scattered: each looks at all indices, which takes half of its
# time
MIN_WALKS = 2
LONG_UPDATE = 4  # numbers whose addition takes as long as looking at an index


def _lane_loop(lane: Var, statement: Stmt) -> Stmt:
    return For(lane, lane.extent, LANES if lane.extent > 1 else SERIAL, [statement])


def lower_scan(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """A running sum or product: lines are independent, each is serial, and float32 runs in float64,
    which takes no longer."""
    s = Scan.of(kernel, strides)
    n, chunk = s.node, Chunks(s.lines, 4.0 * s.n, tuning.min_chunks)
    step = Var("step", s.n)
    acc = Buf("acc", dt.float64 if n.dtype is dt.float32 else n.dtype, 1, REG)
    value = cast(s.value(chunk.position, var(step)), acc.dtype)
    result = Store(
        s.out.buf, s.out.at(s.at(chunk.position, var(step))), cast(load(acc, Index()), n.dtype)
    )
    body: list[Stmt] = [
        Alloc(acc, s.start),
        For(step, s.n, SERIAL, [Reduce(acc, Index(), s.kind, value), result]),
    ]
    text = f": serial along axis {s.axis}, {chunk.describe()}"
    return Lowered(
        Loops(kernel.name, s.buffers, chunk.params, [chunk.phase(body)]),
        chunk.values,
        [4 * n.size],
        text,
    )


def lower_scatter(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """Each chunk owns a range of destinations and walks all indices: no atomics, the same order for
    any number of threads.

    Where an index counts along its axis, a chunk knows which indices are its own and walks those
    alone.
    """
    s = Scatter.of(kernel, strides)
    n, row, (owner, counted) = s.node, max(1, prod(s.row)), owner_of(s.node)
    chunk = _scatter_chunks(n, n.shape[owner], row, counted is None, tuning)
    walked = tuple(d for i, d in enumerate(s.at_shape) if i != counted)
    position, lane = Var("p", prod(walked)), Var("l", row)
    where = unravel(var(position) if position.extent > 1 else Index(), walked)
    if counted is not None:
        where.insert(counted, chunk.position)
    chosen, inner = s.chosen(where), unravel(var(lane) if row > 1 else Index(), s.row)
    update = Reduce(
        s.out.buf, s.element(chosen, inner), s.kind, s.evaluator.value(n.src[0], [*where, *inner])
    )
    body: list[Stmt] = [_lane_loop(lane, update)] if row > 1 else [update]
    clear = _clear(s, owner, chunk)
    if counted is None:
        mine = Range(chosen[s.axes.index(owner)] - chunk.first, 0, chunk.size)
        walk = For(position, position.extent, SERIAL, [If((mine,), body)])
        phase = chunk.phase([*chunk.each([clear]), walk], wrap=False)
    else:
        phase = chunk.phase([clear, For(position, position.extent, SERIAL, body)])
    total = s.steps * (row + (chunk.count if counted is None else 0)) + n.size
    walks = "all indices" if counted is None else "its indices"
    text = f": each chunk owns {chunk.size} of {n.shape[owner]} destinations and walks {walks}"
    return Lowered(
        Loops(kernel.name, s.buffers, chunk.params, [phase]), chunk.values, [total], text
    )


def lower_put(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """Lanes over the part; all else of the result is there."""
    p = Put.of(kernel, strides)
    last = p.row[-1] if p.row else 1
    lines = max(1, prod(p.row) // max(1, last))
    chunk, lane = Chunks(lines, float(last), tuning.min_chunks), Var("l", last)
    at = chunk.position * last + (var(lane) if last > 1 else Index())
    phase = chunk.phase([_lane_loop(lane, p.store(at))])
    text = f": lanes over {plural(prod(p.row), 'element')}, in place"
    return Lowered(
        Loops(kernel.name, p.buffers, chunk.params, [phase]), chunk.values, [prod(p.row)], text
    )


def _scatter_chunks(n: Node, owners: int, row: int, walks_all: bool, tuning: Tuning) -> Chunks:
    """Chunks of destinations; few where each looks at all indices, more again where an update is
    long."""
    work = max(1.0, n.src[1].size * row / max(1, owners) + n.size / owners)
    if walks_all:
        work = min(work, loop_axes.CHUNK_WORK * max(MIN_WALKS, row // LONG_UPDATE) / owners)
    return Chunks(owners, work, tuning.min_chunks)


def _clear(s: Scatter, axis: int, chunk: Chunks) -> Stmt:
    """What one row of the destinations holds before the first update."""
    others = tuple(d for a, d in enumerate(s.node.shape) if a != axis)
    lane = Var("l", max(1, prod(others)))
    at = unravel(var(lane) if lane.extent > 1 else Index(), others)
    at.insert(axis, chunk.position)
    return _lane_loop(lane, Store(s.out.buf, s.out.at(at), const(s.start, s.node.dtype)))


def lower_checks(
    checks: list[tuple[Node, int]],
    strides: dict[Node, tuple[int, ...]],
    places: list[Node],
    first_site: int,
) -> Lowered:
    """One serial phase for each (index Node, extent): the first element outside 0 .. extent-1 is
    reported."""
    checked = Checks(places, strides)
    phases = []
    for site, (n, extent) in enumerate(checks, first_site):
        lane = Var("l", n.size)
        phases.append(
            For(Var("g", 1), 1, GRID, [_lane_loop(lane, checked.check(n, extent, site, var(lane)))])
        )
    loops = Loops("check_indices", checked.buffers, (), phases)
    return Lowered(loops, (), [0 for _ in checks], ": serial, the first failure wins")
