"""Executable on a GPU. In: the CudaImage of a program and its loaded kernels. Out: runs of it.

A run returns as soon as the device knows all that it must do; only a program with checks waits for
their result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import call
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError, WeftError
from ..failures import NO_CHECK_FAILED, Interrupted, failure
from ..prepared import Prepared
from ..runnable import Runnable
from .block import STATUS_BYTES, Layout, Words
from .devices import Unit, unit
from .driver import bound, here
from .image import CudaImage, unpack
from .replay import Replay
from .timed import Calls, Events, timings

if TYPE_CHECKING:
    from ..image import SiteAt


@dataclass
class Progress:
    """How many launches follow the early checks, and what those that the device knows returned."""

    wanted: int = -1
    done: list[Any] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return len(self.done) == self.wanted

    def issue(self, calls: Calls) -> None:
        """Launches one after the other.

        No signal handler comes in between where the launches are C functions.
        """
        self.wanted = len(calls)
        self.done.extend(map(call, calls))
        if any(self.done):
            code = next(filter(None, self.done))
            raise DeviceError(f"the device refused the work: CUDA error {code}")


class Frame:
    """What one running call needs of its own: arguments, and the launches that read them."""

    __slots__ = ("_executable", "early", "events", "rest", "words")

    def __init__(self, executable: CudaExecutable) -> None:
        self._executable = executable
        image, driver = executable.image, executable.unit.driver
        self.words = Words(executable.layout)
        calls: Calls = [
            bound(driver, function, launch.grid, launch.block, arguments, launch.shared)
            for function, launch, arguments in zip(
                executable.functions, image.launches, self.words.arguments, strict=True
            )
        ]
        self.early, self.rest = calls[: image.early], calls[image.early :]
        self.events = None if executable.timings is None else Events(driver)
        if self.events is not None:
            self.early, self.rest = self.events.around(self.early), self.events.around(self.rest)

    def launch_rest(self) -> None:
        """The launches behind the early checks, one by one, for a driver that captures them."""
        executable = self._executable
        image, launch = executable.image, executable.unit.driver.launch
        for k in range(image.early, len(image.launches)):
            size = image.launches[k]
            arguments = bytes(self.words.arguments[k])
            launch(executable.functions[k], size.grid, size.block, arguments, size.shared)


class CudaExecutable(Runnable):
    """A program ready to run, from any number of threads at once, on a device that has its kernels.

    `timings`: how long its launches take, where it was made inside `timed.timing()`; then a run
    waits for the device.
    """

    def __init__(self, image: CudaImage, unit: Unit) -> None:
        self.image, self.unit, self.layout = image, unit, Layout(image)
        super().__init__(image.donations, image.checks, image.arena_bytes)
        self._frames: list[Frame] = []
        late = any(launch.is_check for launch in image.launches[image.early :])
        self.has_late = late or any(check.kernel is not None for check in image.checks)
        self.timings = timings(len(image.launches))

    @cached_property
    def functions(self) -> list[Any]:
        """The handle of each launch."""
        return [self.unit.kernels.phase(k.symbol, k.phase, k.shared) for k in self.image.launches]

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs the program on the addresses of its inputs and outputs, which must stay valid.

        Raises CheckFailed.
        """
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self)
        self.guarded(partial(self.launch, frame, [*inputs, *outputs]))
        self._frames.append(frame)

    def prepared(self) -> Prepared:
        """The program for one caller at a time, which replays a run on memory seen before."""
        replay = Replay(self, Frame(self))
        return Prepared(replay.words, replay.execute, replay.fail, owner=replay)

    # ------------------------------------------------------------ the parts of a run

    def guarded(self, work: Callable[[int, Progress], None]) -> None:
        """Does the work with the address of a block for the program.

        The block is others' as soon as the device knows what to do.
        Raises Interrupted for what comes when the device knows all: the program then runs to its
        end.
        """
        progress, pool = Progress(), self.unit.pool
        try:
            with here(self.unit.driver):
                taken = pool.take_arena(self.layout.nbytes) if self.layout.nbytes else None
                try:
                    work(taken[1] if taken else 0, progress)
                finally:
                    if taken:
                        pool.give_arena(taken)
        except DeviceError:
            # raises what has broken the device before, if that is why
            self.unit.driver.synchronize()
            raise
        except WeftError:
            raise
        except BaseException as reason:
            raise (Interrupted(reason) if progress.complete else reason) from None

    def launch(self, frame: Frame, words: Sequence[int], block: int, progress: Progress) -> None:
        """All of a run, on the addresses of inputs and outputs."""
        frame.words.fill(words, block)
        start = perf_counter()
        if frame.events is not None:
            frame.events.start()
        self.begin(frame, words, block)
        progress.issue(frame.rest)
        self.end(block)
        if self.timings is not None and frame.events is not None:
            self.timings.add(frame.events.durations())
            self.timings.calls.append(perf_counter() - start)

    def begin(self, frame: Frame, inputs: Sequence[int], block: int) -> None:
        """Uploads, and early checks. Raises CheckFailed, and nothing has changed."""
        frame.words.upload(self.unit.driver, inputs, block)
        if frame.early:
            Progress().issue(frame.early)
            self._look(block)

    def end(self, block: int) -> None:
        """Raises CheckFailed for a late check."""
        if self.has_late:
            self._look(block)

    def _look(self, block: int) -> None:
        status = (ctypes.c_int64 * 2)()
        self.unit.driver.download(
            ctypes.addressof(status), block + self.layout.status, STATUS_BYTES
        )
        if status[0] != NO_CHECK_FAILED:
            raise failure(self.checks, status[0], status[1])


def stored(data: bytes, site_at: SiteAt, number: int) -> CudaExecutable | None:
    """The program of an earlier process, if its kernels are still there."""
    image, found = unpack(data, site_at), unit(number)
    has_all = all(found.kernels.has(launch.symbol) for launch in image.launches)
    return CudaExecutable(image, found) if has_all else None
