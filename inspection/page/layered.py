"""A graph laid out in layers. In: sizes of boxes, edges. Out: places of boxes, bends of edges.

The method is Sugiyama, Tagawa and Toda's (1981, doi:10.1109/TSMC.1981.4308636): turn edges of
cycles round, put each box into a layer, order the layers by barycentres, then choose coordinates
(across.py), and ways for lines that cross no box (lines.py). Each step is linear in boxes and
edges, but for sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .across import across
from .lines import Edge, Point, bent, beside, straightened

Size = tuple[float, float]

WIDE = 8  # boxes of a layer from which on those that lead nowhere go to the next
SWEEPS = 6  # over all layers, down and up in turn


@dataclass(frozen=True)
class Layered:
    """Attributes: `width` and `height` of all; `corners`, the top left of each box; `bends` between
    the ends of each edge."""

    width: float
    height: float
    corners: list[Point]
    bends: list[list[Point]]


def layered(sizes: Sequence[Size], edges: Sequence[Edge], gap: Size) -> Layered:
    """Lays out boxes 0, 1, ... of these (width, height), at least `gap` (across, between layers)
    apart.

    No edge may lead to its own box.
    """
    if not sizes:
        return Layered(0, 0, [], [])
    count, forward = len(sizes), acyclic(len(sizes), edges)
    layer = layers(count, forward)
    chains, pieces = bent(layer, forward)
    widths = [w for w, _ in sizes] + [0.0] * (len(layer) - count)
    above, below = neighbours(len(layer), pieces)
    rows = ordered(layer, above, below)
    x = across(rows, widths, above, below, gap[0])
    spans = spans_of(rows, sizes, gap[1])
    lines = [straightened([(x[v], y) for v in chain for y in spans[layer[v]]]) for chain in chains]
    edge = (
        min(x[v] - widths[v] / 2 for v in range(len(x))),
        max(x[v] + widths[v] / 2 for v in range(len(x))),
    )
    for i, lane in beside(layer, forward, chains, x, edge, gap[0]).items():
        a, b = forward[i]
        lines[i] = [(lane, spans[layer[a] + 1][0]), (lane, spans[layer[b] - 1][1])]

    left = min([edge[0], *(px for line in lines for px, _ in line)])
    right = max([edge[1], *(px for line in lines for px, _ in line)])
    corners = []
    for v, (width, height) in enumerate(sizes):
        top, bottom = spans[layer[v]]
        corners.append(
            (x[v] - width / 2 - left, top + (bottom - top - height) * (0.5 if above[v] else 1.0))
        )
    moved = [[(px - left, py) for px, py in line] for line in lines]
    bends = [
        line if e == f else line[::-1] for e, f, line in zip(edges, forward, moved, strict=True)
    ]
    return Layered(right - left, spans[-1][1], corners, bends)


def spans_of(rows: list[list[int]], sizes: Sequence[Size], gap: float) -> list[tuple[float, float]]:
    """(top, bottom) of each layer."""
    out, top = [], 0.0
    for row in rows:
        bottom = top + max((sizes[v][1] for v in row if v < len(sizes)), default=0.0)
        out.append((top, bottom))
        top = bottom + gap
    return out


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
    """The layer of each vertex: after all that lead to it; what nothing leads to, right before the
    first that needs it."""
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
    """Moves ends of the graph that would make a layer wide to the layers after it."""
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


def ordered(
    layer: Sequence[int], above: list[list[int]], below: list[list[int]]
) -> list[list[int]]:
    """The layers, each in an order that puts vertices near the middle of their neighbours
    (barycentres)."""
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    place = [0.0] * len(layer)
    for v in _in_depth(layer, above, below):
        place[v] = len(rows[layer[v]])
        rows[layer[v]].append(v)
    for sweep in range(SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wish = {
                v: sum(place[w] for w in near[v]) / len(near[v]) if near[v] else place[v]
                for v in row
            }
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
