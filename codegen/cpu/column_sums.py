"""Kernels of rows with sums over the rows: partial sums of each chunk, then phases that add them.
In: a Kernel. Out: a Lowered.

    before    y = f(x) by rows; w - rate * sum over all rows of g * y
    after     phase 0    for chunk: for row: y; sums[c] += g * y    parts[chunk][c] = sums[c]
              phase 1    for chunk of columns: w - rate * sum of parts[.][c]

The number of parts is fixed by the shape; the last phases are kernels of their own that sum the
parts (schedule "columns").
"""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.kernels.kernel import Kernel
from ..kernels.column_sums import last_phases, row_part
from ..kernels.kernel_axes import own_axes, place_values
from ..kernels.lowered import Lowered
from ..kernels.phases import in_turn
from ..llvm.target import Target
from .chunks import Tuning
from .rows import RowLowering
from .rows_and_maps import ROWS_AND_MAPS


def lower_column_sums(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a kernel of rows whose `columns` are sums over them and maps of the sums."""
    places = place_values(kernel, strides)
    by_rows = row_part(kernel)
    rows, parts = RowLowering(by_rows, places, target, tuning, own_axes(by_rows)).rows_with_sums()
    last = [
        RowLowering(k, p, target, tuning, own_axes(k))
        for k, p in last_phases(kernel, parts, places)
    ]
    return in_turn([rows, *(tuning.choose(ROWS_AND_MAPS, f) for f in last)])
