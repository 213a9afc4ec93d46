"""A Layout as a picture. In: a Layout. Out: text with a row of cells for the memory, or the same as HTML."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from textwrap import fill

from .layouts import Index, Layout, LayoutStep
from .reports.terminal import Marks, marks, width

MOST_READERS = 4  # indices below a cell
MOST_ROWS = 4  # of cells, in text
LETTERS = "ijklmnop"


def text(layout: Layout) -> str:
    """Each value's shape and strides, the cells of its memory, and below each cell the index that reads it."""
    m, columns = marks(), width()
    return "\n\n".join("\n".join(_step(step, m, columns)) for step in layout.steps)


def _step(step: LayoutStep, m: Marks, columns: int) -> list[str]:
    told = [fill(said, columns, initial_indent=f"    {name:<10}", subsequent_indent=" " * 14) for name, said in facts(step)]
    lines = [step.expression, *told]
    readers = _readers(step)
    cell = max([*(len(number(v)) for v in step.storage), *(len(r) for found in readers.values() for r in found), 1]) + 2
    per_row = max(1, (columns - 5) // (cell + 1))
    drawn = step.storage[: per_row * MOST_ROWS]
    for start in range(0, len(drawn), per_row):
        values = drawn[start : start + per_row]
        lines += ["", *_row(values, [readers[start + k] for k in range(len(values))], cell, m)]
    hidden = step.elements - len(drawn)
    return [*lines, f"    and {hidden:,} more elements"] if hidden else lines


def facts(step: LayoutStep) -> list[tuple[str, str]]:
    """What is told beside the picture: pairs of a word and what it is."""
    order = "contiguous" if step.contiguous else "not contiguous"
    return [
        ("shape", f"{step.shape}"),
        ("strides", f"{step.strides}, {order}"),
        ("element", f"[{', '.join(LETTERS[: len(step.shape)])}] is at {formula(step)}"),
        ("memory", step.note),
    ]


def formula(step: LayoutStep) -> str:
    """offset + i * strides[0] + ..."""
    parts = [_product(stride, letter) for stride, letter in zip(step.strides, LETTERS, strict=False) if stride]
    return " + ".join([str(step.offset)] * bool(step.offset or not parts) + parts)


def _product(stride: int, letter: str) -> str:
    return letter if stride == 1 else f"{stride}*{letter}"


def _readers(step: LayoutStep) -> dict[int, list[str]]:
    """By position, the indices of the elements there, as text, at most four."""
    found: dict[int, list[str]] = defaultdict(list)
    for index, position in step.cells:
        found[position].append(_index(index))
    for position, texts in found.items():
        if len(texts) > MOST_READERS:
            found[position] = [*texts[: MOST_READERS - 1], f"+{len(texts) - MOST_READERS + 1}"]
    return found


def _index(index: Index) -> str:
    return ",".join(map(str, index)) or "()"


def _row(values: tuple[float, ...], readers: list[list[str]], cell: int, m: Marks) -> list[str]:
    """Cells side by side, and the indices below them."""
    rule = m.horizontal * cell
    count = len(values)
    lines = [m.corner("right", "down") + m.tee("down").join([rule] * count) + m.corner("left", "down")]
    lines += [m.vertical + m.vertical.join(number(v).center(cell) for v in values) + m.vertical]
    lines += [m.corner("right", "up") + m.tee("up").join([rule] * count) + m.corner("left", "up")]
    for k in range(max(map(len, readers), default=0)):
        lines.append(" " + " ".join((found[k] if k < len(found) else "").center(cell) for found in readers))
    return [f"    {line}".rstrip() for line in lines]


def number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- HTML

_CELL = "border:1px solid #8888;padding:.2em .6em;text-align:center"
_READER = "padding:0 .6em;text-align:center;font-size:85%;opacity:.75"


def html(layout: Layout) -> str:
    """The same with a table for each row of cells."""
    return "<div>" + "".join(map(_step_html, layout.steps)) + "</div>"


def _step_html(step: LayoutStep) -> str:
    readers = _readers(step)
    told = "".join(f"<br>{name}: {escape(said)}" for name, said in facts(step))
    seen = [_CELL if k in readers else f"{_CELL};opacity:.4" for k in range(len(step.storage))]
    cells = "".join(f'<td style="{style}">{number(v)}</td>' for style, v in zip(seen, step.storage, strict=True))
    below = "".join(f'<td style="{_READER}">{"<br>".join(readers.get(k, []))}</td>' for k in range(len(step.storage)))
    table = f'<table style="border-collapse:collapse;margin:.4em 0"><tr>{cells}</tr><tr>{below}</tr></table>'
    return f"<p><code>{escape(step.expression)}</code>{told}</p>{table}"
