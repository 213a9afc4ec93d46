"""A kernel as a program of its own. In: a Lowered kernel, its layouts. Out: runs of it, timed.

It reads zeros and writes memory of its own, with as many threads as in its program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.kernels.lower_program import Strides
from ...codegen.kernels.lowered import Lowered
from ...compiler.backends.cpu import CpuBackend
from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.graph.site import NOWHERE, provenance
from ...ir.kernels.kernel import Kernel
from ...ir.program.plan import Planner, plan
from ...ir.program.program import ValueLayout
from ...ir.program.step import KernelStep
from ...runtime.buffer import Buffer
from ...runtime.threads import pool
from ...runtime.ticks import address, seconds_of_runs

ROUNDS = 5
SECONDS = 0.02  # of a candidate in a round, at least


class Memory:
    """What a kernel reads and writes, the bytes of each value: `inputs`, `outputs`. All ways to run
    it share them, since which pages memory consists of may tell more than the schedule."""

    def __init__(self, kernel: Kernel, strides: Strides) -> None:
        self.layouts = [layout_of(n, strides) for n in kernel.inputs]
        self.inputs = [_zeros(_reach(v)) for v in self.layouts]
        self.outputs = [_zeros(n.nbytes) for n in kernel.outputs]

    def places(self) -> tuple[list[int], list[int]]:
        """The addresses of the first element of each."""
        read = [_first(v, a) for v, a in zip(self.layouts, self.inputs, strict=True)]
        return read, [a.ctypes.data for a in self.outputs]


class Alone:
    """A kernel lowered in one way, on some memory."""

    def __init__(
        self, kernel: Kernel, lowered: Lowered, memory: Memory, backend: CpuBackend
    ) -> None:
        code = backend.builder()
        with provenance(NOWHERE), code:
            loops = backend.lowering.expanded(lowered.loops)
            parallel = backend.lowering.parallel(lowered)
            step = KernelStep(loops, lowered.params, parallel, kernel.inputs, kernel.outputs)
            code.begin(loops, None)
            planner = Planner(kernel.inputs, memory.layouts, kernel.outputs, {})
            program = plan([step], planner)
        executable = backend.link(program, [code.key_of(c.loops) for c in program.calls], code)
        arena = Buffer.arena(executable.arena_bytes)
        self._table, self._args, frame = executable.bound(*memory.places(), arena.address)
        self._keep = memory, arena, frame, executable
        self._often = max(1, int(SECONDS / max(self._run(1), 1e-7)))

    def _run(self, count: int) -> float:
        pool.ensure()
        return seconds_of_runs(address(pool.runtime().run), self._table, self._args, count)

    def seconds(self) -> float:
        """Of one of several runs in a row, after one that is left out."""
        self._run(1)
        return self._run(self._often) / self._often


def layout_of(n: Node, strides: Strides) -> ValueLayout:
    """Where the elements of what a kernel reads lie."""
    return ValueLayout(n.dtype, n.shape, strides.get(n, row_major_strides(n.shape)))


def _reach(v: ValueLayout) -> int:
    last = sum((d - 1) * abs(s) for d, s in zip(v.shape, v.strides, strict=True))
    return (last + 1) * v.dtype.itemsize


def _zeros(nbytes: int) -> np.ndarray[Any, Any]:
    """Written, so that each page is memory of its own: those that nobody has written are one."""
    return np.full(nbytes, 0, np.uint8)


def _first(v: ValueLayout, memory: np.ndarray[Any, Any]) -> int:
    """The address of its first element; some lie before it where strides are negative."""
    before = -sum((d - 1) * s for d, s in zip(v.shape, v.strides, strict=True) if s < 0)
    return int(memory.ctypes.data + before * v.dtype.itemsize)


def seconds_of(
    kernel: Kernel, ways: Sequence[Lowered], strides: Strides, backend: CpuBackend
) -> list[float]:
    """Seconds of a kernel in each way, in turns: the least of ROUNDS rounds."""
    memory = Memory(kernel, strides)
    runs = [Alone(kernel, lowered, memory, backend) for lowered in ways]
    rounds = [[r.seconds() for r in runs] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]
