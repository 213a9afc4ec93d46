"""Tables. In: columns, and rows of text. Out: aligned lines, HTML, tables of the package rich."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BAR = 12  # characters of the longest bar
BARS = 124  # characters of the narrowest terminal that has room for bars
GAP = 3  # characters between columns of rich


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes: `title`; `number`, whether cells end below each other; `least`, its characters at
    least; `since`, those of the narrowest terminal with room for it; `cut`, characters to which
    it may be cut, 0 for no cutting; `folds`, whether cells may take several lines; `style`, that
    of rich; `toned`, whether cells have the tone of their row.
    """

    title: str
    number: bool = False
    least: int = 0
    since: int = 0
    cut: int = 0
    folds: bool = False
    style: str = ""
    toned: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, each a text.

    Attributes: `columns`; `rows`; `footer`, cells of a last row; by row: `shares`, the lengths of
    bars, at most 1, and `tones`, words for colours.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    footer: Sequence[str] = ()
    shares: Sequence[float] = ()
    tones: Sequence[str] = ()

    def widths(self, room: int | None = None) -> list[int]:
        """Characters of each column; those that may be cut share what `room` the others leave."""
        cells = [[c.title for c in self.columns], *self.rows, *([self.footer] * bool(self.footer))]
        wide = [
            max(c.least, *map(len, column))
            for c, column in zip(self.columns, zip(*cells, strict=True), strict=True)
        ]
        for i, c in enumerate(self.columns):
            if c.cut and room is not None:
                wide[i] = min(wide[i], max(c.cut, room - sum(wide) + wide[i]))
        return wide

    def lines(self, rule: str = "", width: int | None = None, more: str = "…") -> list[str]:
        """Aligned columns, with lines of `rule` below the titles and above the footer."""
        wide = self.widths(None if width is None else width - 2 * (len(self.columns) - 1))
        titles = [c.title for c in self.columns]
        head, *body = [self._line(row, wide, more) for row in (titles, *self.rows)]
        foot = [self._line(self.footer, wide, more)] if self.footer else []
        rules = [rule * max(map(len, (head, *body, *foot)))] if rule else []
        return [*([head, *rules] if any(titles) else []), *body, *(rules if foot else []), *foot]

    def _line(self, row: Sequence[str], wide: Sequence[int], more: str) -> str:
        cells = []
        for c, cell, w in zip(self.columns, row, wide, strict=True):
            text = cell if len(cell) <= w else cell[: w - len(more)] + more
            cells.append(text.rjust(w) if c.number else text.ljust(w))
        return "  ".join(cells).rstrip()

    def html(self, style: str = "") -> str:
        """A table of HTML; bars are the background of the first column."""
        sides = [f"{style}text-align:{'right' if c.number else 'left'}" for c in self.columns]
        bars = [
            f";background:linear-gradient(90deg,#8cc8 {100 * s:.1f}%,transparent {100 * s:.1f}%)"
            for s in self.shares
        ]
        head = _cells("th", (c.title for c in self.columns), sides)
        body = [
            _cells("td", row, [sides[0] + bar, *sides[1:]])
            for row, bar in zip(self.rows, bars or [""] * len(self.rows), strict=True)
        ]
        return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"

    def rich(
        self,
        width: int,
        colours: Mapping[str, str] | None = None,
        bars: bool = False,
        ascii_only: bool = False,
        **options: Any,
    ) -> Any:
        """A rich.table.Table for a terminal of this width; `options` are those of its class."""
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = [i for i, c in enumerate(self.columns) if width >= c.since]
        columns = [self.columns[i] for i in shown]
        rows = [[row[i] for i in shown] for row in self.rows]
        footer = [self.footer[i] for i in shown] if self.footer else []
        shares = self.shares if bars and width >= BARS else ()
        room = width - GAP * len(columns) - 2 - (BAR + GAP if shares else 0)
        wide = Table(columns, rows, footer).widths(room)
        fixed = not any(c.folds for c in columns)
        out = RichTable(show_footer=bool(footer), **options)
        for i, (c, w) in enumerate(zip(columns, wide, strict=True)):
            out.add_column(
                c.title,
                footer[i] if footer else "",
                justify="right" if c.number else "left",
                style=c.style,
                no_wrap=not c.folds,
                width=w if fixed else None,
                overflow="fold" if c.folds else "crop" if ascii_only else "ellipsis",
            )
        if shares:
            out.add_column("", width=BAR)
        for i, row in enumerate(rows):
            tone = self.tones[i] if self.tones else ""
            style = (colours or {}).get(tone, tone)
            cells = [
                Text(cell, style if c.toned else "") for c, cell in zip(columns, row, strict=True)
            ]
            out.add_row(*cells, *([_bar(shares[i], style)] if shares else []))
        return out


def _cells(tag: str, texts: Iterable[str], styles: Sequence[str]) -> str:
    from html import escape

    pairs = zip(texts, styles, strict=True)
    cells = (f'<{tag} style="{style}">{escape(text)}</{tag}>' for text, style in pairs)
    return f"<tr>{''.join(cells)}</tr>"


def _bar(share: float, style: str) -> Any:
    from rich.progress_bar import ProgressBar

    return ProgressBar(
        1.0, share, BAR, complete_style=style, finished_style=style, style="bright_black"
    )


def labelled(pairs: Iterable[tuple[str, str]], width: int, indent: int, label: int) -> list[str]:
    """Texts wrapped beside their labels, which have so many characters after an indent."""
    from textwrap import wrap

    after = " " * (indent + label)
    return [
        line
        for name, text in pairs
        for line in wrap(
            text, width, initial_indent=f"{'':{indent}}{name:<{label}}", subsequent_indent=after
        )
    ]
