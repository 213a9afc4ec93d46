"""A part of a value, written in place -> Loops. In: a Kernel of one PUT. Out: Loops.

for element (lanes):
    result[index, element] = part[element]        all else of the result is there
"""

from __future__ import annotations

from math import prod

from ....ir.graph.graph import Node
from ....ir.kernels.kernel import Kernel
from ...kernels.lowered import Lowered
from ...kernels.single_op import Put
from .grid import flat_phase

THREADS = 256


def lower_put(kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Lowered:
    """Lanes over the part."""
    p = Put.of(kernel, strides)
    return flat_phase(
        kernel, p.buffers, prod(p.row), 1, lambda at: [p.store(at)], ": in place", THREADS
    )
