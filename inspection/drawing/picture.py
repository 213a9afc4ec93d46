"""The graph of steps as a picture. In: the steps of an expression. Out: text, SVG, or Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from textwrap import fill

from ..terminal import DOWN, RIGHT, Marks, marks, width
from .canvas import Canvas, Point
from .grid import Cell, Wire, drawn
from .numbers import brief
from .values import DrawnStep

LABEL = 20  # characters of a box's line
NARROW_LABEL = 14  # where a picture with longer ones is too wide
GAPS = {RIGHT: 1, DOWN: 3}  # between boxes side by side

Turn = Callable[[Cell], Point]


def text(steps: Sequence[DrawnStep], columns: int | None = None, m: Marks | None = None) -> str:
    """From left to right where that fits, else from top to bottom, else a line that says so."""
    columns, m = columns or width(), m or marks()
    painted = ""
    for way in (RIGHT, DOWN):
        for label in (LABEL, NARROW_LABEL):
            painted = _painted(steps, way, label, m)
            if max(map(len, painted.splitlines())) <= columns:
                return painted
    need = max(map(len, painted.splitlines()))
    return fill(
        f"the picture is {need} columns wide: "
        "widen the terminal, or have it as SVG or for Graphviz",
        columns,
    )


def _painted(steps: Sequence[DrawnStep], way: int, label: int, m: Marks) -> str:
    labels = [lines(step, label, m.more) for step in steps]
    turn: Turn = _same if way == RIGHT else _turned
    sizes = _sizes(labels, turn)
    grid = drawn(sizes, _edges(steps), GAPS[way])
    canvas = Canvas(m)
    for wire in grid.wires:
        for start, end in wire.pieces:
            canvas.line(wire.source, turn(start), turn(end))
    for corner, size, label_lines in zip(grid.corners, sizes, labels, strict=True):
        canvas.box(turn(corner), turn(size), label_lines)
    for wire in grid.wires:
        canvas.put(
            turn(wire.pieces[0][0]),
            m.corner("up", "down", "right") if way == RIGHT else m.tee("down"),
        )
        for head in wire.heads:
            canvas.put(turn(head), m.arrows[way])
    return str(canvas)


def _same(cell: Cell) -> Point:
    return cell


def _turned(cell: Cell) -> Point:
    return cell[1], cell[0]


def _sizes(labels: list[list[str]], turn: Turn) -> list[Cell]:
    """(along, across) of each box, odd across."""
    height = 2 + max(map(len, labels))
    boxes = [turn((max(map(len, label)) + 4, height)) for label in labels]
    return [(along, across | 1) for along, across in boxes]


def _edges(steps: Sequence[DrawnStep]) -> list[tuple[int, int]]:
    return [(source - 1, step.number - 1) for step in steps for source in step.sources]


def lines(step: DrawnStep, columns: int, more: str = "…") -> list[str]:
    """What stands in a box: the number and what it is, the value, the gradient."""
    words = (
        step.text
        if 0 < len(step.text) <= columns - 4
        else "given"
        if step.op == "input"
        else step.op
    )
    shape = (
        f"  {step.shape}" if step.shape and len(words) + len(str(step.shape)) <= columns - 5 else ""
    )
    gradient = [] if step.gradient is None else [f"g {brief(step.gradient, columns - 2, more)}"]
    return [
        f"{step.number}  {words}{shape}",
        f"v {brief(step.value, columns - 2, more)}",
        *gradient,
    ]


# ---------------------------------------------------------------- SVG

CELL = (8, 18)  # pixels of a character
STYLE = (
    "text{font:13px ui-monospace,monospace;fill:currentColor}"
    ".box{fill:none;stroke:currentColor;rx:4}"
    ".wire{fill:none;stroke:currentColor;opacity:.6}.head{fill:currentColor;opacity:.6}"
    ".name{font-weight:600}.gradient{opacity:.7}"
)


def svg(steps: Sequence[DrawnStep]) -> str:
    """One image, from left to right, in the colour of the text around it."""
    labels = [lines(step, LABEL + 4) for step in steps]
    sizes = _sizes(labels, _same)
    grid = drawn(sizes, _edges(steps), GAPS[RIGHT])
    body = [*map(_wire, grid.wires)]
    body += [
        _box(corner, size, label)
        for corner, size, label in zip(grid.corners, sizes, labels, strict=True)
    ]
    x, y = _pixels((grid.along + 1, grid.across + 1))
    size = f'width="{x}" height="{y}" viewBox="0 0 {x} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = escape(steps[-1].text or steps[-1].formula)
    return f"{head}<title>{title}</title><style>{STYLE}</style>{''.join(body)}</svg>"


def _pixels(cell: Cell) -> Point:
    return cell[0] * CELL[0] + CELL[0] // 2, cell[1] * CELL[1] + CELL[1] // 2


def _wire(wire: Wire) -> str:
    paths = ("M{} {}L{} {}".format(*_pixels(start), *_pixels(end)) for start, end in wire.pieces)
    heads = (
        "M{} {}l-7 -4v8z".format(*_pixels((along + 1, across))) for along, across in wire.heads
    )
    return f'<path class="wire" d="{"".join(paths)}"/><path class="head" d="{"".join(heads)}"/>'


def _box(corner: Cell, size: Cell, label: list[str]) -> str:
    x, y = _pixels(corner)
    wide, high = (size[0] - 1) * CELL[0], (size[1] - 1) * CELL[1]
    classes = ("name", "value", "gradient")
    rows = (
        f'<text class="{kind}" x="{x + 12}" y="{y + 18 * (k + 1) + 4}">{escape(line)}</text>'
        for k, (kind, line) in enumerate(zip(classes, label, strict=False))
    )
    return f'<rect class="box" x="{x}" y="{y}" width="{wide}" height="{high}"/>{"".join(rows)}'


# ---------------------------------------------------------------- Graphviz


def dot(steps: Sequence[DrawnStep]) -> str:
    """A digraph with a box for each step."""
    out = ["digraph {", "  rankdir=LR", '  node [shape=box fontname="monospace"]']
    for step in steps:
        label = "\\l".join(
            line.replace("\\", "\\\\").replace('"', '\\"') for line in lines(step, 40)
        )
        out.append(f'  n{step.number} [label="{label}\\l"]')
    out += [f"  n{source} -> n{step.number}" for step in steps for source in step.sources]
    return "\n".join([*out, "}"])
