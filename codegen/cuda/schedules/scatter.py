"""Scatters -> Loops, without atomics: what falls on one element is added in the order of the
updates. In: a Kernel. Out: Loops.

walks         lanes over all elements of the result: each walks the updates and takes its own
counted       the same where an index counts along its axis: each walks those that it counts for
sorted        updates in the order of their destinations (merge_sort.py); where each destination's
              begin and end; for warp: a destination: the sum of its updates
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ....ir.graph import dtype as dt
from ....ir.graph.graph import Node, cast, const, node
from ....ir.graph.index import Gathered, Index, Mask, Range, Var, row_major, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import (
    GLOBAL,
    GRID,
    LANES,
    REG,
    SERIAL,
    WARPS,
    Alloc,
    Buf,
    For,
    Loops,
    Reduce,
    Stmt,
    Store,
)
from ...kernels import loop_axes
from ...kernels.evaluate import condition, counter, load
from ...kernels.loop_axes import Access
from ...kernels.lowered import Lowered
from ...kernels.single_op import Scatter, owner_of
from ..target import WARP
from .grid import flat_phase
from .merge_sort import Phases, Record, Records
from .vectors import vector

# indices that all elements together look at, up to which nothing needs to be sorted
MOST_STEPS = 1 << 22
THREADS = 256
WARPS_OF_BLOCK = 4
WIDE = (
    WARP  # numbers of an update along which lanes run; of shorter ones, lanes run over the updates
)


def lower_scatter(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Lowered:
    """Each element of the result belongs to one thread or warp."""
    s = Scatter.of(kernel, strides)
    owner, counted = owner_of(s.node)
    walked = s.steps if counted is None else s.steps // s.at_shape[counted]
    if counted is not None and walked * s.node.size <= max(MOST_STEPS, 2 * s.node.size):
        return _by_elements(
            s, "counted: each element walks the updates counted for it", (owner, counted)
        )
    if walked * s.node.size <= MOST_STEPS:
        return _by_elements(s, "each element walks all updates", None)
    return _sorted(s)


# ---------------------------------------------------------------- walks


def _by_elements(s: Scatter, text: str, counts: tuple[int, int] | None) -> Lowered:
    """A lane for each element of the result."""
    walked = tuple(d for i, d in enumerate(s.at_shape) if counts is None or i != counts[1])

    def body(position: Index) -> list[Stmt]:
        at = unravel(position, s.node.shape)
        mine, rest = [at[a] for a in s.axes], [at[a] for a in s.rest]
        step, acc = Var("p", prod(walked)), Buf("acc", s.node.dtype, 1, REG)
        where = unravel(var(step) if step.extent > 1 else Index(), walked)
        if counts is not None:
            where.insert(counts[1], at[counts[0]])
        own = [Range(c - m, 0, 1) for c, m in zip(s.chosen(where), mine, strict=True)]
        mask = tuple(r for r in own if not r.always)
        add = Reduce(
            acc, Index(), s.kind, s.evaluator.value(s.node.src[0], [*where, *rest], mask), mask
        )
        return [
            Alloc(acc, s.start),
            For(step, step.extent, SERIAL, [add]),
            Store(s.out.buf, s.out.at(at), load(acc, Index())),
        ]

    return flat_phase(s.kernel, s.buffers, s.node.size, prod(walked), body, f": {text}", THREADS)


# ---------------------------------------------------------------- sorted


def _sorted(s: Scatter) -> Lowered:
    """Updates in the order of their destinations."""
    places = prod(s.places)
    order, keys = Buf("order", dt.int64, s.steps, GLOBAL), Buf("keys", dt.int64, s.steps, GLOBAL)
    begin, end = Buf("begin", dt.int64, places, GLOBAL), Buf("end", dt.int64, places, GLOBAL)

    def key(line: Index, i: Index, guard: Mask) -> Node:
        return cast(
            counter(row_major(s.chosen(unravel(i, s.at_shape), guard), s.places)), dt.uint32
        )

    def done(line: Index, at: Index, record: Record) -> list[Stmt]:
        word = node(Op.SHR, (record[0], const(32, dt.uint64)))
        return [Store(order, at, record[1]), Store(keys, at, cast(word, dt.int64))]

    p = Records(1, s.steps, key, done).phases()
    p.add(
        _over(places, lambda v: [Store(b, v, const(0, dt.int64)) for b in (begin, end)]),
        THREADS,
        places,
    )
    p.add(_over(s.steps, lambda i: _ends(keys, i, s.steps, begin, end)), THREADS, s.steps)
    _add_sums(s, p, order, begin, end)
    buffers = (*s.buffers, *p.buffers, order, keys, begin, end)
    loops = Loops(s.kernel.name, buffers, (), p.phases, threads=tuple(p.threads))
    text = f": {s.steps} updates sorted by their {places} destinations, a warp adds those of each"
    return Lowered(loops, (), p.work, text)


def _over(count: int, body: Callable[[Index], list[Stmt]]) -> For:
    """A phase of a lane for each of so many things."""
    grid, lane = Var("g", -(-count // THREADS)), Var("l", THREADS)
    first = var(grid) * THREADS
    return For(
        grid,
        grid.extent,
        GRID,
        [For(lane, THREADS, LANES, body(first + var(lane)), 1, first, count)],
    )


def _ends(keys: Buf, i: Index, steps: int, begin: Buf, end: Buf) -> list[Stmt]:
    """The first and last update of each destination, from the destinations in order."""
    places = begin.size
    mine = load(keys, i)
    first, last = Range(i, 1, steps + 1), Range(i, 0, steps - 1)
    before = node(Op.ADD, (load(keys, i - 1, (first,)), const(1, dt.int64)))
    # one more than that of the update before
    before = node(Op.WHERE, (condition(first), before, const(0, dt.int64)))
    after = node(Op.WHERE, (condition(last), load(keys, i + 1, (last,)), const(places, dt.int64)))
    own = Index({Gathered(mine, places): 1})
    starts = Range(own + 1 - Index({Gathered(before, places + 1): 1}), 1, places + 2)
    stops = Range(Index({Gathered(after, places + 1): 1}) - own, 1, places + 1)
    return [Store(begin, own, counter(i), (starts,)), Store(end, own, counter(i + 1), (stops,))]


def _add_sums(s: Scatter, p: Phases, order: Buf, begin: Buf, end: Buf) -> None:
    """The phase in which a warp adds up the updates of a destination."""
    places, row = begin.size, prod(s.row)
    grid = Var("g", -(-places // WARPS_OF_BLOCK))
    warp, lane, step = Var("w", WARPS_OF_BLOCK), Var("l", row), Var("r", s.steps)
    place = var(grid) * WARPS_OF_BLOCK + var(warp)
    count = node(Op.SUB, (load(end, place), load(begin, place)))
    # so that left + r < steps says r < count
    left = Index(const=s.steps) - Index({Gathered(count, s.steps + 1): 1})
    nth = node(Op.ADD, (load(begin, place), counter(var(step))))
    update = unravel(
        Index({Gathered(load(order, Index({Gathered(nth, s.steps): 1})), s.steps): 1}), s.at_shape
    )
    rest = unravel(var(lane) if row > 1 else Index(), s.row)
    acc = Buf("acc", s.node.dtype, 1, REG)
    add = Reduce(acc, Index(), s.kind, s.evaluator.value(s.node.src[0], [*update, *rest]))
    result = Store(s.out.buf, s.element(unravel(place, s.places), rest), load(acc, Index()))
    start = Alloc(acc, s.start)
    if row >= WIDE:
        walk: list[Stmt] = [start, For(step, s.steps, SERIAL, [add], 1, left, s.steps), result]
        inside: Stmt = For(
            lane,
            row,
            LANES,
            walk,
            vector([Access(result.index, acc.dtype.itemsize, True)], lane, 1, row),
        )
    else:
        of_number: list[Stmt] = [start, For(step, s.steps, LANES, [add], 1, left, s.steps), result]
        inside = loop_axes.nest([lane], *of_number)
    body = For(warp, WARPS_OF_BLOCK, WARPS, [inside], 1, var(grid) * WARPS_OF_BLOCK, places)
    p.add(For(grid, grid.extent, GRID, [body]), WARPS_OF_BLOCK * WARP, s.steps * row + s.node.size)
