"""Contractions that leave loops. In: a Graph. Out: the same, in which each of them that does not
need the carries is computed for all iterations at once.

    before    h = tanh(h @ u + x[t] @ w); y[t] = h @ v; dw = dw + x[t].T @ g[t]
    before it X = x @ w                          of all t
    loop      h = tanh(h @ u + X[t]); hs[t] = h; gs[t] = g
    after it  y = hs @ v; dw = dw + sum_t(x[t].T @ gs[t])

What is gained: matrices are read once, and products of a few rows become one of many. What is after
the loop needs values of each iteration, which are stacked. It leaves the loop where they take no
more bytes than what the loop does not read and write then. Memory stays bounded: what is stacked of
one value takes no more than ROOM bytes, or than the slices of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..graph.graph import Node, node, reduce, toposort
from ..graph.op import ELEMENTWISE, VIEWS, Op
from ..graph.region import Branch, Loop, unnumbered
from ..graph.rewrite import is_zero
from ..graph.routine import Routine
from ..kernels.contraction import contracts
from ..kernels.kernel import base_of
from ..regions.batch import batched
from ..regions.body import OpenLoop, opened, reach_up
from ..regions.rebuild import with_results

LEAST = 2  # iterations
ROOM = 1 << 30


def leave_loops(roots: Sequence[Node]) -> list[Node]:
    """Takes them out of every counted loop."""
    return with_results(roots, _left)


def _left(
    spec: Loop | Branch | Routine, src: tuple[Node, ...], wanted: Sequence[int]
) -> dict[int, Node] | None:
    """The results of a loop, by number; None where nothing leaves it."""
    if not isinstance(spec, Loop) or spec.is_while or (spec.length or 0) < LEAST:
        return None
    loop = opened(spec, src)
    order = toposort(loop.outputs)
    if not any(map(_is_contraction, order)) or any(map(_has_condition, order)):
        return None
    return dict(enumerate(_After(loop).results()))


def _has_condition(n: Node) -> bool:
    """Such a loop inside would go on for all iterations until the last of them has ended."""
    return n.op is Op.LOOP and n.arg[0].is_while


def _is_contraction(n: Node) -> bool:
    return n.op is Op.REDUCE and n.arg[0] == "add" and contracts(n.src[0], n.arg[1])


# ---------------------------------------------------------------- before the loop


def _before(loop: OpenLoop) -> OpenLoop:
    """Contractions of slices, and maps that follow them, as slices of their own."""
    order = toposort(loop.outputs)
    carried = set(reach_up([c.param for c in loop.carries], loop.outputs))
    sliced = set(reach_up([p for p, _ in loop.slices], loop.outputs)) - carried
    users = _users(order, loop.outputs)
    contractions = [n for n in order if n in sliced and _is_contraction(n)]
    ends = (_last_map(n, users, sliced) for n in contractions)
    found = dict.fromkeys(n for n in ends if _has_room(loop, n.nbytes))
    if not found:
        return loop
    stacks = batched(list(found), dict(loop.slices), loop.length or 0)
    leaves = {n: unnumbered(n.dtype, n.shape) for n in found}
    without = loop.over(dict(leaves))
    own = list(zip(leaves.values(), stacks, strict=True))
    return replace(without, slices=[*loop.slices, *own])


def _has_room(loop: OpenLoop, nbytes: int) -> bool:
    """May so many bytes of each iteration be stacked?"""
    given = sum(s.nbytes for _, s in loop.slices)
    return (loop.length or 0) * nbytes <= max(ROOM, given)


def _users(order: Iterable[Node], outputs: Iterable[Node]) -> dict[Node, list[Node | None]]:
    """Who reads each value; None for an output."""
    users: dict[Node, list[Node | None]] = {}
    for n in order:
        for s in n.src:
            users.setdefault(s, []).append(n)
    for n in outputs:
        users.setdefault(n, []).append(None)
    return users


def _last_map(n: Node, users: dict[Node, list[Node | None]], inside: set[Node]) -> Node:
    """The last of the maps that follow a contraction, each the only reader of the one before."""
    while True:
        readers = users.get(n, [])
        (reader,) = readers if len(readers) == 1 else (None,)
        if reader is None or reader not in inside or reader.nbytes > n.nbytes:
            return n
        if reader.op not in ELEMENTWISE and reader.op not in VIEWS:
            return n
        n = reader


# ---------------------------------------------------------------- after the loop


@dataclass(frozen=True)
class _Leaving:
    """What leaves a loop: result `number`, a stacked value, or the sum of `value` of each
    iteration."""

    number: int
    value: Node
    is_sum: bool


class _After:
    """What can be computed after a loop. `found`: these values."""

    def __init__(self, loop: OpenLoop) -> None:
        self._loop = loop
        sums = self._sums()
        stacked = [_Leaving(len(loop.carries) + k, n, False) for k, n in enumerate(loop.stacked)]
        gone = {x.number for x in sums}
        steady = [c.next for k, c in enumerate(loop.carries) if k not in gone]
        # views of what stays inside are made again, outside
        self._core = {n for n in toposort(steady) if n.op not in VIEWS} | set(loop.params)
        self._inside = set(reach_up(loop.params, loop.outputs))
        self.found = self._chosen([*stacked, *sums])

    def _sums(self) -> list[_Leaving]:
        """Carries that only add up: what they add."""
        loop, out = self._loop, []
        order = toposort(loop.outputs)
        users = _users(order, loop.outputs)
        for k, c in enumerate(loop.carries):
            readers = users.get(c.param, [])
            n = c.next
            if n.op is Op.ADD and n.dtype.is_float and readers == [n] and users[n] == [None]:
                others = [s for s in n.src if s is not c.param]
                if len(others) == 1:
                    out.append(_Leaving(k, others[0], True))
        return out

    def _chosen(self, candidates: Sequence[_Leaving]) -> list[_Leaving]:
        """Those that have contractions of their own; then those that need nothing more stacked."""
        chosen: list[_Leaving] = []
        there: set[Node] = {p for p, _ in self._loop.slices}
        for x in candidates:
            saved = sum(self._saved(n) for n in self._own(x.value) if _is_contraction(n))
            if x.is_sum and saved:
                saved += 2 * x.value.nbytes
            needed = self._frontier(x).keys() - there
            nbytes = sum(n.nbytes for n in needed)
            if saved and nbytes <= saved and _has_room(self._loop, nbytes):
                chosen.append(x)
                there |= needed
        for x in candidates:
            if x not in chosen and chosen and self._frontier(x).keys() <= there:
                chosen.append(x)
        return sorted(chosen, key=lambda x: x.number)

    def _own(self, n: Node) -> dict[Node, None]:
        """What is computed in the loop for this value alone."""
        below = toposort([n], dict.fromkeys(self._core))
        return dict.fromkeys(m for m in below if m in self._inside)

    def _frontier(self, x: _Leaving) -> dict[Node, None]:
        """What it needs of each iteration."""
        own = self._own(x.value)
        read = dict.fromkeys([*(s for m in own for s in m.src), x.value])
        return {s: None for s in read if s in self._inside and s not in own}

    def _saved(self, n: Node) -> int:
        """Bytes that the loop does not read and write without a contraction: its result, and the
        factor that is the same in each iteration."""
        factors = n.src[0].src
        fixed = [base_of(f) for f in factors if f not in self._inside]
        return n.nbytes + sum(f.nbytes for f in fixed)

    def results(self) -> list[Node]:
        """All results, in order."""
        loop, found = self._loop, self.found
        gone = {x.number for x in found}
        count = len(loop.carries)
        sources = dict(loop.slices)
        needed = dict.fromkeys(n for x in found for n in self._frontier(x))
        new = [n for n in needed if n not in sources]
        kept = [k for k in range(count + len(loop.stacked)) if k not in gone]
        left = replace(
            loop,
            carries=[loop.carries[k] for k in kept if k < count],
            stacked=[*(loop.stacked[k - count] for k in kept if k >= count), *new],
        )
        made = _before(left).close()
        out = dict(zip(kept, made, strict=False))
        stacks = sources | dict(zip(new, made[len(kept) :], strict=True))
        addends = [_addend(x.value) if x.is_sum else _Addend(x.value, (), ()) for x in found]
        values = batched([a.value for a in addends], stacks, loop.length or 0)
        for x, a, n in zip(found, addends, values, strict=True):
            out[x.number] = a.summed(n, loop.carries[x.number].first) if x.is_sum else n
        return [out[k] for k in range(count + len(loop.stacked))]


@dataclass(frozen=True)
class _Addend:
    """What a loop adds up: these views of the sum of `value` over `axes`."""

    value: Node
    axes: tuple[int, ...]
    views: tuple[Node, ...]

    def summed(self, stack: Node, first: Node) -> Node:
        """The sum over all iterations, whose values are stacked, and the first value."""
        total = reduce("add", stack, (0, *(a + 1 for a in self.axes)))
        for view in self.views:
            total = node(view.op, (total,), view.arg)
        return total if is_zero(first) else node(Op.ADD, (first, total))


def _addend(n: Node) -> _Addend:
    views: list[Node] = []
    while n.op in (Op.PERMUTE, Op.RESHAPE):
        views.insert(0, n)
        n = n.src[0]
    if n.op is Op.REDUCE and n.arg[0] == "add":
        return _Addend(n.src[0], n.arg[1], tuple(views))
    return _Addend(n, (), tuple(views))
