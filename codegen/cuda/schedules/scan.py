"""Running sums and products -> Loops. In: a Kernel of one scan. Out: Loops.

lines         lanes over lines, each scanned by one thread
blocks        for block: one line, in pieces that lie in shared memory; what came before a piece is
              carried along
parts         few long lines: sums of the parts of each; then blocks, each of which adds up the sums
              before its part

A piece: every thread scans a few neighbours; the sums of the threads are scanned in steps of 1, 2,
4, ..; then each element gets what comes before its thread's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ....ir.graph.graph import Node, const, node
from ....ir.graph.index import Index, Range, Var, row_major, unravel, var
from ....ir.graph.op import Op
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    UNROLL,
    Alloc,
    Buf,
    For,
    Loops,
    Reduce,
    Stmt,
    Store,
)
from ....wording import plural
from ...kernels.evaluate import condition, load
from ...kernels.lowered import Lowered
from ...kernels.single_op import Scan
from .grid import Blocks, place_of, threads_for

COMBINE = {"add": Op.ADD, "mul": Op.MUL}
MANY_LINES = 1 << 12  # that keep all multiprocessors busy with a thread each
SHORT = 32  # steps whose elements stay in a cache between the threads of a warp, wherever they lie
NEIGHBOURS = 8  # of a thread in a piece
MOST_THREADS = 256
ENOUGH_BLOCKS = 128
LEAST_PIECES = 2  # of a part
MOST_PARTS = 512
LINE_THREADS = 128


def lower_scan(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Lowered:
    """A running sum or product."""
    s = _Scan.of(kernel, strides)
    if (s.lines >= MANY_LINES and (s.n <= SHORT or s.inner > 1)) or s.n == 1:
        return _by_lines(s)
    piece = s.threads * NEIGHBOURS
    pieces = -(-s.n // piece)
    parts = min(MOST_PARTS, pieces // LEAST_PIECES)
    if s.lines < ENOUGH_BLOCKS and parts > 1:
        return _by_parts(s, parts, -(-pieces // parts))
    return _by_blocks(s)


class _Scan(Scan):
    @property
    def inner(self) -> int:
        """Elements from one step to the next."""
        return prod(self.node.shape[self.axis + 1 :])

    @property
    def threads(self) -> int:
        """Of the block of a line: each has several neighbours of a piece, and their number is a
        power of two."""
        return min(MOST_THREADS, threads_for(1 << (-(-self.n // NEIGHBOURS) - 1).bit_length()))

    def combined(self, a: Node, b: Node) -> Node:
        return node(Op.OR if a.dtype.kind == "b" else COMBINE[self.kind], (a, b))

    def register(self, name: str) -> Buf:
        return Buf(name, self.node.dtype, 1, REG)

    def shared(self, name: str, size: int) -> Buf:
        return Buf(name, self.node.dtype, size, SCRATCH)


# ---------------------------------------------------------------- many lines


def _by_lines(s: _Scan) -> Lowered:
    """A thread a line."""
    blocks = Blocks(s.lines, threads_for(s.lines, LINE_THREADS))
    lane, step, acc = Var("l", blocks.size), Var("step", s.n), s.register("acc")
    line = unravel(blocks.first + var(lane), s.shape) if s.lines > 1 else [Index() for _ in s.shape]
    i = var(step)
    result = Store(s.out.buf, s.out.at(s.at(line, i)), load(acc, Index()))
    scan: list[Stmt] = [Reduce(acc, Index(), s.kind, s.value(line, i)), result]
    body: list[Stmt] = [Alloc(acc, s.start), For(step, s.n, SERIAL, scan)]
    if s.lines > 1:
        body = [blocks.lanes(lane, body)]
    return blocks.lowered(
        s.kernel, s.buffers, body, blocks.size, 4 * s.node.size, ": a thread a line"
    )


# ---------------------------------------------------------------- blocks


def _by_blocks(s: _Scan) -> Lowered:
    """A block a line."""
    blocks = Blocks(s.lines, 1)
    line, carry = place_of(blocks.first, s.shape), s.register("carry")
    body: list[Stmt] = [
        Alloc(carry, s.start),
        *_pieces(s, line, carry, Index(), -(-s.n // (s.threads * NEIGHBOURS))),
    ]
    text = f": a block for each of {plural(s.lines, 'line')}, in pieces of {s.threads * NEIGHBOURS}"
    return blocks.lowered(s.kernel, s.buffers, body, s.threads, 4 * s.node.size, text)


def _by_parts(s: _Scan, parts: int, pieces: int) -> Lowered:
    """Parts of so many pieces, in two phases."""
    size = pieces * s.threads * NEIGHBOURS
    parts = -(-s.n // size)
    sums = Buf("sums", s.node.dtype, s.lines * parts, GLOBAL)
    blocks = Blocks(s.lines * parts, 1)
    *line, part = place_of(blocks.first, (*s.shape, parts))
    own = row_major(line, s.shape) * parts
    lane, acc = Var("l", size), s.register("acc")
    total = For(
        lane,
        size,
        LANES,
        [Reduce(acc, Index(), s.kind, s.value(line, part * size + var(lane)))],
        1,
        part * size,
        s.n,
    )
    first = blocks.phase([Alloc(acc, s.start), total, Store(sums, own + part, load(acc, Index()))])
    other, carry = Var("p", parts), s.register("carry")
    before = Reduce(
        carry, Index(), s.kind, load(sums, own + var(other)), (Range(part - var(other), 1, parts),)
    )
    body = [
        Alloc(carry, s.start),
        For(other, parts, LANES, [before]),
        *_pieces(s, line, carry, part * size, pieces),
    ]
    loops = Loops(
        s.kernel.name,
        (*s.buffers, sums),
        blocks.params,
        [first, blocks.phase(body)],
        threads=(s.threads,) * 2,
    )
    text = f": sums of {plural(parts, 'part')} of each of {plural(s.lines, 'line')}"
    text += f", then a block of {s.threads} threads a part"
    return Lowered(loops, blocks.values, [s.node.size, 4 * s.node.size], text)


def _pieces(s: _Scan, line: list[Index], carry: Buf, first: Index, count: int) -> list[Stmt]:
    """The pieces of a line from its element `first` on; carry is the sum of all before."""
    t, size = s.threads, s.threads * NEIGHBOURS
    piece, e = Var("piece", count), Var("e", NEIGHBOURS)
    tile, sums = s.shared("tile", t * (NEIGHBOURS + 1)), [s.shared(f"sums{i}", t) for i in range(2)]
    start = first + var(piece) * size
    lane, thread, acc = Var("l", size), Var("t", t), s.register("acc")
    inside = Range(start + var(lane), 0, s.n)
    value = s.value(line, start + var(lane), () if inside.always else (inside,))
    if not inside.always:
        value = node(Op.WHERE, (condition(inside), value, const(s.start, s.node.dtype)))
    # an odd step from thread to thread: no two of a warp in one bank
    own = var(thread) * (NEIGHBOURS + 1) + var(e)
    of_lane = var(lane) + var(lane) // NEIGHBOURS
    add: list[Stmt] = [
        Reduce(acc, Index(), s.kind, load(tile, own)),
        Store(tile, own, load(acc, Index())),
    ]
    body: list[Stmt] = [
        Alloc(tile),
        *map(Alloc, sums),
        For(lane, size, LANES, [Store(tile, of_lane, value)]),
        For(thread, t, LANES, [
            Alloc(acc, s.start),
            For(e, NEIGHBOURS, UNROLL, add),
            Store(sums[0], var(thread), load(acc, Index())),
        ]),
    ]  # fmt: skip
    steps, last = _doubling(t, sums, s.combined)
    body += steps
    before = load(last, var(lane) // NEIGHBOURS - 1, (Range(var(lane), NEIGHBOURS, size),))
    carried = load(carry, Index())
    offset = node(
        Op.WHERE,
        (condition(Range(var(lane), NEIGHBOURS, size)), s.combined(carried, before), carried),
    )
    result = Store(
        s.out.buf, s.out.at(s.at(line, start + var(lane))), s.combined(offset, load(tile, of_lane))
    )
    body.append(For(lane, size, LANES, [result], 1, start, s.n))
    body.append(Reduce(carry, Index(), s.kind, load(last, Index(const=t - 1))))
    return [For(piece, count, SERIAL, body)]


def _doubling(
    t: int, sums: list[Buf], combined: Callable[[Node, Node], Node]
) -> tuple[list[Stmt], Buf]:
    """Running sums of one number a thread, and where they are in the end."""
    out: list[Stmt] = []
    a, b, step = sums[0], sums[1], 1
    while step < t:
        thread = Var("t", t)
        far = Range(var(thread), step, t)
        both = combined(load(a, var(thread) - step, (far,)), load(a, var(thread)))
        out.append(
            For(
                thread,
                t,
                LANES,
                [
                    Store(
                        b, var(thread), node(Op.WHERE, (condition(far), both, load(a, var(thread))))
                    )
                ],
            )
        )
        a, b, step = b, a, 2 * step
    return out, a
