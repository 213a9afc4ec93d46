"""Canonical form of a kernel. In: a Kernel, the strides of its leaves. Out: a key, equal for
kernels that have the same loops.

Repeated layers give equal kernels over other Nodes. What lowering can see of a Kernel is numbered
here in a fixed order: its Nodes from the inputs up, and its variables as they were made, which is
the order of terms in an Index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set

from ...ir.graph.graph import Node, const_key
from ...ir.graph.index import Var, row_major_strides
from ...ir.graph.op import VIEWS, Op
from ...ir.kernels.kernel import Chain, Kernel, Unit

# below an input, where padding may make it 0: kernel.zero_outside
SEEN_THROUGH = frozenset({*VIEWS, Op.DETACH, Op.MUL})


def canonical(
    kernel: Kernel, strides: Mapping[Node, tuple[int, ...]], streamed: Set[Node]
) -> Hashable:
    """All that the loops of a kernel follow from, for one target; the user's lines are part of it,
    as printed loops show them."""
    nodes = _Nodes(kernel.inputs, strides)
    nodes.add([u.node for u in kernel.units], lambda n: n not in nodes.inputs)
    products = [(i, n) for i, n in enumerate(kernel.inputs) if n.op is Op.MUL]
    nodes.add([s for _, n in products for s in n.src], lambda n: n.op in SEEN_THROUGH)
    number, units = nodes.numbers, {u: i for i, u in enumerate(kernel.units)}
    of_var = _ranks(kernel)
    axes = [
        tuple([tuple([(of_var[v], v.extent, v.name) for v in sub]) for sub in u.axes])
        for u in kernel.units
    ]
    return (
        (kernel.kind, kernel.extents, tuple(nodes.entries)),
        tuple([(i, n.arg, *(number[s] for s in n.src)) for i, n in products]),
        tuple([(number[u.node], of_unit) for u, of_unit in zip(kernel.units, axes, strict=True)]),
        tuple([(units[u], tuple([of_var[v] for v in outer])) for u, outer in kernel.outer.items()]),
        tuple([(units[u], tuple([of_var[v] for v in left])) for u, left in kernel.columns.items()]),
        tuple([(number[n], n in streamed) for n in kernel.outputs]),
        None if kernel.anchor is None else units[kernel.anchor],
        None if kernel.chain is None else _chain(kernel.chain, units, of_var),
    )


class _Nodes:
    """Nodes in a postorder: `numbers` of them, and an entry each."""

    def __init__(self, inputs: Iterable[Node], strides: Mapping[Node, tuple[int, ...]]) -> None:
        self.inputs = {n: i for i, n in enumerate(inputs)}
        self.numbers: dict[Node, int] = {}
        self.entries: list[Hashable] = []
        self._strides = strides
        self.add(self.inputs, lambda n: False)

    def add(self, roots: Iterable[Node], is_open: Callable[[Node], bool]) -> None:
        """Those below the roots, down to what is not open."""
        stack = [*roots][::-1]
        while stack:
            n = stack[-1]
            missing = (
                [s for s in n.src if s not in self.numbers]
                if n not in self.numbers and is_open(n)
                else []
            )
            if missing:
                stack += missing[::-1]
                continue
            stack.pop()
            if n not in self.numbers:
                self.numbers[n] = len(self.numbers)
                self.entries.append(
                    self._entry(n, tuple([self.numbers[s] for s in n.src]) if is_open(n) else None)
                )

    def _entry(self, n: Node, src: tuple[int, ...] | None) -> Hashable:
        if n in self.inputs:
            return (
                n.dtype,
                n.shape,
                n.site,
                self.inputs[n],
                self._strides.get(n) or row_major_strides(n.shape),
            )
        arg = const_key(n.arg, n.dtype) if n.op is Op.CONST else n.arg
        return n.dtype, n.shape, n.site, n.op, None if src is None else (arg, src)


def _ranks(kernel: Kernel) -> dict[Var, int]:
    """The variables of a kernel by age."""
    variables = {v for u in kernel.units for sub in u.axes for v in sub}
    if (c := kernel.chain) is not None:
        variables |= c.space | {
            v for labels in c.labels.values() for pair in labels.items() for v in pair
        }
    return {v: i for i, v in enumerate(sorted(variables, key=lambda v: v.serial))}


def _chain(c: Chain, units: Mapping[Unit, int], of_var: Mapping[Var, int]) -> Hashable:
    space = [
        tuple([(of_var[v], v.extent, v.name) for v in group])
        for group in (c.batch, c.rows, c.columns)
    ]
    members = [tuple([units[u] for u in group]) for group in (c.scores, c.inner, c.results)]
    labels = [
        (units[u], tuple([(of_var[a], of_var[b]) for a, b in pairs.items()]))
        for u, pairs in c.labels.items()
    ]
    return (
        *space,
        *members,
        tuple(labels),
        tuple([(units[a], units[b]) for a, b in c.owner.items()]),
    )
