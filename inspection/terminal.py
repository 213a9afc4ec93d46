"""The terminal. In: standard output. Out: its width, the marks that it can show."""

from __future__ import annotations

import sys
from dataclasses import dataclass

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
SIDES = {"up": UP, "down": DOWN, "left": LEFT, "right": RIGHT}
UNICODE = dict(zip(range(16), " ╵╷│╴┘┐┤╶└┌├─┴┬┼", strict=True))
ASCII = {0: " ", UP: "|", DOWN: "|", UP | DOWN: "|", LEFT: "-", RIGHT: "-", LEFT | RIGHT: "-"}


@dataclass(frozen=True)
class Marks:
    """Characters for lines by the sides to which they lead, for arrow heads, and for what is left
    out."""

    lines: dict[int, str]
    arrows: dict[int, str]
    more: str

    @property
    def horizontal(self) -> str:
        return self.lines[LEFT | RIGHT]

    @property
    def vertical(self) -> str:
        return self.lines[UP | DOWN]

    def corner(self, *sides: str) -> str:
        """What leads to these sides."""
        return self.lines[sum(SIDES[side] for side in sides)]

    def tee(self, side: str) -> str:
        """A horizontal line from which another one leads to this side."""
        return self.lines[LEFT | RIGHT | SIDES[side]]


_UNICODE = Marks(UNICODE, {RIGHT: "▶", DOWN: "▼"}, "…")
_ASCII = Marks({k: ASCII.get(k, "+") for k in range(16)}, {RIGHT: ">", DOWN: "v"}, "...")


def marks(ascii_only: bool | None = None) -> Marks:
    """Those that standard output can show; None: as its encoding says."""
    return _ASCII if (not _shows_unicode() if ascii_only is None else ascii_only) else _UNICODE


def _shows_unicode() -> bool:
    try:
        # None: text in memory.
        "".join([*UNICODE.values(), "▶▼…"]).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_safely(text: object) -> None:
    """Prints it; characters that standard output cannot show, of a user's names, are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(str(text).encode(encoding, "backslashreplace").decode(encoding))


def width() -> int:
    """Columns of the terminal, or those that the variable COLUMNS says; 80 where nothing is
    known."""
    from shutil import get_terminal_size

    return max(40, get_terminal_size((80, 24)).columns)
