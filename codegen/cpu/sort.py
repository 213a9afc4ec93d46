"""Sorting kernels -> Loops: short lines by ranks, long ones by digits of their keys. In: a Kernel
of one ARGSORT. Out: Loops.

ranks         for chunk: lanes over lines: for each pair of elements: the one that sorts later moves
              up a place
radix         for chunk: for line: for each digit, the lowest first: count; running sums; move every
              element to its place
blocks        the same for few long lines, each step a phase whose chunks are blocks of a line

Keys are unsigned integers in the order of the values, so that one code serves every dtype. A record
is a key with the place its element came from: one 64-bit word where the key has at most 32 bits,
else two. Radix passes move records from memory to memory: from x, then between a scratch buffer and
the output; the last writes the places alone.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.index import Index, Var, unravel, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import (
    GLOBAL,
    GRID,
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
from ...ir.symbolic.questions import is_unknown, value_of
from ...wording import plural
from ..kernels.evaluate import counter, load
from ..kernels.loop_axes import nested
from ..kernels.lowered import Lowered
from ..kernels.sorting import PACKED_BITS, Sorting, packed, place_at, place_in, with_constant
from ..llvm.target import Target
from .chunks import Chunks, Tuning

# elements up to which ranks beat counting digits (measured, lines of float32; places fit in any
# key)
RANK_LIMIT = 128
UNROLL_LIMIT = 16  # elements whose keys and ranks stay in registers
DIGIT_BITS = 8  # counts of a pass in L1, and a cache line for every bucket that is being written
BUCKETS = 1 << DIGIT_BITS
BLOCK = 1 << 16  # elements of a line that one chunk counts and moves
MAX_BLOCKS = 64
FEW_LINES = 16  # with at least so many, lines are parallel enough
RECORD_WORK = 8  # operations a record and pass, relative to an add: two random accesses


def lower_sort(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of an ARGSORT; the schedule depends on the shape alone."""
    s = Sorting.of(kernel, strides)
    if s.n <= RANK_LIMIT:
        return _ranks(s, target, tuning)
    is_shared = s.lines < FEW_LINES and s.n > BLOCK
    blocks = min(MAX_BLOCKS, -(-value_of(s.n) // BLOCK)) if is_shared else 1
    if s.lines < tuning.min_chunks:
        blocks = max(blocks, tuning.min_chunks)
    return _blocks(s, blocks) if blocks > 1 else _radix(s, tuning)


# ---------------------------------------------------------------- short lines


def _finished(
    s: Sorting,
    phases: list[For],
    chunk: Chunks | None,
    scratch: list[Buf],
    work: list[int],
    text: str,
) -> Lowered:
    params, values = (chunk.params, chunk.values) if chunk else ((), ())
    return Lowered(
        Loops(s.kernel.name, (*s.buffers, *scratch), params, phases), values, work, f": {text}"
    )


def _ranks(s: Sorting, target: Target, tuning: Tuning) -> Lowered:
    """A lane a line: its elements' ranks are counts of the elements before them."""
    work = s.n * (s.n + 8) // 4
    lanes = target.lanes(8)
    chunk = Chunks(s.lines, min(value_of(work), 4096 / lanes), tuning.min_chunks, multiple=lanes)
    lane = Var("l", chunk.size)
    if s.lines > 1:
        body = _rank_line(s, chunk.first + var(lane))
        phase = chunk.phase(
            [For(lane, chunk.size, LANES, body, base=chunk.first, total=chunk.total)], wrap=False
        )
    else:
        phase = chunk.phase(_rank_line(s, Index()))
    text = f"ranks over {s.lines} lines of {s.n}, a lane a line, {chunk.describe()}"
    return _finished(s, [phase], chunk, [], [s.lines * work], text)


def _rank_line(s: Sorting, line: Index) -> list[Stmt]:
    size = RANK_LIMIT if is_unknown(s.n) else s.n
    kind = UNROLL if size <= UNROLL_LIMIT else SERIAL
    i, j = Var("i", s.n), Var("j", s.n)
    first = s.key(line, var(i))
    keys, ranks = Buf("keys", first.dtype, size, REG), Buf("ranks", first.dtype, size, REG)
    later = Buf("later", first.dtype, 1, REG)
    one, none = const(1, first.dtype), const(0, first.dtype)
    above = node(Op.LT, (load(keys, var(i)), load(keys, var(j))))  # equal elements keep their order
    moves = node(Op.WHERE, (above, one, none))
    pair = [
        Reduce(ranks, var(j), "add", moves),
        Reduce(later, Index(), "add", node(Op.WHERE, (above, none, one))),
    ]
    return [
        Alloc(keys),
        Alloc(ranks, 0),
        For(i, s.n, kind, [
            Store(keys, var(i), first),
            Alloc(later, 0),
            For(j, s.n, kind, list(pair), base=var(i) * -1 + s.n, total=s.n),  # j < i
            Store(ranks, var(i), load(later, Index())),
        ]),
        For(i, s.n, kind, [Store(s.out.buf,
            s.out.at(s.at(line, place_at(load(ranks, var(i)), s.n))), counter(var(i)))]),
    ]  # fmt: skip


# ---------------------------------------------------------------- long lines


class _Records:
    """The memory that passes move records through, and their passes."""

    def __init__(self, s: Sorting) -> None:
        self.s = s
        probe = s.key(Index(), Index())
        self.passes = probe.dtype.bits // DIGIT_BITS
        self.packed = probe.dtype.bits <= PACKED_BITS and s.n <= 1 << PACKED_BITS
        size = s.lines * s.n
        self.spare = Buf("spare", dt.int64, size, GLOBAL)
        self.keys = [Buf(f"keys{k}", dt.uint64, size, GLOBAL) for k in range(2)]

    @property
    def scratch(self) -> list[Buf]:
        """What the passes need besides the output."""
        if self.passes == 1:
            return []
        return [self.spare] if self.packed else [self.spare, *self.keys]

    def source(self, p: int, line: Index, i: Index) -> tuple[Node, Node]:
        """(word with the digits, place) of record i before pass p."""
        if p == 0:
            place = counter(i)
            return self._word(self.s.key(line, i), place), place
        stored = self._load(p, line, i)
        if self.packed:
            word = node(Op.BITCAST, (stored,), dt.uint64)
            return word, place_in(word)
        return load(self.keys[p % 2], line * self.s.n + i), stored

    def _word(self, key: Node, place: Node) -> Node:
        key = cast(key, dt.uint64)
        return packed(key, place) if self.packed else key

    def _load(self, p: int, line: Index, i: Index) -> Node:
        buf, at = self._memory(p - 1, line, i)
        return load(buf, at)

    def _memory(self, p: int, line: Index, i: Index) -> tuple[Buf, Index]:
        """Where pass p puts record i: the last pass fills the output, those before it take
        turns."""
        if (self.passes - 1 - p) % 2:
            return self.spare, line * self.s.n + i
        return self.s.out.buf, self.s.out.at(self.s.at(line, i))

    def digit(self, p: int, word: Node) -> Index:
        """Digit p of a word's key."""
        shifted = with_constant(Op.SHR, word, p * DIGIT_BITS + (PACKED_BITS if self.packed else 0))
        return place_at(with_constant(Op.AND, shifted, BUCKETS - 1), BUCKETS)

    def move(
        self, p: int, line: Index, i: Index, ends: Callable[[Index], tuple[Buf, Index]]
    ) -> list[Stmt]:
        """Pass p of one record: to the end of its digit's bucket, which grows."""
        word, place = self.source(p, line, i)
        end, at = ends(self.digit(p, word))
        to = place_at(load(end, at), self.s.n)
        buf, position = self._memory(p, line, to)
        last = p == self.passes - 1
        stored = node(Op.BITCAST, (word,), dt.int64) if self.packed and not last else place
        out: list[Stmt] = []
        if not self.packed and not last:
            out.append(Store(self.keys[(p + 1) % 2], line * self.s.n + to, word))
        return [*out, Store(buf, position, stored), Reduce(end, at, "add", const(1, dt.int64))]


def _running_sums(axes: list[Var], counts: Buf, at: Index) -> list[Stmt]:
    """Counts become starts, in the order in which nested loops over the axes visit them."""
    total, count = Buf("total", dt.int64, 1, REG), Buf("count", dt.int64, 1, REG)
    body: list[Stmt] = [
        Store(count, Index(), load(counts, at)),
        Store(counts, at, load(total, Index())),
        Reduce(total, Index(), "add", load(count, Index())),
    ]
    return [Alloc(total, 0), Alloc(count), *nested(axes, body)]


def _radix(s: Sorting, tuning: Tuning) -> Lowered:
    """A chunk sorts whole lines; the digits of all passes are counted in one walk."""
    r = _Records(s)
    chunk = Chunks(s.lines, float(value_of(s.n) * r.passes * RECORD_WORK), tuning.min_chunks)
    line, i = chunk.position, Var("i", s.n)
    counts = Buf("counts", dt.int64, r.passes * BUCKETS, SCRATCH)
    word, _ = r.source(0, line, var(i))
    one = const(1, dt.int64)
    body: list[Stmt] = [
        Alloc(counts, 0),
        For(
            i,
            s.n,
            SERIAL,
            [Reduce(counts, r.digit(p, word) + p * BUCKETS, "add", one) for p in range(r.passes)],
        ),
    ]
    for p in range(r.passes):
        d, first = Var("d", BUCKETS), p * BUCKETS
        body += _running_sums([d], counts, var(d) + first)
        move = r.move(p, line, var(i), lambda digit, first=first: (counts, digit + first))  # type: ignore[misc]
        body.append(For(i, s.n, SERIAL, move))
    work = s.lines * s.n * r.passes * RECORD_WORK
    return _finished(
        s,
        [chunk.phase(body)],
        chunk,
        r.scratch,
        [work],
        f"radix, {r.passes} passes, {chunk.describe()}",
    )


def _blocks(s: Sorting, blocks: int) -> Lowered:
    """Three phases a pass: blocks count their digits; a line's counts become starts; blocks move
    their records."""
    r = _Records(s)
    size = -(-s.n // blocks)
    counts = Buf("counts", dt.int64, s.lines * blocks * BUCKETS, GLOBAL)
    phases: list[For] = []
    work: list[int] = []
    for p in range(r.passes):
        phases += [_count_block(r, p, counts, blocks, size), _sum_blocks(s, counts, blocks)]
        phases.append(_move_block(r, p, counts, blocks, size))
        records = s.lines * s.n * RECORD_WORK
        work += [records // 2, s.lines * blocks * BUCKETS * 4, records]
    text = (
        f"radix, {r.passes} passes, {plural(blocks, 'block')} of {size} in each of"
        f" {plural(s.lines, 'line')}"
    )
    return _finished(s, phases, None, [*r.scratch, counts], work, text)


def _block(s: Sorting, blocks: int, size: int) -> tuple[Var, Index, Index]:
    """(grid variable, line, first element) of a block."""
    grid = Var("g", s.lines * blocks)
    line, block = unravel(var(grid), (s.lines, blocks)) if s.lines > 1 else (Index(), var(grid))
    return grid, line, block * size


def _count_block(r: _Records, p: int, counts: Buf, blocks: int, size: int) -> For:
    grid, line, first = _block(r.s, blocks, size)
    i, d = Var("i", size), Var("d", BUCKETS)
    own = var(grid) * BUCKETS
    word, _ = r.source(p, line, first + var(i))
    count = Reduce(counts, own + r.digit(p, word), "add", const(1, dt.int64))
    clear = For(d, BUCKETS, LANES, [Store(counts, own + var(d), const(0, dt.int64))])
    return For(
        grid, grid.extent, GRID, [clear, For(i, size, SERIAL, [count], base=first, total=r.s.n)]
    )


def _sum_blocks(s: Sorting, counts: Buf, blocks: int) -> For:
    grid, d, b = Var("g", s.lines), Var("d", BUCKETS), Var("b", blocks)
    line = var(grid) if s.lines > 1 else Index()
    at = (line * blocks + var(b)) * BUCKETS + var(d)
    return For(grid, s.lines, GRID, _running_sums([d, b], counts, at))


def _move_block(r: _Records, p: int, counts: Buf, blocks: int, size: int) -> For:
    grid, line, first = _block(r.s, blocks, size)
    i = Var("i", size)
    own = var(grid) * BUCKETS
    move = r.move(p, line, first + var(i), lambda digit: (counts, own + digit))
    return For(grid, grid.extent, GRID, [For(i, size, SERIAL, move, base=first, total=r.s.n)])
