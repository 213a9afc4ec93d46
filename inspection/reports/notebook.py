"""A Report for notebooks. In: a Report. Out: HTML without scripts or links, for light and dark pages."""

from __future__ import annotations

import re
from html import escape

from ...ir.program.memory_report import SHOWN, Memory
from ...wording import amount
from .facts import Column, columns, facts, headline, totals
from .kernel_report import Apart, KernelReport, Report, Source

# Colours are that of the page's text, more or less of it, and hues mixed with it: on light and dark pages both are legible.
STYLE = """
.weft-report {
  --line: color-mix(in srgb, currentColor 16%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent);
  --compute: #c3489f; --memory: #2a8cc4; --launch: #c08a1e; --held: #3d9c62;
  font: 13px/1.5 system-ui, sans-serif; max-width: 94em; overflow-x: auto; text-align: left; }
.weft-report .row { min-width: 53em; }
.weft-report .head { font-weight: 600; margin: .5em 0; }
.weft-report .row { display: grid; gap: 0 .9em; align-items: baseline; padding: .2em .5em .2em 1.4em;
  font-variant-numeric: tabular-nums; }
.weft-report .titles { border-bottom: 1px solid var(--line); }
.weft-report .titles, .weft-report .place, .weft-report dt, .weft-report summary::before { opacity: .75; font-weight: 400; }
.weft-report .titles .place { opacity: 1; }
.weft-report .total { font-weight: 600; }
.weft-report .number { text-align: right; white-space: nowrap; }
.weft-report .row span { overflow-wrap: anywhere; }
.weft-report summary .name { font-weight: 600; }
.weft-report details { border-bottom: 1px solid var(--line); }
.weft-report summary { cursor: pointer; list-style: none; position: relative; }
.weft-report summary::-webkit-details-marker { display: none; }
.weft-report summary::before { content: "\\25B8"; position: absolute; left: .5em; top: .2em; }
.weft-report details[open] > summary::before { content: "\\25BE"; }
.weft-report summary:hover, .weft-report summary:focus-visible { background: var(--soft); }
.weft-report .bar { align-self: center; height: .55em; border-radius: .3em; background: var(--soft); min-width: 4em; }
.weft-report .bar > span { display: block; height: 100%; min-width: 2px; border-radius: .3em; background: var(--bar); }
.weft-report .compute { color: color-mix(in srgb, var(--compute) 70%, currentColor); --bar: var(--compute); }
.weft-report .memory { color: color-mix(in srgb, var(--memory) 70%, currentColor); --bar: var(--memory); }
.weft-report .launch { color: color-mix(in srgb, var(--launch) 65%, currentColor); --bar: var(--launch); }
.weft-report .held { --bar: var(--held); }
.weft-report dl { display: grid; grid-template-columns: 6em 1fr; gap: .15em .9em; margin: .2em 0 .7em 1.4em; }
.weft-report dd { margin: 0; overflow-wrap: anywhere; }
.weft-report code { font: 12px/1.5 ui-monospace, monospace; background: var(--soft); padding: .05em .3em; border-radius: .25em;
  color: inherit; }
.weft-report .gradient { font-style: italic; }
@media (prefers-contrast: more) { .weft-report * { opacity: 1 !important; } }
"""
MICRO = re.compile(r"(?<=\d) us\b")


def html(r: Report) -> str:
    """The totals, a row for each kernel that opens to what is told of it, the memory."""
    parts = [f"<style>{STYLE}</style>", f'<div class="head">{_pretty(headline(r))}</div>']
    if r.kernels:
        parts += [_kernels(r), _memory(r.memory)]
    return f'<div class="weft-report">{"".join(parts)}</div>'


# ---------------------------------------------------------------- kernels


def _kernels(r: Report) -> str:
    shown, last = columns(r), totals(r)
    seconds = [k.measured or k.predicted or 0.0 for k in r.kernels]
    bars = any(seconds)
    grid = f'style="grid-template-columns: {_layout(shown, bars)}"'
    titles = "".join(_span(c, c.title) for c in shown)
    rows = [f'<div class="row titles" {grid}>{titles}</div>']
    for k, s in zip(r.kernels, seconds, strict=True):
        cells = "".join(_cell(c, k) for c in shown) + (_bar(s / max(seconds), k.bound or "held") if bars else "")
        rows.append(f'<details><summary class="row" {grid}>{cells}</summary>{_details(k)}</details>')
    if len(r.kernels) > 1:
        rows.append(f'<div class="row total" {grid}>{"".join(_span(c, last.get(c.title, "")) for c in shown)}</div>')
    return "".join(rows)


WIDE = {"kernel": "minmax(11em, 2.4fr)", "line": "minmax(8em, 1.2fr)"}


def _layout(shown: list[Column], bars: bool) -> str:
    """Widths that are the same in every row: each row is a grid of its own."""
    return " ".join([*(WIDE.get(c.title, "4.8em") for c in shown), *(["minmax(4em, 1fr)"] if bars else [])])


def _cell(c: Column, k: KernelReport) -> str:
    return _span(c, c.text(k).replace("gradient of", "∇"), k.bound or "" if c.title == "bound by" else "")


def _span(c: Column, text: str, kind: str = "") -> str:
    kinds = [*(["number"] if c.number else []), *NAMES.get(c.title, []), *([kind] if kind else [])]
    return f'<span class="{" ".join(kinds)}">{_pretty(text)}</span> '


NAMES = {"kernel": ["name"], "line": ["place"]}


def _bar(share: float, kind: str) -> str:
    return f'<span class="bar {kind}"><span style="width: {100 * share:.3g}%"></span></span>'


def _details(k: KernelReport) -> str:
    over = f" over {list(k.outer)}" if k.outer else ""
    told = {"kind": f"{k.kind}{over}"} | {label: "<br>".join(map(_pretty, lines)) for label, lines in facts(k).items()}
    told |= {"from": "<br>".join(map(_source, k.sources)), "apart": "<br>".join(map(_apart, k.boundaries))}
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{text}</dd>' for label, text in told.items() if text)}</dl>"


def _source(s: Source) -> str:
    kind = ' class="gradient"' if s.gradient else ""
    code = f" <code>{escape(s.text)}</code>" if s.text else ""
    return f"<span{kind}>{escape(s.where)}</span>{code}"


def _apart(b: Apart) -> str:
    return f'from <b>{_pretty(b.other)}</b>: <span class="launch">{escape(b.rule)}</span>: {escape(b.detail)}'


def _pretty(text: str) -> str:
    return MICRO.sub(" µs", escape(text)).replace("_", "_<wbr>")


# ---------------------------------------------------------------- memory


def _memory(m: Memory) -> str:
    head, *_ = str(m).split("\n")
    grid = 'style="grid-template-columns: minmax(9em, 2fr) minmax(8em, 1fr) minmax(7em, 1fr) 4em 4.6em minmax(4em, 1fr)"'
    titles = "".join(f"<span>{title}</span> " for title in ("buffer", "holds", "lies in", "steps"))
    rows = [f'<div class="row titles" {grid}>{titles}<span class="number">bytes</span></div>']
    alive = m.at_peak[:SHOWN]
    for b in alive:
        cells = [b.name, f"{b.dtype}{list(b.shape)}", b.place, f"{b.first}-{b.last}"]
        told = "".join(f"<span>{_pretty(cell)}</span> " for cell in cells) + f'<span class="number">{amount(b.bytes)}B</span> '
        rows.append(f'<div class="row" {grid}>{told}{_bar(b.bytes / max(1, alive[0].bytes), "held")}</div>')
    more = len(m.at_peak) - SHOWN
    if more > 0:
        rows.append(f'<div class="row"><span class="place">{more} smaller ones</span></div>')
    return f'<details><summary class="row"><span>{escape(head)}</span></summary>{"".join(rows)}</details>'
