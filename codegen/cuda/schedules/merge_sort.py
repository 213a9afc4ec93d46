"""Stable sorting: tiles in shared memory, then passes that merge two runs of each line. In: keys.
Out: phases.

tile      for block: a bitonic network over the tile: every step compares pairs, the smaller one
          first
merge     lanes over all elements: each finds by bisection how many of the other run come before it

A record is a key, an unsigned integer, with its place in the line: one 64-bit word where the key
has at most 32 bits, else two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....ir.graph import dtype as dt
from ....ir.graph.graph import Node, cast, const, node
from ....ir.graph.index import Index, Mask, Range, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import GLOBAL, GRID, LANES, REG, SCRATCH, Alloc, Buf, For, Stmt, Store
from ...kernels.evaluate import as_index, condition, counter, load
from ...kernels.sorting import PACKED_BITS, packed, place_at, place_in, with_constant
from .grid import place_of, threads_for

TILE = 2048  # records that a block sorts in shared memory
TILE_THREADS = 512
MERGE_THREADS = 256
GREATEST = (1 << 64) - 1
STEP_WORK = 8  # operations of a comparison

Record = tuple[Node, Node]  # (the word that is compared, the place)
Key = Callable[[Index, Index, Mask], Node]
# (line, position in the order, record) -> what to do
Done = Callable[[Index, Index, Record], list[Stmt]]


@dataclass
class Phases:
    """Phases of a kernel with their threads and work, and the memory that they share."""

    phases: list[For] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    buffers: list[Buf] = field(default_factory=list)

    def add(self, phase: For, threads: int, work: int) -> None:
        self.phases.append(phase)
        self.threads.append(threads)
        self.work.append(work)


class Records:
    """`lines` lines of n records; key(line, i, guard) is an unsigned integer."""

    def __init__(self, lines: int, n: int, key: Key, done: Done) -> None:
        self.lines, self.n, self.key, self.done = lines, n, key, done
        self.packed = key(Index(), Index(), ()).dtype.bits <= PACKED_BITS
        self.tile = min(TILE, 1 << (n - 1).bit_length())
        self.runs = -(-n // self.tile)

    def phases(self) -> Phases:
        """All phases of the sort."""
        out = Phases()
        steps = self.tile.bit_length() ** 2 // 2 * STEP_WORK
        passes = (self.runs - 1).bit_length()
        memory = [self._memory(p) for p in range(min(2, passes))]
        out.buffers += [
            b for words, places in memory for b in ([words] if places is None else [words, places])
        ]
        blocks = Var("g", self.lines * self.runs)
        line, run = place_of(var(blocks), (self.lines, self.runs))
        first = self._sorted_tile(line, run, memory[0] if passes else None)
        out.add(
            For(blocks, blocks.extent, GRID, first),
            threads_for(self.tile // 2, TILE_THREADS),
            self.lines * self.n * steps,
        )
        for p in range(passes):
            to = memory[(p + 1) % 2] if p + 1 < passes else None
            steps = (self.tile.bit_length() + p) * STEP_WORK
            out.add(self._merged(p, memory[p % 2], to), MERGE_THREADS, self.lines * self.n * steps)
        return out

    def _memory(self, number: int) -> tuple[Buf, Buf | None]:
        size = self.lines * self.n
        places = None if self.packed else Buf(f"places{number}", dt.int64, size, GLOBAL)
        return Buf(f"words{number}", dt.uint64, size, GLOBAL), places

    # ------------------------------------------------------------ records

    def _record(self, line: Index, i: Index, guard: Mask) -> Record:
        key, place = cast(self.key(line, i, guard), dt.uint64), counter(i)
        return (packed(key, place) if self.packed else key), place

    def _loaded(self, memory: tuple[Buf, Buf | None], at: Index) -> Record:
        words, places = memory
        word = load(words, at)
        return word, place_in(word) if places is None else load(places, at)

    def _stored(self, memory: tuple[Buf, Buf | None], at: Index, record: Record) -> list[Stmt]:
        words, places = memory
        return [
            Store(words, at, record[0]),
            *([Store(places, at, record[1])] if places is not None else []),
        ]

    def _finished(
        self, memory: tuple[Buf, Buf | None] | None, line: Index, at: Index, record: Record
    ) -> list[Stmt]:
        """A record at its place in a run: in memory, or if there is none as the last thing."""
        return (
            self.done(line, at, record)
            if memory is None
            else self._stored(memory, line * self.n + at, record)
        )

    # ------------------------------------------------------------ tiles

    def _sorted_tile(
        self, line: Index, run: Index, to: tuple[Buf, Buf | None] | None
    ) -> list[Stmt]:
        words = Buf("words", dt.uint64, self.tile, SCRATCH)
        tile = words, None if self.packed else Buf("places", dt.int64, self.tile, SCRATCH)
        lane = Var("l", self.tile)
        at = run * self.tile + var(lane)
        inside = Range(at, 0, self.n)
        word, place = self._record(line, at, () if inside.always else (inside,))
        if not inside.always:
            word = node(Op.WHERE, (condition(inside), word, const(GREATEST, dt.uint64)))
        body: list[Stmt] = [Alloc(b) for b in tile if b is not None]
        body.append(For(lane, self.tile, LANES, self._stored(tile, var(lane), (word, place))))
        body += self._network(tile)
        out = self._finished(to, line, at, self._loaded(tile, var(lane)))
        return [*body, For(lane, self.tile, LANES, out, 1, run * self.tile, self.n)]

    def _network(self, tile: tuple[Buf, Buf | None]) -> list[Stmt]:
        """Runs of 2, 4, 8 .. records out of two each: the second is read backwards, then pairs are
        half a run apart .."""
        out: list[Stmt] = []
        half = 1
        while half < self.tile:
            pair = Var("t", self.tile // 2)
            run, at = var(pair).divmod(half)
            out.append(
                self._compared(
                    tile, pair, run * (2 * half) + at, run * (2 * half) + (2 * half - 1) - at
                )
            )
            step = half // 2
            while step:
                pair = Var("t", self.tile // 2)
                run, at = var(pair).divmod(step)
                low = run * (2 * step) + at
                out.append(self._compared(tile, pair, low, low + step))
                step //= 2
            half *= 2
        return out

    def _compared(self, tile: tuple[Buf, Buf | None], pair: Var, low: Index, high: Index) -> For:
        """Two records of a tile, the smaller one first."""
        held = [
            (b, Buf(f"{b.name}_a", b.dtype, 1, REG), Buf(f"{b.name}_b", b.dtype, 1, REG))
            for b in tile
            if b is not None
        ]
        body: list[Stmt] = []
        for b, first, second in held:
            body += [
                Alloc(first),
                Alloc(second),
                Store(first, Index(), load(b, low)),
                Store(second, Index(), load(b, high)),
            ]
        ends = [(load(first, Index()), load(second, Index())) for _, first, second in held]
        wrong = node(Op.LT, ends[0][::-1])
        if len(ends) > 1:
            wrong = node(
                Op.OR, (wrong, node(Op.AND, (node(Op.EQ, ends[0]), node(Op.LT, ends[1][::-1]))))
            )
        for (b, _, _), (x, y) in zip(held, ends, strict=True):
            body += [
                Store(b, low, node(Op.WHERE, (wrong, y, x))),
                Store(b, high, node(Op.WHERE, (wrong, x, y))),
            ]
        return For(pair, pair.extent, LANES, body)

    # ------------------------------------------------------------ merging

    def _merged(
        self, p: int, source: tuple[Buf, Buf | None], to: tuple[Buf, Buf | None] | None
    ) -> For:
        """Two runs of each line as one, an element a lane."""
        length = self.tile << p
        size = self.lines * self.n
        blocks = Var("g", -(-size // MERGE_THREADS))
        lane = Var("l", MERGE_THREADS)
        first = var(blocks) * MERGE_THREADS
        line, i = (
            unravel(first + var(lane), (self.lines, self.n))
            if self.lines > 1
            else [Index(), first + var(lane)]
        )
        run, at = i.divmod(length)
        pair, side = run.divmod(2)
        record = self._loaded(source, first + var(lane))
        count, body = self._before(source[0], line, counter(run), counter(side), record[0], length)
        to_place = place_at(node(Op.ADD, (counter(pair * (2 * length) + at), count)), self.n)
        body += self._finished(to, line, to_place, record)
        return For(
            blocks, blocks.extent, GRID, [For(lane, MERGE_THREADS, LANES, body, 1, first, size)]
        )

    def _before(
        self, words: Buf, line: Index, run: Node, side: Node, word: Node, length: int
    ) -> tuple[Node, list[Stmt]]:
        """How many records of the other run come before this one: those below it and, of equal
        ones, those of the left run."""
        count = Buf("count", dt.int64, 1, REG)
        one, n = const(1, dt.int64), const(self.n, dt.int64)
        other = with_constant(Op.MUL, node(Op.XOR, (run, one)), length)
        left = node(Op.EQ, (side, one))  # this record is of the right run
        body: list[Stmt] = [Alloc(count, 0)]
        step = length
        while step:
            further = with_constant(Op.ADD, load(count, Index()), step)
            last = node(Op.ADD, (other, with_constant(Op.ADD, further, -1)))
            theirs = load(words, line * self.n + as_index(last, self.n))
            below = node(Op.LT, (theirs, word))
            if not self.packed:
                below = node(Op.OR, (below, node(Op.AND, (left, node(Op.EQ, (theirs, word))))))
            inside = node(Op.LT, (further, const(length + 1, dt.int64)))
            is_further = node(Op.AND, (node(Op.AND, (inside, node(Op.LT, (last, n)))), below))
            body.append(
                Store(count, Index(), node(Op.WHERE, (is_further, further, load(count, Index()))))
            )
            step //= 2
        return load(count, Index()), body
