"""CUDA graphs, which PyCUDA lacks, through libcuda. In: the handle of a stream, work for it. Out: the work as one call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

THREAD_LOCAL = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like meanwhile
SIGNATURES = {
    "cuStreamBeginCapture_v2": (ctypes.c_void_p, ctypes.c_int),
    "cuStreamEndCapture": (ctypes.c_void_p, ctypes.c_void_p),
    "cuGraphInstantiateWithFlags": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulonglong),
    "cuGraphLaunch": (ctypes.c_void_p, ctypes.c_void_p),
    "cuGraphDestroy": (ctypes.c_void_p,),
    "cuGraphExecDestroy": (ctypes.c_void_p,),
}


class Graphs:
    """Those that are launched on one stream. They are captured on another, into which no other thread launches meanwhile."""

    def __init__(self, cuda: Any, here: Any, target: int, library: str = "libcuda.so.1") -> None:
        self._cuda, self._here, self._target = cuda, here, target
        with here:
            self.stream = cuda.Stream(cuda.stream_flags.NON_BLOCKING)
        self._library = ctypes.CDLL(library)
        for name, types in SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = types, ctypes.c_int

    def capture(self, run: Callable[[], None]) -> Callable[[], object] | None:
        """What launches the work that `run` gives `stream`, and returns an error code; None if CUDA refuses to make it."""
        try:
            graph = self._captured(run)
        except self._cuda.Error:
            return None
        made = None if graph is None else self._instantiated(graph)
        if made is None:
            return None
        launch = Replay(self._library.cuGraphLaunch, made, self._target)
        launch.give = partial(self._destroy, made)
        return launch

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

    def _destroy(self, made: int) -> None:
        if self._here.gone is None:
            with self._here:
                self._cuda.Context.synchronize()  # it may be running
                self._library.cuGraphExecDestroy(made)

    def close(self) -> None:
        """Gives the stream back; graphs end with the context."""
        del self.stream


class Replay(partial[Any]):
    """What launches a graph, and gives it back when it dies."""

    give: Callable[[], None]

    def __del__(self) -> None:
        self.give()
