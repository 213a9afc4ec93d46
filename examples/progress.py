"""Progress and pace of a loop. In: what each step has done. Out: a bar on a terminal, a rate.

Scripts beside this file import it as `progress`.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter
from typing import Any, Self


class Progress:
    """The pace of a loop, on a terminal with a bar of tqdm: `with Progress("epoch 1/3", 60_000,
    "images") as bar: ...`

    The first steps of a process take longer, since they are `compiled`: there it says so until the
    first one is done.
    """

    def __init__(self, title: str, total: int, unit: str, compiled: bool = False) -> None:
        self.unit, self.compiled, self.bar = unit, compiled, bar(title, total, unit)
        self.note = f"{title}: compiling ..." if compiled and sys.stderr.isatty() else ""
        self.rates: list[float] = []

    def update(self, done: int, loss: float) -> None:
        """So many more are done, and this is the loss now."""
        now = perf_counter()
        self.rates.append(done / max(now - self.since, 1e-9))
        self.since = now
        self.erase_note()
        if self.bar is not None:
            self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            self.bar.update(done)

    def print(self, line: str) -> None:
        """The line above the bar."""
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.write(line)

    @property
    def rate(self) -> float:
        """Units a second in most steps: the median, which those that compile do not change."""
        return median(self.rates)

    @property
    def pace(self) -> str:
        """How long it took, and how fast it was."""
        return (
            f"{self.seconds:.2f} s{' with compiling' if self.compiled else ''}, {self.rate:,.0f}"
            f" {self.unit}/s"
        )

    def erase_note(self) -> None:
        if self.note:
            print(f"\r{'':{len(self.note)}}\r", end="", file=sys.stderr, flush=True)
            self.note = ""

    def __enter__(self) -> Self:
        print(self.note, end="", file=sys.stderr, flush=True)
        self.start = self.since = perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = perf_counter() - self.start
        self.erase_note()
        if self.bar is not None:
            self.bar.close()


def bar(title: str, total: int, unit: str) -> Any:
    """A bar of tqdm; None where there is no terminal, or no tqdm."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, desc=title, unit=unit, leave=False, delay=0.5)


def worth_a_line(epoch: int, epochs: int, lines: int = 10) -> bool:
    """Whether this epoch, counted from 0, is the last or one of about so many that are told."""
    return (epoch + 1) % max(1, round(epochs / lines)) == 0 or epoch + 1 == epochs
