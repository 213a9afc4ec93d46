"""Fourier transforms -> Loops: a lane a line, in private memory. In: a Kernel of one FFT and maps
before it. Out: Loops.

one chunk: lanes over the table of factors
for chunk: lanes over lines: stages of butterflies
"""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.graph.index import Var, unravel, var
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import GRID, LANES, For, Loops
from ...wording import plural
from ..kernels import loop_axes
from ..kernels.fourier import Fourier
from ..kernels.lowered import Lowered
from ..llvm.target import Target
from .chunks import Chunks, Tuning

MANY = 64  # groups of lines that keep every thread busy
FACTOR_WORK = 30  # operations for one factor of the table


def lower_fourier(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of an FFT; the schedule depends on the shape alone."""
    f = Fourier.of(kernel, strides)
    width = _width(f, target)
    blocks = -(-f.lanes // width)
    chunk = Chunks(f.groups * blocks, float(f.work * width), tuning.min_chunks)
    group, block = unravel(chunk.position, (f.groups, blocks))
    lane, first = Var("l", width), block * width
    base, total = loop_axes.cut(first, f.lanes, width)
    body = f.body((group, first + var(lane)), lane)
    phase = chunk.phase([For(lane, width, LANES, body, base=base, total=total)])
    m = Var("m", f.n)
    table = For(Var("t", 1), 1, GRID, [For(m, f.n, LANES, f.fill(var(m)))])
    lines = f.groups * f.lanes
    text = f": {plural(lines, 'line')} of {f.n}, a lane a line, {chunk.describe()}"
    loops = Loops(kernel.name, (*f.buffers, f.table), chunk.params, [table, phase])
    return Lowered(loops, chunk.values, [f.n * FACTOR_WORK, lines * f.work], text)


def _width(f: Fourier, target: Target) -> int:
    """Lanes of a row: one vector where vectors divide the lines, else all where there are others
    for threads."""
    w = target.lanes_of([f.node.dtype])
    whole = f.lanes % w and f.groups >= MANY
    return f.lanes if whole else min(w, f.lanes)
