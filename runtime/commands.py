"""Commands between the phases of a program, which make loops and branches of them. In: the words of
a table (table.py). Out: its phases and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from .native import COMMAND

Slot = tuple[int, int]  # a place in the argument array, an offset
HEADER = 5  # words of the table before the first phase
RECORD = 4  # words of a phase before its slots, of a command before its entries
ZERO = 0  # the place of the constant 0


def header(phases: int, parallel: bool, width: int, words: int, patience: int = 0) -> list[int]:
    """The first words of a table of so many words. `width`: slots of the widest context;
    `patience`: how often a loop goes back until the clock is looked at, 0 without loops."""
    return [phases, int(parallel), width, words, patience]


class Operation(IntEnum):
    """What a command does; llvm/driver.ll explains them."""

    SET, ADD, TURN, COPY, LOAD_BYTE, LOAD_WORD = range(6)
    IF_ZERO, IF_NOT_ZERO, IF_GREATER, UNLESS_STOPPED = range(6, 10)


@dataclass(frozen=True)
class Entry:
    """A phase or a command of a table, as its words say: `number` is its operation, or for a phase
    the first word; `entries`: (word, argument, offset) each; `target`: the place of the Entry to
    which it may jump."""

    is_command: bool
    number: int
    entries: tuple[tuple[int, int, int], ...] = ()
    target: int | None = None


def parsed(words: Sequence[int]) -> list[Entry]:
    """The phases and commands of a table whose phases have no slots."""
    starts: dict[int, int] = {}
    at, count = HEADER, 0
    while at < len(words):
        starts[at] = count
        count += 1
        at += RECORD + 3 * words[at + 3]
    starts[at] = count
    out = []
    for start in list(starts)[:-1]:
        number, _, flags, size = words[start : start + RECORD]
        flat = words[start + RECORD : start + RECORD + 3 * size]
        entries = tuple(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
        is_command = bool(flags & COMMAND)
        jumps = is_command and number >= Operation.IF_ZERO
        target = starts[entries[0][0]] if jumps else None
        out.append(Entry(is_command, number, entries, target))
    return out
