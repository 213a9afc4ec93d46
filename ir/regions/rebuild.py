"""Loops and branches replaced in a Graph. In: roots, what makes other results. Out: the roots with
these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..graph.graph import Node, rebuild, toposort
from ..graph.op import REGIONAL
from ..graph.region import Branch, Loop, Shared, shared
from ..graph.routine import Routine
from ..graph.site import provenance

# (loop, branch or routine, its sources, the numbers of the results that are wanted) -> these, by
# number; None leaves it as it is
Make = Callable[
    [Loop | Branch | Routine, tuple[Node, ...], Sequence[int]], Mapping[int, Node] | None
]
# where the results of a loop are among those of another
Whole = Mapping[Shared, tuple[Shared, Sequence[int]]]


def with_results(roots: Sequence[Node], make: Make, whole: Whole | None = None) -> list[Node]:
    """The roots, where results of loops and branches are what `make` gives. `whole`: what stands
    for each, if it is another one."""
    order = toposort(roots)
    wanted: dict[Shared, set[int]] = {}

    def place(n: Node) -> tuple[Shared, int]:
        if whole is None:
            return shared(n), n.arg[1]
        other, numbers = whole[shared(n)]
        return other, numbers[n.arg[1]]

    for n in order:
        if n.op in REGIONAL:
            key, number = place(n)
            wanted.setdefault(key, set()).add(number)
    made: dict[Shared, Mapping[int, Node] | None] = {}
    done: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in order:
            here.move(n.site)
            src = tuple([done[s] for s in n.src])
            if n.op not in REGIONAL:
                done[n] = rebuild(n, src)
                continue
            key, number = place(n)
            if key not in made:
                made[key] = make(key[0], src, sorted(wanted[key]))
            results = made[key]
            done[n] = rebuild(n, src) if results is None else results[number]
            if done[n].op in REGIONAL:
                done[n].site = n.site  # all results are made with the line of the first
    return [done[r] for r in roots]
