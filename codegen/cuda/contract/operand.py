"""A factor in tiles of shared memory. In: a Problem and one of its factors. Out: the loops that
bring a tile there.

What is computed of a factor on the way, its prologue, is evaluated once an element with its index
and mask, so that windows of a convolution are never stored. Outside of the factor a tile holds
zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from ....ir.graph import dtype as dt
from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Mask, Range, Var, mask_of, var
from ....ir.graph.op import Op
from ....ir.graph.views import resolve
from ....ir.loops.loop import LANES, SCRATCH, THREAD, Buf, Copy, For, Matrix, Stmt, Store
from ....ir.loops.walk import Substitution
from ....ir.symbolic.questions import is_same, is_unknown
from ...kernels.contraction import AxisGroups, Problem, contiguous, groups_at, groups_extent
from ...kernels.evaluate import Evaluator, load
from ...kernels.loop_axes import extent

PIECE = 16  # bytes of the widest access


def stored_factor(
    p: Problem, factor: Node
) -> tuple[Node, Callable[[dict[Var, Index], Mask], Node]]:
    """What a tile holds of a factor: itself or the 16-bit floats that it widens; its value at an
    index, 0 outside of a mask."""

    def accessed(by: dict[Var, Index], guard: Mask) -> tuple[Node, list[Index], Mask]:
        n, at, ranges = resolve(factor, p.coordinates(by))
        widens = (
            n.op is Op.CAST
            and n not in p.inputs
            and n.src[0].dtype.is_half
            and n.dtype is dt.float32
        )
        return (n.src[0] if widens else n), at, mask_of([*guard, *ranges])

    def value(by: dict[Var, Index], guard: Mask) -> Node:
        return Evaluator(p.inputs).value(*accessed(by, guard))

    return accessed(p.itself, ())[0], value


@dataclass(frozen=True)
class Span:
    """What a block computes: rows and lanes from a place on, steps of tiles of k."""

    batch: dict[Var, Index]
    first_row: Index
    first_lane: Index
    first_step: Index
    steps: int

    def has(self, step: Index) -> Mask:
        """Whether there is such a step."""
        return mask_of([Range(step, 0, self.steps)])


@dataclass(frozen=True)
class Sizes:
    """Of tiles of a factor: rows or lanes, steps of k, those of all tiles together, tiles kept,
    threads that bring them."""

    size: int
    k: int
    all_k: int
    kept: int
    threads: int


class Operand:
    """Tiles of one factor. `groups` are its axes, `others` those of the other factor.

    A tile lies as memory does, and those that are kept are slots of one buffer; or, `steps_apart`,
    it has the rows of a step of k next to each other, and a buffer of its own.
    """

    def __init__(
        self,
        p: Problem,
        name: str,
        factor: Node,
        sides: tuple[AxisGroups, AxisGroups],
        sizes: Sizes,
        steps_apart: bool,
    ) -> None:
        self.p, self.sizes = p, sizes
        self.groups, self.others = sides
        self.node, self.value = stored_factor(p, factor)
        steps, own = self._neighbours(p.reduced), self._neighbours(self.groups)
        self.along_k = steps > 0 and not own
        self.line = sizes.k if self.along_k else sizes.size
        self.elements = sizes.size * sizes.k
        self.vector = common_power(
            PIECE // self.node.dtype.itemsize, self.line, steps if self.along_k else own or 1
        )
        self.unroll = min(self.vector, max(1, self.elements // sizes.threads))
        lies_along_k = self.along_k and not steps_apart
        pitch = (sizes.k if lies_along_k else sizes.size) + padding(
            self.node.dtype, lies_along_k, steps_apart
        )
        self.across, self.along = (pitch, 1) if lies_along_k else (1, pitch)
        self.slot = pitch * (sizes.size if lies_along_k else sizes.k)
        self.copied = False
        self.staged = Buf(f"{name}_staged", self.node.dtype, self.elements, THREAD)
        kept = 1 if steps_apart else sizes.kept
        self.tiles = [
            Buf(f"{name}_tile", self.node.dtype, kept * self.slot, SCRATCH)
            for _ in range(sizes.kept // kept)
        ]

    def _neighbours(self, groups: AxisGroups) -> int:
        """Elements that follow each other in memory along these axes: all, those along the last
        axis, or 0."""
        position, by = Var("position", groups_extent(groups)), self.p.itself
        if contiguous(self.value(by | groups_at(groups, var(position)), ()), position):
            return position.extent
        return extent(groups[-1]) if contiguous(self.value(by, ()), groups[-1][-1]) else 0

    @property
    def extent(self) -> int:
        return groups_extent(self.groups)

    @property
    def how(self) -> str:
        """How a tile gets from memory to where it is multiplied."""
        line = "k" if self.along_k else "them"
        return (
            "copied asynchronously"
            if self.copied
            else f"through registers, {self.unroll} along {line} at a time"
        )

    def _place(self, e: Index) -> tuple[Index, Index]:
        """(row, step) of an element of the tile, in the order of memory but for `_spread`."""
        if self.along_k:
            row, k = e.divmod(self.sizes.k)
            return (_spread(row) if self.along == 1 else row), k
        k, i = e.divmod(self.sizes.size)
        return i, k

    def _at(self, e: Index, first: Index, step: Index, batch: dict[Var, Index]) -> Node:
        """The value of an element of the tile at a row and a step: a block that has the tile has
        some of its rows and steps."""
        i, k = self._place(e)
        nowhere = {v: Index() for g in self.others for v in g}
        by = (
            batch
            | nowhere
            | groups_at(self.groups, first + i)
            | groups_at(self.p.reduced, step + k)
        )
        inside = list[Range]()
        if not is_same(self.extent % self.sizes.size, 0):
            inside.append(_before(first + i, self.extent, 1 if self.along_k else self.vector))
        if not is_same(self.sizes.all_k, self.p.k):
            inside.append(_before(step + k, self.p.k, self.vector if self.along_k else 1))
        return self.value(by, mask_of(inside))

    def _in_slot(self, e: Index, slot: Index) -> Index:
        i, k = self._place(e)
        return slot * self.slot + i * self.across + k * self.along

    def load(self, first: Index, step: Index, batch: dict[Var, Index]) -> Stmt:
        """A tile into registers."""
        e = Var("e", self.elements)
        return For(
            e,
            e.extent,
            LANES,
            [Store(self.staged, var(e), self._at(var(e), first, step, batch))],
            self.unroll,
        )

    def store(self, slot: Index, turn: int = 0) -> Stmt:
        """From there to shared memory."""
        e = Var("e", self.elements)
        body: list[Stmt] = [
            Store(self.tiles[turn], self._in_slot(var(e), slot), load(self.staged, var(e)))
        ]
        return For(e, e.extent, LANES, body, self.unroll)

    def copy(self, first: Index, step: Index, batch: dict[Var, Index], slot: Index) -> Stmt | None:
        """A tile to shared memory without registers, if it is not computed and lies in pieces of 16
        bytes."""
        size = PIECE // self.node.dtype.itemsize
        piece, j = Var("piece", self.elements // size), Var("j", size)
        value = self._at(var(piece) * size + var(j), first, step, batch)
        if self.vector != size or not is_piece(value, j):
            return None
        self.copied = True
        first_of_it = Substitution({j: Index()})
        buf, index, mask = first_of_it.node(value).arg
        copy = Copy(self.tiles[0], self._in_slot(var(piece) * size, slot), buf, index, size, mask)
        return For(piece, piece.extent, LANES, [copy])

    def matrix(self, slot: Index) -> Matrix:
        return Matrix(self.tiles[0], slot * self.slot, self.across, self.along)


def _spread(row: Index) -> Index:
    """Rows in an order in which the next one is 4 apart: with padded lines of 80 bytes, two of 64
    meet all banks."""
    eight, inside = row.divmod(8)
    return eight * 8 + inside % 2 * 4 + inside // 2


def padding(dtype: DType, along_k: bool, steps_apart: bool) -> int:
    """Elements after each line of a tile, so that threads that access several lines at once meet
    all banks.

    Tensor cores take 8 lines of 16 bytes at once, or of float32 that lie across k, 4 lines of 8.
    """
    if steps_apart:
        return 4
    return 8 if dtype.is_half or not along_k else 4


def _before(position: Index, total: int, vector: int) -> Range:
    """position < total, by whole vectors where these divide the total."""
    by = common_power(vector, total)
    return Range(position // by, 0, total // by)


def common_power(*sizes: int) -> int:
    """The greatest power of two that is known to divide all of these."""
    if any(is_unknown(s) for s in sizes):
        return 1
    divisor = gcd(*sizes)
    return divisor & -divisor


def is_piece(value: Node, j: Var) -> bool:
    """A load of neighbours along j that start at a multiple of their number, or of none of them."""
    if value.op is not Op.LOAD:
        return False
    _, index, mask = value.arg
    others = index - var(j)
    at = [*(c for _, c in others.terms), others.const]
    masked = any(j in r.index.vars() or r.index.values() for r in mask)
    return (
        not masked
        and not index.values()
        and j not in others.vars()
        and all(is_same(c % j.extent, 0) for c in at)
    )
