"""Base of executables on any device. In: donations, checks, what plans the memory anew. Out: runs of the program, a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import WeftError
from ..ir.passes.bounds_checks import CheckSite

if TYPE_CHECKING:
    from ..ir.program.memory_report import Memory
    from .prepared import Prepared
    from .timed import Timings


class Runnable:
    """A program ready to run.

    `planned` makes its Memory report: an image has no names, so the passes run again for it.
    `timings`: how long its phases take, where it was made inside `timed.timing()`.
    """

    planned: Callable[[], Memory] | None = None
    timings: Timings | None = None

    def __init__(
        self, donations: dict[int, int], checks: Sequence[CheckSite], arena_bytes: int
    ) -> None:
        self.donations, self.checks, self.arena_bytes = donations, checks, arena_bytes

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs, which stay valid. Raises CheckFailed."""
        raise NotImplementedError

    def prepared(self) -> Prepared:
        """The program for one caller at a time, on nearly the same addresses again and again."""
        raise NotImplementedError

    def memory(self) -> Memory:
        """Which buffers a run needs, where and when; nothing runs.

        Raises WeftError for an executable of an image alone.
        """
        if self.planned is None:
            what = "an image, which does not name what its buffers hold"
            raise WeftError(f"this executable was made of {what}")
        return self.planned()
