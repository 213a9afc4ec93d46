"""What a script computed, as tables. In: Entries, their Reports. Out: lines of text."""

from __future__ import annotations

from dataclasses import replace

from ...wording import duration, plural
from ..measured.machine import machine
from ..measured.profile_text import kernel_lines
from ..profile import Profile
from ..reports.kernel_report import Report
from .document import Entry

ONCE = ", in the only run: in a first one, kernels wait for their code and for memory that no cache holds"


def table(entries: list[Entry]) -> list[str]:
    """A line for each program: how often it ran and how long that took; "" where nothing was measured."""
    return columns([("program", "runs", "first run", "a run", "all runs"), *map(_row, entries)])


def profiled(e: Entry, found: Report) -> list[str]:
    """The kernels of a program as `wf.profile` lists them, the slowest first; nothing where they were not measured."""
    if e.kernels is None or e.seconds is None:
        return []
    slowest = sorted(e.measured(found).kernels, key=lambda k: -(k.measured or 0))
    p = Profile(replace(found, kernels=slowest), machine(e.device), e.runs or 0, e.seconds, e.cold or 0)
    total = f"{plural(len(slowest), 'kernel')}: {duration(p.measured)} of {duration(p.seconds)}"
    return [total + (ONCE if e.runs == 1 else ""), "", *kernel_lines(p)]


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines in which the first entries begin below each other, and all others end so."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    return ["  ".join(side(text, w) for side, text, w in zip(sides, row, widths, strict=True)).rstrip() for row in rows]


def _row(e: Entry) -> tuple[str, ...]:
    total = None if e.seconds is None or e.runs is None else e.seconds * e.runs
    first, warm = (e.seconds, None) if e.runs == 1 else (e.cold, e.seconds)
    return e.name, "" if e.runs is None else f"{e.runs:,}", duration(first), duration(warm), duration(total)
