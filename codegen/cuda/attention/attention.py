"""Chain -> Loops for a GPU: scores and weights of a block of columns stay in shared memory. In: a
chain Kernel. Out: Loops."""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.graph import Node
from ....ir.kernels.chain import transposed_chain
from ....ir.kernels.kernel import Kernel
from ...kernels.chain import ChainProblem, StagePlan
from ...kernels.lowered import Lowered
from ...kernels.phases import in_turn
from ..schedules.grid import Blocks
from ..target import CudaTarget
from .block import RowBlock
from .panels import Panels
from .sizes import choose


def lower_chain(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget
) -> Lowered:
    """Loops of a chain of contractions whose columns come in blocks; where results sum over the
    rows, rows are its columns."""
    assert kernel.chain is not None
    p = ChainProblem(replace(kernel, chain=transposed_chain(kernel.chain)), strides, target)
    plan, panels = StagePlan(p), Panels(p, target)
    task = RowBlock(p, plan, panels, choose(p, panels, target))
    blocks = Blocks(task.count, 1)
    body = task.body(blocks.first)
    buffers = (*p.buffers, *(c.flags.buf for c in task.checks))
    rows = blocks.lowered(kernel, buffers, body, task.threads, task.operations, task.describe())
    checks = [c.lowered(kernel, buffers) for c in task.checks]
    text = "; after ".join([rows.schedule, *(c.schedule for c in checks)])
    return replace(in_turn([*checks, rows]), schedule=text)
