"""Bodies of loops and branches in the making. In: Graphs over leaves of their own and over values
from outside. Out: Nodes whose Regions are closed.

before    next = tanh(h @ (w * 2) + x)      of leaves h, x
after     body(%p0, h, x): tanh(h @ %p0 + x)    over the source w * 2

What does not depend on a leaf of the body is computed once, outside. Views of such a value, and
what is made of constants and counters alone, stay inside, where they cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..graph.graph import (
    Node,
    at_home,
    expand,
    full,
    reach,
    rebuilt_over,
    sources,
    toposort,
    used,
)
from ..graph.op import ELEMENTWISE, HINTS, VIEWS, Op
from ..graph.region import (
    Branch,
    Loop,
    closed,
    results_of,
    unnumbered,
)
from ..graph.rewrite import substituted

PLAIN = ELEMENTWISE | VIEWS | HINTS  # what stays inside if it is made of constants and counters


def captured(params: Iterable[Node], outputs: Sequence[Node]) -> list[Node]:
    """What a body uses of the values outside."""
    inside = set(params)
    plain: set[Node] = set()
    used = dict[Node, None]()
    for n in toposort(outputs):
        if any(s in inside for s in n.src):
            inside.add(n)
            used |= dict.fromkeys(s for s in n.src if s not in inside)
        elif n.op in (Op.CONST, Op.IOTA) or (n.src and n.op in PLAIN and plain.issuperset(n.src)):
            plain.add(n)
    used |= dict.fromkeys(n for n in outputs if n not in inside)
    found = dict.fromkeys(_seen(n, plain) for n in used)
    return [n for n in found if n not in plain]


def _seen(n: Node, plain: Collection[Node]) -> Node:
    """What a value is a view of; at a DETACH, so that no derivative goes into the loop."""
    while n.op in VIEWS and n not in plain:
        n = n.src[0]
    return n


def without_definitions(params: Iterable[Node], outputs: Sequence[Node]) -> list[Node]:
    """The outputs over the definitions of leaves that wait for a value which depends on a
    parameter."""
    own = set(params)
    waiting = [n for n in reach(outputs, sources) if n.op is Op.INPUT and sources(n)]
    inner = [n for n in waiting if any(m in own for m in reach([n], sources))]
    return substituted(outputs, {n: sources(n)[0] for n in inner}) if inner else list(outputs)


@dataclass
class Carry:
    """A value that passes from one iteration to the next: `param` in the body, `first` before the
    first iteration, `next` after each."""

    param: Node
    first: Node
    next: Node


@dataclass
class OpenLoop:
    """A loop whose body is a Graph over leaves of its own and over values from outside. `slices`:
    (parameter, what its values are elements of); `stacked`: what is stacked of each iteration."""

    carries: list[Carry]
    slices: list[tuple[Node, Node]] = field(default_factory=list)
    stacked: list[Node] = field(default_factory=list)
    length: int | None = None
    is_while: bool = False
    reverse: bool = False

    @property
    def params(self) -> list[Node]:
        """The leaves of the body."""
        return [*(c.param for c in self.carries), *(p for p, _ in self.slices)]

    @property
    def outputs(self) -> list[Node]:
        """What an iteration gives."""
        return [*(c.next for c in self.carries), *self.stacked]

    def over(self, places: dict[Node, Node]) -> OpenLoop:
        """The same where others stand in the places of some Nodes of the body; parameters among
        those are gone."""
        new = rebuilt_over(self.outputs, places)
        return replace(
            self,
            carries=[
                Carry(c.param, c.first, new[c.next]) for c in self.carries if c.param not in places
            ],
            slices=[(p, s) for p, s in self.slices if p not in places],
            stacked=[new[n] for n in self.stacked],
        )

    def close(self) -> list[Node]:
        """The results: the last carries, then what is stacked."""
        if self.length == 0:
            return self._of_no_iterations()
        results: dict[int, Node] = {}
        left = self._without_constants(results)
        below = set(toposort(left.outputs))
        left = replace(left, slices=[(p, s) for p, s in left.slices if p in below])
        inside = set(reach_up(left.params, left.outputs))
        count = len(self.carries)
        for k, n in enumerate(left.stacked):
            if n not in inside:
                results[count + k] = expand(n, ((0, self.length or 0),))
        kept = [k for k in range(len(left.stacked)) if count + k not in results]
        left = replace(left, stacked=[left.stacked[k] for k in kept])
        made = left._results()
        places = [k for k in range(count) if k not in results] + [count + k for k in kept]
        results |= dict(zip(places, made, strict=True))
        return [results[k] for k in range(count + len(self.stacked))]

    def _of_no_iterations(self) -> list[Node]:
        """The first carries, and nothing stacked, where the loop would compute them."""
        results = [c.first for c in self.carries]
        results += [full(0, n.dtype, (0, *n.shape)) for n in self.stacked]
        if not used:
            return results
        read = [*results, *(s for _, s in self.slices), *captured(self.params, self.outputs)]
        home = next((n.device for n in read if n.device is not None), None)
        return [at_home(n, home) for n in results]

    def _without_constants(self, results: dict[int, Node]) -> OpenLoop:
        """Without carries that never change, and what has no elements; `results`: what these are at
        the end."""
        loop = self.over({p: full(0, p.dtype, p.shape) for p, _ in self.slices if not p.size})
        number = {c.param: k for k, c in enumerate(self.carries)}
        while True:
            steady = [
                c
                for i, c in enumerate(loop.carries)
                if (c.next in (c.param, c.first) or not c.param.size)
                and not (self.is_while and i == 0)
            ]
            if not steady:
                return loop
            results |= {number[c.param]: c.first for c in steady}
            loop = loop.over({c.param: c.first for c in steady})

    def _results(self) -> list[Node]:
        if not self.outputs:
            return []
        outside = captured(self.params, self.outputs)
        body = closed([*outside, *self.params], self.outputs)
        spec = Loop(
            body, len(self.carries), len(self.slices), self.length, self.is_while, self.reverse
        )
        firsts, slices = [c.first for c in self.carries], [s for _, s in self.slices]
        return results_of(Op.LOOP, spec, [*outside, *firsts, *slices])


def reach_up(params: Iterable[Node], outputs: Sequence[Node]) -> list[Node]:
    """The Nodes below the outputs that depend on a parameter, and the parameters."""
    inside = dict.fromkeys(params)
    for n in toposort(outputs):
        if any(s in inside for s in n.src):
            inside[n] = None
    return list(inside)


def opened(spec: Loop, src: Sequence[Node]) -> OpenLoop:
    """The loop over fresh leaves and the values that it captures."""
    first, last = spec.captured, spec.captured + spec.carries
    params = [unnumbered(p.dtype, p.shape) for p in spec.body.params[first:]]
    outputs = spec.body.over([*src[:first], *params])
    return OpenLoop(
        [
            Carry(p, s, n)
            for p, s, n in zip(params[: spec.carries], src[first:last], outputs, strict=False)
        ],
        list(zip(params[spec.carries :], src[last:], strict=True)),
        outputs[spec.carries :],
        spec.length,
        spec.is_while,
        spec.reverse,
    )


@dataclass
class OpenBranch:
    """A choice among Graphs over leaves of their own. `params`: (leaf, the value outside that it
    stands for); `ways`: the values of each Graph."""

    index: Node
    params: list[tuple[Node, Node]]
    ways: list[list[Node]]

    def close(self) -> list[Node]:
        """The values that the index chooses."""
        places: dict[Node, Node] = {}
        leaves: dict[Node, Node] = {}  # by the value outside
        below = toposort(n for way in self.ways for n in way)
        sources = dict(self.params)
        for leaf in below:
            if leaf.op is Op.INPUT:  # also one in memory that was made inside
                places[leaf] = _over_leaves(sources.get(leaf, leaf), leaves)
        ways = [list(map(rebuilt_over(way, places).__getitem__, way)) for way in self.ways]
        regions = tuple([closed(leaves.values(), way) for way in ways])
        return results_of(Op.BRANCH, Branch(regions), [self.index, *leaves])


def _over_leaves(source: Node, leaves: dict[Node, Node]) -> Node:
    """A value from outside in terms of leaves: views of one, and constants, are made inside."""
    known: dict[Node, Node] = {}
    for n in captured((), [source]):
        known[n] = leaves.setdefault(n, unnumbered(n.dtype, n.shape)) if n.size else n
    return rebuilt_over([source], known)[source]


def opened_branch(spec: Branch, src: Sequence[Node]) -> OpenBranch:
    """The choice over fresh leaves."""
    leaves = [unnumbered(s.dtype, s.shape) for s in src[1:]]
    return OpenBranch(
        src[0], list(zip(leaves, src[1:], strict=True)), [r.over(leaves) for r in spec.regions]
    )
