"""What a script computed, as tables. In: Entries, measured kernels. Out: lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Entry
from .facts import duration, place
from .kernel_report import KernelReport


def table(entries: list[Entry]) -> list[str]:
    """A line for each program: how often it ran and how long that took; "" where nothing was measured."""
    return columns([("program", "runs", "first run", "a run", "all runs"), *map(_row, entries)])


def kernel_table(kernels: list[KernelReport], seconds: Sequence[float]) -> list[str]:
    """A line for each kernel, the slowest first: its share of a run, and what the roofline of this machine allows."""
    total = sum(seconds)
    rows = [
        (k.name, duration(s), share(s, total), duration(k.predicted), place(k))
        for k, s in sorted(zip(kernels, seconds, strict=True), key=lambda pair: -pair[1])
    ]
    return columns([("kernel", "time", "share", "roofline", "from"), *rows, ("all", duration(total), "100 %")])


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines in which the first entries, and all that are no numbers, begin below each other, others end so."""
    width = [max(len(row[i]) for row in rows if len(row) > i) for i in range(len(rows[0]))]
    sides = [str.ljust if i == 0 or rows[0][i] == "from" else str.rjust for i in range(len(width))]
    return ["  ".join(side(text, w) for side, text, w in zip(sides, row, width, strict=False)).rstrip() for row in rows]


def _row(e: Entry) -> tuple[str, ...]:
    total = None if e.seconds is None or e.runs is None else e.seconds * e.runs
    return e.name, "" if e.runs is None else f"{e.runs:,}", duration(e.cold), duration(e.seconds), duration(total)


def share(part: float, whole: float) -> str:
    """In percent."""
    return f"{100 * part / whole if whole else 0:.1f} %"
