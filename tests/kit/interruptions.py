"""Errors at chosen lines of the package. In: a step, a line counted from 1. Out: the step, ended
there as by Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import weft as wf
from weft import locks
from weft.frontend.lazy import state, watchers
from weft.frontend.tensor import random
from weft.ir.graph.site import stated

PACKAGE = str(Path(wf.__file__).parent)


def is_of_package(filename: str) -> bool:
    """Is it a file of the package, and not of an environment inside its folder?"""
    return filename.startswith(PACKAGE) and "site-packages" not in filename[len(PACKAGE) :]


class Stop:
    """Raises an error at a line of the package; `lines`: how many there were."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at, self.error, self.lines = at, error, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not is_of_package(frame.f_code.co_filename):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise self.error("stop")
        return self

    def run(self, step: Callable[[], Any]) -> bool:
        """Did the step come to its end."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            step()
        except self.error:
            return False
        finally:
            sys.settrace(before)
            leave_all()
        return True


def lines_of(step: Callable[[], Any]) -> int:
    """How many lines of the package a step runs."""
    count = Stop(-1, KeyboardInterrupt)
    count.run(step)
    return count.lines


def leave_all() -> None:
    """Ends what a `with` block should have: a trace function may raise as one ends, where Python
    handles no signal."""
    stated.site, stated.keeps_sites = None, False
    for blocks in (
        state.grad_blocks,
        state.autocast_blocks,
        random.Fork.blocks,
        watchers.demand_blocks,
    ):
        for lock in [*blocks.anywhere]:
            if lock.locked():
                lock.release()
    for rank in locks.RANKS:
        for lock in [*locks._made[rank]]:
            while lock._is_owned():
                lock.release()
