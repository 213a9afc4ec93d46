"""A Profile to look at. In: a Profile. Out: plain text, a table of the package rich, HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

from ...wording import amount, duration, plural
from ..profile import Profile
from ..reports.kernel_report import KernelReport
from ..reports.terminal import say

COLUMNS = ("time", "share", "kernel", "moves", "GB/s", "GF/s", "of peak", "roofline", "reached", "lines")
RIGHT = {"time", "share", "moves", "GB/s", "GF/s", "roofline", "reached"}  # columns of numbers
LESS, WIDE = {"moves", "GF/s", "roofline"}, 120  # what there is no room for in fewer columns
PASSES = 4  # those that took longest are named
WORDS = {"memory": "{:.0%} of bandwidth", "compute": "{:.0%} of flops", "launch": "launch", None: ""}


def rows(p: Profile) -> list[tuple[str, ...]]:
    """What the table says of each kernel, by COLUMNS."""
    return [_row(p, k) for k in p.kernels]


def _row(p: Profile, k: KernelReport) -> tuple[str, ...]:
    rates, seconds = p.rates(k), k.measured or 0.0
    of_peak = rates.of_flops if k.bound == "compute" else rates.of_bandwidth
    return (
        duration(seconds),
        f"{seconds / p.measured if p.measured else 0:.0%}",
        k.name,
        f"{amount(k.bytes)}B",
        f"{rates.bandwidth / 1e9:.3g}",
        f"{rates.flops / 1e9:.3g}",
        WORDS[k.bound].format(of_peak),
        duration(k.predicted),
        f"{rates.of_roofline:.0%}",
        "; ".join(dict.fromkeys(s.place for s in k.sources[:3])),
    )


def heading(p: Profile) -> list[str]:
    """The device, and the program as a whole."""
    m = p.machine
    peaks = f"{amount(m.memory.bandwidth)}B/s of memory, {amount(m.flops['float32'].rate)}flop/s in float32"
    share = f", {p.measured / p.seconds:.0%} of it" if p.seconds else ""
    took = f"{plural(len(p.kernels), 'kernel')} took {duration(p.measured)}{share}"
    total = f"{duration(p.seconds)} a run, of {p.runs} warm ones; {took}"
    cold = f"{duration(p.cold)} the first run, with empty caches"
    return [f"{p.report.device}: {m.name}, {plural(m.threads, 'thread')}, {peaks}", total, cold, *doubts(p)]


def doubts(p: Profile) -> list[str]:
    """What a busy machine may have spoiled."""
    out = []
    if p.disturbed:
        out.append("others used the machine meanwhile: kernels took longer than in the run, so their times are upper bounds")
    if p.machine.unsure:
        out.append("the limits of this machine are unsure, as it was busy: python -m weft bench measures them again")
    return out


def ending(p: Profile) -> list[str]:
    """Threads, and the compiler."""
    out = []
    if len(p.threads) > 1 and p.spans and p.spans[-1].end:
        busy = ", ".join(f"{number}: {seconds / p.spans[-1].end:.0%}" for number, seconds in enumerate(p.threads))
        out.append(f"threads at work   {busy}")
    longest = sorted(p.passes, key=lambda found: -found[1])[:PASSES]
    compiled = ", ".join(f"{name} {duration(seconds)}" for name, seconds in longest)
    return [*out, f"compiled in       {duration(sum(s for _, s in p.passes))}: {compiled}"]


def text(p: Profile) -> str:
    """For a terminal of any kind."""
    return "\n".join([*heading(p), "", *kernel_lines(p), "", *ending(p)])


def kernel_lines(p: Profile) -> list[str]:
    """The table alone."""
    table = [COLUMNS, *rows(p)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(_aligned(*cell) for cell in zip(COLUMNS, row, widths, strict=True)).rstrip() for row in table]


def _aligned(column: str, cell: str, width: int) -> str:
    return cell.rjust(width) if column in RIGHT else cell.ljust(width)


def show(p: Profile) -> None:
    """Prints a table in colours where rich is installed, else the plain text."""
    try:
        from rich.console import Console
    except ImportError:
        say(text(p))
        return
    console = Console()
    console.print(*heading(p), rich_table(p, console.width < WIDE), *ending(p), sep="\n", markup=False)


def rich_table(p: Profile, narrow: bool = False) -> Any:
    """A rich.table.Table; a narrow one leaves some columns out."""
    from rich.table import Table

    table, columns = Table(), [i for i, column in enumerate(COLUMNS) if not (narrow and column in LESS)]
    for i in columns:
        column = COLUMNS[i]
        folds = column in ("kernel", "lines")
        style = "cyan" if column == "lines" else None
        table.add_column(column, justify="right" if column in RIGHT else "left", style=style, overflow="fold", no_wrap=not folds)
    for k, row in zip(p.kernels, rows(p), strict=True):
        hot = p.measured and (k.measured or 0) > p.measured / 3
        table.add_row(*(row[i] for i in columns), style="bold" if hot else None)
    return table


def html(p: Profile) -> str:
    """A table in which a bar behind each time shows its share."""
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    body = "".join(_html_row(p, k) for k in p.kernels)
    before, after = ("<br>".join(map(escape, lines)) for lines in (heading(p), ending(p)))
    return f"<div><p>{before}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{after}</p></div>"


def _html_row(p: Profile, k: KernelReport) -> str:
    share = 100 * (k.measured or 0) / p.measured if p.measured else 0
    bar = f"background: linear-gradient(90deg, #8cc8 {share:.1f}%, transparent {share:.1f}%)"
    cells = []
    for column, cell in zip(COLUMNS, _row(p, k), strict=True):
        style = f"text-align: {'right' if column in RIGHT else 'left'}" + (f"; {bar}" if column == "time" else "")
        cells.append(f'<td style="{style}">{escape(cell)}</td>')
    return f"<tr>{''.join(cells)}</tr>"
