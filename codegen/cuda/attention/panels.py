"""The factors of a chain in shared memory. In: a ChainProblem. Out: Panels, each of which its products share.

    queries[row][d]    keys[column][d]    values[column][c]      lines an odd number of 16-byte vectors apart: banks differ
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ....ir.dtype import DType
from ....ir.graph import Node
from ....ir.index import Index, Mask, Range, Var, var
from ....ir.loop import LANES, SCRATCH, Buf, For, Stmt, Store
from ...chain.problem import ChainProblem, Position, Result

VECTOR = 16  # bytes that a thread loads at once
SIDE = 16  # threads along each side of a tile of the space
THREADS = SIDE * SIDE

Value = Callable[[Position, Index, Mask], Node]  # at a place of the space, of an element; 0 where the guard does not hold


@dataclass(frozen=True)
class Lanes:
    """How threads share the elements of a result: `vectors` times `vector` neighbours each."""

    vector: int
    vectors: int

    @property
    def each(self) -> int:
        return self.vector * self.vectors

    @property
    def all(self) -> int:
        return self.each * SIDE

    def at(self, thread: Index, vector: Index, neighbour: Index) -> Index:
        """An element of a thread."""
        return thread * self.vector + neighbour + vector * (SIDE * self.vector)


def lanes_of(width: int, dtype: DType) -> Lanes:
    """Whole vectors, unless fewer neighbours are enough."""
    vector = VECTOR // dtype.itemsize
    each = -(-width // SIDE)
    return Lanes(each, 1) if each < vector else Lanes(vector, -(-each // vector))


@dataclass
class Panel:
    """Lines of a factor; behind `width` elements zeros up to `padded`."""

    name: str
    dtype: DType
    width: int
    padded: int
    value: Value

    @property
    def vector(self) -> int:
        return VECTOR // self.dtype.itemsize

    @property
    def steps(self) -> int:
        """Vectors that cover a line."""
        return -(-self.width // self.vector)

    @property
    def stride(self) -> int:
        return (-(-self.padded // self.vector) | 1) * self.vector

    def buf(self, lines: int) -> Buf:
        return Buf(self.name, self.dtype, lines * self.stride, SCRATCH)

    def copy(self, buf: Buf, lines: int, at: Callable[[Index], Position], mask: Callable[[Index], Mask]) -> Stmt:
        """buf[line][element], every line where its mask holds, else zeros."""
        width = -(-self.padded // self.vector) * self.vector
        x = Var("x", lines * width)
        line, element = var(x) // width, var(x) % width
        guard = mask(line) + ((Range(element, 0, self.width),) if width > self.width else ())
        store = Store(buf, line * self.stride + element, self.value(at(line), element, guard))
        return For(x, x.extent, LANES, [store], self.vector)


class Panels:
    """What a block of rows keeps of each score, and what it loads of every block of columns."""

    def __init__(self, p: ChainProblem) -> None:
        self.p = p
        self._elements: dict[int, Var] = {}
        rows: dict[Node, Panel] = {}
        columns: dict[Node, Panel] = {}
        self.query = {q: self._panel(rows, "queries", q.length, partial(p.term, q, q.query)) for q in p.scores}
        self.key = {q: self._panel(columns, "columns", q.length, partial(p.term, q, q.key)) for q in p.scores}
        self.value = {r: self._of_result(columns, r) for r in p.results}
        self.rows, self.columns = list(rows.values()), list(columns.values())

    def _of_result(self, found: dict[Node, Panel], r: Result) -> Panel:
        panel = self._panel(found, "columns", r.width, partial(self.p.weighted, r))
        panel.padded = max(panel.padded, self.lanes(r).all)
        return panel

    def _panel(self, found: dict[Node, Panel], name: str, width: int, value: Value) -> Panel:
        """Equal factors are one panel."""
        element = self._elements.setdefault(width, Var("c", width))
        key = value(self.p.trial, var(element), ())
        return found.setdefault(key, Panel(f"{name}{len(found)}", self.p.dtype, width, width, value))

    def lanes(self, r: Result) -> Lanes:
        return lanes_of(r.width, self.p.dtype)

    def nbytes(self, rows: int, columns: int) -> int:
        """Shared memory for so many rows and columns."""
        elements = rows * sum(panel.stride for panel in self.rows) + columns * sum(panel.stride for panel in self.columns)
        return elements * self.p.dtype.itemsize
