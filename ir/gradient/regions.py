"""Gradients of loops and branches. In: one, the cotangents of its results. Out: those of its
sources.

    forward     carry[t+1], y[t] = body(captured, carry[t], x[t])
    backward    runs from the last t to the first: the cotangents of carry[t] and x[t] are the
                body's vector-Jacobian product for those of carry[t+1] and y[t]; those of captured
                values are sums over t

What the backward body needs of the forward one is stacked by the forward loop, or computed again:
the values of the fewest bytes are stacked from which maps make all others. A branch computes again
what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ... import errors
from ..graph.graph import Node, expand_to, rebuilt_over, toposort, zeros_like
from ..graph.op import ELEMENTWISE, VIEWS, Op
from ..graph.region import Branch, CustomVjp, Loop, Region, results_of, unnumbered
from ..graph.routine import Routine
from ..ops.nodes import add, where
from ..regions.body import Carry, OpenBranch, OpenLoop, reach_up
from ..regions.least_cut import ENDLESS, least_cut
from .routines import Vjp, pulled_by_rule

MAPS = ELEMENTWISE | VIEWS | {Op.DETACH}


def pulled(n: Node, cotangents: Mapping[int, Node], vjp: Vjp) -> list[Node | None]:
    """The cotangent of each source, given those of the results by number. Raises GradientError for
    a loop without bound."""
    spec = n.arg[0]
    if isinstance(spec, CustomVjp):
        return _by_rule(spec, n.src, cotangents)
    if isinstance(spec, Routine):
        return pulled_by_rule(spec, n.src, cotangents, vjp)
    if isinstance(spec, Branch):
        return _of_branch(spec, n.src, cotangents, vjp)
    if spec.is_while:
        if spec.length is None:
            raise errors.GradientError(
                "a while_loop has no gradient by reverse mode, for which all its iterations would"
                " have to be kept: give it max_steps"
            )
        spec = _counted(spec)
    return _OfLoop(spec, n.src, vjp).pulled(cotangents)


def _counted(spec: Loop) -> Loop:
    """A loop with a condition as one that keeps its carries when that does not hold any more."""
    first, last = spec.captured, spec.captured + spec.carries
    params = spec.body.params
    holds = params[first]
    kept = [
        where(expand_to(holds, p.shape), n, p)
        for p, n in zip(params[first:last], spec.body.outputs, strict=True)
    ]
    return replace(spec, body=Region(params, tuple(kept)), is_while=False)


class _OfLoop:
    def __init__(self, spec: Loop, src: tuple[Node, ...], vjp: Vjp) -> None:
        self._spec, self._src, self._vjp = spec, src, vjp
        self._params = [unnumbered(p.dtype, p.shape) for p in spec.body.params]
        self._outputs = spec.body.over(self._params)
        first, last = spec.captured, spec.captured + spec.carries
        self._captured, self._carries = self._params[:first], self._params[first:last]
        self._slices = self._params[last:]

    def pulled(self, cotangents: Mapping[int, Node]) -> list[Node | None]:
        """The cotangents of the sources."""
        spec = self._spec
        own = {k: unnumbered(n.dtype, n.shape) for k, n in enumerate(self._outputs)}
        stacked = [k for k in cotangents if k >= spec.carries]
        carried = self._carried(cotangents, own)
        given = [*carried, *stacked]
        found = self._pull(given, own)
        gradients = dict(zip(self._params, found, strict=True))
        needed = [g for g in found if g is not None]
        stored = self._stored(needed, [own[k] for k in given])
        kept = self._stack(list(stored))
        leaves = dict(zip(stored, (unnumbered(n.dtype, n.shape) for n in stored), strict=True))
        places = dict(zip(self._captured, self._src, strict=False)) | leaves
        new = rebuilt_over(needed, places)

        def of(p: Node) -> Node | None:
            g = gradients[p]
            return None if g is None else new[g]

        carries = []
        for k in carried:
            start = cotangents.get(k)
            zeros = zeros_like(self._carries[k])
            carries.append(
                Carry(
                    own[k],
                    zeros if start is None else start,
                    _or_zeros(of(self._carries[k]), zeros),
                )
            )
        sums = [(p, g) for p in self._captured if (g := of(p)) is not None]
        for p, g in sums:
            total = unnumbered(p.dtype, p.shape)
            carries.append(Carry(total, zeros_like(p), add(total, g)))
        of_slices = [(p, g) for p in self._slices if (g := of(p)) is not None]
        last = spec.captured + spec.carries
        slices = [
            *zip(self._slices, self._src[last:], strict=True),
            *zip(leaves.values(), kept, strict=True),
            *((own[k], cotangents[k]) for k in stacked),
        ]
        made = OpenLoop(
            carries,
            slices,
            [g for _, g in of_slices],
            spec.length,
            reverse=not spec.reverse,
        ).close()
        out = dict(zip([self._carries[k] for k in carried], made, strict=False))
        out |= dict(zip([p for p, _ in sums], made[len(carried) :], strict=False))
        out |= dict(zip([p for p, _ in of_slices], made[len(carries) :], strict=True))
        return [out.get(p) for p in self._params]

    def _carried(self, cotangents: Mapping[int, Node], own: Mapping[int, Node]) -> list[int]:
        """The carries whose cotangents pass from iteration to iteration."""
        carried = {k for k in cotangents if k < self._spec.carries}
        stacked = [k for k in cotangents if k >= self._spec.carries]
        while True:
            found = self._pull([*sorted(carried), *stacked], own)
            gradients = dict(zip(self._params, found, strict=True))
            new = {k for k, p in enumerate(self._carries) if gradients[p] is not None} - carried
            if not new:
                return sorted(carried)
            carried |= new

    def _pull(self, given: Sequence[int], own: Mapping[int, Node]) -> list[Node | None]:
        """By each parameter, what an iteration gives for the cotangents of these outputs."""
        floats = [p for p in self._params if p.dtype.is_inexact]
        outputs = [self._outputs[k] for k in given]
        found = self._vjp(outputs, [own[k] for k in given], floats)
        of = dict(zip(floats, found, strict=True))
        return [of.get(p) for p in self._params]

    # ------------------------------------------------------------ what the forward loop keeps

    def _stored(self, gradients: Sequence[Node], cotangents: Sequence[Node]) -> dict[Node, None]:
        """The values of the forward body that are stacked for the backward one: those of the fewest
        bytes from which maps and views make all that it needs."""
        order = toposort(gradients)
        backward = set(reach_up(cotangents, gradients))
        forward = set(reach_up([*self._carries, *self._slices], gradients)) - backward
        needed = [s for n in order if n in backward for s in n.src if s in forward]
        needed += [n for n in gradients if n in forward]
        own = forward - set(self._slices)
        costly = [n for n in order if n in own and (n.op not in MAPS or n in self._carries)]
        cut = least_cut(
            costly,
            dict.fromkeys(n for n in needed if n in own),
            lambda n: [s for s in n.src if s in own],
            lambda n: ENDLESS if n.op in VIEWS else n.nbytes,
        )
        return dict.fromkeys(n for n in order if n in cut)

    def _stack(self, stored: Sequence[Node]) -> list[Node]:
        """These values of the forward body, stacked, by a loop that differs from the forward one in
        nothing else: the two are computed as one."""
        if not stored:
            return []
        spec = self._spec
        canonical = dict(zip(self._params, spec.body.params, strict=True))
        new = rebuilt_over(stored, canonical)
        outputs = (*spec.body.outputs, *(new[n] for n in stored))
        more = replace(spec, body=replace(spec.body, outputs=outputs))
        return results_of(Op.LOOP, more, self._src)[spec.results :]


def _or_zeros(g: Node | None, zeros: Node) -> Node:
    return zeros if g is None else g


def _by_rule(
    spec: CustomVjp, src: tuple[Node, ...], cotangents: Mapping[int, Node]
) -> list[Node | None]:
    """Where the rule uses a result, that has this gradient as well."""
    results = results_of(Op.CUSTOM_VJP, spec, src)
    given = [
        cotangents.get(k, zeros_like(y)) if y.dtype.is_inexact else zeros_like(y)
        for k, y in enumerate(results)
    ]
    pulled = spec.pull.over([*given, *results, *src[spec.captured :]])
    out: list[Node | None] = [None] * len(src)
    for i, g in zip(spec.given, pulled, strict=True):
        out[spec.results + i] = g
    return out


def _of_branch(
    spec: Branch, src: tuple[Node, ...], cotangents: Mapping[int, Node], vjp: Vjp
) -> list[Node | None]:
    params = [unnumbered(s.dtype, s.shape) for s in src[1:]]
    own = {k: unnumbered(g.dtype, g.shape) for k, g in cotangents.items()}
    floats = [p for p in params if p.dtype.is_inexact]
    found = []
    for region in spec.regions:
        outputs = region.over(params)
        found.append(vjp([outputs[k] for k in own], list(own.values()), floats))
    used = [i for i in range(len(floats)) if any(way[i] is not None for way in found)]
    if not used:
        return [None] * len(src)
    ways = [[_or_zeros(way[i], zeros_like(floats[i])) for i in used] for way in found]
    leaves = [
        *zip(params, src[1:], strict=True),
        *((own[k], g) for k, g in cotangents.items()),
    ]
    made = OpenBranch(src[0], leaves, ways).close()
    out = dict(zip([floats[i] for i in used], made, strict=True))
    return [None, *(out.get(p) for p in params)]
