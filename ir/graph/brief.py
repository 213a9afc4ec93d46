"""Values as short text, for errors. In: anything. Out: one line."""

from __future__ import annotations

from typing import Any

from .graph import Node

MOST_BITS = 256  # of integers that errors show in full
MOST_TEXT = 100  # characters of a value in an error


def brief(value: Any) -> str:
    """The value as errors show it: in one short line, and never an error itself."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, Node):
        return f"<Tensor {value.dtype.name}{list(value.shape)}>"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a __repr__ of users, or an integer too long for text inside a list
        return f"a {type(value).__name__}"
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 4] + " ..."
