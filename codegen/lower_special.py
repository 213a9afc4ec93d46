"""Kernels with loops of their own -> Loops: scans, scatters and bounds checks. In: a Kernel or checks. Out: Loops."""

from __future__ import annotations

from math import prod

from ..ir.graph import Node, const
from ..ir.index import Index, Range, Var, row_major, row_major_strides, unravel, var
from ..ir.kernel import Kernel
from ..ir.loop import GLOBAL, GRID, LANES, REG, SERIAL, Alloc, Buf, Check, For, If, Loops, Reduce, Stmt, Store
from .evaluate import Evaluator, Place, as_index, load
from .lower import Chunks, Lowered, Tuning, place_values


def _lane_loop(lane: Var, statement: Stmt, tuning: Tuning) -> Stmt:
    return For(lane, lane.extent, SERIAL if tuning.tiny or lane.extent == 1 else LANES, [statement])


def lower_scan(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """A running sum: lines are independent, each is serial."""
    inputs, outputs, buffers = place_values(kernel, strides)
    (unit,) = kernel.units
    n, x = unit.node, unit.node.src[0]
    axis = n.arg
    lines = tuple(d for a, d in enumerate(n.shape) if a != axis)
    chunk = Chunks(prod(lines), 4.0 * n.shape[axis], tuning.min_chunks)
    step = Var("step", n.shape[axis])
    at = unravel(chunk.position, lines)
    at.insert(axis, var(step) if n.shape[axis] > 1 else Index())
    acc = Buf("sum", n.dtype, 1, REG)
    value = Evaluator(inputs, lambda m, index: None).value(x, at)
    out = outputs[n]
    body: list[Stmt] = [
        Alloc(acc, 0),
        For(step, step.extent, SERIAL, [Reduce(acc, Index(), "add", value), Store(out.buf, out.at(at), load(acc, Index()))]),
    ]
    loops = Loops(kernel.name, buffers, chunk.params, [chunk.phase(body)], tuning.tiny)
    return Lowered(loops, chunk.values, [4 * n.size], f"scan: serial along axis {axis}, {chunk.describe()}")


def lower_scatter(kernel: Kernel, strides: dict[Node, tuple[int, ...]], tuning: Tuning) -> Lowered:
    """Each chunk owns a range of destinations and walks all indices: no atomics, the same order for any number of threads."""
    inputs, outputs, buffers = place_values(kernel, strides)
    (unit,) = kernel.units
    n = unit.node
    axes, shape = n.arg
    updates, indices = n.src[0], n.src[1:]
    at_shape = indices[0].shape
    rest = tuple(d for a, d in enumerate(shape) if a not in axes)
    owners = shape[axes[0]]
    row = max(1, prod(rest))
    chunk = Chunks(owners, max(1.0, prod(at_shape) * row / max(1, owners) + prod(shape) / owners), tuning.min_chunks)
    out, ev = outputs[n], Evaluator(inputs, lambda m, index: None)
    position, lane = Var("p", prod(at_shape)), Var("l", row)
    where = unravel(var(position) if position.extent > 1 else Index(), at_shape)
    chosen = dict(zip(axes, (as_index(ev.value(i, where), shape[a]) for a, i in zip(axes, indices, strict=True)), strict=True))
    inner = unravel(var(lane) if row > 1 else Index(), rest)
    spots = iter(inner)
    dest = [chosen[a] if a in chosen else next(spots) for a in range(len(shape))]
    add = Reduce(out.buf, out.at(dest), "add", ev.value(updates, [*where, *inner]))
    body: list[Stmt] = [_lane_loop(lane, add, tuning)] if row > 1 else [add]
    mine = Range(chosen[axes[0]] - chunk.first, 0, chunk.size)
    clear = _clear(n, axes[0], chunk, out, tuning)
    walk = For(position, position.extent, SERIAL, [If((mine,), body)])
    loops = Loops(kernel.name, buffers, chunk.params, [chunk.phase([*clear, walk], wrap=False)], tuning.tiny)
    work = prod(at_shape) * (row + chunk.count) + prod(shape)
    return Lowered(
        loops, chunk.values, [work], f"scatter: each chunk owns {chunk.size} of {owners} destinations and walks all indices"
    )


def _clear(n: Node, axis: int, chunk: Chunks, out: Place, tuning: Tuning) -> list[Stmt]:
    """Zeros in the destinations that this chunk owns."""
    others = tuple(d for a, d in enumerate(n.shape) if a != axis)
    lane = Var("l", max(1, prod(others)))
    at = unravel(var(lane) if lane.extent > 1 else Index(), others)
    at.insert(axis, chunk.position)
    store = Store(out.buf, out.at(at), const(0, n.dtype))
    inner = _lane_loop(lane, store, tuning)
    return [For(chunk.row, chunk.size, SERIAL, [inner], base=chunk.first, total=chunk.total)] if chunk.size > 1 else [inner]


def lower_checks(
    checks: list[tuple[Node, int]], strides: dict[Node, tuple[int, ...]], places: list[Node], first_site: int, tuning: Tuning
) -> Lowered:
    """One serial phase for each (index Node, extent): the first element outside 0 .. extent-1 is reported."""
    stored = {
        n: Place(Buf(f"in{i}", n.dtype, n.size, GLOBAL), strides.get(n) or row_major_strides(n.shape))
        for i, n in enumerate(places)
    }
    ev = Evaluator(stored, lambda m, index: None)
    phases = []
    for site, (n, extent) in enumerate(checks, first_site):
        lane = Var("l", n.size)
        at = unravel(var(lane) if n.size > 1 else Index(), n.shape)
        value = load(stored[n].buf, stored[n].at(at)) if n in stored else ev.value(n, at)
        check = Check(value, extent, site, row_major(at, n.shape))
        phases.append(For(Var("g", 1), 1, GRID, [_lane_loop(lane, check, tuning)]))
    buffers = tuple(p.buf for p in stored.values())
    loops = Loops("check_indices", buffers, (), phases, tuning.tiny)
    return Lowered(loops, (), [0 for _ in checks], "checks: serial, the first failure wins")
