"""A Report on a terminal. In: its parts. Out: tables of the package rich, plain text without it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..tables import Table
from ..terminal import print_safely
from .kernel import Apart, KernelReport, Source, facts
from .loop import LoopReport

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

COLOURS = {"compute": "magenta", "memory": "cyan", "launch": "yellow", "held": "green"}


def show(report: object) -> None:
    """Prints tables on a terminal if rich is there, and plain text anywhere else."""
    try:
        from rich.console import Console
    except ImportError:
        print_safely(report)
        return
    if sys.stdout.isatty():
        Console().print(report)
    else:
        print_safely(report)


@dataclass(frozen=True)
class Tables:
    """What rich renders: the totals, a table of the kernels, the facts of each, loops, memory."""

    headline: str
    overview: Table
    kernels: Sequence[KernelReport]
    loops: Sequence[LoopReport]
    memory: str
    buffers: Table
    left_out: int

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        from rich.text import Text

        yield Text(self.headline, style="bold")
        if self.kernels:
            nabla = "d" if options.ascii_only else "∇"
            rows = [[c.replace("gradient of", nabla) for c in row] for row in self.overview.rows]
            yield _table(replace(self.overview, rows=rows), options, footer_style="bold")
            yield from map(_kernel, self.kernels)
            yield from map(_loop, self.loops)
            yield Text(self.memory, style="bold")
            yield _table(self.buffers, options)
            if self.left_out:
                yield Text(f"  {self.left_out} smaller ones", style="dim")


def _table(t: Table, options: ConsoleOptions, **style: str) -> RenderableType:
    from rich import box

    style |= {"header_style": "dim"}
    ascii_only, width = options.ascii_only, options.max_width
    return t.rich(width, COLOURS, True, ascii_only, box=box.SIMPLE_HEAD, padding=(0, 1), **style)


def _grid() -> RichTable:
    """For labels and texts beside them."""
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=11)
    grid.add_column(overflow="fold")
    return grid


def _loop(loop: LoopReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    grid = _grid()
    for label, text in loop.facts.items():
        grid.add_row(f"  {label}", Text(text))
    return Group(Text.assemble((loop.name, "bold"), (f"  {loop.runs}", "dim")), grid, "")


def _kernel(k: KernelReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    grid = _grid()
    styled = {"from": [*map(_source, k.sources)], "apart": [*map(_apart, k.boundaries)]}
    for label, lines in facts(k).items():
        for i, cell in enumerate(styled.get(label) or map(Text, lines)):
            grid.add_row(f"  {label}" if i == 0 else "", cell)
    kind = f"  {k.kind} over {list(k.outer)}" if k.outer else f"  {k.kind}"
    return Group(Text.assemble((k.name, "bold"), (kind, "dim")), grid, "")


def _source(s: Source) -> Text:
    from rich.syntax import Syntax
    from rich.text import Text

    code = Syntax("", "python", theme="ansi_dark").highlight(s.text)
    code.rstrip()
    return Text.assemble((s.where, "italic" if s.gradient else "blue"), "  ", code)


def _apart(b: Apart) -> Text:
    from rich.text import Text

    return Text.assemble((f"from {b.other}", "dim"), "  ", (b.rule, "yellow"), "  ", b.detail)
