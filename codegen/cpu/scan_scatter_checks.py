"""Kernels with loops of their own -> Loops: scans, scatters and bounds checks. In: a Kernel or checks. Out: Loops."""

from __future__ import annotations

from math import prod

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const
from ...ir.graph.index import Index, Range, Var, row_major, unravel, var
from ...ir.graph.op import SCANS
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import GRID, LANES, REG, SERIAL, Alloc, Buf, Check, For, If, Loops, Reduce, Stmt, Store
from ..kernels import loop_axes
from ..kernels.evaluate import Evaluator, Place, as_index, load
from ..kernels.framing import place_values, places_of
from ..kernels.lowered import Lowered
from ..kernels.single_op import owner_of
from .chunks import Chunks, Tuning

MIN_WALKS = 2  # chunks in which single numbers are scattered: each looks at all indices, which takes half of its time
LONG_UPDATE = 4  # numbers whose addition takes as long as looking at an index


def _lane_loop(lane: Var, statement: Stmt) -> Stmt:
    return For(lane, lane.extent, LANES if lane.extent > 1 else SERIAL, [statement])


def lower_scan(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """A running sum or product: lines are independent, each is serial, and float32 runs in float64, which takes no longer."""
    inputs, outputs, buffers = place_values(kernel, strides)
    (unit,) = kernel.units
    n, x = unit.node, unit.node.src[0]
    axis = n.arg
    lines = tuple(d for a, d in enumerate(n.shape) if a != axis)
    chunk = Chunks(prod(lines), 4.0 * n.shape[axis], tuning.min_chunks)
    step = Var("step", n.shape[axis])
    at = unravel(chunk.position, lines)
    at.insert(axis, var(step) if n.shape[axis] > 1 else Index())
    kind = SCANS[n.op]
    acc = Buf("acc", dt.float64 if n.dtype is dt.float32 else n.dtype, 1, REG)
    value = cast(Evaluator(inputs, lambda m, index: None).value(x, at), acc.dtype)
    out, so_far = outputs[n], cast(load(acc, Index()), n.dtype)
    body: list[Stmt] = [
        Alloc(acc, 1 if kind == "mul" else -0.0 if n.dtype.is_float else 0),
        For(step, step.extent, SERIAL, [Reduce(acc, Index(), kind, value), Store(out.buf, out.at(at), so_far)]),
    ]
    loops = Loops(kernel.name, buffers, chunk.params, [chunk.phase(body)])
    return Lowered(loops, chunk.values, [4 * n.size], f": serial along axis {axis}, {chunk.describe()}")


def lower_scatter(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """Each chunk owns a range of destinations and walks all indices: no atomics, the same order for any number of threads.

    Where an index counts along its axis, a chunk knows which indices are its own and walks those alone.
    """
    inputs, outputs, buffers = place_values(kernel, strides)
    (unit,) = kernel.units
    n = unit.node
    axes, shape, *kind = n.arg
    updates, indices = n.src[0], n.src[1:]
    at_shape = indices[0].shape
    rest = tuple(d for a, d in enumerate(shape) if a not in axes)
    row = max(1, prod(rest))
    owner, counted = owner_of(n)
    chunk = _scatter_chunks(n, shape[owner], row, counted is None, tuning)
    walked = tuple(d for i, d in enumerate(at_shape) if i != counted)
    out, ev = outputs[n], Evaluator(inputs, lambda m, index: None)
    position, lane = Var("p", prod(walked)), Var("l", row)
    where = unravel(var(position) if position.extent > 1 else Index(), walked)
    if counted is not None:
        where.insert(counted, chunk.position)
    chosen = dict(zip(axes, (as_index(ev.value(i, where), shape[a]) for a, i in zip(axes, indices, strict=True)), strict=True))
    inner = unravel(var(lane) if row > 1 else Index(), rest)
    spots = iter(inner)
    dest = [chosen[a] if a in chosen else next(spots) for a in range(len(shape))]
    update = Reduce(out.buf, out.at(dest), kind[0] if kind else "add", ev.value(updates, [*where, *inner]))
    body: list[Stmt] = [_lane_loop(lane, update)] if row > 1 else [update]
    clear = _clear(n, owner, chunk, out)
    if counted is None:
        mine = Range(chosen[owner] - chunk.first, 0, chunk.size)
        walk = For(position, position.extent, SERIAL, [If((mine,), body)])
        phase = chunk.phase([*chunk.each([clear]), walk], wrap=False)
    else:
        phase = chunk.phase([clear, For(position, position.extent, SERIAL, body)])
    total = prod(at_shape) * (row + (chunk.count if counted is None else 0)) + prod(shape)
    walks = "all indices" if counted is None else "its indices"
    text = f": each chunk owns {chunk.size} of {shape[owner]} destinations and walks {walks}"
    return Lowered(Loops(kernel.name, buffers, chunk.params, [phase]), chunk.values, [total], text)


def _scatter_chunks(n: Node, owners: int, row: int, walks_all: bool, tuning: Tuning) -> Chunks:
    """Chunks of destinations; few where each looks at all indices, more again where an update is long."""
    work = max(1.0, n.src[1].size * row / max(1, owners) + n.size / owners)
    if walks_all:
        work = min(work, loop_axes.CHUNK_WORK * max(MIN_WALKS, row // LONG_UPDATE) / owners)
    return Chunks(owners, work, tuning.min_chunks)


def _clear(n: Node, axis: int, chunk: Chunks, out: Place) -> Stmt:
    """What one row of the destinations holds before the first update."""
    others = tuple(d for a, d in enumerate(n.shape) if a != axis)
    lane = Var("l", max(1, prod(others)))
    at = unravel(var(lane) if lane.extent > 1 else Index(), others)
    at.insert(axis, chunk.position)
    store = Store(out.buf, out.at(at), const(dt.lowest(n.dtype) if n.arg[2:] else 0, n.dtype))
    return _lane_loop(lane, store)


def lower_checks(
    checks: list[tuple[Node, int]], strides: dict[Node, tuple[int, ...]], places: list[Node], first_site: int
) -> Lowered:
    """One serial phase for each (index Node, extent): the first element outside 0 .. extent-1 is reported."""
    stored = places_of(places, "in", strides)
    ev = Evaluator(stored, lambda m, index: None)
    phases = []
    for site, (n, extent) in enumerate(checks, first_site):
        lane = Var("l", n.size)
        at = unravel(var(lane) if n.size > 1 else Index(), n.shape)
        value = load(stored[n].buf, stored[n].at(at)) if n in stored else ev.value(n, at)
        check = Check(value, extent, site, row_major(at, n.shape))
        phases.append(For(Var("g", 1), 1, GRID, [_lane_loop(lane, check)]))
    buffers = tuple(p.buf for p in stored.values())
    loops = Loops("check_indices", buffers, (), phases)
    return Lowered(loops, (), [0 for _ in checks], ": serial, the first failure wins")
