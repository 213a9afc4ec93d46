"""Executable on a GPU. In: the CudaImage of a program and its loaded kernels. Out: runs of it.

A run returns as soon as the device knows all that it must do; only a program with checks waits for
their result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError, WeftError
from ..failures import NO_CHECK_FAILED, Interrupted, failure
from ..runnable import Prepared, Runnable
from ..timed import wanted
from .block import STATUS_BYTES, Layout
from .devices import Gpu, gpu
from .driver import here
from .frame import Frame, Progress
from .image import CudaImage, unpack
from .replay import Replay
from .timed import CudaTimings

if TYPE_CHECKING:
    from ..image import SiteAt


class CudaExecutable(Runnable):
    """A program ready to run, from any number of threads at once, on a device that has its kernels.

    `timings`: how long its launches take, where it was made inside `timed.timing()`; then a run
    waits for the device.
    """

    def __init__(self, image: CudaImage, gpu: Gpu) -> None:
        self.image, self.gpu, self.layout = image, gpu, Layout(image)
        super().__init__(image.donations, image.checks, image.arena_bytes)
        self._frames: list[Frame] = []
        late = any(launch.is_check for launch in image.launches[image.early :])
        self.has_late = late or any(check.kernel is not None for check in image.checks)
        self.timings = CudaTimings(len(image.launches)) if wanted() else None

    @cached_property
    def functions(self) -> list[Any]:
        """The handle of each launch."""
        return [self.gpu.kernels.phase(k.symbol, k.phase, k.shared) for k in self.image.launches]

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
        progress, pool = Progress(), self.gpu.pool
        try:
            with here(self.gpu.driver):
                taken = pool.take_arena(self.layout.nbytes) if self.layout.nbytes else None
                try:
                    work(taken[1] if taken else 0, progress)
                finally:
                    if taken:
                        pool.give_arena(taken)
        except DeviceError:
            # raises what has broken the device before, if that is why
            self.gpu.driver.synchronize()
            raise
        except WeftError:
            raise
        except BaseException as reason:
            raise (Interrupted(reason) if progress.complete else reason) from None

    def launch(self, frame: Frame, words: Sequence[int], block: int, progress: Progress) -> None:
        """All of a run, on the addresses of inputs and outputs."""
        frame.fill(words, block)
        start = perf_counter()
        if frame.events is not None:
            frame.events.start()
        self.begin(frame, words, block)
        progress.issue(frame.rest)
        self.end(block)
        if self.timings is not None and frame.events is not None:
            self.timings.add(frame.events.durations(self.timings.phases))
            self.timings.calls.append(perf_counter() - start)

    def begin(self, frame: Frame, inputs: Sequence[int], block: int) -> None:
        """Uploads, and early checks. Raises CheckFailed, and nothing has changed."""
        frame.words.upload(self.gpu.driver, inputs, block)
        if frame.early:
            Progress().issue(frame.early)
            self._look(block)

    def end(self, block: int) -> None:
        """Raises CheckFailed for a late check."""
        if self.has_late:
            self._look(block)

    def _look(self, block: int) -> None:
        status = (ctypes.c_int64 * 2)()
        self.gpu.driver.download(ctypes.addressof(status), block + self.layout.status, STATUS_BYTES)
        if status[0] != NO_CHECK_FAILED:
            raise failure(self.checks, status[0], status[1])


def stored(data: bytes, site_at: SiteAt, number: int) -> CudaExecutable | None:
    """The program of an earlier process, if its kernels are still there."""
    image, device = unpack(data, site_at), gpu(number)
    has_all = all(device.kernels.has(launch.symbol) for launch in image.launches)
    return CudaExecutable(image, device) if has_all else None
