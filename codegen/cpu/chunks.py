"""Chunks of rows that threads share. In: how many rows there are, the work of one. Out: a grid
loop, Loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...ir.graph.index import Var, var
from ...ir.kernels.kernel import Kernel, work
from ...ir.loops.loop import GRID, SERIAL, Buf, For, Loops, Param, Stmt
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import value_of
from ...wording import plural
from ..kernels import loop_axes
from ..kernels.lowered import Lowered
from ..kernels.schedule import P, Schedule, choose, force
from ..llvm.target import Target

MANY = 1 << 40  # chunks, more than there are of any size

# picks among kernels that give the same bits
Fastest = Callable[[Sequence[Lowered], Target], Lowered]


@dataclass
class Tuning:
    """At least this many chunks, which tests may force; why the kernel is not tiny; what times
    candidates, if anything; a way of a schedule, by name and number, to take where there is it."""

    min_chunks: int
    why_lanes: str  # "" for a tiny kernel
    fastest: Fastest | None = None
    strict: bool = False  # reductions take one term after the other, in the order of their axes
    forced: tuple[str, int] | None = None

    @property
    def tiny(self) -> bool:
        """Whether compiling fast code would never pay."""
        return not self.why_lanes

    def choose(
        self, schedules: Sequence[Schedule[P]], *args: P.args, **kwargs: P.kwargs
    ) -> Lowered:
        """A problem in the best of these schedules, or in the forced one."""
        if self.forced:
            return force(self.forced, schedules, *args, **kwargs)
        return choose(schedules, *args, **kwargs)


class Chunks:
    """Rows handed out in chunks: `position` is the row in terms of the chunk and row variables, its
    number an argument."""

    def __init__(
        self,
        rows: int,
        row_work: float,
        minimum: int,
        multiple: int = 1,
        most: int = loop_axes.MAX_CHUNKS,
    ) -> None:
        count, size = loop_axes.chunks(rows, row_work, minimum, most)
        if size % multiple and size > multiple:
            size = -(-size // multiple) * multiple
            count = -(-rows // size)
        self.count, self.size, self.rows, self.row_work = count, size, rows, row_work
        # the bound of g does not tell how many chunks there are: other numbers of rows give the
        # same kernel
        most_chunks = MANY if isinstance(count, Symbolic) else max(count, loop_axes.MAX_CHUNKS)
        self.grid, self.row = Var("g", most_chunks), Var("row", size)
        self.first = var(self.grid) * size
        self.step = self.row if size > 1 else self.grid  # the variable of the next row
        self.position = self.first + var(self.row) if size > 1 else self.first
        self.total = Param("rows")
        self.params = (Param("chunks"), self.total)
        self.values = (count, rows)

    def phase(self, body: list[Stmt], wrap: bool = True) -> For:
        return For(self.grid, self.params[0], GRID, self.each(body) if wrap else body)

    def each(self, body: list[Stmt]) -> list[Stmt]:
        """The body for every row of a chunk."""
        return (
            [For(self.row, self.size, SERIAL, body, base=self.first, total=self.total)]
            if self.size > 1
            else body
        )

    def describe(self) -> str:
        return f"{plural(value_of(self.count), 'chunk')} of {self.size}"

    def lowered(
        self,
        kernel: Kernel,
        buffers: tuple[Buf, ...],
        body: list[Stmt],
        text: str,
        given: Mapping[Param, int] | None = None,
    ) -> Lowered:
        """A kernel that does the body for every row, and nothing else; `given` are the params of
        the body, with their values."""
        given = given or {}
        loops = Loops(kernel.name, buffers, (*self.params, *given), [self.phase(body)])
        return Lowered(
            loops, (*self.values, *given.values()), [int(self.rows * self.row_work)], text
        )


def one_chunk(
    kernel: Kernel,
    buffers: tuple[Buf, ...],
    body: list[Stmt],
    params: tuple[Param, ...],
    values: tuple[int, ...],
) -> Lowered:
    """A tiny kernel: all of it in one chunk."""
    phase = For(Var("g", 1), 1, GRID, body)
    loops = Loops(kernel.name, buffers, params, [phase])
    return Lowered(loops, values, [work(u.node for u in kernel.units)], ": one lane, one chunk")
