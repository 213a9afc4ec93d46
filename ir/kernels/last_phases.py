"""Last phases of a kernel of rows: they add partial sums and map the sums. In: a Kernel with
`columns`. Out: Kernels.

    before    y by rows; sum of g * y over all rows; w - rate * sum
    after     w - rate * sum over i of parts[i], where parts[i] is the sum of g * y over the rows of
              chunk i

How many parts a sum has is for a schedule to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..graph.graph import Node, leaf, node, reduce, reshape
from ..graph.op import Op
from ..graph.rewrite import substituted
from ..symbolic.integer import Symbolic
from .kernel import Kernel, Unit
from .units import Units, refine


@dataclass
class LastPhases:
    """A kernel for each shape of sums, the INPUT that holds the parts of each sum, and what outputs
    are in the whole kernel."""

    kernels: list[Kernel]
    parts: dict[Node, Node]
    outputs: dict[Node, Node]


def last_phases_of(kernel: Kernel, counts: Mapping[Node, int]) -> LastPhases:
    """The last phases over so many parts of each sum."""
    parts = {
        n: leaf(("parts", i), n.dtype, (count, *n.shape))
        for i, (n, count) in enumerate(counts.items())
    }
    after = list(dict.fromkeys(u.node for u in kernel.units if u in kernel.columns))
    new = {n: n for n in kernel.inputs} | {n: _total(n, p) for n, p in parts.items()}
    now = dict(zip(after, substituted(after, new), strict=True))
    outputs = {now[n]: n for n in kernel.outputs if n in after}
    units = [Unit(now[n], i) for i, n in enumerate(after)]
    refine(Units(units, {u.node: u for u in units}, set(), set(outputs)))
    by_shape: dict[tuple[int, ...], list[Unit]] = {}
    for u in units:
        by_shape.setdefault(tuple(v.extent for v in u.kept_vars()), []).append(u)
    inputs = [*parts.values(), *kernel.inputs]
    kernels = []
    for extents, own in by_shape.items():
        members = {u.node for u in own}
        stored = [n for n in outputs if n in members]
        kernels.append(
            Kernel(
                kernel.name, "rows", own, {u: u.kept_vars() for u in own}, extents, stored, inputs
            )
        )
    return LastPhases(kernels, parts, outputs)


def _total(n: Node, parts: Node) -> Node:
    """A sum out of its parts: of one part, or of any number of them, it has the bits of that."""
    if not isinstance(parts.shape[0], Symbolic) and parts.shape[0] == 1:
        return node(Op.KEEP, (reshape(parts, n.shape),))
    return reduce(n.arg[0], parts, (0,))
