"""Places of a program's buffers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ref:
    """Where a kernel argument lives: input or output `number`, byte offset `number` of the arena,
    or where the cursor `number` points to."""

    space: str  # "input" | "output" | "arena" | "cursor"
    number: int
