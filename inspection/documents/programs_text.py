"""Tables of the programs of a script. In: Entries, their Reports. Out: lines of text."""

from __future__ import annotations

from dataclasses import replace

from ...wording import duration, plural
from ..explain.report import Report
from ..machine.machine import machine
from ..profile.data import Profile, kernel_table
from ..tables import Column, Table
from .document import Entry

ONCE = (
    ", in the only run: in a first one, kernels wait for their code "
    "and for memory that no cache holds"
)


def table(entries: list[Entry]) -> list[str]:
    """A line for each program: how often it ran and how long that took; "" where nothing was
    measured.
    """
    numbers = (Column(title, True) for title in ("runs", "first run", "a run", "all runs"))
    return Table([Column("program"), *numbers], [*map(_row, entries)]).lines()


def profiled(e: Entry, report: Report) -> list[str]:
    """The kernels of a program as `wf.profile` lists them, the slowest first; nothing where they
    were not measured."""
    if e.kernels is None or e.seconds is None:
        return []
    slowest = sorted(e.measured(report).kernels, key=lambda k: -(k.measured or 0))
    p = Profile(
        replace(report, kernels=slowest), machine(e.device), e.runs or 0, e.seconds, e.cold or 0
    )
    total = f"{plural(len(slowest), 'kernel')}: {duration(p.measured)} of {duration(p.seconds)}"
    return [total + (ONCE if e.runs == 1 else ""), "", *kernel_table(p).lines()]


def _row(e: Entry) -> tuple[str, ...]:
    total = None if e.seconds is None or e.runs is None else e.seconds * e.runs
    first, warm = (e.seconds, None) if e.runs == 1 else (e.cold, e.seconds)
    return (
        e.name,
        "" if e.runs is None else f"{e.runs:,}",
        duration(first),
        duration(warm),
        duration(total),
    )
