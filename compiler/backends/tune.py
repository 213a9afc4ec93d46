"""Candidate schedules of a kernel, each timed once. In: Lowered kernels that give the same bits.
Out: the fastest of them.

The winner is kept in the cache, under the text of all candidates. They run on zeros, on the calling
thread alone: the schedule must not depend on how many threads there are.
"""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace

from ...codegen.kernels.lowered import Lowered
from ...codegen.llvm.target import Target
from ...codegen.math.expand import expand_loops
from ...ir.graph.index import Index, Var, var
from ...ir.graph.op import Op
from ...ir.loops.loop import GLOBAL, Buf, Loops, Param, Reduce, Store
from ...ir.loops.text import show
from ...ir.loops.walk import Substitution, postorder, roots, statements
from ...runtime import cache
from ...runtime.buffer import Block, memory
from .compile_kernels import kernel, kernel_key

ROUNDS = 3
SECONDS = 0.01  # of each candidate at least
MOST_BYTES = 1 << 31  # larger kernels are not timed

_winners: dict[str, int] = {}


def fastest(candidates: Sequence[Lowered], target: Target) -> Lowered:
    """The candidate that takes the least time, measured now or earlier; the first where they cannot
    be run."""
    first = candidates[0]
    if (
        len(candidates) == 1
        or sum(n * b.dtype.itemsize for b, (_, n) in _reaches(first).items()) > MOST_BYTES
    ):
        return first
    key = _key(candidates, target)
    if key not in _winners:
        stored = cache.default().get(key)
        if stored is None or len(stored) != 1 or stored[0] >= len(candidates):
            stored = bytes([_measure(candidates, target)])
            cache.default().put(key, stored, "tuning")
        _winners[key] = stored[0]
    won = candidates[_winners[key]]
    return replace(
        won, schedule=f"{won.schedule}; the fastest of {len(candidates)} that were timed"
    )


def _key(candidates: Sequence[Lowered], target: Target) -> str:
    texts = [show(replace(c.loops, name="kernel")) + repr(c.params) for c in candidates]
    return hashlib.sha256(
        "\n".join(["tune", *texts, repr(target), cache.source_fingerprint()]).encode()
    ).hexdigest()


def _measure(candidates: Sequence[Lowered], target: Target) -> int:
    """Which candidate had the shortest run of all, in turns."""
    runs = [_Run(c, target) for c in candidates]
    try:
        for run in runs:
            run.once()
        best = [
            min(times)
            for times in zip(*([run.timed() for run in runs] for _ in range(ROUNDS)), strict=True)
        ]
    finally:
        for run in runs:
            run.close()
    return best.index(min(best))


class _Run:
    """A kernel with memory for its buffers, which holds zeros."""

    def __init__(self, lowered: Lowered, target: Target) -> None:
        loops = expand_loops(lowered.loops, target.has_float16)
        values = dict(zip(loops.params, lowered.params, strict=True))
        self._code = kernel(kernel_key(loops, target), loops, target)
        self._phases = [
            (
                ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address),
                _count(phase.extent, values),
            )
            for phase, address in zip(loops.phases, self._code.addresses, strict=True)
        ]
        self._blocks: list[Block] = []
        reaches = _reaches(lowered)
        places = [self._memory(b, *reaches.get(b, (0, 1))) for b in loops.buffers]
        status = self._zeros(16)
        self._context = (ctypes.c_int64 * (len(places) + len(lowered.params) + 1))(
            *places, *lowered.params, status
        )

    def _zeros(self, size: int) -> int:
        self._blocks.append(memory.take(size))
        ctypes.memset(self._blocks[-1][1], 0, size)
        return self._blocks[-1][1]

    def _memory(self, b: Buf, before: int, elements: int) -> int:
        """The address of element 0, which has elements before it where a view runs backwards."""
        return self._zeros(elements * b.dtype.itemsize) + before * b.dtype.itemsize

    def once(self) -> None:
        address = ctypes.addressof(self._context)
        for function, chunks in self._phases:
            for chunk in range(chunks):
                function(address, chunk, 0)

    def timed(self) -> float:
        """Seconds of the shortest of several runs."""
        shortest, spent = float("inf"), 0.0
        while spent < SECONDS / ROUNDS:
            start = time.perf_counter()
            self.once()
            taken = time.perf_counter() - start
            shortest, spent = min(shortest, taken), spent + taken
        return shortest

    def close(self) -> None:
        for block in self._blocks:
            memory.give(block)


def _count(extent: int | Param, values: dict[Param, int]) -> int:
    return values[extent] if isinstance(extent, Param) else extent


def _reaches(lowered: Lowered) -> dict[Buf, tuple[int, int]]:
    """(elements before element 0, elements in all) that a kernel may touch of each argument."""
    ends: dict[Buf, tuple[int, int]] = {}
    values = dict(zip(lowered.loops.params, lowered.params, strict=True))
    for phase in lowered.loops.phases:
        grid = Substitution({phase.var: var(Var("g", _count(phase.extent, values)))})
        for b, index in _accesses(replace(lowered.loops, phases=[phase])):
            lo, hi = grid.index(index).bounds
            before, behind = ends.get(b, (0, 1))
            ends[b] = max(before, -lo), max(behind, hi + 1)
    return {b: (before, before + behind) for b, (before, behind) in ends.items()}


def _accesses(loops: Loops) -> list[tuple[Buf, Index]]:
    accesses: list[tuple[Buf, Index]] = []
    for s in statements(loops.phases):
        accesses += [(n.arg[0], n.arg[1]) for n in postorder(roots(s)) if n.op is Op.LOAD]
        accesses += [(s.buf, s.index)] if isinstance(s, Store | Reduce) else []
    return [(b, index) for b, index in accesses if b.space == GLOBAL]
