"""Elements and rows shared out among the blocks of a grid. In: how many there are. Out: indices, phases."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.index import Index, Var, var
from ...ir.kernel import Kernel
from ...ir.loop import GRID, LANES, Buf, For, Loops, Param, Stmt
from ..lower import Lowered
from .target import WARP

LEAST_GRID = 256  # blocks that every grid variable allows for, so that sizes below share the text of a kernel


def threads_for(lanes: int, most: int) -> int:
    """Threads of a block for so many lanes: whole warps."""
    return min(most, -(-lanes // WARP) * WARP)


class Blocks:
    """`count` things, `size` to a block; their numbers are arguments, so that another batch size is the same kernel."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.number = -(-count // size)
        self.grid = Var("g", max(LEAST_GRID, 1 << (self.number - 1).bit_length()))
        self.first = var(self.grid) * size
        self.total = Param("count")
        self.params = (Param("blocks"), self.total)
        self.values = (self.number, count)

    def phase(self, body: list[Stmt]) -> For:
        return For(self.grid, self.params[0], GRID, body)

    def lanes(self, lane: Var, body: list[Stmt], unroll: int = 1) -> For:
        """Lanes over the things of a block."""
        total = None if self.size == 1 else self.total
        return For(lane, lane.extent, LANES, body, unroll, self.first, total)

    def lowered(self, kernel: Kernel, buffers: tuple[Buf, ...], body: list[Stmt], threads: int, work: int, text: str) -> Lowered:
        """A kernel of one phase."""
        loops = Loops(kernel.name, buffers, self.params, [self.phase(body)], threads=(threads,))
        return Lowered(loops, self.values, [work], text)


def flat_phase(
    kernel: Kernel,
    buffers: tuple[Buf, ...],
    count: int,
    each: int,
    body: Callable[[Index], list[Stmt]],
    text: str,
    threads: int,
    vector: int = 1,
    vectors: int = 1,
) -> Lowered:
    """Lanes over `count` things, of `each` operations; a thread takes `vector` neighbours at a time, `vectors` times."""
    per_thread = vector * vectors
    threads = threads_for(-(-count // per_thread), threads)
    blocks = Blocks(count, threads * per_thread)
    lane = Var("l", blocks.size)
    loop = blocks.lanes(lane, body(blocks.first + var(lane)), vector)
    described = f"{text}, {blocks.number} blocks of {threads} threads"
    return blocks.lowered(kernel, buffers, [loop], threads, count * each, described)
