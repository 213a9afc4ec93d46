"""A program that runs again and again. In: the addresses of its inputs and outputs. Out: a run,
replayed where all are known.

What the device is asked for is recorded the second time it comes with the same addresses, and is
one call from then on: a CUDA graph. Inputs from the host, early checks and copies of small results
stay outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..buffer import DeviceBuffer
from ..failures import CheckFailed
from .devices import Gpu
from .driver import bound_copy
from .frame import Frame, OnDevice, Progress

KEPT = 8  # graphs of one program: as many sets of memory may take turns
NOTED = 32  # sets of addresses that are remembered
FEWEST = (
    4  # launches that are worth a graph; an estimate, its own launch takes about as long as two
)
WORTH = 4  # runs in which a graph pays for its making; an estimate
# of a run, which each run that makes no graph for want of credit adds: an eighth of the time may be
# lost for good
REGAIN = 1 / 8


class Replay:
    """`words`: the addresses, which stay as they are from run to run."""

    def __init__(self, executable: OnDevice, frame: Frame) -> None:
        image = executable.image
        self._executable, self._frame = executable, frame
        self.words = [0] * (image.inputs + image.outputs)
        self._on_device = [i for i in range(len(self.words)) if i not in image.host]
        self._graphs: dict[
            tuple[int, ...], Callable[[], object]
        ] = {}  # the one used last at the end
        self._seen: dict[tuple[int, ...], None] = {}
        sizes = {
            image.inputs + o: nbytes
            for o, nbytes in enumerate(image.results)
            if 0 < nbytes <= SMALL
        }
        self._results = Results(sizes, executable.gpu)
        # runs by which replays are ahead of what making graphs has cost
        self._credit: float = WORTH * KEPT
        # a graph has no times between launches
        self._is_possible = (
            len(frame.rest) >= FEWEST and executable.timings is None
        )  # one walk, where there are loops
        self._failed: CheckFailed | None = None

    def execute(self) -> None:
        """Runs the program. Raises CheckFailed."""
        try:
            self._executable.guarded(self._work)
        except CheckFailed as failed:
            self._failed = failed
            raise

    def fail(self) -> None:
        """Raises what the last run that failed a check has raised."""
        assert self._failed is not None
        raise self._failed

    def _work(self, block: int, progress: Progress) -> None:
        executable, frame = self._executable, self._frame
        if not self._is_possible:
            executable.launch(frame, self.words, block, progress)
            return
        words = self._results.placed(self.words)
        key = (block, *[words[i] for i in self._on_device])
        graph = self._graphs.pop(key, None)
        if graph is None or frame.early:
            frame.fill(words, block)
        executable.begin(frame, words, block)
        graph = graph or self._captured(key)
        if graph is not None:
            self._graphs[key] = graph
            self._credit += 1
        progress.issue(
            [*(frame.rest if graph is None else [graph]), *self._results.copies(self.words)]
        )
        executable.end(block)

    def _captured(self, key: tuple[int, ...]) -> Callable[[], object] | None:
        """The graph of the launches with these addresses, if they have been seen before and it is
        likely to pay."""
        if key not in self._seen:
            self._seen[key] = None
            if len(self._seen) > NOTED:
                del self._seen[next(iter(self._seen))]
            return None
        if self._credit < WORTH:
            self._credit += REGAIN
            return None
        graph = self._executable.gpu.driver.capture(self._frame.launch_rest)
        self._is_possible = graph is not None
        self._credit -= WORTH
        if len(self._graphs) >= KEPT:
            del self._graphs[next(iter(self._graphs))]
        return graph


# ---------------------------------------------------------------- small results

# A graph has its addresses built in. A loss that the user keeps is at a new one after every step:
# so it is computed where the last one was, and copied.


SMALL = 4096  # bytes that are copied in about the time that a copy takes to start
MANY = 4  # addresses that take turns without a copy


class Results:
    """`sizes`: the words of small results, and their bytes."""

    def __init__(self, sizes: Mapping[int, int], gpu: Gpu) -> None:
        self._sizes, self._gpu = sizes, gpu
        self._seen: dict[int, set[int]] = {word: set() for word in sizes}
        self._kept: dict[int, DeviceBuffer] = {}

    def placed(self, words: Sequence[int]) -> list[int]:
        """The addresses, those of results that were in many places replaced by ones that stay."""
        for word, seen in list(self._seen.items()):
            seen.add(words[word])
            if len(seen) > MANY:
                self._kept[word] = self._gpu.pool.allocate(self._sizes[word])
                del self._seen[word]
        return [
            self._kept[i].address if i in self._kept else address for i, address in enumerate(words)
        ]

    def copies(self, words: Sequence[int]) -> list[Callable[[], object]]:
        """What brings the results where they are wanted."""
        driver, sizes = self._gpu.driver, self._sizes
        return [
            bound_copy(driver, words[word], kept.address, sizes[word])
            for word, kept in self._kept.items()
        ]
