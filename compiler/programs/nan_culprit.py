"""Search for the operation that made the first NaN. In: the Graph of a program, its inputs, a
kernel that met a NaN. Out: an error that names the op.

The graph of the program is computed anew up to each operation in question, by programs that find
where it went wrong, if it did. They see what the kernels saw: elementwise arithmetic is the same in
any kernel.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ... import errors
from ...codegen.kernels.lower_program import LoweredKernel
from ...ir.analysis.suspects import (
    adds_products,
    any_bad,
    needed_of,
    place_wrong,
    suspects,
    which_wrong,
)
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, cast, leaf, node, reshape, toposort
from ...ir.graph.index import row_major_strides
from ...ir.graph.op import ELEMENTWISE, SCANS, Op
from ...ir.graph.site import NOWHERE, Lines, Site, is_gradient, located, provenance
from ...ir.program.program import ValueLayout
from ...runtime.memory import storage
from .. import compile
from ..backends.backend import Backend

Graph = tuple[list[Node], list[Node], list[ValueLayout], dict[int, int]]  # what compile.build takes


@dataclass(frozen=True)
class Located:
    """An element that is not finite though its operands are; its index only where the result is one
    of the user's Graph."""

    node: Node
    index: tuple[int, ...] | None
    value: float
    operands: tuple[float, ...]
    kernel: str


@dataclass(frozen=True)
class NotLocated:
    """The kernel that met an element which is not finite, the lines it may be of, and why there is
    no more to say."""

    kernel: str
    sites: tuple[Site, ...]
    why: str


NO_MEMORY = "memory does not suffice to find the line that made it"
INSIDE_KERNEL = (
    "computed apart, each result is finite, but not what the kernel makes on its way to them"
)


@dataclass(frozen=True)
class Question:
    """Outputs that are computed once each, and the places among them of those asked for."""

    executable: Any
    outputs: list[Node]
    places: list[int]


class Search:
    """Looks for operations that went wrong in runs of one program."""

    def __init__(self, graph: Graph, backend: Backend, infinities: bool) -> None:
        self._outputs, self._leaves, self._values, _ = graph
        self._backend, self.infinities = backend, infinities
        self._compiled = compile.build(*graph, backend)
        self._questions: dict[str, tuple[list[Node], Question]] = {}
        self._results = {(n.site, n.shape) for n in toposort(graph[0])}

    def find(
        self, kernel: int, inputs: Sequence[int], iterations: Sequence[int] = ()
    ) -> Located | NotLocated | None:
        """The first operation of the kernel that went wrong, or else of any other; None where all
        infinities were given. Of one in a loop, the iterations."""
        kernels = self._watched
        if kernels[kernel].inside:
            where = "".join(f", in iteration {i}" for i in iterations)
            return self._not_located(kernels[kernel], f"it is part of a loop{where}")
        for k in (kernels[kernel], *(k for k in kernels if not k.inside)):
            try:
                culprit = self._in_kernel(k, inputs)
            except errors.MemoryError:
                return self._not_located(k, NO_MEMORY)
            if culprit is not None:
                return culprit
        return None

    def made_apart(
        self, kernel: int, inputs: Sequence[int], outputs: Sequence[int]
    ) -> NotLocated | None:
        """The kernel, where all that was given is finite, outputs are not, and no operation is to
        blame: its own steps are."""
        if any(
            n.op is Op.BITCAST or (n.op is Op.CONST and any_bad(n, (), self.infinities))
            for n in toposort(self._outputs)
        ):
            return None  # infinities may come of these
        bad_given, bad_made = self._ends
        if any(self._run(bad_given, inputs)) or not any(self._run(bad_made, outputs)):
            return None
        return self._not_located(
            self._watched[kernel],
            INSIDE_KERNEL,
        )

    @property
    def _watched(self) -> list[LoweredKernel]:
        """The kernels whose values are checked."""
        kernels = self._compiled.lowered.kernels
        return [k for k in kernels if k.kernel is not None and not k.is_routine]

    @cached_property
    def _ends(self) -> tuple[Question, Question]:
        """Programs that say of inputs, and of outputs, whether they are not finite."""
        made = [leaf(object(), n.dtype, n.shape) for n in self._outputs]
        dense = [ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in made]
        return self._nonfinite_of(self._leaves, self._values), self._nonfinite_of(made, dense)

    def _nonfinite_of(self, leaves: list[Node], values: list[ValueLayout]) -> Question:
        with provenance(NOWHERE):
            bad = [any_bad(n, range(n.ndim), self.infinities) for n in leaves if n.size]
        return self._program([n for n in bad if n is not None], leaves, values)

    def _not_located(self, k: LoweredKernel, why: str) -> NotLocated:
        return NotLocated(
            k.name, tuple(dict.fromkeys(n.site for n in self._suspects(k) if n.site)), why
        )

    def _suspects(self, k: LoweredKernel) -> list[Node]:
        assert k.kernel is not None
        return suspects(k.kernel.outputs, k.kernel.inputs)

    def _in_kernel(self, k: LoweredKernel, inputs: Sequence[int]) -> Located | NotLocated | None:
        if k.name not in self._questions:
            suspected = self._suspects(k)
            with provenance(NOWHERE):
                self._questions[k.name] = (
                    suspected,
                    self._program(which_wrong(suspected, self._needed, self.infinities)),
                )
        nodes, program = self._questions[k.name]
        left = max(self._run(program, inputs), default=0)
        return self._located(nodes[len(nodes) - int(left)], k.name, inputs) if left else None

    @cached_property
    def roots(self) -> list[Node]:
        """Those of the Graph that fusion saw."""
        return self._compiled.fused_graph

    @cached_property
    def _needed(self) -> dict[Node, Node | None]:
        with provenance(NOWHERE):
            return needed_of(self.roots)

    def _located(self, n: Node, kernel: str, inputs: Sequence[int]) -> Located | NotLocated:
        operands = [] if n.op in SCANS or n.op in (Op.REDUCE, Op.SCATTER) else list(n.src)
        with provenance(NOWHERE):
            (left,) = self._run(
                self._program([place_wrong(n, self._needed.get(n), self.infinities)]), inputs
            )
            if not left:
                return NotLocated(kernel, (n.site,) if n.site else (), INSIDE_KERNEL)
            place = n.size - int(left)
            elements = [element(x, place) for x in [n, *operands]]
        value, *others = self._run(self._program(elements), inputs)
        index = tuple(int(i) for i in np.unravel_index(place, n.shape))
        return Located(
            n, index if (n.site, n.shape) in self._results else None, value, tuple(others), kernel
        )

    def _program(
        self,
        outputs: Sequence[Node],
        leaves: list[Node] | None = None,
        values: list[ValueLayout] | None = None,
    ) -> Question:
        """Of the graph's leaves, or of others."""
        distinct, given = (
            list(dict.fromkeys(outputs)),
            (leaves or self._leaves, values or self._values),
        )
        executable = (
            compile.build(distinct, *given, {}, self._backend).executable if distinct else None
        )
        return Question(executable, distinct, [distinct.index(n) for n in outputs])

    def _run(self, program: Question, inputs: Sequence[int]) -> list[float]:
        """The value of each output, which are 0-d."""
        if not program.outputs:
            return []
        results = [
            storage.allocate(n.dtype, n.shape, self._backend.device) for n in program.outputs
        ]
        program.executable.run(inputs, [s.address for s in results])
        return [results[k].peek().item() for k in program.places]


def element(n: Node, place: int) -> Node:
    """The element of a value at this place in row-major order, as a 0-d float64."""
    flat = node(Op.SLICE, (reshape(n, (n.size,)),), ((place, place + 1, 1),))
    return cast(reshape(flat, ()), dt.float64)


# ---------------------------------------------------------------- what the user reads

SUMS = {"add": "sum", "mul": "prod"}
FIELDS = (
    "op",
    "file",
    "line",
    "gradient",
    "shape",
    "dtype",
    "index",
    "value",
    "operands",
    "kernel",
)


def error_of(culprit: Located | NotLocated, lines: Lines) -> errors.FloatingPointError:
    """The error, at the line where the operation was built this time."""
    if isinstance(culprit, NotLocated):
        where = "".join(f"\n    {_shown(lines.get(site, site))}" for site in culprit.sites)
        text = f"kernel {culprit.kernel} met a value that is not finite; {culprit.why}:{where}"
        return errors.FloatingPointError(
            text, **(dict.fromkeys(FIELDS) | {"kernel": culprit.kernel})
        )
    n = culprit.node
    site = lines.get(n.site, n.site)
    file, line = site[:2] if site else (None, None)
    of = f"({', '.join(f'{v:.9g}' for v in culprit.operands)})" if culprit.operands else ""
    at = (
        f", at index {culprit.index} of a {n.dtype.name}{list(n.shape)}"
        if culprit.index is not None
        else ""
    )
    text = (
        f"{named(n)}{of} gives {culprit.value:g}{at}\n    {_shown(site)}\n    in kernel"
        f" {culprit.kernel}"
    )
    of_node = named(n), file, line, is_gradient(site), n.shape, n.dtype
    values = *of_node, culprit.index, culprit.value, culprit.operands, culprit.kernel
    return errors.FloatingPointError(text, **dict(zip(FIELDS, values, strict=True)))


def _shown(site: Site | None) -> str:
    """Where an operation stands, and what is written there."""
    if site is None:
        return "in a line that is not known"
    code = linecache.getline(*site[:2]).strip()
    return f"in {'the gradient of ' if is_gradient(site) else ''}{located(site)}" + (
        f":  {code}" if code else ""
    )


def named(n: Node) -> str:
    """An operation as users know it."""
    match n.op:
        case Op.REDUCE:
            return "sum of products" if adds_products(n) else SUMS[n.arg[0]]
        case Op.SCAN | Op.SCANMUL:
            return f"cum{SUMS[SCANS[n.op]]}"
        case Op.CAST if n.dtype.is_half and n.src[0].op in ELEMENTWISE and n.src[0].site == n.site:
            return f"{n.src[0].op.value} rounded to {n.dtype.name}"
        case Op.CAST:
            return f"cast to {n.dtype.name}"
        case Op.SCATTER:
            return "scatter_add"
    return n.op.value  # type: ignore[no-any-return]
