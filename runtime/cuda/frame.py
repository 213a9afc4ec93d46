"""One running call on a GPU: its arguments, its launches, how far they are. In: a program on the
device. Out: a Frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import call
from typing import Any, Protocol

from ...errors import DeviceError
from ..timed import Timings
from .block import Layout, Words
from .devices import Gpu
from .driver import bound
from .image import CudaImage
from .timed import Calls, Events
from .walk import Walk


@dataclass
class Progress:
    """How many launches follow the early checks, and what those that the device knows returned."""

    wanted: int = -1
    done: list[object] = field(default_factory=list)

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


class OnDevice(Protocol):
    """A program on a device, as its running calls know it: CudaExecutable."""

    image: CudaImage
    gpu: Gpu
    layout: Layout
    timings: Timings | None

    @property
    def functions(self) -> list[Any]: ...
    def guarded(self, work: Callable[[int, Progress], None]) -> None: ...
    def launch(
        self, frame: Frame, words: Sequence[int], block: int, progress: Progress
    ) -> None: ...
    def begin(self, frame: Frame, inputs: Sequence[int], block: int) -> None: ...
    def end(self, block: int) -> None: ...


class Frame:
    """What one running call needs of its own: arguments, and the launches that read them."""

    __slots__ = ("_executable", "early", "events", "rest", "walk", "words")

    def __init__(self, executable: OnDevice) -> None:
        self._executable = executable
        image, driver = executable.image, executable.gpu.driver
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
            self.early = self.events.around(self.early, 0)
            self.rest = self.events.around(self.rest, image.early)
        self.walk = None
        if image.table:
            self.walk = Walk(executable.layout, self.words, self.rest, driver)
            self.rest = [self.walk]

    def fill(self, words: Sequence[int], block: int) -> None:
        """Takes the addresses of inputs and outputs, and of the program's block."""
        self.words.fill(words, block)
        if self.walk is not None:
            self.walk.start(words, block)

    def launch_rest(self) -> None:
        """The launches after the early checks, one by one, for a driver that captures them."""
        executable = self._executable
        image, launch = executable.image, executable.gpu.driver.launch
        for k in range(image.early, len(image.launches)):
            size = image.launches[k]
            arguments = bytes(self.words.arguments[k])
            launch(executable.functions[k], size.grid, size.block, arguments, size.shared)
