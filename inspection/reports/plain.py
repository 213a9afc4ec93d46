"""A Report as plain text. In: a Report. Out: what `print` shows."""

from __future__ import annotations

import re
from textwrap import wrap

from .facts import columns, facts, headline, totals
from .kernel_report import KernelReport, Report

WIDTH = 110  # columns of a text, wherever it is printed
LABEL = 14  # columns before what is told
SHAPE = re.compile(r"(?<=\d), (?=\d)")  # what stands between two extents


def report_text(r: Report) -> str:
    """Totals, a table of the kernels if they are several, each kernel, the memory."""
    table = ["\n".join(overview(r))] if len(r.kernels) > 1 else []
    return "\n\n".join([headline(r), *table, *map(str, r.kernels), *([str(r.memory)] if r.kernels else [])])


def overview(r: Report) -> list[str]:
    """A line for each kernel, in aligned columns."""
    shown, last = columns(r), totals(r)
    rows = [[c.title for c in shown], *([c.text(k) for c in shown] for k in r.kernels), [last.get(c.title, "") for c in shown]]
    wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(w) if c.number else cell.ljust(w) for cell, w, c in zip(row, wide, shown, strict=True)).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, lines))
    return [lines[0], rule, *lines[1:-1], rule, lines[-1]]


def kernel_text(k: KernelReport) -> str:
    """What one kernel does, where it comes from, and why it stands alone."""
    out = [f"{k.name}  outer {list(k.outer)}  {_shared(k)}"]
    for label, lines in facts(k).items():
        heads = [label, *[""] * len(lines)] if label == "from" else [label] * len(lines)
        for head, line in zip(heads, lines, strict=False):
            whole = SHAPE.sub(",\u00a0", line)  # not to be broken
            out += wrap(whole, WIDTH, initial_indent=f"    {head:<{LABEL - 4}}", subsequent_indent=" " * LABEL)
    return "\n".join(out).replace("\u00a0", " ")


def _shared(k: KernelReport) -> str:
    if k.launches:
        return "GPU"
    return f"{k.threads} threads" if k.threads > 1 else "one thread"
