"""Watchers. In: programs that are new or about to run, calls of Modules. Out: calls of those who watch, dumps, debug text.

This is the one file of the frontend that knows of inspection, which it loads when there is something to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .. import options
from . import state

if TYPE_CHECKING:
    from .program_table import Program
    from .structure import Structure

Watcher = Callable[["Program"], None]
Demand = Callable[["Program", "Structure"], None]
CallWatcher = Callable[[Any, Any], object]

_watchers: list[Watcher] = []
call_watchers: list[CallWatcher] = []  # of what Modules return; empty nearly always
demands: dict[int, Demand] = {}  # by thread: what its programs must meet; empty nearly always


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Calls the watcher with every program that is new, before its first run, from the thread that asks for it."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def watching_calls(watcher: CallWatcher) -> Iterator[None]:
    """Calls watcher(module, result) after each call of a Module."""
    call_watchers.append(watcher)
    try:
        yield
    finally:
        call_watchers.remove(watcher)


@contextmanager
def demanding(demand: Demand) -> Iterator[None]:
    """Calls `demand` before every run of a program in this thread, which does not happen if that raises.

    Jitted calls take their short way only if nothing has changed, and as long as anybody demands anything, something has.
    """
    thread = get_ident()
    before = demands.get(thread)
    demands[thread] = demand
    state.changes.count += 1
    try:
        yield
    finally:
        if before is None:
            del demands[thread]
        else:
            demands[thread] = before


def running(program: Program, structure: Structure) -> None:
    """Tells of a program that is about to run in this thread; the structure is its own, with the lines of this time."""
    demand = demands.get(get_ident())
    if demand is not None:
        demand(program, structure)


def made(program: Program, number: int) -> None:
    """Tells of a program that is new, the number-th of the process."""
    for watcher in tuple(_watchers):
        watcher(program)
    asked = options.current()
    if (asked.dump or asked.debug) and not asked.interpret:
        from ..inspection.dumps import shown

        shown.show(program, number)
