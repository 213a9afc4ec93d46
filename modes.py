"""Modes that hold in a `with` block, for its thread. In: a value. Out: a block that ends whatever
happens.

Python handles signals as a function of its own begins, so an `__exit__` that is one may be
interrupted before its first statement, and the mode would stay. A block of a Mode holds a lock
instead, and `with` ends it by the release of that lock, which is C. The next reader of the mode
does what follows from its end.
"""

from __future__ import annotations

import threading
from _thread import LockType, allocate_lock
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, ClassVar, Generic, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# the lock, held until it ends; its value; the Block around it, or None; the Mode
Block = tuple[LockType, Any, Any, Any]
Known = dict[LockType, Block]


class _Thread:
    """The blocks of one kind that a thread is in. `ahead`: locks of those that are about to
    begin."""

    __slots__ = ("ahead", "anywhere", "innermost")

    def __init__(self, anywhere: Known) -> None:
        self.anywhere = anywhere
        self.ahead: dict[Mode, LockType] = {}
        self.innermost: Block | None = None

    def current(self) -> Block | None:
        """The innermost block that has not ended; those of generators end in any order."""
        block = self.innermost
        while block is not None and not block[0].locked():
            self.anywhere.pop(block[0], None)
            block = block[2]
        if block is None and self.anywhere:
            self._drop_ended()
        self.innermost = block
        return block

    def _drop_ended(self) -> None:
        """Those of threads that do not look any more."""
        for lock in [*self.anywhere]:
            if not lock.locked():
                self.anywhere.pop(lock, None)


class Blocks(threading.local, Generic[T]):
    """The blocks of one kind. `anywhere`: those of all threads, a few of them ended; empty nearly
    always, and fast to ask."""

    def __init__(self, anywhere: Known) -> None:
        self.anywhere, self.here = anywhere, _Thread(anywhere)

    def value(self, default: T) -> T:
        """That of the innermost block of this thread."""
        block = self.here.current() if self.anywhere else None
        return default if block is None else block[1]

    def hold(self) -> bool:
        """Is any thread in such a block."""
        if self.anywhere:
            self.here.current()
        return bool(self.anywhere)


class _Exit:
    """The `__exit__` of Modes. `with` looks it up in the class before the block begins, and gets
    the release of a new lock."""

    def __get__(self, mode: Mode | None, kind: type[Mode]) -> Callable[..., None]:
        if mode is None:
            return _leave
        lock = mode.blocks.here.ahead[mode] = allocate_lock()
        return lock.__exit__


def _leave(mode: Mode, *_: object) -> None:
    """Ends the innermost block of a mode that was entered by a call of `__enter__`."""
    block = mode.blocks.here.current()
    while block is not None and not (block[3] is mode and block[0].locked()):
        block = block[2]
    if block is None:
        raise RuntimeError(f"{type(mode).__name__}: __exit__ without __enter__")
    block[0].release()


class Mode:
    """Base of modes: `with` blocks, in which `blocks` has the value, and decorators. One object may
    be entered again."""

    blocks: ClassVar[Blocks[Any]]
    value: Any

    def __enter__(self) -> Self:
        here = self.blocks.here
        lock = here.ahead.pop(self, None)
        if lock is None:  # not by `with`
            lock, self.__dict__["__exit__"] = allocate_lock(), MethodType(_leave, self)
        lock.acquire()
        outer = here.innermost and here.current()
        # at once: nothing is called
        here.anywhere[lock] = here.innermost = (
            lock,
            self.value,
            outer,
            self,
        )
        return self

    __exit__ = _Exit()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return call
