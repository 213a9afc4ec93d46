"""Values as short text. In: an array. Out: its numbers in one line, as many as fit, or in rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def brief(array: Array, columns: int, more: str = "…", digits: int = 7) -> str:
    """One line of at most so many columns: with as many digits as fit, else only the first
    numbers."""
    for k in range(digits, 3, -1) if array.dtype.kind == "f" else (digits,):
        text = _cut(array, columns, more, k)
        if text is not None and len(text) <= columns:
            return text
    if not array.ndim:
        return _number(array[()], 4)
    fitting = ""
    for text in _growing(array, more):
        if len(text) > columns:
            break
        fitting = text
    return fitting or more


def _cut(array: Array, columns: int, more: str, digits: int) -> str | None:
    """All of it; None where that is surely too long."""
    return None if 2 * array.size > columns else _nested(array, digits)


def _nested(array: Array, digits: int) -> str:
    return (
        f"[{', '.join(_nested(part, digits) for part in array)}]"
        if array.ndim
        else _number(array[()], digits)
    )


def _growing(array: Array, more: str) -> Iterator[str]:
    """The first number, the first two, and so on, and what says that there are more."""
    flat = array.reshape(-1)
    opening, closing = "[" * array.ndim, "]" * array.ndim
    for k in range(min(flat.size, 100)):
        yield (
            opening + ", ".join(_number(value, 4) for value in flat[: k + 1]) + f", {more}{closing}"
        )


def _number(value: object, digits: int) -> str:
    return f"{float(value):.{digits}g}" if isinstance(value, np.floating) else str(value)


def rows(array: Array, columns: int) -> str:
    """All of a small array, the edges of a large one, over several lines."""
    return np.array2string(
        array, precision=6, suppress_small=False, max_line_width=columns, threshold=100, edgeitems=3
    )
