"""Systems of linear equations -> Loops: a lane a system, in private memory. In: a Kernel of one
SOLVE or CHOLESKY. Out: Loops.

for chunk: lanes over systems: load; eliminate; substitute; store; check
"""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var, var
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import LANES, For, Loops
from ...wording import plural
from ..kernels import loop_axes
from ..kernels.elimination import registers
from ..kernels.lowered import Lowered
from ..kernels.systems import SITE, Systems
from ..llvm.target import Target
from .chunks import Chunks, Tuning

# of a chunk: fewer would be straight-line code of all at once, whose matrices fit in no cache
VECTORS = 8


def lower_systems(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a SOLVE or CHOLESKY; the schedule depends on the shape alone."""
    s = Systems.of(kernel, strides)
    w = target.lanes_of([s.node.dtype])
    row_work = min(float(s.work), loop_axes.CHUNK_WORK / (VECTORS * w))
    chunk = Chunks(s.count, row_work, tuning.min_chunks, multiple=w)
    lane = Var("l", chunk.size)
    if s.count > 1:
        body = s.body(chunk.first + var(lane), registers)
        lanes = For(lane, chunk.size, LANES, body, base=chunk.first, total=chunk.total)
        phase = chunk.phase([lanes], wrap=False)
    else:
        phase = chunk.phase(s.body(Index(), registers))
    text = f": {plural(s.count, 'system')} of {s.n} unknowns, a lane a system, {chunk.describe()}"
    loops = Loops(kernel.name, s.buffers, (*chunk.params, SITE), [phase])
    return Lowered(loops, chunk.values, [s.count * s.work], text)
