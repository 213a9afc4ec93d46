"""A graph in cells of text. In: sizes of boxes, edges. Out: places of boxes, lines between them.

`along` is the way that edges go, `across` the other one, so a picture from left to right and one
from top to bottom differ only in which of them is x. Layers, their order and the places across are
those of page/layered.py. All edges of a box leave its middle as one line, which goes along with
bends where it passes a layer, and turns on a track of its own between two layers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..page.layered import across, layers, neighbours, ordered

Cell = tuple[int, int]  # along, across
Piece = tuple[Cell, Cell]


@dataclass(frozen=True)
class Wire:
    """What leaves the box `source`: straight pieces of line, and the cells of its arrow heads."""

    source: int
    pieces: tuple[Piece, ...]
    heads: tuple[Cell, ...]


@dataclass(frozen=True)
class Picture:
    """`corners`: the first cell of each box; `wires`; `along` and `across`: cells in all."""

    corners: list[Cell]
    wires: list[Wire]
    along: int
    across: int


def drawn(sizes: Sequence[Cell], edges: Sequence[tuple[int, int]], gap: int) -> Picture:
    """Boxes 0, 1, ... of these sizes, of which those across are odd; sources come before targets;
    gap: between boxes, across."""
    if not sizes:
        return Picture([], [], 0, 0)
    graph = _Graph(sizes, edges, gap)
    at, starts = 0, [0] * len(sizes)
    pieces, heads = defaultdict[int, list[Piece]](list), defaultdict[int, list[Cell]](list)
    for row in graph.rows:
        depth = max((sizes[v][0] for v in row if v < len(sizes)), default=1)
        for v in row:
            if v < len(sizes):
                starts[v] = at
        nets = [net for v in row if (net := graph.net(v)).ends]
        tracks = _tracks(nets)
        # A piece of line before and after the tracks, arrow heads.
        following = at + depth + (tracks + 3 if tracks else 2)
        for net in nets:
            begin = at + (sizes[net.vertex][0] - 1 if net.vertex < len(sizes) else 0)
            net_pieces, net_heads = net.lines(begin, at + depth, following)
            pieces[graph.source[net.vertex]] += net_pieces
            heads[graph.source[net.vertex]] += net_heads
        at = following
    corners = [
        (start, graph.middle[v] - size[1] // 2)
        for v, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    wires = [Wire(source, tuple(lines), tuple(heads[source])) for source, lines in pieces.items()]
    return Picture(corners, wires, *_extent(corners, sizes, graph.middle))


def _extent(corners: list[Cell], sizes: Sequence[Cell], middle: list[int]) -> Cell:
    ends = [
        (start + size[0], side + size[1])
        for (start, side), size in zip(corners, sizes, strict=True)
    ]
    return max(along for along, _ in ends), max(
        [*(side for _, side in ends), *(m + 1 for m in middle)]
    )


class _Graph:
    """Boxes, and after them the bends of lines that pass layers. Attributes, by vertex: `source`,
    the box that its line leaves; `middle`, its place across; `rows`: the vertices of each layer in
    order."""

    def __init__(self, sizes: Sequence[Cell], edges: Sequence[tuple[int, int]], gap: int) -> None:
        self.source = list(range(len(sizes)))
        layer = layers(len(sizes), edges)
        self.above, self.below = neighbours(len(sizes), [])
        for a in range(len(sizes)):
            self._lead(a, [b for start, b in edges if start == a], layer)
        self.rows = ordered(layer, self.above, self.below)
        self.widths = [size[1] for size in sizes] + [1] * (len(layer) - len(sizes))
        middles = [round(x) for x in across(self.rows, self.widths, self.above, self.below, gap)]
        first = min(m - w // 2 for m, w in zip(middles, self.widths, strict=True))
        self.middle = [m - first for m in middles]
        for source in range(len(sizes)):
            self._straighten([v for v in range(len(sizes), len(layer)) if self.source[v] == source])

    def _lead(self, a: int, targets: list[int], layer: list[int]) -> None:
        """Edges to the next layer, and through one bend in each layer that others pass."""
        last = a
        for level in range(layer[a] + 1, max((layer[b] for b in targets), default=0) + 1):
            for b in targets:
                if layer[b] == level:
                    self._edge(last, b)
            if any(layer[b] > level for b in targets):
                layer.append(level)
                self.source.append(a)
                self.above.append([])
                self.below.append([])
                self._edge(last, len(layer) - 1)
                last = len(layer) - 1

    def _straighten(self, bends: list[int]) -> None:
        """Moves the bends of one line to one place, if there is one that is free in all layers that
        it passes."""
        room = [self._room(v) for v in bends]
        low, high = max((a for a, _ in room), default=0), min((b for _, b in room), default=-1)
        if low <= high:
            for v in bends:
                self.middle[v] = min(max(self.middle[bends[-1]], low), high)

    def _room(self, v: int) -> tuple[int, int]:
        """The first and the last place that a bend may have between its neighbours."""
        row = next(row for row in self.rows if v in row)
        k = row.index(v)
        before = self.middle[row[k - 1]] + self.widths[row[k - 1]] // 2 + 2 if k else 0
        after = (
            self.middle[row[k + 1]] - self.widths[row[k + 1]] // 2 - 2
            if k + 1 < len(row)
            else max(self.middle) + 1
        )
        return before, after

    def _edge(self, a: int, b: int) -> None:
        self.below[a].append(b)
        self.above[b].append(a)

    def net(self, v: int) -> _Net:
        """The edges from a vertex to the next layer."""
        ends = [
            (place, self.source[b] == b)
            for b in dict.fromkeys(self.below[v])
            for u, place in self._pins(b)
            if u == v
        ]
        return _Net(v, self.middle[v], ends)

    def _pins(self, b: int) -> list[tuple[int, int]]:
        """(source, place across) of the edges into a vertex: straight ahead where that is on its
        side, else next to others."""
        sources = sorted(self.above[b], key=lambda v: self.middle[v])
        low, high = (
            self.middle[b] - max(0, self.widths[b] // 2 - 1),
            self.middle[b] + max(0, self.widths[b] // 2 - 1),
        )
        if len(sources) > high - low + 1:
            return [(v, self.middle[b]) for v in sources]
        places: list[int] = []
        for k, v in enumerate(sources):
            last = high - (len(sources) - 1 - k)
            places.append(min(max(self.middle[v], places[-1] + 1 if places else low), last))
        return list(zip(sources, places, strict=True))


@dataclass
class _Net:
    """The lines from one vertex to the next layer. `ends`: (place across, is it a box); `track`:
    where they turn; `around`: (first track, place across, last track) of one that goes around
    another."""

    vertex: int
    start: int
    ends: list[tuple[int, bool]]
    track: int = 0
    around: tuple[int, int, int] | None = None
    # Which must turn before this one: they start where it ends.
    blockers: list[_Net] = field(default_factory=list)

    @property
    def span(self) -> tuple[int, int]:
        places = [self.start, *(end for end, _ in self.ends)]
        return min(places), max(places)

    @property
    def is_straight(self) -> bool:
        return self.span == (self.start, self.start)

    def lines(self, begin: int, channel: int, end: int) -> tuple[list[Piece], list[Cell]]:
        """The pieces of line from `begin` along to `end`, and the arrow heads. `channel`: one
        before the first track."""
        here, turn, pieces = self.start, begin, list[Piece]()
        if self.around is not None:
            one, here, turn = (
                channel + 1 + self.around[0],
                self.around[1],
                channel + 1 + self.around[2],
            )
            pieces += [
                ((begin, self.start), (one, self.start)),
                ((one, self.start), (one, here)),
                ((one, here), (turn, here)),
            ]
        elif not self.is_straight:
            turn = channel + 1 + self.track
            pieces.append(((begin, here), (turn, here)))
        for place, _ in self.ends:
            pieces += [((turn, here), (turn, place))] * (place != here) + [
                ((turn, place), (end, place))
            ]
        return pieces, [(end - 1, place) for place, is_box in self.ends if is_box]


def _tracks(nets: list[_Net]) -> int:
    """Gives every net that turns a track, one that starts where another ends before that; says how
    many there are."""
    turning = sorted((net for net in nets if not net.is_straight), key=lambda net: net.span)
    for net in turning:
        net.blockers = [
            other
            for other in turning
            if other is not net and any(end == other.start for end, _ in net.ends)
        ]
    waiting, around, taken = turning.copy(), list[_Net](), list[list[tuple[int, int]]]()
    while waiting:
        ready = next(
            (net for net in waiting if not any(other in waiting for other in net.blockers)), None
        )
        if ready is None:  # each ends where another one starts
            around.append(waiting.pop())
            continue
        waiting.remove(ready)
        first = max((other.track + 1 for other in ready.blockers if other not in around), default=0)
        ready.track = _free(taken, first, ready.span)
    return _led_around(around, nets, len(taken))


def _free(taken: list[list[tuple[int, int]]], first: int, span: tuple[int, int]) -> int:
    """The first track from there on where nothing else lies."""
    track = first
    while track < len(taken) and any(
        low <= span[1] + 1 and span[0] <= high + 1 for low, high in taken[track]
    ):
        track += 1
    taken += [[] for _ in range(track + 1 - len(taken))]
    taken[track].append(span)
    return track


def _led_around(around: list[_Net], nets: list[_Net], tracks: int) -> int:
    """Nets that go around have the first tracks and the last ones, and between them a place across
    where nothing else is."""
    used = {place for net in nets for place in (net.start, *(end for end, _ in net.ends))}
    for net in nets:
        net.track += len(around)
    for k, net in enumerate(around):
        free = next(
            place for place in range(net.start, net.start + len(used) + 2) if place not in used
        )
        used.add(free)
        net.around = k, free, len(around) + tracks + k
    return tracks + 2 * len(around)
