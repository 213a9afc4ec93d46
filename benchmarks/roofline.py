"""Programs without Python around them, for benchmarks. In: what computes a Tensor. Out: native
launches of its program.

`Launch.seconds(n)` is n runs of a compiled program, called in a native loop. What the processor can
do at most, to compare with, is measured in the same way by Peak and Stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from weft.inspection.machine.limits import Peak, repeats, timed
from weft.inspection.machine.streams import Stream
from weft.runtime import threads
from weft.runtime.executable import Executable
from weft.runtime.ticks import address

__all__ = ["Launch", "Peak", "Stream", "launch", "watched"]


class Launch:
    """A program on fixed memory: `seconds(n)` is what n runs take, without any Python between
    them."""

    def __init__(
        self, executable: Executable, inputs: list[int], outputs: list[int], keep: object
    ) -> None:
        arena = np.empty(executable.arena_bytes + 64, np.uint8)
        self._table, self._args, frame = executable.bound(
            inputs, outputs, -(-arena.ctypes.data // 64) * 64
        )
        self._keep = executable, keep, arena, frame
        self._run = address(threads.pool.runtime().run)

    def seconds(self, count: int) -> float:
        threads.pool.ensure()
        repeat = repeats()[0]
        return timed(lambda: repeat(self._run, self._table, self._args, count))


@contextmanager
def watched() -> Iterator[list[tuple[Executable, list[int], list[int]]]]:
    """Collects (executable, inputs, outputs) of every program that runs meanwhile."""
    calls: list[tuple[Executable, list[int], list[int]]] = []
    original = Executable.run

    def run(self: Executable, inputs: Any, outputs: Any) -> None:
        calls.append((self, list(inputs), list(outputs)))
        original(self, inputs, outputs)

    Executable.run = run  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Executable.run = original  # type: ignore[method-assign]


def launch(compute: Callable[[], Any]) -> Launch:
    """The one program that a function realizes; the function returns the Tensors that it reads and
    writes."""
    with watched() as calls:
        keep = compute()
    (call,) = calls
    return Launch(*call, keep)
