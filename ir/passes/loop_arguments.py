"""Arguments of loops and branches in memory. In: a Graph. Out: the same, in which only needed
results are left, and every argument is a value in memory.

before    loop(x + 1, w, y)            whose result 1 nobody reads
after     loop'(keep(x + 1), w)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..graph.graph import Node, node, rebuild, toposort
from ..graph.index import row_major_strides
from ..graph.op import REGIONAL, Op
from ..graph.region import Branch, Loop, Region, Shared, results_of, together
from ..graph.rewrite import mapped
from ..graph.routine import Routine
from ..regions.body import OpenBranch, OpenLoop, opened, opened_branch
from ..regions.rebuild import with_results

IN_MEMORY = frozenset({Op.INPUT, Op.KEEP, Op.PUT, *REGIONAL})


def needed_results(roots: Sequence[Node]) -> list[Node]:
    """Loops without the carries and stacked values that nobody needs, branches without such
    values."""
    found = together(toposort(roots))
    return with_results(roots, _made, _merged(found)) if found else list(roots)


def _merged(found: Iterable[Shared]) -> dict[Shared, tuple[Shared, Sequence[int]]]:
    """Loops that differ in nothing but what they stack are one, as that of a gradient and the loop
    itself: of each that one, and the numbers of its results there."""
    alike: dict[Hashable, list[Shared]] = {}
    for spec, src in found:
        key: Hashable = (spec, src)
        if isinstance(spec, Loop):
            steady = Region(spec.body.params, spec.body.outputs[: spec.carries])
            key = replace(spec, body=steady), src
        alike.setdefault(key, []).append((spec, src))
    whole: dict[Shared, tuple[Shared, Sequence[int]]] = {}
    for same in alike.values():
        spec, src = same[0]
        if isinstance(spec, Loop):
            outputs = list(spec.body.outputs[: spec.carries])
            place = dict[Node, int]()
            for other, _ in same:
                for n in other.regions[0].outputs[spec.carries :]:
                    if n not in place:
                        place[n] = len(outputs)
                        outputs.append(n)
            one = replace(spec, body=replace(spec.body, outputs=tuple(outputs)))
            for other, _ in same:
                stacked = [place[n] for n in other.regions[0].outputs[spec.carries :]]
                whole[other, src] = (one, src), [*range(spec.carries), *stacked]
        else:
            whole[spec, src] = (spec, src), range(spec.results)
    return whole


def _made(
    spec: Loop | Branch | Routine, src: tuple[Node, ...], wanted: Sequence[int]
) -> dict[int, Node]:
    """The wanted results, by number."""
    if isinstance(spec, Routine):
        return dict(enumerate(results_of(Op.ROUTINE, spec, src)))
    if isinstance(spec, Branch):
        branch = opened_branch(spec, src)
        ways = [[way[k] for k in wanted] for way in branch.ways]
        some = OpenBranch(branch.index, branch.params, ways).close()
        return dict(zip(wanted, some, strict=True))
    loop = opened(spec, src)
    kept = _kept(loop, wanted)
    count = len(loop.carries)
    left = replace(
        loop,
        carries=[loop.carries[k] for k in kept if k < count],
        stacked=[loop.stacked[k - count] for k in kept if k >= count],
    )
    return dict(zip(kept, left.close(), strict=True))


def _kept(loop: OpenLoop, wanted: Sequence[int]) -> list[int]:
    """The wanted results, and the carries that these need."""
    place = {c.param: k for k, c in enumerate(loop.carries)}
    kept = set(wanted) | ({0} if loop.is_while else set())
    new = kept
    while new:
        below = toposort([loop.outputs[k] for k in new])
        new = {place[n] for n in below if n in place} - kept
        kept = kept | new
    return sorted(kept)


def arguments_in_memory(
    roots: Sequence[Node], strides: Mapping[Node, tuple[int, ...]]
) -> list[Node]:
    """A KEEP around each argument that is not in memory by itself, and around carries that do not
    lie there densely. `strides`: of inputs."""
    nodes = toposort(roots)
    if not any(n.op in REGIONAL or n.op is Op.PUT for n in nodes):
        return list(roots)

    def kept(_: Node, n: Node) -> Node:
        if n.op is Op.PUT:  # whose first source is copied, unless the result takes its memory
            return rebuild(n, (_in_memory(n.src[0], strides, True), *n.src[1:]))
        if n.op not in REGIONAL:
            return n
        spec = n.arg[0]
        carries = range(0)
        if isinstance(spec, Loop):
            carries = range(spec.captured, spec.captured + spec.carries)
        src = [_in_memory(s, strides, i in carries) for i, s in enumerate(n.src)]
        return rebuild(n, tuple(src))

    return mapped(roots, nodes, kept)


def _in_memory(n: Node, strides: Mapping[Node, tuple[int, ...]], densely: bool) -> Node:
    lies_densely = strides.get(n, row_major_strides(n.shape)) == row_major_strides(n.shape)
    if n.op in IN_MEMORY and (lies_densely or not densely):
        return n
    return node(Op.KEEP, (n,))
