"""A Layout as a picture. In: LayoutSteps. Out: rows of cells for the memory, as text or HTML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.graph.shapes import Shape
from ..tables import labelled
from ..terminal import Marks, marks, width

MOST_READERS = 4  # indices below a cell
MOST_ROWS = 4  # of cells, in text
LETTERS = "ijklmnop"

Index = tuple[int, ...]


@dataclass(frozen=True)
class LayoutStep:
    """How one value lies in memory.

    Attributes: `expression`, what it is called; `shape`, and `strides` and `offset` in elements:
    element [i, j] is at offset + i * strides[0] + j * strides[1]; `contiguous`, is that row-major
    order; `shares`, is it the memory of the first value; `note`, what Weft does here; `elements` in
    its memory; `storage`, the first 64 of them; `cells`, (index, position) of the elements that lie
    there.
    """

    expression: str
    shape: Shape
    strides: Shape
    offset: int
    contiguous: bool
    shares: bool
    note: str
    elements: int
    storage: tuple[float, ...]
    cells: tuple[tuple[Index, int], ...]


def text(steps: Sequence[LayoutStep]) -> str:
    """Each value's shape and strides, the cells of its memory, and below each cell the index that
    reads it."""
    m, columns = marks(), width()
    return "\n\n".join("\n".join(_step(step, m, columns)) for step in steps)


def _step(step: LayoutStep, m: Marks, columns: int) -> list[str]:
    lines = [step.expression, *labelled(facts(step), columns, indent=4, label=10)]
    readers = _readers(step)
    cell = (
        max(
            [
                *(len(number(v)) for v in step.storage),
                *(len(r) for texts in readers.values() for r in texts),
                1,
            ]
        )
        + 2
    )
    per_row = max(1, (columns - 5) // (cell + 1))
    drawn = step.storage[: per_row * MOST_ROWS]
    for start in range(0, len(drawn), per_row):
        values = drawn[start : start + per_row]
        lines += ["", *_row(values, [readers[start + k] for k in range(len(values))], cell, m)]
    hidden = step.elements - len(drawn)
    return [*lines, f"    and {hidden:,} more elements"] if hidden else lines


def facts(step: LayoutStep) -> list[tuple[str, str]]:
    """Labels and texts beside the picture."""
    order = "contiguous" if step.contiguous else "not contiguous"
    return [
        ("shape", f"{step.shape}"),
        ("strides", f"{step.strides}, {order}"),
        ("element", f"[{', '.join(LETTERS[: len(step.shape)])}] is at {formula(step)}"),
        ("memory", step.note),
    ]


def formula(step: LayoutStep) -> str:
    """offset + i * strides[0] + ..."""
    parts = [
        _product(stride, letter)
        for stride, letter in zip(step.strides, LETTERS, strict=False)
        if stride
    ]
    return " + ".join([str(step.offset)] * bool(step.offset or not parts) + parts)


def _product(stride: int, letter: str) -> str:
    return letter if stride == 1 else f"{stride}*{letter}"


def _readers(step: LayoutStep) -> dict[int, list[str]]:
    """By position, the indices of the elements there, as text, at most four."""
    readers: dict[int, list[str]] = defaultdict(list)
    for index, position in step.cells:
        readers[position].append(_index(index))
    for position, texts in readers.items():
        if len(texts) > MOST_READERS:
            readers[position] = [*texts[: MOST_READERS - 1], f"+{len(texts) - MOST_READERS + 1}"]
    return readers


def _index(index: Index) -> str:
    return ",".join(map(str, index)) or "()"


def _row(values: tuple[float, ...], readers: list[list[str]], cell: int, m: Marks) -> list[str]:
    """Cells side by side, and the indices below them."""
    rule = m.horizontal * cell
    count = len(values)
    lines = [
        m.corner("right", "down") + m.tee("down").join([rule] * count) + m.corner("left", "down")
    ]
    lines += [m.vertical + m.vertical.join(number(v).center(cell) for v in values) + m.vertical]
    lines += [m.corner("right", "up") + m.tee("up").join([rule] * count) + m.corner("left", "up")]
    for k in range(max(map(len, readers), default=0)):
        lines.append(
            " " + " ".join((texts[k] if k < len(texts) else "").center(cell) for texts in readers)
        )
    return [f"    {line}".rstrip() for line in lines]


def number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- HTML

_CELL = "border:1px solid #8888;padding:.2em .6em;text-align:center"
_READER = "padding:0 .6em;text-align:center;font-size:85%;opacity:.75"


def html(steps: Sequence[LayoutStep]) -> str:
    """The same with a table for each row of cells."""
    return "<div>" + "".join(map(_step_html, steps)) + "</div>"


def _step_html(step: LayoutStep) -> str:
    from html import escape

    readers = _readers(step)
    beside = "".join(f"<br>{label}: {escape(fact)}" for label, fact in facts(step))
    seen = [_CELL if k in readers else f"{_CELL};opacity:.4" for k in range(len(step.storage))]
    cells = "".join(
        f'<td style="{style}">{number(v)}</td>' for style, v in zip(seen, step.storage, strict=True)
    )
    below = "".join(
        f'<td style="{_READER}">{"<br>".join(readers.get(k, []))}</td>'
        for k in range(len(step.storage))
    )
    style = "border-collapse:collapse;margin:.4em 0"
    table = f'<table style="{style}"><tr>{cells}</tr><tr>{below}</tr></table>'
    return f"<p><code>{escape(step.expression)}</code>{beside}</p>{table}"
