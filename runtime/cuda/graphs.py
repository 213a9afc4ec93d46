"""CUDA graphs, which PyCUDA lacks. In: the handle of a stream, work for it. Out: the work as one
call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from ...errors import DeviceError
from .libcuda import library

NON_BLOCKING = (
    1  # CU_STREAM_NON_BLOCKING: a stream that the one of other libraries does not wait for
)
THREAD_LOCAL = (
    1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like meanwhile
)


class Graphs:
    """Those that are launched on one stream. They are captured on another, into which no other
    thread launches meanwhile."""

    def __init__(self, cuda: Any, here: Any, target: int) -> None:
        self._cuda, self._target = cuda, target
        with here:
            self.stream = cuda.Stream(NON_BLOCKING)
        self._dead: list[int] = []  # those that nothing refers to any more
        self._library = library()

    def capture(self, run: Callable[[], None]) -> Callable[[], object] | None:
        """What launches the work that `run` gives `stream`, and returns an error code; None if CUDA
        refuses to make it."""
        self.forget()
        try:
            graph = self._captured(run)
        except DeviceError:
            return None
        made = None if graph is None else self._instantiated(graph)
        return (
            None
            if made is None
            else Replay(self._library.cuGraphLaunch, made, self._target, self._dead)
        )

    def _captured(self, run: Callable[[], None]) -> int | None:
        stream, graph = int(self.stream.handle), ctypes.c_void_p()
        if self._library.cuStreamBeginCapture_v2(stream, THREAD_LOCAL):
            return None
        try:
            run()
        except BaseException:
            self._library.cuStreamEndCapture(stream, ctypes.byref(graph))
            self._library.cuGraphDestroy(graph)
            raise
        refused = self._library.cuStreamEndCapture(stream, ctypes.byref(graph))
        return None if refused else graph.value

    def _instantiated(self, graph: int) -> int | None:
        made = ctypes.c_void_p()
        refused = self._library.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, 0)
        self._library.cuGraphDestroy(graph)
        return None if refused else made.value

    def forget(self) -> None:
        """Gives back what is dead, when none of it runs."""
        if self._dead:
            self._cuda.Context.synchronize()
        while self._dead:
            self._library.cuGraphExecDestroy(self._dead.pop())

    def close(self) -> None:
        """Gives everything back but graphs that are still held."""
        self.forget()
        del self.stream


class Replay(partial[Any]):
    """What launches a graph."""

    def __new__(cls, launch: Any, made: int, stream: int, dead: list[int]) -> Replay:
        new = super().__new__(cls, launch, made, stream)
        new.dead = dead
        return new

    dead: list[int]

    def __del__(self) -> None:
        self.dead.append(self.args[0])
