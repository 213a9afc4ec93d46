"""Who made the first NaN. In: the Graph of a program, its inputs, a kernel that met one. Out: an error that names the op.

The graph of the program is computed anew up to each operation in question, by programs that tell where it went wrong, if it did.
They see what the kernels saw: elementwise arithmetic is the same in any kernel.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import errors
from ..codegen.lowering import LoweredKernel
from ..ir import dtype as dt
from ..ir.graph import Node, cast, node, reshape
from ..ir.kernel import Kernel
from ..ir.op import ELEMENTWISE, SCANS, Op
from ..ir.program import Value
from ..ir.site import is_gradient, provenance
from ..ir.suspects import adds_products, first_wrong, needed_of, suspects
from . import compile, storage
from .settings import AnySettings
from .transition import Lines

Graph = tuple[list[Node], list[Node], list[Value], dict[int, int]]  # what compile.build takes


@dataclass(frozen=True)
class Found:
    """An element that is not finite though its operands are."""

    node: Node
    index: tuple[int, ...]
    value: float
    operands: tuple[float, ...]
    kernel: str


@dataclass(frozen=True)
class Program:
    """Outputs that are computed once each, and the places among them of those asked for."""

    executable: Any
    outputs: list[Node]
    places: list[int]


class Search:
    """Looks for operations that went wrong in runs of one program."""

    def __init__(self, graph: Graph, settings: AnySettings, device: str, infinities: bool) -> None:
        _, self._leaves, self._values, _ = graph
        self._settings, self._device, self.infinities = settings, device, infinities
        self._compiled = compile.build(*graph, settings)
        self._questions: dict[str, tuple[list[Node], Program]] = {}

    def find(self, kernel: int, inputs: Sequence[int]) -> Found | None:
        """The first operation of the kernel that went wrong, or else of any other; None where all infinities were given."""
        kernels = [k for k in self._compiled.lowered.kernels if k.kernel is not None]
        for some in ([kernels[kernel]], kernels):
            for k in some:
                if (found := self._in_kernel(k, inputs)) is not None:
                    return found
        return None

    def _in_kernel(self, k: LoweredKernel, inputs: Sequence[int]) -> Found | None:
        assert k.kernel is not None
        if k.name not in self._questions:
            self._questions[k.name] = self._question(k.kernel)
        nodes, program = self._questions[k.name]
        for n, left in zip(nodes, self._run(program, inputs), strict=True):
            if left:
                return self._found(n, n.size - int(left), k.name, inputs)
        return None

    def _question(self, kernel: Kernel) -> tuple[list[Node], Program]:
        nodes = suspects(kernel.outputs, kernel.inputs)
        with provenance(("", 0)):
            found = [first_wrong(n, self._needed.get(n), self.infinities) for n in nodes]
        return nodes, self._program(found)

    @cached_property
    def roots(self) -> list[Node]:
        """Those of the Graph that fusion saw."""
        return self._compiled.roots_behind("rows as masks")

    @cached_property
    def _needed(self) -> dict[Node, Node | None]:
        with provenance(("", 0)):
            return needed_of(self.roots)

    def _found(self, n: Node, place: int, kernel: str, inputs: Sequence[int]) -> Found:
        operands = [] if n.op in SCANS or n.op in (Op.REDUCE, Op.SCATTER) else list(n.src)
        with provenance(("", 0)):
            elements = [element(x, place) for x in [n, *operands]]
        value, *others = self._run(self._program(elements), inputs)
        index = tuple(int(i) for i in np.unravel_index(place, n.shape))
        return Found(n, index, value, tuple(others), kernel)

    def _program(self, outputs: Sequence[Node]) -> Program:
        distinct = list(dict.fromkeys(outputs))
        executable = compile.build(distinct, self._leaves, self._values, {}, self._settings).executable
        return Program(executable, distinct, [distinct.index(n) for n in outputs])

    def _run(self, program: Program, inputs: Sequence[int]) -> list[float]:
        """The value of each output, which are 0-d."""
        results = [storage.allocate(n.dtype, n.shape, self._device) for n in program.outputs]
        program.executable.run(inputs, [s.address for s in results])
        return [results[k].peek().item() for k in program.places]


def element(n: Node, place: int) -> Node:
    """The element of a value at this place in row-major order, as a 0-d float64."""
    flat = node(Op.SLICE, (reshape(n, (n.size,)),), ((place, place + 1, 1),))
    return cast(reshape(flat, ()), dt.float64)


# ---------------------------------------------------------------- what the user reads

SUMS = {"add": "sum", "mul": "prod"}


def error_of(found: Found, lines: Lines) -> errors.FloatingPointError:
    """The error, at the line where the operation was built this time."""
    n = found.node
    site = lines.get(n.site, n.site)
    file, line = site[:2] if site else (None, None)
    gradient = is_gradient(site)
    of = f"({', '.join(f'{v:.9g}' for v in found.operands)})" if found.operands else ""
    text = f"{named(n)}{of} gives {found.value:g}, at index {found.index} of a {n.dtype.name}{list(n.shape)}"
    if file is not None and line is not None:
        code = linecache.getline(file, line).strip()
        text += f"\n    in {'the gradient of ' if gradient else ''}{file}:{line}" + (f":  {code}" if code else "")
    text += f"\n    in kernel {found.kernel}"
    place = {"file": file, "line": line, "gradient": gradient, "shape": n.shape, "dtype": n.dtype, "index": found.index}
    return errors.FloatingPointError(
        text, op=named(n), **place, value=found.value, operands=found.operands, kernel=found.kernel
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
    return n.op.value
