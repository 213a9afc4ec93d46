"""Elements and rows shared out among the blocks of a grid. In: how many there are. Out: indices,
phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ....ir.graph.index import Index, Var, unravel, var
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import GRID, LANES, WARPS, Buf, Extent, For, Loops, Param, Stmt
from ....ir.symbolic.integer import NotSymbolicHere, Symbolic
from ....ir.symbolic.questions import has_several, is_below, is_unknown
from ....wording import plural
from ...kernels.lowered import Lowered
from ..target import WARP

# blocks that every grid variable allows for, so that sizes below share the text of a kernel
LEAST_GRID = 256
MOST_THREADS = 1024
POSITIONS = 1 << 31  # in a grid of any number of blocks: 32 bits hold each


def threads_for(lanes: int, most: int = MOST_THREADS) -> int:
    """Threads of a block for so many lanes: whole warps. All for any number of lanes."""
    if isinstance(lanes, Symbolic):
        return most
    return min(most, -(-lanes // WARP) * WARP)


def place_of(position: Index, shape: tuple[int, ...]) -> list[Index]:
    """The multi-dimensional index of a position that is known to lie inside: there is no remainder
    on the outermost axis."""
    ones = next((i for i, d in enumerate(shape) if has_several(d)), len(shape))
    return [Index()] * ones + unravel(position, shape[ones:])


def grid_variable(number: int, size: int) -> Var:
    """The number of a block of `size` things, of which there are so many."""
    if not isinstance(number, Symbolic):
        return Var("g", max(LEAST_GRID, 1 << (number - 1).bit_length()))
    most = POSITIONS // size
    if number > most:
        raise NotSymbolicHere(f"{number} blocks of {size}")
    return Var("g", most)


class Grid:
    """So many blocks of `size` things; a symbolic number is an argument of this name."""

    def __init__(self, number: int, size: int, name: str) -> None:
        self.number = number
        known = not is_unknown(number)
        self.variable = Var("g", number) if known else grid_variable(number, size)
        self.extent: Extent = number if known else Param(name)

    def phase(self, body: list[Stmt]) -> For:
        """The grid."""
        return For(self.variable, self.extent, GRID, body)


def params_of(grids: Iterable[Grid]) -> tuple[tuple[Param, ...], tuple[int, ...]]:
    """Arguments of a kernel, and their values."""
    given = {g.extent: g.number for g in grids if isinstance(g.extent, Param)}
    return tuple(given), tuple(given.values())


class Blocks:
    """`count` things, `size` to a block; their numbers are arguments, so that another batch size is
    the same kernel."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        number = -(-count // size)
        self.number = number if is_below(0, number) else max(1, number)
        self.grid = grid_variable(self.number, size)
        self.first = var(self.grid) * size
        self.total = Param("count")
        self.params = (Param("blocks"), self.total)
        self.values = (self.number, count)

    def phase(self, body: list[Stmt]) -> For:
        """The grid."""
        return For(self.grid, self.params[0], GRID, body)

    def each(self, v: Var, kind: str, body: list[Stmt], unroll: int = 1) -> For:
        """A loop over the things of a block."""
        return For(v, v.extent, kind, body, unroll, self.first, self.total)

    def lanes(self, lane: Var, body: list[Stmt], unroll: int = 1) -> For:
        """A lane for each thing of a block."""
        return self.each(lane, LANES, body, unroll)

    def warps(self, v: Var, body: list[Stmt]) -> For:
        """A warp for each thing of a block."""
        return self.each(v, WARPS, body)

    def lowered(
        self,
        kernel: Kernel,
        buffers: tuple[Buf, ...],
        body: list[Stmt],
        threads: int,
        work: int,
        text: str,
        given: Mapping[Param, int] | None = None,
    ) -> Lowered:
        """A kernel of one phase; `given` are the params of the body, with their values."""
        given = given or {}
        loops = Loops(
            kernel.name, buffers, (*self.params, *given), [self.phase(body)], threads=(threads,)
        )
        text += f", {plural(self.number, 'block')} of {threads} threads"
        return Lowered(loops, (*self.values, *given.values()), [work], text)


def flat_phase(
    kernel: Kernel,
    buffers: tuple[Buf, ...],
    count: int,
    each: int,
    body: Callable[[Index], list[Stmt]],
    text: str,
    threads: int,
) -> Lowered:
    """Lanes over `count` things, of `each` operations; no lanes for a single one."""
    threads = threads_for(count, threads)
    blocks = Blocks(count, threads)
    lane = Var("l", blocks.size)
    loops: list[Stmt] = (
        [blocks.lanes(lane, body(blocks.first + var(lane)))] if count > 1 else body(Index())
    )
    return blocks.lowered(kernel, buffers, loops, threads, count * each, text)
