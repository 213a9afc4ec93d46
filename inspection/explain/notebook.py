"""A Report for notebooks. In: its parts. Out: HTML without scripts, for light and dark pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from ..tables import Table
from .kernel import Apart, KernelReport, Source, facts
from .loop import LoopReport

STYLE = Path(__file__).with_name("report.css")
MICRO = re.compile(r"(?<=\d) us\b")
CLASSES = {"kernel": ["name"], "line": ["place"]}  # of columns
WIDE = {"kernel": "minmax(11em, 2.4fr)", "line": "minmax(8em, 1.2fr)"}
BUFFERS = "minmax(9em, 2fr) minmax(8em, 1fr) minmax(7em, 1fr) 4em 4.6em minmax(4em, 1fr)"


def html(
    headline: str,
    overview: Table,
    kernels: Sequence[KernelReport],
    loops: Sequence[LoopReport],
    memory: str,
    buffers: Table,
    left_out: int,
) -> str:
    """The totals, a row for each kernel that opens to its facts, loops, the memory."""
    parts = [f"<style>{STYLE.read_text()}</style>", f'<div class="head">{_pretty(headline)}</div>']
    if kernels:
        parts += [_kernels(overview, kernels), *map(_loop, loops)]
        parts += [_memory(memory, buffers, left_out)]
    return f'<div class="weft-report">{"".join(parts)}</div>'


def _grid(widths: str) -> str:
    """Columns that are as wide in every row: each row is a grid of its own."""
    return f'style="grid-template-columns: {widths}"'


def _row(t: Table, cells: Sequence[str], tone: str = "") -> str:
    spans = []
    for c, cell in zip(t.columns, cells, strict=True):
        kinds = [
            *["number"] * c.number,
            *CLASSES.get(c.title, []),
            *[tone] * (c.toned and bool(tone)),
        ]
        attribute = f' class="{" ".join(kinds)}"' if kinds else ""
        spans.append(f"<span{attribute}>{_pretty(cell)}</span> ")
    return "".join(spans)


def _bar(t: Table, number: int) -> str:
    if not t.shares:
        return ""
    share = f'<span style="width: {100 * t.shares[number]:.3g}%"></span>'
    return f'<span class="bar {t.tones[number] or "held"}">{share}</span>'


def _titles(t: Table, grid: str) -> str:
    return f'<div class="row titles" {grid}>{_row(t, [c.title for c in t.columns])}</div>'


def _kernels(t: Table, kernels: Sequence[KernelReport]) -> str:
    widths = [
        *(WIDE.get(c.title, "4.8em") for c in t.columns),
        *["minmax(4em, 1fr)"] * bool(t.shares),
    ]
    grid = _grid(" ".join(widths))
    rows = [_titles(t, grid)]
    for i, k in enumerate(kernels):
        cells = _row(t, [c.replace("gradient of", "∇") for c in t.rows[i]], t.tones[i]) + _bar(t, i)
        summary = f'<summary class="row" {grid}>{cells}</summary>'
        rows.append(f"<details>{summary}{_details(k)}</details>")
    if t.footer:
        rows.append(f'<div class="row total" {grid}>{_row(t, t.footer)}</div>')
    return "".join(rows)


def _details(k: KernelReport) -> str:
    over = f" over {list(k.outer)}" if k.outer else ""
    texts = {"kind": f"{k.kind}{over}"}
    texts |= {label: "<br>".join(map(_pretty, lines)) for label, lines in facts(k).items()}
    texts |= {"from": "<br>".join(map(_source, k.sources))}
    texts |= {"apart": "<br>".join(map(_apart, k.boundaries))}
    return _pairs(texts)


def _pairs(texts: Mapping[str, str]) -> str:
    pairs = (f"<dt>{label}</dt><dd>{text}</dd>" for label, text in texts.items() if text)
    return f"<dl>{''.join(pairs)}</dl>"


def _loop(loop: LoopReport) -> str:
    """A row that opens to what passes from iteration to iteration."""
    summary = f'<summary class="row"><span>{_pretty(loop.title)}</span></summary>'
    texts = {label: _pretty(text) for label, text in loop.facts.items()}
    return f"<details>{summary}{_pairs(texts)}</details>"


def _source(s: Source) -> str:
    kind = ' class="gradient"' if s.gradient else ""
    code = f" <code>{escape(s.text)}</code>" if s.text else ""
    return f"<span{kind}>{escape(s.where)}</span>{code}"


def _apart(b: Apart) -> str:
    rule = f'<span class="launch">{escape(b.rule)}</span>'
    return f"from <b>{_pretty(b.other)}</b>: {rule}: {escape(b.detail)}"


def _pretty(text: str) -> str:
    return MICRO.sub(" µs", escape(text)).replace("_", "_<wbr>")


def _memory(head: str, t: Table, left_out: int) -> str:
    grid = _grid(BUFFERS)
    rows = [_titles(t, grid)]
    rows += [
        f'<div class="row" {grid}>{_row(t, row)}{_bar(t, i)}</div>' for i, row in enumerate(t.rows)
    ]
    if left_out:
        more = f'<span class="place">{left_out} smaller ones</span>'
        rows.append(f'<div class="row">{more}</div>')
    summary = f'<summary class="row"><span>{escape(head)}</span></summary>'
    return f"<details>{summary}{''.join(rows)}</details>"
