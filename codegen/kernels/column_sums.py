"""Kernels of rows with sums over the rows, taken apart. In: a Kernel. Out: its part by rows; its
last phases and their places."""

from __future__ import annotations

from dataclasses import replace

from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.kernels.kernel import Kernel
from ...ir.kernels.last_phases import last_phases_of
from ...ir.loops.loop import Buf
from .evaluate import Place
from .kernel_axes import Places


def row_part(kernel: Kernel) -> Kernel:
    """The kernel without the maps of column sums."""
    units = [u for u in kernel.units if u in kernel.outer]
    members = {u.node for u in units if u not in kernel.columns}
    return replace(kernel, units=units, outputs=[n for n in kernel.outputs if n in members])


def last_phases(
    kernel: Kernel, parts: dict[Node, Buf], places: Places
) -> list[tuple[Kernel, Places]]:
    """Kernels that sum the parts and map the sums, one for each shape, with their places."""
    inputs, outputs, buffers = places
    last = last_phases_of(kernel, {n: buf.size // n.size for n, buf in parts.items()})
    inputs = inputs | {
        p: Place(parts[n], row_major_strides(p.shape)) for n, p in last.parts.items()
    }
    return [
        (k, (inputs, {n: outputs[last.outputs[n]] for n in k.outputs}, buffers))
        for k in last.kernels
    ]
