"""Text to draw on. In: boxes with lines of text, pieces of line, arrow heads. Out: rows of
characters.

Lines that belong together join where they meet; others cross, the upright one on top.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..terminal import DOWN, LEFT, RIGHT, UP, Marks

Point = tuple[int, int]  # x, y


class Canvas:
    """A plane of characters that grows to the right and below."""

    def __init__(self, m: Marks) -> None:
        self.marks = m
        self.text: dict[Point, str] = {}
        self.lines: dict[
            Point, dict[int, int]
        ] = {}  # by cell and by whose line it is, the sides that it leads to

    def line(self, whose: int, start: Point, end: Point) -> None:
        """A straight line, both ends included."""
        (x, y), (to_x, to_y) = min(start, end), max(start, end)
        ahead, back = (RIGHT, LEFT) if y == to_y else (DOWN, UP)
        cells = (
            [(k, y) for k in range(x, to_x + 1)]
            if y == to_y
            else [(x, k) for k in range(y, to_y + 1)]
        )
        for k, cell in enumerate(cells):
            sides = (ahead if k < len(cells) - 1 else 0) | (back if k else 0)
            ends = self.lines.setdefault(cell, {})
            ends[whose] = ends.get(whose, 0) | sides

    def box(self, corner: Point, size: Point, rows: Sequence[str]) -> None:
        """A frame around rows of text; it hides what is below."""
        (x, y), (width, height), m = corner, size, self.marks
        inside = [f" {row}".ljust(width - 2) for row in rows]
        self._write(
            x, y, m.corner("right", "down") + m.horizontal * (width - 2) + m.corner("left", "down")
        )
        for k in range(height - 2):
            self._write(
                x,
                y + 1 + k,
                m.vertical + (inside[k] if k < len(inside) else " " * (width - 2)) + m.vertical,
            )
        self._write(
            x,
            y + height - 1,
            m.corner("right", "up") + m.horizontal * (width - 2) + m.corner("left", "up"),
        )

    def put(self, at: Point, character: str) -> None:
        """One character, on top."""
        self.text[at] = character

    def _write(self, x: int, y: int, text: str) -> None:
        for k, character in enumerate(text):
            self.text[x + k, y] = character

    def __str__(self) -> str:
        cells = {cell: self._crossed(sides) for cell, sides in self.lines.items()} | self.text
        rows: list[list[str]] = [[] for _ in range(max((y for _, y in cells), default=-1) + 1)]
        for (x, y), character in sorted(cells.items()):
            rows[y] += [" "] * (x - len(rows[y])) + [character]
        return "\n".join("".join(row).rstrip() for row in rows)

    def _crossed(self, sides: dict[int, int]) -> str:
        upright = next((s for s in sides.values() if len(sides) > 1 and s == UP | DOWN), None)
        joined = 0
        for s in sides.values():
            joined |= s
        return self.marks.lines[joined if upright is None else upright]
