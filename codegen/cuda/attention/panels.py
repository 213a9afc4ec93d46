"""The factors of a chain in shared memory. In: a ChainProblem. Out: Panels, each of which its
products share.

    queries[row][d]    keys[column][d]    values[column][c]      lines an odd number of 16-byte
                                                                 vectors apart: banks differ
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ....ir.graph import dtype as dt
from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Mask, Range, Var, var
from ....ir.loops.loop import LANES, SCRATCH, Buf, Copy, For, Matrix, Stmt, Store
from ....ir.loops.walk import Substitution
from ...kernels.chain import ChainProblem, Result, SpacePosition
from ..contract.operand import is_piece
from ..target import CudaTarget
from .tiles import SIDE, VECTOR, Fragments, Square, Tile

COLUMNS = (64, 32, 16)  # of a block
LineAt = Callable[[Index], SpacePosition]
LineMask = Callable[[Index], Mask]
# at a place of the space, of an element; 0 where the guard does not hold
ValueAt = Callable[[SpacePosition, Index, Mask], Node]


@dataclass
class Panel:
    """Lines of a factor; after `width` elements, zeros up to `padded`."""

    name: str
    dtype: DType
    width: int
    padded: int
    value: ValueAt

    @property
    def vector(self) -> int:
        return VECTOR // self.dtype.itemsize

    @property
    def stride(self) -> int:
        return (-(-self.padded // self.vector) | 1) * self.vector

    def buf(self, lines: int) -> Buf:
        return Buf(self.name, self.dtype, lines * self.stride, SCRATCH)

    def copy(self, buf: Buf, lines: int, at: LineAt, mask: LineMask) -> Stmt:
        """buf[line][element], every line where its mask holds, else zeros."""
        width = -(-self.padded // self.vector) * self.vector
        x = Var("x", lines * width)
        line, element = var(x).divmod(width)
        guard = mask(line) + ((Range(element, 0, self.width),) if width > self.width else ())
        store = Store(buf, line * self.stride + element, self.value(at(line), element, guard))
        return For(x, x.extent, LANES, [store], self.vector)

    def fetch(self, buf: Buf, first: Index, lines: int, at: LineAt, mask: LineMask) -> Stmt:
        """The same as copies that arrive later, from an element of the buffer on."""
        pieces = -(-self.padded // self.vector)
        x, j = Var("x", lines * pieces), Var("j", self.vector)
        line, piece = var(x).divmod(pieces)
        guard = mask(line) + (
            (Range(piece, 0, self.width // self.vector),) if self.padded > self.width else ()
        )
        value = self.value(at(line), piece * self.vector + var(j), guard)
        source, index, where = Substitution({j: Index()}).node(value).arg
        to = first + line * self.stride + piece * self.vector
        return For(x, x.extent, LANES, [Copy(buf, to, source, index, self.vector, where)])

    def lies_in_pieces(self, at: SpacePosition) -> bool:
        """Is it memory itself, in pieces of 16 bytes?"""
        piece, j = Var("piece", self.width // self.vector), Var("j", self.vector)
        return self.width % self.vector == 0 and is_piece(
            self.value(at, var(piece) * self.vector + var(j), ()), j
        )

    def as_lines(self, buf: Buf, first: Index) -> Matrix:
        """Its lines as rows (or lanes) of a product, from an element of the buffer on."""
        return Matrix(buf, first, self.stride, 1)

    def as_steps(self, buf: Buf, first: Index) -> Matrix:
        """Its lines as steps of a product."""
        return Matrix(buf, first, 1, self.stride)


class Panels:
    """What a block of rows keeps of each score, and what it loads of every block of columns."""

    def __init__(self, p: ChainProblem, target: CudaTarget) -> None:
        self.p = p
        self.dtype = tensor_dtype(p, target) or p.dtype  # of factors and weights in shared memory
        self.tensor = self.dtype is not p.dtype or (
            target.matmul == "tf32" and tensor_dtype(p, target) is dt.float32
        )
        self.step = (
            (16 if self.dtype.is_half else 8) if self.tensor else VECTOR // self.dtype.itemsize
        )
        self._elements: dict[int, Var] = {}
        rows: dict[Node, Panel] = {}
        columns: dict[Node, Panel] = {}
        narrow = self.dtype is not p.dtype
        self.query = {
            q: self._panel(rows, "queries", q.length, partial(p.term, q, q.query, narrow=narrow))
            for q in p.scores
        }
        self.key = {
            q: self._panel(columns, "columns", q.length, partial(p.term, q, q.key, narrow=narrow))
            for q in p.scores
        }
        self.value = {r: self._of_result(columns, r, narrow) for r in p.results}
        self.rows, self.columns = list(rows.values()), list(columns.values())
        arrive = (
            self.tensor
            and p.length() > COLUMNS[0]
            and all(panel.lies_in_pieces(p.own_position) for panel in self.columns)
        )
        # blocks of columns in shared memory: the next one arrives while one is multiplied
        self.slots = 2 if arrive else 1

    def _of_result(self, panels: dict[Node, Panel], r: Result, narrow: bool) -> Panel:
        panel = self._panel(panels, "columns", r.width, partial(self.p.weighted, r, narrow=narrow))
        panel.padded = max(panel.padded, self.tile(SIDE, r.width).padded)
        return panel

    def _panel(self, panels: dict[Node, Panel], name: str, width: int, value: ValueAt) -> Panel:
        """Equal factors are one panel."""
        element = self._elements.setdefault(width, Var("c", width))
        key = value(self.p.own_position, var(element), ())
        return panels.setdefault(
            key, Panel(f"{name}{len(panels)}", self.dtype, width, self.steps(width), value)
        )

    def steps(self, terms: int) -> int:
        """Steps of a sum of so many terms, padded."""
        return -(-terms // self.step) * self.step

    def tile(self, rows: int, width: int, apart: bool = False) -> Tile:
        """Sums of so many rows; `apart`: the elements of a thread are no neighbours."""
        return (
            Fragments(self.p.dtype, rows, width)
            if self.tensor
            else Square(self.p.dtype, rows, width, apart)
        )

    def nbytes(self, rows: int, columns: int) -> int:
        """Shared memory for so many rows and columns."""
        of_rows, of_columns = (
            sum(panel.stride for panel in panels) for panels in (self.rows, self.columns)
        )
        return (rows * of_rows + self.slots * columns * of_columns) * self.dtype.itemsize


def tensor_dtype(p: ChainProblem, target: CudaTarget) -> DType | None:
    """What tensor cores multiply: the 16-bit floats that all factors widen, or float32 where the
    user has allowed that."""
    if p.dtype is not dt.float32 or not target.has_async_copies:
        return None
    factors = [f for q in p.scores for f in (q.query, q.key)] + [r.value for r in p.results]
    dtypes = {p.narrow_dtype(f) for f in factors}
    (only,) = dtypes if len(dtypes) == 1 else (None,)
    return only or (dt.float32 if target.matmul == "tf32" else None)
