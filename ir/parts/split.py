"""Graph -> Parts. In: roots. Out: parts that repeat, as the layers of a network do, and what is
left of the Graph.

    x1 = layer(x0); x2 = layer(x1); ...; g1 = gradient(g2, x1); g0 = gradient(g1, x0)

In the order of a Graph, layers and their gradients are regions of turns. Where the fewest bytes
pass from one turn to the next, as x1 and g1, the Graph is cut. What still belongs together is a
part: a layer, its gradient and the updates of its weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate

from ..graph.disjoint import DisjointSets
from ..graph.graph import Node
from ..graph.op import REGIONAL, Op
from ..graph.repeats import Region, regions
from .flow import Flow, levels_of
from .part import Part, Strides, part_of

LEAST_NODES = 512  # of a Graph that is worth a look
LEAST_REGION = 64  # Nodes of a region
LEAST_COPIES = 3  # of a part
NOT_FREE = 1 << 60  # bytes that no value has
LEAST_SHARE = 2  # parts that repeat are at least half of the Graph


def parts_of(roots: Sequence[Node], strides: Strides) -> list[list[Part]]:
    """Equal parts together; nothing where too little repeats. What does not repeat is one part.
    `strides`: how inputs lie in memory."""
    flow = Flow(roots)
    if any(n.op in REGIONAL for n in flow.order):  # whose results must stay together
        return []
    found = regions(_labels(flow.order), LEAST_REGION) if len(flow.order) >= LEAST_NODES else []
    if sum(r.stop - r.start for r in found) * LEAST_SHARE < len(flow.order):
        return []
    pieces = _Pieces(flow, _cuts(flow, found))
    alike: dict[Hashable, list[Part]] = {}
    members: dict[Part, list[int]] = {}
    for piece in pieces.sets:
        part = pieces.part(piece)
        members[part] = piece
        alike.setdefault(part.form(strides), []).append(part)
    repeated = [parts for parts in alike.values() if len(parts) >= LEAST_COPIES]
    if sum(len(p.nodes) for parts in repeated for p in parts) * LEAST_SHARE < len(flow.order):
        return []
    single = [members[p] for parts in alike.values() if len(parts) < LEAST_COPIES for p in parts]
    rest = sorted(i for piece in single for i in piece)
    return [*repeated, *([[pieces.part(rest)]] if rest else [])]


def _labels(order: Iterable[Node]) -> list[int]:
    """Equal for Nodes that may be of one line of two layers."""
    known: dict[Hashable, int] = {}
    labels = []
    for n in order:
        arg = None if n.op in (Op.INPUT, Op.CONST) else n.arg
        labels.append(known.setdefault((n.op, arg, n.dtype, n.shape), len(known)))
    return labels


# ---------------------------------------------------------------- where to cut


def _cuts(flow: Flow, found: Sequence[Region]) -> set[Node]:
    """Values that pass from one part to another: few bytes between turns, what several turns share,
    and single elements."""
    shared = {n for n in flow.values if _is_total(n) or _is_shared(flow, n, found)}
    free = _free(flow)
    between = {n for r in found for n in _between(flow, r, shared, free)}
    return shared | between | {n for r in found for n in _entering(flow, r, between)}


def _is_total(n: Node) -> bool:
    return n.size == 1 and n.op is Op.REDUCE


def _free(flow: Flow) -> set[Node]:
    """Values that are in memory in any case: factors of contractions, and what is needed again
    after a contraction."""
    level, products = levels_of(flow)
    return {
        n for n in flow.values if any(c in products or level[c] > level[n] for c in flow.readers[n])
    }


def _last_reads(flow: Flow, r: Region) -> dict[int, int]:
    """Of each value of a region the place where the region reads it for the last time."""
    last: dict[int, int] = {}
    for place in range(r.start, r.stop):
        for s in flow.sources.get(flow.order[place], ()):
            last[flow.place[s]] = place
    return last


def _is_shared(flow: Flow, n: Node, found: Sequence[Region]) -> bool:
    """Do several turns of a region make or read a value?"""
    places = [flow.place[n], *(flow.place[c] for c in flow.readers[n])]
    least = min(r.turn for r in found)
    if max(places) - min(places) < least:
        return False
    within = ([p for p in places if r.start <= p < r.stop] for r in found)
    return any(
        some and max(some) - min(some) >= r.turn for some, r in zip(within, found, strict=True)
    )


def _between(flow: Flow, r: Region, shared: set[Node], free: set[Node]) -> set[Node]:
    """The values that pass from each turn to the next where these are the fewest bytes, and all
    free."""
    first, stop = r.start + r.turn, r.start + 2 * r.turn
    last = _last_reads(flow, r)
    passing = [
        (i, last[i])
        for i in range(r.start, stop)
        if last.get(i, 0) >= first and flow.order[i] not in shared
    ]
    change = [0] * (stop + 1)
    for i, to in passing:
        size = flow.order[i].nbytes if flow.order[i] in free else NOT_FREE
        change[i + 1] += size
        if to + 1 < stop:
            change[to + 1] -= size
    sizes = list(accumulate(change))
    least = min(sizes[first:stop])
    narrow = [p for p in range(first, stop) if sizes[p] == least < NOT_FREE]
    offsets = {i for i, to in passing if any(i < p <= to for p in narrow)}
    turns = range(-2 * r.turn, r.stop - r.start, r.turn)
    return {
        n
        for i in offsets
        for t in turns
        if r.start <= i + t < r.stop and (n := flow.order[i + t]) in flow.sources
    }


def _entering(flow: Flow, r: Region, between: set[Node]) -> Iterator[Node]:
    """What the first turn reads in the place of what passes from each turn to the next."""
    for place in range(r.start, r.start + r.turn):
        first, second = (flow.sources.get(flow.order[p], ()) for p in (place, place + r.turn))
        yield from (a for a, b in zip(first, second, strict=False) if b in between)


# ---------------------------------------------------------------- what belongs together


class _Pieces:
    """Values joined by what is not cut. `sets`: their numbers in `flow.values`."""

    def __init__(self, flow: Flow, cuts: set[Node]) -> None:
        self.flow = flow
        self._number = {n: i for i, n in enumerate(flow.values)}
        joined = DisjointSets(len(flow.values))
        for i, n in enumerate(flow.values):
            joined.add(i)
            for s in flow.sources[n]:
                if s not in cuts:
                    joined.join(i, self._number[s])
        for piece in joined.members():
            self._join_last(joined, piece)
        self.sets = joined.members()
        of = {i: k for k, piece in enumerate(self.sets) for i in piece}
        crossing = [
            n
            for i, n in enumerate(flow.values)
            if any(of[self._number[c]] != of[i] for c in flow.readers[n])
        ]
        self._bit = {n: 1 << k for k, n in enumerate(crossing)}
        self._below = self._crossing_below()

    def _join_last(self, joined: DisjointSets, piece: Sequence[int]) -> None:
        """What nothing reads belongs to the piece that it reads, if that is one: the sum of a
        gradient to the gradient."""
        own, flow = set(piece), self.flow
        values = [flow.values[i] for i in piece]
        read = {
            joined.of(k)
            for n in values
            for s in flow.sources[n]
            if (k := self._number[s]) not in own
        }
        if len(read) == 1 and all(self._number[c] in own for n in values for c in flow.readers[n]):
            (other,) = read
            assert other is not None
            joined.join(piece[0], other)

    def _crossing_below(self) -> dict[Node, int]:
        """Of each value what it is made of among the values that pass between pieces, a bit
        each."""
        below: dict[Node, int] = {}
        for n in self.flow.values:
            bits = 0
            for s in self.flow.sources[n]:
                bits |= below[s] | self._bit.get(s, 0)
            below[n] = bits
        return below

    def part(self, piece: Sequence[int]) -> Part:
        """The part that computes these values."""
        own = {self.flow.values[i]: None for i in piece}
        readers, sources = self.flow.readers, self.flow.sources
        outputs = [n for n in own if n in self.flow.roots or any(c not in own for c in readers[n])]
        external = dict.fromkeys(s for n in own for s in sources[n] if s not in own)
        after = {n: [o for o in outputs if self._below[n] & self._bit.get(o, 0)] for n in external}
        return part_of(outputs, external, after)
