"""Offsets in one arena. In: Blocks with sizes and lifetimes. Out: where each lies, and the bytes of
the arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

ALIGN = 64
ENDLESS = 1 << 62  # room after all that is placed


@dataclass(eq=False)
class Block:
    """Memory that is in use from step `first` to step `last`, both included."""

    nbytes: int
    first: int
    last: int
    offset: int = 0


def place(blocks: Sequence[Block]) -> int:
    """Gives every block an offset, such that none meets another that is in use in a common step;
    returns the arena's bytes.

    One after the other, each in the smallest gap that is free during its lifetime. The largest are
    first (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
    greedy by size) or, where that leaves gaps in the worst step, those that occupy most bytes times
    steps.
    """
    steps = max((b.last for b in blocks), default=0) + 1
    least, _ = most_alive([(_aligned(b), b.first, b.last) for b in blocks], steps)
    top, offsets = _placed(blocks, lambda b: (-b.nbytes, b.first))
    if top > least:
        top, offsets = min(
            (top, offsets), _placed(blocks, lambda b: (b.nbytes * (b.first - b.last - 1), b.first))
        )
    for b, offset in zip(blocks, offsets, strict=True):
        b.offset = offset
    return top


def _aligned(b: Block) -> int:
    return -(-b.nbytes // ALIGN) * ALIGN


def _placed(
    blocks: Sequence[Block], key: Callable[[Block], tuple[int, int]]
) -> tuple[int, list[int]]:
    """(the arena's bytes, the offset of each block)."""
    first, last, start, end = np.zeros((4, len(blocks)), np.int64)
    offsets = [0] * len(blocks)
    for k, i in enumerate(sorted(range(len(blocks)), key=lambda i: key(blocks[i]))):
        b = blocks[i]
        met = np.flatnonzero((first[:k] <= b.last) & (last[:k] >= b.first))
        met = met[np.argsort(start[met], kind="stable")]
        offsets[i] = _smallest_gap(start[met], end[met], _aligned(b))
        first[k], last[k], start[k], end[k] = b.first, b.last, offsets[i], offsets[i] + _aligned(b)
    return int(end.max(initial=0)), offsets


def _smallest_gap(start: np.ndarray, end: np.ndarray, size: int) -> int:
    """Where so many bytes fit best among occupied ranges that come in the order of their starts."""
    low = np.concatenate(([0], np.maximum.accumulate(end)))
    room = np.concatenate((start, [low[-1] + ENDLESS])) - low
    return int(low[np.argmin(np.where(room < size, ENDLESS + 1, room))])


def most_alive(lifetimes: Sequence[tuple[int, int, int]], steps: int) -> tuple[int, int]:
    """(bytes, step) where most is in use, of (bytes, first, last)."""
    change = np.zeros(steps + 1, np.int64)
    for nbytes, first, last in lifetimes:
        change[first] += nbytes
        change[last + 1] -= nbytes
    alive = np.cumsum(change)
    step = int(np.argmax(alive))
    return int(alive[step]), step
