"""Lines around boxes. In: edges between vertices of layers. Out: where they bend.

An edge over several layers bends at a vertex of its own in each, as in Gansner, Koutsofios, North
and Vo (1993, doi:10.1109/32.221135); those that would need too many run beside all boxes. Edges of
one box share their way as far as they can.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from .across import LINES

Point = tuple[float, float]
Edge = tuple[int, int]

BENDS = 3000  # vertices that lines may have between boxes: with more, a page would take seconds
STRAIGHT = 2.0  # a bend nearer than that to the line through it is none


def bent(layer: list[int], edges: Sequence[Edge]) -> tuple[list[list[int]], list[Edge]]:
    """(for each edge the vertices at which it bends, edges between neighbouring layers); `layer`
    grows by those vertices."""
    ways: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    pieces: dict[Edge, None] = {}
    most = _most_between(layer, edges)
    for a, b in edges:
        way, between = ways.setdefault(a, []), layer[b] - layer[a] - 1
        if between > most:
            chains.append([])
            continue
        while len(way) < between:
            way.append(len(layer))
            layer.append(layer[a] + len(way))
        chains.append(way[:between])
        pieces.update(dict.fromkeys(pairwise([a, *chains[-1], b])))
    return chains, [*pieces]


def _most_between(layer: Sequence[int], edges: Sequence[Edge]) -> int:
    """How many layers an edge may pass between boxes."""
    passed: dict[int, int] = {}
    for a, b in edges:
        passed[a] = max(layer[b] - layer[a] - 1, passed.get(a, 0))
    total = list(accumulate(sorted(passed.values())))
    return max(
        (p for p, bends in zip(sorted(passed.values()), total, strict=True) if bends <= BENDS),
        default=0,
    )


def beside(
    layer: Sequence[int],
    edges: Sequence[Edge],
    chains: Sequence[Sequence[int]],
    x: Sequence[float],
    sides: tuple[float, float],
    gap: float,
) -> dict[int, float]:
    """By the number of an edge that has no way between boxes: where its lane is, left or right of
    all, as its box is nearer."""
    ends_of = enumerate(zip(edges, chains, strict=True))
    long = [
        (i, a, layer[b]) for i, ((a, b), chain) in ends_of if not chain and layer[b] - layer[a] > 1
    ]
    ends: dict[int, int] = {}
    for _, a, end in long:
        ends[a] = max(end, ends.get(a, end))
    lanes: dict[int, float] = {}
    # Of each side: the layers at which the lanes are free again.
    taken: tuple[list[int], list[int]] = ([], [])
    for a in sorted(ends, key=layer.__getitem__):
        side = int(x[a] > sum(sides) / 2)
        free = next((i for i, end in enumerate(taken[side]) if end <= layer[a]), len(taken[side]))
        taken[side][free : free + 1] = [ends[a]]
        lanes[a] = sides[side] + (2 * side - 1) * gap * (1 + LINES * free)
    return {i: lanes[a] for i, a, _ in long}


def straightened(points: list[Point]) -> list[Point]:
    """Without those that lie below the last and above the next."""
    kept = points[:1]
    for (x, y), below in pairwise(points[1:]):
        if max(abs(x - kept[-1][0]), abs(x - below[0])) > STRAIGHT:
            kept.append((x, y))
    return kept + points[1:][-1:]
