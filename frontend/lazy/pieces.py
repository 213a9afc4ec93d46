"""Long graphs that repeat, cut in pieces. In: a Capture. Out: Nodes to compute beforehand, piece by
piece.

    for _ in range(500):
        x = 3.7 * x * (1 - x)
        history.append(x)

If nothing is read before `wf.stack(history)`, the graph has 500 equal turns, which would take
seconds to compile as one program. In pieces of some turns each it is one short program that runs
many times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import islice

from ...ir.graph.disjoint import DisjointSets
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.repeats import Region, regions
from .capture import Capture
from .computed import Computed

LEAST_NODES = 256  # of a graph that is worth a look: others compile in a few tenths of a second
LEAST_SHARE = 3  # a part of the graph that repeats is at least its third
LEAST_COPIES = 16
PIECE = 64  # Nodes; shorter turns and copies are computed several at once
WORK = 100_000  # elements a Node, on average: with more, time is not lost in compiling


def pieces(capture: Capture, roots: Sequence[Node]) -> list[list[Node]]:
    """What to compute before the roots, in this order, each list by a program of its own; nothing
    where too little repeats."""
    count = len(capture.entries)
    if count < LEAST_NODES:
        return []
    nodes = list(capture.index)
    if sum(_elements(n) for n in nodes) > WORK * count:
        return []
    return _of_copies(capture, nodes, set(roots)) or _of_turns(capture, nodes, set(roots))


def _elements(n: Node) -> int:
    return n.src[0].size if n.op is Op.REDUCE else n.size


def _sources(entry: tuple[Hashable, ...]) -> list[int]:
    """The numbers of the entries that an entry of the key reads."""
    return [s for s in entry[2:] if isinstance(s, int)] if isinstance(entry[0], Op) else []


# ---------------------------------------------------------------- copies side by side


def _of_copies(capture: Capture, nodes: Sequence[Node], roots: set[Node]) -> list[list[Node]]:
    """Parts that differ in nothing but the values in memory that they read: `wf.stack([f(x) for x
    in xs])`."""
    forms = _forms(capture)
    often, readers = (
        Counter(forms),
        Counter(s for entry in capture.entries for s in _sources(entry)),
    )
    groups = DisjointSets(len(forms))
    for i, entry in enumerate(capture.entries):
        if often[forms[i]] >= LEAST_COPIES > readers[i] and isinstance(entry[0], Op):
            groups.add(i)
            for s in _sources(entry):
                if s in groups:
                    groups.join(i, s)
    parts = groups.members()
    alike = Counter(tuple(forms[i] for i in part) for part in parts)
    parts = [part for part in parts if alike[tuple(forms[i] for i in part)] >= LEAST_COPIES]
    if sum(map(len, parts)) * LEAST_SHARE < len(forms):
        return []
    needed = {i for i, n in enumerate(nodes) if n in roots}
    needed.update(
        s
        for i, entry in enumerate(capture.entries)
        for s in _sources(entry)
        if groups.of(s) != groups.of(i)
    )
    together = max(1, round(PIECE / len(parts[0])))
    here = Computed(capture)
    chunks = [parts[k : k + together] for k in range(0, len(parts), together)]
    stored = [
        here.stored_for([nodes[i] for part in chunk for i in part if i in needed], ())
        for chunk in chunks
    ]
    return [piece for piece in stored if piece]


def _forms(capture: Capture) -> list[int]:
    """For each entry the number of what it computes; equal if only the memory that is read
    differs."""
    known: dict[tuple[Hashable, ...], int] = {}
    numbers: list[int] = []
    for entry in capture.entries:
        form = entry
        if isinstance(entry[0], Op):
            form = (
                *entry[:2],
                *(("of", numbers[s]) if isinstance(s, int) else s for s in entry[2:]),
            )
        numbers.append(known.setdefault(form, len(known)))
    return numbers


# ---------------------------------------------------------------- turns one after the other


def _of_turns(capture: Capture, nodes: Sequence[Node], roots: set[Node]) -> list[list[Node]]:
    """Turns of a loop, which read what those before have made."""
    repeated = regions(_labels(nodes), LEAST_NODES // 2)
    if sum(r.stop - r.start for r in repeated) * LEAST_SHARE < len(nodes):
        return []
    last_use = _last_uses(capture, nodes, roots)
    here = Computed(capture)
    out = []
    for region in repeated:
        size = region.turn * max(1, round(PIECE / region.turn))
        begin = _narrowest(nodes, last_use, region)
        done = 0 if region is repeated[0] else begin - region.turn
        for stop in range(begin, region.stop + 1, size):
            met = [
                n
                for i, n in enumerate(islice(nodes, done, stop), done)
                if last_use[i] >= stop and n in here.nodes
            ]
            out.append(here.stored_for(met, ()))
            done = stop
    return [piece for piece in out if piece]


def _labels(nodes: Sequence[Node]) -> list[int]:
    """Equal for Nodes that may be of the same line of two turns."""
    known: dict[object, int] = {}
    labels = []
    for n in nodes:
        arg = None if n.op is Op.INPUT else n.arg
        labels.append(
            known.setdefault((n.op, arg, n.dtype, n.shape, n.site if n.src else None), len(known))
        )
    return labels


def _last_uses(capture: Capture, nodes: Sequence[Node], roots: set[Node]) -> list[int]:
    """For each entry the last one that reads it, beyond the end for roots."""
    out = [len(nodes) if n in roots else i for i, n in enumerate(nodes)]
    for i, entry in enumerate(capture.entries):
        for source in _sources(entry):
            out[source] = max(out[source], i)
    return out


def _narrowest(nodes: Sequence[Node], last_use: Sequence[int], region: Region) -> int:
    """Where in its second turn a region is cut: fewest bytes are needed beyond."""
    first = region.start + region.turn
    crossing = [0] * (region.turn + 1)
    for i in range(region.start, first + region.turn):
        for place in range(max(i + 1, first), min(last_use[i], first + region.turn) + 1):
            crossing[place - first] += nodes[i].nbytes
    return first + min(range(region.turn), key=crossing.__getitem__)
