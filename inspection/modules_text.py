"""A Summary as text. In: a tree of layers. Out: aligned columns with the lines of the tree, or a table of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..wording import amount
from .modules import Held, Layer, Summary
from .reports.terminal import Marks, marks, width

HEAD = ("layer", "kind", "shape", "parameters")
Row = tuple[str, str, str, str]


def text(summary: Summary) -> str:
    """A row for each layer, parameter and buffer, then the totals."""
    m = marks()
    rows = [HEAD, *_rows(summary.tree, _Lines(m))]
    wide = [max(len(row[k]) for row in rows) for k in range(4)]
    spare = width() - 6 - wide[0] - wide[2] - wide[3]
    wide[1] = max(min(wide[1], spare), *(len(_kind(held)) for held in summary.tree.all_held()), len(HEAD[1]))
    lines = [_line(row, wide, m.more) for row in rows]
    rule = m.horizontal * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], rule, totals(summary)])


def _line(row: Row, wide: list[int], more: str) -> str:
    layer, kind, shape, count = row
    kind = kind if len(kind) <= wide[1] else kind[: wide[1] - len(more)] + more
    return f"{layer:<{wide[0]}}  {kind:<{wide[1]}}  {shape:<{wide[2]}}  {count:>{wide[3]}}".rstrip()


class _Lines:
    """The lines of a tree: what stands before a row and before the rows below it, for one with others behind it and the last."""

    def __init__(self, m: Marks) -> None:
        tee, corner = m.corner("up", "down", "right"), m.corner("up", "right")
        self.before = {False: f"{tee}{m.horizontal} ", True: f"{corner}{m.horizontal} "}
        self.below = {False: f"{m.vertical}  ", True: "   "}


def _rows(layer: Layer, lines: _Lines, before: str = "", below: str = "") -> Iterator[Row]:
    detail = f"{layer.kind}({layer.detail})" if layer.detail else layer.kind
    kind = f"the same as {layer.shared}" if layer.shared else detail if detail != layer.name else ""
    times = f" in {layer.calls} calls" if layer.calls > 1 else ""
    yield before + layer.name, kind, layer.output + times, f"{layer.count:,}" if layer.count else ""
    inside: list[Held | Layer] = [*layer.held, *layer.children]
    for k, part in enumerate(inside):
        last = k == len(inside) - 1
        if isinstance(part, Held):
            yield below + lines.before[last] + part.name, _kind(part), str(part.shape), _count(part)
        else:
            yield from _rows(part, lines, below + lines.before[last], below + lines.below[last])


def _kind(held: Held) -> str:
    """What is unusual, and the dtype."""
    if held.shared:
        return f"the same as {held.shared}"
    note = "buffer, " if held.kind == "buffer" else "" if held.trainable else "not trained, "
    return note + held.dtype


def _count(held: Held) -> str:
    return f"{held.count:,}" if held.kind == "parameter" and not held.shared else ""


def totals(summary: Summary) -> str:
    """How many parameters, how many learn, what buffers hold, and bytes in all."""
    said = [f"{summary.parameters:,} parameter{'s' * (summary.parameters != 1)}"]
    if summary.trainable != summary.parameters:
        said.append(f"{summary.trainable:,} of them trained")
    if summary.buffers:
        said.append(f"{summary.buffers:,} number{'s' * (summary.buffers != 1)} in buffers")
    size = f"{summary.bytes} bytes" if summary.bytes < 1000 else f"{amount(summary.bytes)}B"
    return ", ".join([*said, size])


_STYLE = "white-space:pre;font-family:monospace;text-align:"


def html(summary: Summary) -> str:
    """The same rows as a table."""
    rows = [HEAD, *_rows(summary.tree, _Lines(marks(ascii_only=False)))]
    return f"<table>{''.join(map(_row_html, rows))}</table><p>{totals(summary)}</p>"


def _row_html(row: Row) -> str:
    sides = ("left", "left", "left", "right")
    cells = (f'<td style="{_STYLE}{side}">{escape(cell)}</td>' for side, cell in zip(sides, row, strict=True))
    return f"<tr>{''.join(cells)}</tr>"
