"""Systems of linear equations -> Loops: a thread a system. In: a Kernel of one SOLVE or CHOLESKY.
Out: Loops.

for block: lanes over systems: load; eliminate; substitute; store; check

Matrices of a few rows are in registers. Others are in memory of the kernel, element by element for
all systems, so that neighbouring threads touch neighbouring addresses.
"""

from __future__ import annotations

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, var
from ....ir.kernels.kernel import Kernel
from ....ir.loops.loop import GLOBAL, Buf, Loops
from ....wording import plural
from ...kernels.elimination import UNROLLED_ROWS, Array, Memory, registers
from ...kernels.lowered import Lowered
from ...kernels.systems import SITE, Systems
from .grid import Blocks, threads_for

THREADS = 64  # of a block: many blocks where there are a few thousand systems


def lower_systems(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Lowered:
    """Loops of a SOLVE or CHOLESKY."""
    s = Systems.of(kernel, strides)
    blocks = Blocks(s.count, threads_for(s.count, THREADS))
    lane = Var("l", blocks.size)
    system = blocks.first + var(lane) if s.count > 1 else Index()
    spare: list[Buf] = []
    body = s.body(system, registers if s.n <= UNROLLED_ROWS else _in_memory(s, system, spare))
    if s.count > 1:
        body = [blocks.lanes(lane, body)]
    loops = Loops(
        kernel.name,
        (*s.buffers, *spare),
        (*blocks.params, SITE),
        [blocks.phase(body)],
        threads=(blocks.size,),
    )
    text = f": {plural(s.count, 'system')} of {s.n} unknowns, a thread a system"
    return Lowered(loops, blocks.values, [s.count * s.work], text)


def _in_memory(s: Systems, system: Index, spare: list[Buf]) -> Memory:
    """Adds what it gives to the kernel's own memory."""

    def memory(name: str, dtype: DType, rows: int, columns: int) -> Array:
        spare.append(Buf(name, dtype, s.count * rows * columns, GLOBAL))
        return Array(spare[-1], columns, lambda i: i * s.count + system)

    return memory
