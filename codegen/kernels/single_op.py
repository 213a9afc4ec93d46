"""A kernel of one unit with loops of its own: a scan, scatter or sort. In: a Kernel. Out: where operands and result are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ...ir.graph.graph import Node
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import Buf
from ...ir.passes.rows_as_masks import counted_axis
from .evaluate import Evaluator, Place
from .framing import place_values


@dataclass
class Alone:
    """What the schedules of such a kernel share; each op adds its own axes and extents."""

    kernel: Kernel
    evaluator: Evaluator
    out: Place
    buffers: tuple[Buf, ...]

    @classmethod
    def of(cls, kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Self:
        """In the places of the kernel's arguments."""
        inputs, outputs, buffers = place_values(kernel, strides)
        return cls(kernel, Evaluator(inputs, lambda m, index: None), outputs[kernel.units[0].node], buffers)

    @property
    def node(self) -> Node:
        return self.kernel.units[0].node


def owner_of(n: Node) -> tuple[int, int | None]:
    """(the axis whose destinations chunks share out, the axis of the indices that counts along it if there is one)."""
    axes, shape = n.arg[:2]
    found = [(shape[a], a, counted_axis(i)) for a, i in zip(axes, n.src[1:], strict=True)]
    fits = [(extent, a, d) for extent, a, d in found if d is not None and n.src[1].shape[d] == extent]
    return max(fits, key=lambda f: f[0])[1:] if fits else (axes[0], None)
