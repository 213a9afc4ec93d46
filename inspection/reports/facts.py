"""What is told of a kernel, as words. In: KernelReports. Out: cells of a table, and labelled lines, for every presentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...wording import amount, duration, plural
from .kernel_report import KernelReport, Report

MOST_READS = 12  # names of what a kernel reads


@dataclass(frozen=True)
class Column:
    """Of a table of kernels: `text` of a cell, "" where there is nothing to say; `number` says that it stands to the right."""

    title: str
    text: Callable[[KernelReport], str]
    number: bool = True


def place(k: KernelReport) -> str:
    """The first line that it comes from, and how many more."""
    if not k.sources:
        return ""
    more = len(k.lines) - 1
    return k.sources[0].where + (f" +{more}" if more else "")


def runs_on(k: KernelReport) -> str:
    """Threads of the CPU, or blocks and threads of the widest phase on a GPU."""
    if k.launches:
        widest = max(k.launches, key=lambda launch: launch.blocks * launch.threads)
        return f"{widest.blocks} x {widest.threads}"
    return str(k.threads)


COLUMNS = (
    Column("kernel", lambda k: k.name, number=False),
    Column("line", place, number=False),
    Column("moved", lambda k: f"{amount(k.bytes)}B"),
    Column("flop", lambda k: amount(k.flops).rstrip()),
    Column("flop/B", lambda k: f"{k.intensity:.3g}"),
    Column("threads", runs_on),
    Column("predicted", lambda k: duration(k.predicted)),
    Column("bound by", lambda k: k.bound or "", number=False),
    Column("measured", lambda k: duration(k.measured)),
)


def columns(r: Report) -> list[Column]:
    """Those that have something to say of this report."""
    return [c for c in COLUMNS if any(c.text(k) for k in r.kernels)]


def totals(r: Report) -> dict[str, str]:
    """By the title of a column."""
    return {
        "kernel": plural(len(r.kernels), "kernel"),
        "moved": f"{amount(r.bytes)}B",
        "flop": amount(r.flops).rstrip(),
        "flop/B": f"{r.flops / r.bytes:.3g}" if r.bytes else "",
        "predicted": duration(r.predicted),
        "measured": duration(r.measured),
    }


def headline(r: Report) -> str:
    """How many kernels, and what they take."""
    if not r.kernels:
        return f"0 kernels on {r.device}: nothing is to be computed, all is in memory already or empty"
    found = totals(r)
    how = " in strict mode" if r.strict else ""
    told = [f"{found['kernel']} on {r.device}{how}", f"{found['moved']} moved", f"{amount(r.flops)}flop"]
    told += [f"{found[what]} {what}" for what in ("predicted", "measured") if found[what]]
    return ", ".join([*told, f"{amount(r.arena_bytes)}B of scratch", f"{plural(r.in_place, 'output')} in place"])


def cost(k: KernelReport) -> str:
    """What it moves and computes, and how long that takes."""
    told = f"{amount(k.bytes)}B moved, {amount(k.flops)}flop, {k.intensity:.3g} flop/B"
    if k.predicted is not None:
        told += f": {duration(k.predicted)} predicted, bound by {k.bound}"
    return told if k.measured is None else f"{told}; {duration(k.measured)} measured"


def facts(k: KernelReport) -> dict[str, list[str]]:
    """By label: the lines that tell it. A label without lines is left out."""
    told = {
        "from": [*map(str, k.sources)],
        "computes": [counted(k.nodes)],
        "reads": [reads(k)],
        "writes": [", ".join(k.outputs) or "the status only"],
        "cost": [cost(k)],
        "schedule": [k.schedule],
        "launch": [*map(str, k.launches)],
        "apart": [*map(str, k.boundaries)],
    }
    return {label: lines for label, lines in told.items() if any(lines)}


def reads(k: KernelReport) -> str:
    """The inputs that have names, the first of many."""
    more = len(k.reads) - MOST_READS
    return ", ".join([*k.reads[:MOST_READS], *([f"{more} more"] if more > 0 else [])])


def counted(words: Iterable[str]) -> str:
    """Each word once, with how often it stands there."""
    return " ".join(word if count == 1 else f"{word}*{count}" for word, count in Counter(words).items())
