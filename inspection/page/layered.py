"""Where boxes of a graph lie, layer below layer. In: their sizes and the edges between them. Out: places, and bends of edges.

The method is Sugiyama, Tagawa and Toda's (1981, doi:10.1109/TSMC.1981.4308636): turn edges of cycles round, put each box into
a layer, order the layers by barycentres, then choose coordinates. Edges over several layers bend at points of their own, as in
Gansner, Koutsofios, North and Vo (1993, doi:10.1109/32.221135). Within a layer, the coordinates nearest to those of the
neighbours that keep the order are an isotonic regression (Ayer et al. 1955, doi:10.1214/aoms/1177728423). Each step is linear in
boxes and edges, but for sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Size = tuple[float, float]
Point = tuple[float, float]
Edge = tuple[int, int]

BENDING = 6  # layers that an edge may span to bend around boxes; a longer one is drawn behind them
LINES = 0.25  # of the gap between boxes is kept between lines
WIDE = 8  # boxes of a layer from which on those that lead nowhere go to the next
SWEEPS = 6  # over all layers, down and up in turn


@dataclass(frozen=True)
class Layered:
    """Attributes: `width` and `height` of all; `corners`, the top left of each box; `bends` between the ends of each edge."""

    width: float
    height: float
    corners: list[Point]
    bends: list[list[Point]]


def layered(sizes: Sequence[Size], edges: Sequence[Edge], gap: Size) -> Layered:
    """Lays out boxes 0, 1, ... of these (width, height), at least `gap` (across, between layers) apart.

    No edge may lead to its own box.
    """
    if not sizes:
        return Layered(0, 0, [], [])
    count, forward = len(sizes), acyclic(len(sizes), edges)
    layer = layers(count, forward)
    chains, pieces = bent(layer, count, forward)
    widths = [w for w, _ in sizes] + [0.0] * (len(layer) - count)
    above, below = neighbours(len(layer), pieces)
    rows = ordered(layer, above, below)
    x = across(rows, widths, above, below, gap[0])

    tops, top = [], 0.0
    heights = [max((sizes[v][1] for v in row if v < count), default=0.0) for row in rows]
    for height in heights:
        tops.append(top)
        top += height + gap[1]
    left = min(x[v] - widths[v] / 2 for v in range(count))
    corners = [(x[v] - widths[v] / 2 - left, tops[layer[v]] + (heights[layer[v]] - sizes[v][1]) / 2) for v in range(count)]
    middles = [[(x[v] - left, tops[layer[v]] + heights[layer[v]] / 2) for v in chain] for chain in chains]
    bends = [m if e == f else m[::-1] for e, f, m in zip(edges, forward, middles, strict=True)]
    right = max(corner[0] + widths[v] for v, corner in enumerate(corners))
    return Layered(right, top - gap[1], corners, bends)


def neighbours(count: int, edges: Iterable[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """(where edges into each vertex come from, where those out of it go)."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    return above, below


def acyclic(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """The edges, those turned round that a walk in depth finds to close a cycle."""
    _, below = neighbours(count, edges)
    done = [False] * count
    open_: set[int] = set()
    back: set[Edge] = set()
    for start in range(count):
        path = [] if done[start] else [(start, iter(below[start]))]
        open_.update(v for v, _ in path)
        while path:
            v, rest = path[-1]
            step = next(rest, None)
            if step is None:
                done[v] = True
                open_.discard(v)
                path.pop()
            elif step in open_:
                back.add((v, step))
            elif not done[step]:
                open_.add(step)
                path.append((step, iter(below[step])))
    return [(b, a) if (a, b) in back else (a, b) for a, b in edges]


def layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each vertex: behind all that lead to it; what nothing leads to, right before the first that needs it."""
    above, below = neighbours(count, edges)
    layer, missing = [0] * count, [len(a) for a in above]
    ready = [v for v in range(count) if not missing[v]]
    for v in ready:  # grows
        for w in below[v]:
            layer[w] = max(layer[w], layer[v] + 1)
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    for v in range(count):
        if not above[v] and below[v]:
            layer[v] = min(layer[w] for w in below[v]) - 1
    _spread(layer, below)
    return layer


def _spread(layer: list[int], below: list[list[int]]) -> None:
    """Moves ends of the graph that would make a layer wide to the layers behind it."""
    rows: dict[int, list[int]] = {}
    for v, at in enumerate(layer):
        rows.setdefault(at, []).append(v)
    at = 0
    while at in rows:
        ends = [v for v in rows[at] if not below[v]]
        room = max(WIDE - (len(rows[at]) - len(ends)), 1)
        for i, v in enumerate(ends[room:]):
            layer[v] = at + 1 + i // WIDE
            rows.setdefault(layer[v], []).append(v)
        at += 1


def bent(layer: list[int], count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[Edge]]:
    """(for each edge the vertices at which it bends, edges between neighbouring layers); `layer` grows by those vertices."""
    chains, pieces = [], []
    for a, b in edges:
        span = layer[b] - layer[a]
        chain = list(range(len(layer), len(layer) + span - 1)) if span <= BENDING else []
        layer += [layer[a] + i + 1 for i in range(len(chain))]
        stops = [a, *chain, b]
        if span <= BENDING:
            pieces += list(pairwise(stops))
        chains.append(chain)
    return chains, pieces


def ordered(layer: Sequence[int], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """The layers, each in an order that puts vertices near the middle of their neighbours (barycentres)."""
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    place = [0.0] * len(layer)
    for v in _in_depth(layer, above, below):
        place[v] = len(rows[layer[v]])
        rows[layer[v]].append(v)
    for sweep in range(SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wish = {v: sum(place[w] for w in near[v]) / len(near[v]) if near[v] else place[v] for v in row}
            row.sort(key=wish.__getitem__)
            for i, v in enumerate(row):
                place[v] = i * 1000 / len(row)  # layers of unlike length meet on one scale
    return rows


def _in_depth(layer: Sequence[int], above: list[list[int]], below: list[list[int]]) -> list[int]:
    """All vertices, what is connected together."""
    seen, out = [False] * len(layer), []
    for start in sorted(range(len(layer)), key=layer.__getitem__):
        stack = [start]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = True
                out.append(v)
                stack += [w for w in (*above[v][::-1], *below[v][::-1]) if not seen[w]]
    return out


def across(
    rows: list[list[int]], widths: Sequence[float], above: list[list[int]], below: list[list[int]], gap: float
) -> list[float]:
    """The middle of each vertex: near those of its neighbours, in the order of its layer, a gap apart."""
    x = [0.0] * len(widths)
    for row in rows:
        _settle(row, [0.0] * len(row), widths, gap, x)
    for sweep in range(SWEEPS):
        near = (above, below, [a + b for a, b in zip(above, below, strict=True)])[2 if sweep >= SWEEPS - 2 else sweep % 2]
        for row in reversed(rows) if sweep % 2 else rows:
            wishes = [sum(x[w] for w in near[v]) / len(near[v]) if near[v] else x[v] for v in row]
            _settle(row, wishes, widths, gap, x)
    return x


def _settle(row: list[int], wishes: Sequence[float], widths: Sequence[float], gap: float, x: list[float]) -> None:
    """Puts a row as near to its wishes as order and gaps allow, in the sum of squares: pools of vertices that touch."""
    offsets, offset = [], 0.0
    for i, v in enumerate(row):
        between = widths[row[i - 1]] + widths[v] if i else 0.0
        offset += between / 2 + (gap if between else gap * LINES) if i else 0.0
        offsets.append(offset)
    pools: list[tuple[float, int]] = []  # (sum of wishes, how many)
    for wish, offset in zip(wishes, offsets, strict=True):
        total, size = wish - offset, 1
        while pools and pools[-1][0] * size > total * pools[-1][1]:
            before = pools.pop()
            total, size = total + before[0], size + before[1]
        pools.append((total, size))
    means = (total / size for total, size in pools for _ in range(size))
    for v, mean, offset in zip(row, means, offsets, strict=True):
        x[v] = mean + offset
