"""Who looks on. In: programs that are new. Out: what WEFT_DUMP and WEFT_DEBUG ask for, and calls of whoever watches.

This is the one file of the frontend that knows of inspection, which it loads when there is something to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import options

if TYPE_CHECKING:
    from .realize import Program

Watcher = Callable[["Program"], None]

_watchers: list[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Calls the watcher with every program that is new, before its first run, from the thread that asks for it."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def made(program: Program, number: int) -> None:
    """Tells of a program that is new, the number-th of the process."""
    for watcher in tuple(_watchers):
        watcher(program)
    asked = options.current()
    if (asked.dump or asked.debug) and not asked.interpret:
        from ..inspection import shown

        shown.show(program.structure, number)
