"""Every lock of the package. In: its rank. Out: a re-entrant lock; a forked child finds it free,
and what it guards whole.

Locks are taken in the order of RANKS: a thread that holds one asks only for those after it. So does
fork(), for all of them. It waits for the program that another thread runs, and then no thread is
halfway through anything that the child goes on with.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from .signals import deferred

RANKS = (
    "compute",  # one thread at a time computes, or reads memory that a program could write
    "report",  # the programs that a report lists
    "attributes",  # which threads trace functions that read Modules
    "generator",  # the key and the draws of random numbers
    "pool",  # the native driver and its threads
    "device",  # GPUs that are open
    "kernels",  # of a GPU
    "code",  # what is known of machine code
    "disk",  # the cache
    "compiler",  # llvmlite is used by one thread at a time
    # the fields of every Tensor: held for a few assignments, never while anything is computed
    "tensors",
    "staging",  # memory through which a GPU is copied to
    "timing",  # durations of runs
    "status",  # of a run, which several threads may set
    "blas threads",  # how many LAPACK has
    "memory",  # how much of it there is
)

_made: dict[str, weakref.WeakSet[Any]] = {rank: weakref.WeakSet() for rank in RANKS}
_held: list[Any] = []  # by the thread that forks
_waiting: list[
    deferred
] = []  # signals, meanwhile: what Python raises around fork() is lost, and fork() goes on


def new(rank: str) -> Any:
    """A lock of this rank."""
    lock = threading.RLock()
    _made[rank].add(lock)
    return lock


def _take_all() -> None:
    signals = deferred()
    signals.__enter__()
    _waiting.append(signals)
    for rank in RANKS:
        for lock in list(_made[rank]):
            lock.acquire()
            _held.append(lock)


def _give_all() -> None:
    while _held:
        _held.pop().release()
    if _waiting:
        _waiting.pop().pass_on()


def _give_all_in_child() -> None:
    """Signals that came before were the parent's."""
    if _waiting:
        _waiting[-1].forget()
    _give_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_take_all, after_in_parent=_give_all, after_in_child=_give_all_in_child
    )
