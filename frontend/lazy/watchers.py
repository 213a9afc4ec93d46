"""Watchers. In: programs that are new or about to run, calls of Modules. Out: calls of watchers,
dumps, debug text.

This is the one file of the frontend that knows of inspection, which it loads when there is
something to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from ... import options
from ...modes import Blocks, Mode
from . import state
from .any_tensor import Above

if TYPE_CHECKING:
    from ...compiler.structure import Structure
    from .cached_program import CachedProgram

Watcher = Callable[["CachedProgram"], None]
Demand = Callable[["CachedProgram", "Structure"], None]
CallWatcher = Callable[[Any, Any], object]  # of a Module, what its call returns

_watchers: list[Watcher] = []
call_watchers: list[CallWatcher] = []  # of what Modules return; empty nearly always
demand_blocks: Blocks[Demand | None] = Blocks({})
demands = demand_blocks.anywhere  # empty nearly always


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Calls the watcher with every program that is new, before its first run, from the thread that
    asks for it."""
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


class Requiring(Mode):
    """Calls `value` before every run of a program in this thread, which does not happen if that
    raises.

    Jitted calls take their short way only if nothing has changed, and as long as anybody demands
    anything, something has.
    """

    blocks = demand_blocks

    def __enter__(self) -> Self:
        state.changes.count += 1
        return super().__enter__()


def requirement() -> Demand | None:
    """What the programs of this thread must meet."""
    return demand_blocks.value(None)


def on_run(program: CachedProgram, structure: Structure) -> None:
    """Tells of a program that is about to run in this thread; the structure is its own, with the
    lines of this time."""
    demand = requirement()
    if demand is not None:
        demand(program, structure)


def on_built(program: CachedProgram, number: int) -> None:
    """Tells of a program that is new, the number-th of the process."""
    for watcher in tuple(_watchers):
        watcher(program)
    asked = options.current()
    if (asked.dump or asked.debug) and not asked.interpret:
        Above.show(program, number)
