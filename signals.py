"""Deferred signals. In: a `with` block. Out: the block runs whole; signals that came meanwhile are
handled after it.

Python runs the handler of a signal, which may raise KeyboardInterrupt, between any two steps of the
main thread. Inside the block the handlers are replaced by a note of what came. Only the main thread
handles signals; in others the block is nothing.

Known gaps. A signal in the first moment of an `__exit__` written in Python leaves what that would
end in force: `wf.debug_nans`, `wf.matmul_precision` and `no_sync()` in a `with`, the line that
errors name (`provenance`), a temporary file beside a checkpoint. A signal is reported and lost in
the first moment of what Python calls before fork(), which then goes on without the locks, and in
some finalizers: of more than 1 MiB of memory, of a GPU's memory, of arrays that came by DLPack, of
compiled code and of keys of a WeakKeyDictionary. A signal in a sampler written as a generator ends
that pass. Between two calls of the user's (`unscale_()` and `step()`, forward and backward) nothing
is taken back.
"""

from __future__ import annotations

import _signal  # the functions of signal, without the enumerations that cost ten times as much
import signal
import threading
from _thread import interrupt_main
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

R = TypeVar("R")

NAMES = (
    "SIGINT",
    "SIGTERM",
    "SIGALRM",
    "SIGHUP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGPROF",
    "SIGBREAK",
)
# those that programs have handlers for
_numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


def within(enter: Callable[[], object], leave: Callable[[], object], body: Callable[[], R]) -> R:
    """What body() gives between enter() and leave(). leave() comes whatever is raised, and
    wherever, the first time; where Ctrl-C comes as a `with` block ends, its __exit__ may not. It
    may come twice, or without enter().
    """
    try:
        enter()
        result = body()
        leave()
        return result
    except BaseException:
        leave()
        raise


class Actions:
    """What is done after something, each once: one that is interrupted has done nothing, for its
    last statement does it all."""

    __slots__ = ("_done", "_every")

    def __init__(self, every: Sequence[Callable[[], None]]) -> None:
        self._every, self._done = every, 0

    def finish(self) -> None:
        """Does those that are left."""
        while self._done < len(self._every):
            self._done += self._every[self._done]() is None


class deferred:
    """Blocks nest."""

    __slots__ = ("_before", "_came")

    def __enter__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: dict[int, Any] = {}  # by number: the frame that it met
        if threading.get_ident() != threading.main_thread().ident:
            return
        try:
            for number in _numbers:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self._before[number] = handler
                    _signal.signal(number, self._came.setdefault)
        except BaseException:
            self._restore()
            raise

    def __exit__(self, *_: object) -> None:
        self._restore()
        raised: list[BaseException] = []
        for number, frame in self._came.items():
            try:
                self._before[number](number, frame)
            except BaseException as error:
                raised.append(error)
        if raised:
            raise raised[0]

    def forget(self) -> None:
        """What has come is not handled."""
        self._came.clear()

    def pass_on(self) -> None:
        """In the place of __exit__, where what is raised is lost: Python handles what came when it
        looks for signals next.

        It does so after calls but not in a list display, so none is used here.
        """
        self._restore()
        came = [signal.Signals(number) for number in self._came]
        _ = [*map(interrupt_main, came)]

    def _restore(self) -> None:
        for number, handler in self._before.items():
            _signal.signal(number, handler)
