"""Places of vertices in their layers. In: layers in order, widths, neighbours. Out: middles.

The coordinates nearest to those of the neighbours that keep the order of a layer are an isotonic
regression (Ayer et al. 1955, doi:10.1214/aoms/1177728423). Vertices without a width are bends of
lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

LINES = 0.25  # of the gap between boxes is kept between lines
# Of an edge on its ends, by how many are bends: lines go straight, and boxes do not follow them.
PULL = (1.0, 0.1, 4.0)
NO_PULL = 0.01  # on what has no edges, to the middle of its layer


def across(
    rows: list[list[int]],
    widths: Sequence[float],
    above: list[list[int]],
    below: list[list[int]],
    gap: float,
) -> list[float]:
    """The middle of each vertex: near those of its neighbours, in the order of its layer, a gap
    apart."""
    x = [0.0] * len(widths)
    offsets = [_offsets(row, widths, gap) for row in rows]
    for row, offset in zip(rows, offsets, strict=True):
        _settle(row, offset, [0.0] * len(row), [1.0] * len(row), x)
    both = [a + b for a, b in zip(above, below, strict=True)]
    for sweep, near in enumerate((above, below, above, below, both, both)):
        pulls = [
            [PULL[(widths[v] == 0) + (widths[w] == 0)] for w in around]
            for v, around in enumerate(near)
        ]
        sums = [sum(each) or NO_PULL for each in pulls]
        for at in range(len(rows))[:: -1 if sweep % 2 else 1]:
            row = rows[at]
            middle = sum(x[v] for v in row) / len(row)
            pulled = (sum([p * x[w] for p, w in zip(pulls[v], near[v], strict=True)]) for v in row)
            wishes = [
                to / sums[v] if near[v] else middle for v, to in zip(row, pulled, strict=True)
            ]
            _settle(row, offsets[at], wishes, [sums[v] for v in row], x)
    return x


def _offsets(row: list[int], widths: Sequence[float], gap: float) -> list[float]:
    """How far each vertex of a row is from the first where there is no more than a gap between
    them."""
    out = [0.0]
    for v, w in pairwise(row):
        between = widths[v] + widths[w]
        out.append(out[-1] + between / 2 + (gap if between else gap * LINES))
    return out


def _settle(
    row: list[int], offsets: list[float], wishes: list[float], pulls: list[float], x: list[float]
) -> None:
    """Puts a row as near to its wishes as order and gaps allow, in the weighted sum of squares:
    pools of vertices that touch."""
    pools: list[
        tuple[float, float, int]
    ] = []  # (sum of wishes times pulls, sum of pulls, how many)
    for wish, offset, pull in zip(wishes, offsets, pulls, strict=True):
        total, mass, size = (wish - offset) * pull, pull, 1
        while pools and pools[-1][0] * mass > total * pools[-1][1]:
            before = pools.pop()
            total, mass, size = total + before[0], mass + before[1], size + before[2]
        pools.append((total, mass, size))
    at = 0
    for total, mass, size in pools:
        for v, offset in zip(row[at : at + size], offsets[at : at + size], strict=True):
            x[v] = total / mass + offset
        at += size
