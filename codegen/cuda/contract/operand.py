"""A factor in tiles of shared memory. In: a Problem and one of its factors. Out: the loops that bring a tile there.

What is computed of a factor on the way, its prologue, is evaluated once an element with its index and mask, so that
windows of a convolution are never stored. Outside of the factor a tile holds zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....ir import dtype as dt
from ....ir.graph import Node
from ....ir.index import Index, Mask, Range, Var, mask_of, unravel, var
from ....ir.kernel import resolve
from ....ir.loop import LANES, SCRATCH, THREAD, Buf, For, Stmt, Store
from ....ir.op import Op
from ...contract.problem import Groups, Problem, contiguous, groups_extent, spread_groups
from ...evaluate import Evaluator, load
from ...schedule import extent

VECTOR = 4  # neighbours that a thread loads at a time: 16 bytes of float32
PADDING = 4  # elements behind each line of a tile: a warp that stores across lines meets all banks


def groups_at(groups: Groups, position: Index) -> dict[Var, Index]:
    """Every variable of the groups from one position in all of them."""
    return spread_groups(groups, unravel(position, tuple(extent(g) for g in groups)))


def stored_factor(p: Problem, factor: Node) -> tuple[Node, Callable[[dict[Var, Index], Mask], Node]]:
    """What a tile holds of a factor: itself or the 16-bit floats that it widens; its value at an index, 0 outside of a mask."""

    def found(by: dict[Var, Index], guard: Mask) -> tuple[Node, list[Index], Mask]:
        n, at, ranges = resolve(factor, p.coordinates(by))
        widens = n.op is Op.CAST and n not in p.inputs and n.src[0].dtype.is_half and n.dtype is dt.float32
        return (n.src[0] if widens else n), at, mask_of([*guard, *ranges])

    def value(by: dict[Var, Index], guard: Mask) -> Node:
        return Evaluator(p.inputs, lambda n, index: None).value(*found(by, guard))

    return found(own_axes(p), ())[0], value


def own_axes(p: Problem) -> dict[Var, Index]:
    """Every variable of a problem as itself."""
    return {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g}


@dataclass(frozen=True)
class Span:
    """What a block computes: rows and lanes from a place on, steps of tiles of k; at most `all_steps` where they are cut."""

    batch: dict[Var, Index]
    first_row: Index
    first_lane: Index
    first_step: Index
    steps: int
    all_steps: int | None


@dataclass
class Operand:
    """Tiles of `size` rows or lanes by `k` steps of one factor; `groups` are its axes, `others` those of the other factor."""

    p: Problem
    name: str
    factor: Node
    groups: Groups
    others: Groups
    size: int
    k: int

    def __post_init__(self) -> None:
        self.node, self.value = stored_factor(self.p, self.factor)
        found, last_k, last = self.value(own_axes(self.p), ()), self.p.reduced[-1][-1], self.groups[-1][-1]
        self.along_k = contiguous(found, last_k) and not contiguous(found, last)
        line = self.k if self.along_k else self.size
        self.vector = VECTOR if contiguous(found, last_k if self.along_k else last) and line % VECTOR == 0 else 1
        self.pitch = self.size + PADDING
        self.staged = Buf(f"{self.name}_staged", self.node.dtype, self.size * self.k, THREAD)
        self.tile = Buf(f"{self.name}_tile", self.node.dtype, self.pitch * self.k, SCRATCH)

    @property
    def extent(self) -> int:
        return groups_extent(self.groups)

    def at(self, first: Index, step: Index, batch: dict[Var, Index]) -> Callable[[Index, Index], Node]:
        """The value `i` rows and `k` steps behind a place."""
        nowhere = {v: Index() for g in self.others for v in g}

        def value(i: Index, k: Index) -> Node:
            by = batch | nowhere | groups_at(self.groups, first + i) | groups_at(self.p.reduced, step + k)
            return self.value(by, mask_of([Range(first + i, 0, self.extent), Range(step + k, 0, self.p.k)]))

        return value

    def _place(self, e: Index) -> tuple[Index, Index]:
        """(row, step) of an element of the tile, in the order of memory."""
        if self.along_k:
            return e.divmod(self.k)
        k, i = e.divmod(self.size)
        return i, k

    def load(self, first: Index, step: Index, batch: dict[Var, Index]) -> Stmt:
        """A tile into registers."""
        e = Var("e", self.size * self.k)
        value = self.at(first, step, batch)(*self._place(var(e)))
        return For(e, e.extent, LANES, [Store(self.staged, var(e), value)], self.vector)

    def store(self) -> Stmt:
        """From there to shared memory, steps of k apart."""
        e = Var("e", self.size * self.k)
        i, k = self._place(var(e))
        return For(e, e.extent, LANES, [Store(self.tile, k * self.pitch + i, load(self.staged, var(e)))], self.vector)
