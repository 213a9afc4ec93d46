"""Kernels of rows with sums over the rows. In: a Kernel. Out: one of column sums seen along its
rows; the part by rows; the last phases and their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.graph.op import Op
from ...ir.kernels.align import Form
from ...ir.kernels.column_sums import refuse_columns, summed_vars, sums_columns, turned
from ...ir.kernels.kernel import Kernel
from ...ir.kernels.last_phases import last_phases_of
from ...ir.loops.loop import Buf
from .evaluate import Place
from .kernel_axes import Places


def by_rows(kernel: Kernel, is_worth: Callable[[int, int], bool]) -> Kernel:
    """A kernel that sums over rows alone as one of rows whose `columns` are these sums, if that is
    worth it for so many rows and columns and can be: blocks of columns would be too few tasks."""
    first = next((u for u in kernel.units if u.node.op is Op.REDUCE), None)
    if first is None or kernel.kind != "rows" or kernel.columns:
        return kernel
    if not sums_columns(first, kernel.outer.get(first)):
        return kernel
    if not is_worth(prod(v.extent for v in summed_vars(first)), first.node.size):
        return kernel
    form = turned(Form({u: kernel.outer.get(u) for u in kernel.units}))
    if form is None or refuse_columns(form) is not None:
        return kernel
    outer = {u: axes for u, axes in form.outer.items() if axes is not None}
    return replace(kernel, outer=outer, extents=form.extents, columns=form.columns)


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
