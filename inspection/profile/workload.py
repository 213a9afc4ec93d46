"""A program to be timed, on memory of its own. In: Tensors or a call. Out: a Workload, a Session.

Nothing that the user holds changes: what a run would write in place is a copy, which is restored
whenever it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from typing import Any

from ... import errors
from ...compiler.compile import Compiled, program_of
from ...compiler.programs.on_disk import executable
from ...compiler.structure import Structure
from ...frontend.jit.jit import call_behind
from ...ir.graph.brief import brief
from ...runtime.buffer import Buffer
from ...runtime.executable import Executable
from ...runtime.memory.devices import copy, device
from ...runtime.memory.storage import Storage, allocate
from ...runtime.threads import pool
from ...runtime.ticks import address, seconds_of_runs
from ...runtime.timed import HostTimings, Timings, timing
from ..explain.explain import as_jitted, asked


@dataclass
class Workload:
    """A program to be made, and the addresses of what it reads; `keep` holds that memory."""

    structure: Structure
    inputs: list[int]
    keep: object


def workload(what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Workload:
    """What computing x, or a call of x with these arguments, would run. Whoever calls holds
    realize.lock.

    Raises ArgumentError for a function that is not jitted, for arguments that are missing or too
    many.
    """
    if callable(x):
        step, inputs, numbers = call_behind(what, as_jitted(what, x, args, kwargs), args, kwargs)
        return Workload(step.structure, *step.inputs_of(inputs, numbers))
    if args or kwargs:
        raise errors.ArgumentError(
            f"{what}: more arguments are those of a call of a jitted function, but x is {brief(x)}"
        )
    structure, stored = asked(what, x)
    return Workload(structure, [s.address for s in stored], stored)


@dataclass
class Session:
    """A program made to be timed, on memory of its own. `restore` makes the memory that runs
    overwrite what it was."""

    work: Workload
    compiled: Compiled
    device: str
    outputs: list[Storage] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)

    @property
    def timings(self) -> Timings:
        """Of all timed runs."""
        times = self.compiled.executable.timings
        assert times is not None, "made inside `timing()`"
        return times

    def restore(self) -> None:
        """Copies what is overwritten from where the user has it."""
        for o, i in self.compiled.donations.items():
            self._copy(self.outputs[o], self.work.inputs[i])

    def _copy(self, target: Storage, source: int) -> None:
        copy(
            self.device,
            target.address,
            self.device,
            source,
            prod(target.shape) * target.dtype.itemsize,
        )

    def first(self) -> None:
        """A timed run. Raises CheckFailed."""
        self.compiled.executable.run(self.inputs, [o.address for o in self.outputs])

    def plain(self, count: int, skip: int = 0) -> float:
        """Seconds of one of so many runs in a row, without instruments, after some that are left
        out."""
        raise NotImplementedError

    def timed(self, count: int, skip: int = 0) -> None:
        """The same of runs with instruments, which are noted in `timings`."""
        raise NotImplementedError


class HostSession(Session):
    """On the CPU: runs in a row are native loops."""

    @property
    def timings(self) -> HostTimings:
        """By the clock of the processor."""
        times = super().timings
        assert isinstance(times, HostTimings)
        return times

    @cached_property
    def _bound(self) -> tuple[int, int, object]:
        timed = self.compiled.executable
        assert isinstance(timed, Executable)
        arena = Buffer.arena(timed.arena_bytes)
        table, args, frame = timed.bound(
            self.inputs, [o.address for o in self.outputs], arena.address
        )
        return table, args, (arena, frame)

    def plain(self, count: int, skip: int = 0) -> float:
        pool.ensure()
        (table, args, _), run = self._bound, address(pool.runtime().run)
        seconds_of_runs(run, table, args, skip)
        return seconds_of_runs(run, table, args, count) / count

    def timed(self, count: int, skip: int = 0) -> None:
        pool.ensure()
        table, args, _ = self._bound
        self.timings.run_often(table, args, skip + count, skip)


class DeviceSession(Session):
    """On other devices: plain runs are replayed as those of a jitted function."""

    @cached_property
    def _prepared(self) -> Any:
        prepared = executable(self.work.structure).prepared()
        prepared.words[:] = [*self.inputs, *(o.address for o in self.outputs)]
        return prepared

    def plain(self, count: int, skip: int = 0) -> float:
        self._replay(skip)
        return device(self.device).seconds(partial(self._replay, count)) / count

    def _replay(self, count: int) -> None:
        prepared = self._prepared
        for _ in range(count):
            prepared.execute()

    def timed(self, count: int, skip: int = 0) -> None:
        self.plain(max(1, skip))
        for _ in range(count):
            self.first()


def session(work: Workload) -> Session:
    """The program compiled, and its memory. The caller holds realize.lock."""
    with timing():
        compiled = program_of(work.structure)
    place = work.structure.device
    made = (HostSession if isinstance(compiled.executable, Executable) else DeviceSession)(
        work, compiled, place
    )
    made.outputs = [allocate(r.dtype, r.shape, place) for r in work.structure.graph()[0]]
    overwritten = {i: made.outputs[o].address for o, i in compiled.donations.items()}
    made.inputs = [overwritten.get(i, place) for i, place in enumerate(work.inputs)]
    made.restore()
    return made
