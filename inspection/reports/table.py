"""A Report as tables for a terminal. In: a Report. Out: what the package rich prints; plain text where it is not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from ...ir.program.memory_report import SHOWN, Memory, MemoryBuffer
from ...wording import amount
from .facts import Column, columns, facts, headline, totals
from .kernel_report import Apart, KernelReport, Report, Source
from .terminal import say

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table
    from rich.text import Text

BAR = 12  # characters of the longest bar
BOUNDS = {"compute": "magenta", "memory": "cyan", "launch": "yellow"}  # colours
LONG = ("kernel", "line")  # columns that may be cut off
LEAST, GAP = 12, 3  # characters of those at least, and between columns
WIDE = {"flop": 72, "flop/B": 88, "threads": 88, "bar": 124}  # columns of a terminal from which on these are shown
DIM = ("line", "moved", "flop", "flop/B", "threads")


def show(r: Report) -> None:
    """Prints tables on a terminal if rich is there, and plain text anywhere else."""
    try:
        from rich.console import Console
    except ImportError:
        say(r)
        return
    if sys.stdout.isatty():
        Console().print(r)
    else:
        say(r)


class Tables:
    """What rich renders: the totals, a table of the kernels, what is told of each, the memory."""

    def __init__(self, r: Report) -> None:
        self.report = r

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        r = self.report
        yield Text(headline(r), style="bold")
        if r.kernels:
            yield _kernels(r, options.max_width, options.ascii_only)
            yield from map(_kernel, r.kernels)
            yield _memory(r.memory, options.max_width)


# ---------------------------------------------------------------- kernels


def _kernels(r: Report, width: int, ascii_only: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = Table(box=box.SIMPLE_HEAD, show_footer=len(r.kernels) > 1, padding=(0, 1), header_style="dim", footer_style="bold")
    last, shown = totals(r), [c for c in columns(r) if width >= WIDE.get(c.title, 0)]
    seconds = [_seconds(k) for k in r.kernels]
    bars = any(seconds) and width >= WIDE["bar"]
    cut: Literal["crop", "ellipsis"] = "crop" if ascii_only else "ellipsis"
    rows = [[c.text(k).replace("gradient of", "d" if ascii_only else "∇") for c in shown] for k in r.kernels]
    for c, wide in zip(shown, _widths(r, shown, rows, width - (BAR + GAP if bars else 0)), strict=True):
        style = "bold" if c.title == "kernel" else "dim" if c.title in DIM else ""
        side: Literal["left", "right"] = "right" if c.number else "left"
        out.add_column(c.title, last.get(c.title, ""), justify=side, style=style, no_wrap=True, width=wide, overflow=cut)
    if bars:
        out.add_column("", width=BAR)
    for k, row, s in zip(r.kernels, rows, seconds, strict=True):
        style = BOUNDS.get(k.bound or "", "")
        cells = [Text(cell, style=style if c.title == "bound by" else "") for c, cell in zip(shown, row, strict=True)]
        out.add_row(*cells, *([_bar(s / max(seconds), style)] if bars else []))
    return out


def _widths(r: Report, shown: list[Column], rows: list[list[str]], left: int) -> list[int]:
    """Of each column. Names of kernels, and then lines, may be cut off."""
    titles, last = [c.title for c in shown], totals(r)
    wide = [max(map(len, cells)) for cells in zip(titles, [last.get(title, "") for title in titles], *rows, strict=True)]
    for i, title in enumerate(titles):
        if title in LONG:
            wide[i] = min(wide[i], max(LEAST, left - GAP * len(shown) - 2 - sum(wide) + wide[i]))
    return wide


def _seconds(k: KernelReport) -> float:
    return k.measured or k.predicted or 0.0


def _bar(share: float, style: str) -> RenderableType:
    from rich.progress_bar import ProgressBar

    return ProgressBar(1.0, share, BAR, complete_style=style, finished_style=style, style="bright_black")


def _kernel(k: KernelReport) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=11)
    grid.add_column(overflow="fold")
    styled = {"from": [*map(_source, k.sources)], "apart": [*map(_apart, k.boundaries)]}
    for label, lines in facts(k).items():
        for i, cell in enumerate(styled.get(label) or map(Text, lines)):
            grid.add_row(f"  {label}" if i == 0 else "", cell)
    head = Text.assemble((k.name, "bold"), (f"  {k.kind} over {list(k.outer)}" if k.outer else f"  {k.kind}", "dim"))
    return Group(head, grid, "")


def _source(s: Source) -> Text:
    from rich.syntax import Syntax
    from rich.text import Text

    code = Syntax("", "python", theme="ansi_dark").highlight(s.text)
    code.rstrip()
    return Text.assemble((s.where, "italic" if s.gradient else "blue"), "  ", code)


def _apart(b: Apart) -> Text:
    from rich.text import Text

    return Text.assemble((f"from {b.other}", "dim"), "  ", (b.rule, "yellow"), "  ", b.detail)


# ---------------------------------------------------------------- memory


def _memory(m: Memory, width: int) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head, *_ = str(m).split("\n")
    out = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="dim")
    for title in BUFFER:
        side: Literal["left", "right"] = "right" if title == "bytes" else "left"
        out.add_column(title, justify=side, style="" if title == "buffer" else "dim", overflow="fold")
    alive = m.at_peak[:SHOWN]
    for b in alive:
        bars = [_bar(b.bytes / max(1, alive[0].bytes), "green")] if width >= WIDE["bar"] else []
        out.add_row(*(text(b) for text in BUFFER.values()), *bars)
    more = len(m.at_peak) - SHOWN
    return Group(Text(head, style="bold"), out, *([Text(f"  {more} smaller ones", style="dim")] if more > 0 else []))


BUFFER: dict[str, Callable[[MemoryBuffer], str]] = {
    "buffer": lambda b: b.name,
    "holds": lambda b: f"{b.dtype}{list(b.shape)}",
    "lies in": lambda b: b.place,
    "steps": lambda b: f"{b.first}-{b.last}",
    "bytes": lambda b: f"{amount(b.bytes)}B",
}
