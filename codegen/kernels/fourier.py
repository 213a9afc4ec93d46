"""Fourier transforms taken apart: where the elements of a line are, and the statements for it. In:
a Kernel of one FFT and maps before it. Out: statements.

stages        of radix r1, r2, ..: the first reads the source, the last writes the result, those
              between go from one private array to the other

There are s lines of r * m elements that lie element by element in turn. A stage transforms r
elements m apart, turns the results, and leaves r * s lines of m elements:

    for p < m: for q < s:
        y[q + s*(r*p + j)] = w**(p*j) * sum of x[q + s*(p + m*k)] * exp(-2 pi i j k / r) over k < r
        where w = exp(-2 pi i / (r*m))

The last one leaves the whole in order (T. Stockham, "High-speed convolution and correlation",
1966). A transform back is one forward of parts that are exchanged. Lines that lie apart are read
and written in blocks of neighbouring elements, which a tile holds: lanes load them as vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import prod
from typing import NamedTuple

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var, row_major, unravel, var
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ...ir.kernels.kernel import transform_cost
from ...ir.loops.loop import GLOBAL, UNROLL, Buf, Stmt, Store
from ...ir.loops.walk import postorder
from ...ir.passes.transforms import radices
from ..math.build import Val
from ..math.trig import cos_sin_of_turn
from .butterfly import Pair, times, transformed
from .elimination import Array, each, numbered, registers
from .evaluate import load
from .single_op import SingleOpKernel

BLOCK = 8  # neighbouring elements of a line that is read or written in rows
Read = Callable[[Index], Pair]
Write = Callable[[Index, Pair], list[Stmt]]
Line = tuple[Index, Index]  # its group, and which line of that


class Stage(NamedTuple):
    """Of radix r, over s lines of r * m elements that lie element by element in turn."""

    r: int
    s: int
    m: int

    def source(self, p: Index, q: Index, k: int) -> Index:
        """The place of an element that a butterfly reads."""
        return q + (p + k * self.m) * self.s

    def result(self, p: Index, q: Index, j: int) -> Index:
        """And of one that it writes."""
        return q + (p * self.r + j) * self.s

    def block(self, count: int) -> int:
        """Into how large blocks so many steps are divided."""
        return max(size for size in range(1, BLOCK + 1) if count % size == 0)


class Fourier(SingleOpKernel):
    """The lines of an FFT, numbered by the other axes."""

    @property
    def axis(self) -> int:
        return int(self.node.arg[0])

    @property
    def n(self) -> int:
        return self.shape[self.axis]

    @property
    def shape(self) -> Shape:
        """Of what is transformed."""
        return self.node.src[0].shape

    @property
    def batch(self) -> Shape:
        """The other axes, which number the lines: lanes are along the last of them."""
        return tuple(d for a, d in enumerate(self.shape[:-1]) if a != self.axis) or (1,)

    @property
    def lanes(self) -> int:
        return self.batch[-1]

    @property
    def groups(self) -> int:
        """How often there are so many lines."""
        return prod(self.batch[:-1])

    @property
    def work(self) -> int:
        """Operations of one line."""
        return 2 * self.n * transform_cost(self.n)

    @cached_property
    def table(self) -> Buf:
        """The kernel's own: cos(2 pi m / n) for all m, then the sines."""
        return Buf("table", self.node.dtype, 2 * self.n, GLOBAL)

    def fill(self, m: Index) -> list[Stmt]:
        """The factors at m."""
        part = Val(numbered(m, self.node.dtype))
        cosine, sine = cos_sin_of_turn(part, self.n)
        return [Store(self.table, m, cosine.node), Store(self.table, m + self.n, sine.node)]

    # ------------------------------------------------------------ elements

    def _at(self, line: Line, j: Index, part: Index) -> list[Index]:
        """Of an element of a line."""
        group, lane = line
        index = [*unravel(group, self.batch[:-1]), lane][: len(self.shape) - 2]
        index.insert(self.axis, j)
        return [*index, part]

    def _part(self, line: Line, j: Index, c: Index) -> Node:
        """Of an element of the source."""
        return self.evaluator.value(self.node.src[0], self._at(line, j, c))

    def _place(self, line: Line, j: Index, c: Index) -> Index:
        """Where that part of the result is."""
        return row_major(self._at(line, j, c), self.shape)

    def _kept(self, c: Index) -> Index:
        """Where a part is kept: the parts are exchanged for a transform back."""
        return c if self.node.arg[1] else Index(const=1) - c

    def _source(self, line: Line, j: Index) -> Pair:
        """An element as the first stage reads it."""
        re, im = (Val(self._part(line, j, self._kept(Index(const=c)))) for c in range(2))
        return self._first(line, j, Pair(re, im))

    def _first(self, line: Line, j: Index, value: Pair) -> Pair:
        """Turned, if that is asked for."""
        turns, dtype = self.node.arg[2], self.node.dtype
        if not turns:
            return value
        place = self._at(line, j, Index())[self.axis + 1]
        steps = Val(numbered(j, dtype)) * Val(numbered(place, dtype))
        cosine, sine = cos_sin_of_turn(steps, turns)
        return times(value, cosine, -sine)

    def _result(self, line: Line, held: Array, j: Index, value: Pair) -> list[Stmt]:
        """Both parts are stored in one unrolled loop, which lanes write as vectors."""

        def store(c: Index) -> list[Stmt]:
            kept = held.value(Index(), self._kept(c))
            return [Store(self.out.buf, self._place(line, j, c), kept)]

        return [*put(held, Index(), value), *each("c", 2, store, UNROLL)]

    # ------------------------------------------------------------ stages

    def body(self, line: Line, lane: Var) -> list[Stmt]:
        """All of one line."""
        stages, arrays = self.stages, [registers(name, self.node.dtype, self.n, 2) for name in "xy"]
        tile = registers("tile", self.node.dtype, max(t.r for t in stages) * BLOCK, 2)
        out = [s for a in (*arrays, tile) for s in a.alloc()]
        for number, stage in enumerate(stages):
            x, y = arrays[number % 2 - 1], arrays[number % 2]
            is_first, is_last = number == 0, number == len(stages) - 1
            if is_first and not is_last and self._reads_rows(line, lane, stage):
                out += self._of_rows(line, stage, tile, y)
            elif is_last and not is_first and self._writes_rows(line, lane, stage):
                out += self._to_rows(line, stage, x, tile)
            else:
                read = partial(self._source, line) if is_first else partial(pair_at, x)
                write = partial(self._result, line, tile) if is_last else partial(put, y)
                out += self._stage(stage, read, write)
        return out

    @property
    def stages(self) -> list[Stage]:
        """Their radices, the largest first."""
        out, s = [], 1
        for r in radices(self.n):
            out.append(Stage(r, s, self.n // (r * s)))
            s *= r
        return out

    def _stage(self, t: Stage, read: Read, write: Write) -> list[Stmt]:
        def step(p: Index, q: Index) -> list[Stmt]:
            return self._butterfly(
                t, p, lambda k: read(t.source(p, q, k)), lambda j, v: write(t.result(p, q, j), v)
            )

        return each("p", t.m, lambda p: each("q", t.s, lambda q: step(p, q)))

    def _butterfly(
        self,
        t: Stage,
        p: Index,
        read: Callable[[int], Pair],
        write: Callable[[int, Pair], list[Stmt]],
    ) -> list[Stmt]:
        values = transformed([read(k) for k in range(t.r)])
        turned = [self._turned(v, p * (t.s * j)) if t.m > 1 else v for j, v in enumerate(values)]
        return [s for j, v in enumerate(turned) for s in write(j, v)]

    def _turned(self, value: Pair, m: Index) -> Pair:
        """times exp(-2 pi i m / n)."""
        if m == Index():
            return value
        cosine, sine = (Val(load(self.table, at)) for at in (m, m + self.n))
        return times(value, cosine, -sine)

    # ------------------------------------------------------------ rows of lines that lie apart

    def _of_rows(self, line: Line, t: Stage, tile: Array, y: Array) -> list[Stmt]:
        """The first stage in blocks of neighbouring p."""
        size = t.block(t.m)

        def block(first: Index) -> list[Stmt]:
            def element(k: Index, j: Index, c: Index) -> list[Stmt]:
                value = self._part(line, first + j + k * t.m, c)
                return [tile.put(value, k * size + j, self._kept(c))]

            def step(i: Index) -> list[Stmt]:
                def read(k: int) -> Pair:
                    value = pair_at(tile, i + k * size)
                    return self._first(line, t.source(first + i, Index(), k), value)

                return self._butterfly(
                    t, first + i, read, lambda j, v: put(y, t.result(first + i, Index(), j), v)
                )

            rows = each("k", t.r, lambda k: pairs_of(size, lambda j, c: element(k, j, c)))
            return [*rows, *each("p", size, step)]

        return each("b", t.m // size, lambda b: block(b * size))

    def _to_rows(self, line: Line, t: Stage, x: Array, tile: Array) -> list[Stmt]:
        """The last stage in blocks of neighbouring q."""
        size = t.block(t.s)

        def block(first: Index) -> list[Stmt]:
            def step(i: Index) -> list[Stmt]:
                return self._butterfly(
                    t,
                    Index(),
                    lambda k: pair_at(x, t.source(Index(), first + i, k)),
                    lambda j, v: put(tile, i + j * size, v),
                )

            def element(j: Index, i: Index, c: Index) -> list[Stmt]:
                value = tile.value(j * size + i, self._kept(c))
                return [Store(self.out.buf, self._place(line, first + i + j * t.s, c), value)]

            rows = each("j", t.r, lambda j: pairs_of(size, lambda i, c: element(j, i, c)))
            return [*each("q", size, step), *rows]

        return each("b", t.s // size, lambda b: block(b * size))

    def _reads_rows(self, line: Line, lane: Var, t: Stage) -> bool:
        """Are neighbouring elements of the source next to each other, those of neighbouring lines
        not?"""
        e = Var("e", 2 * t.block(t.m))
        j, c = unravel(var(e), (t.block(t.m), 2))
        loads = [n.arg[1] for n in postorder([self._part(line, j, c)]) if n.op is Op.LOAD]
        return any(at.coef(e) == 1 and at.coef(lane) > 2 for at in loads)

    def _writes_rows(self, line: Line, lane: Var, t: Stage) -> bool:
        return self._place(line, Index(), Index()).coef(lane) > 2


def pairs_of(count: int, body: Callable[[Index, Index], list[Stmt]]) -> list[Stmt]:
    """A body for every part of neighbouring elements, which lanes load and store as vectors."""
    return each("e", 2 * count, lambda e: body(*unravel(e, (count, 2))), UNROLL)


def pair_at(array: Array, j: Index) -> Pair:
    re, im = (Val(array.value(j, Index(const=c))) for c in range(2))
    return Pair(re, im)


def put(array: Array, j: Index, value: Pair) -> list[Stmt]:
    return [array.put(v.node, j, Index(const=c)) for c, v in enumerate(value)]
