"""Map and rows kernels, in phases where residues make classes of their axes. In: a Kernel. Out: a
Lowered.

    out[i] = sum_k g[(i + p - k) / s] * w[k]  where s divides i + p - k

The input gradient of a strided depthwise convolution is such a sum (codegen/kernels/residues.py has
the classes).
"""

from __future__ import annotations

from ...ir.graph.index import Var, mask_of
from ...ir.graph.op import Op
from ...ir.kernels.kernel import Kernel, Unit, zero_outside
from . import loop_axes
from .kernel_axes import Axes, own_axes
from .residues import classes


def axes_by_class(kernel: Kernel) -> list[Axes]:
    """The axes of each residue class of a kernel around one sum; else, the kernel's own."""
    own = own_axes(kernel)
    total = _only_sum(kernel)
    if total is None:
        return [own]
    inner = total.inner_vars(kernel.outer[total])
    signature = tuple(v.extent for v in inner)
    own.add(signature)
    by = dict(
        zip((*kernel.outer[total], *inner), own.outer_at + own.inner_at[signature], strict=True)
    )
    mask = mask_of(zero_outside(total.node.src[0], [e.substitute(by) for e in total.coordinates()]))
    residues = classes(own.outer, own.inner[signature], mask)
    if any(c.reduced is None for c in residues):
        return [own]
    return [
        Axes(
            c.kept or [Var("o", 1)],
            [c.at[v] for v in own.outer],
            {signature: c.reduced or [Var("r", 1)]},
            {signature: [c.at[v] for v in own.inner[signature]]},
        )
        for c in residues
    ]


def terms_of(classes: list[Axes]) -> int | None:
    """How many terms the one sum of a kernel has, for all results together; None where
    axes_by_class() has found no such sum."""
    counts = [
        loop_axes.extent([*axes.outer, *inner]) for axes in classes for inner in axes.inner.values()
    ]
    return sum(counts) if counts else None


def _only_sum(kernel: Kernel) -> Unit | None:
    """The one reduction of a kernel, if it is a sum and every output has one element for each of
    the outer axes."""
    sums = [u for u in kernel.units if u.node.op is Op.REDUCE]
    if len(sums) != 1 or sums[0].node.arg[0] != "add":
        return None
    written = [u for u in kernel.units if u.node in kernel.outputs and u not in sums]
    return None if any(u.inner_vars(kernel.outer[u]) for u in written) else sums[0]
