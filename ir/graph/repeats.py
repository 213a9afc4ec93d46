"""Repetitions in a sequence. In: labels. Out: the Regions of it that are one turn after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST_TURNS = 4
GRAM = 4  # labels in a row that are unlikely to come again within a turn
CANDIDATES = 4  # lengths of a turn that are tried


@dataclass(frozen=True)
class Region:
    """Places of which each is like the one `turn` places later, up to the last turn."""

    start: int
    stop: int
    turn: int


def regions(labels: Sequence[int], least: int) -> list[Region]:
    """The longest ones, in order, each with at least LEAST_TURNS turns and `least` labels."""
    return list(_regions(labels, least, 0, len(labels)))


def _regions(labels: Sequence[int], least: int, start: int, stop: int) -> Iterator[Region]:
    best = _longest(labels, least, start, stop)
    if best is None:
        return
    yield from _regions(labels, least, start, best.start)
    yield best
    yield from _regions(labels, least, best.stop, stop)


def _longest(labels: Sequence[int], least: int, start: int, stop: int) -> Region | None:
    if stop - start < least:
        return None
    last: dict[tuple[int, ...], int] = {}
    gaps: Counter[int] = Counter()
    for i in range(start, stop - GRAM):
        gram = tuple(labels[i : i + GRAM])
        if gram in last:
            gaps[i - last[gram]] += 1
        last[gram] = i
    runs = [
        r
        for turn, _ in gaps.most_common(CANDIDATES)
        for r in _runs(labels, least, start, stop, turn)
    ]
    return max(runs, key=lambda r: (r.stop - r.start, -r.turn), default=None)


def _runs(labels: Sequence[int], least: int, start: int, stop: int, turn: int) -> Iterator[Region]:
    """Where each label comes again after one turn."""
    begin = start
    for i in range(start, stop - turn + 1):
        if i == stop - turn or labels[i] != labels[i + turn]:
            if i - begin >= max((LEAST_TURNS - 1) * turn, least):
                yield Region(begin, i + turn, turn)
            begin = i + 1
