"""Batching. In: a Graph over leaves, and for each leaf a stack of values along a new first axis.
Out: the Graph of all at once, each value stacked along a first axis.

before    sum_k(x[k] * w[k, j])              after    sum_k(X[b, k] * w[k, j])

What does not depend on a leaf stays as it is, and is repeated along the first axis where it meets
what does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..graph import dtype as dt
from ..graph.graph import Node, const, expand, expand_to, node, permute, rebuild, toposort
from ..graph.op import ELEMENTWISE, HINTS, JOINT, SYSTEMS, Op
from ..graph.region import Branch, CustomVjp, Loop, closed, results_of, unnumbered
from ..graph.routine import Routine
from ..graph.shapes import Shape
from ..graph.site import provenance
from ..ops.nodes import where
from ..ops.small_systems import is_small
from .body import Carry, OpenBranch, OpenLoop


class Value(NamedTuple):
    """What a Node has become: with the first axis, or as it was."""

    node: Node
    is_stacked: bool


def batched(roots: Sequence[Node], stacks: Mapping[Node, Node], extent: int) -> list[Node]:
    """The roots for all values of the leaves in `stacks`, which have `extent` of each."""
    made = _Batch({leaf: Value(n, True) for leaf, n in stacks.items()}, extent)
    return [made.stack(v) for v in made.of(roots)]


class _Batch:
    def __init__(self, known: dict[Node, Value], extent: int) -> None:
        self.extent, self.known = extent, known
        self._results: dict[object, list[Node]] = {}

    def of(self, roots: Sequence[Node]) -> list[Value]:
        """What the roots become."""
        known = self.known
        with provenance(None) as here:
            for n in toposort(roots, dict.fromkeys(known)):
                here.move(n.site)
                src = [known[s] for s in n.src]
                if any(s.is_stacked for s in src):
                    known[n] = Value(self._made(n, src), True)
                else:
                    known[n] = Value(rebuild(n, tuple([s.node for s in src])), False)
        return [known[r] for r in roots]

    def stack(self, v: Value) -> Node:
        """A value with the first axis."""
        return v.node if v.is_stacked else expand(v.node, ((0, self.extent),))

    def _made(self, n: Node, src: list[Value]) -> Node:
        if n.op in ELEMENTWISE or n.op in HINTS or n.op is Op.COPY:
            return node(n.op, map(self.stack, src), n.arg)
        if n.op in JOINT:
            return self._result(n, src)
        if n.op is Op.HOST:
            return self._called(n, src)
        if n.op is Op.GATHER:
            return self._gathered(n, src)
        if n.op is Op.SCATTER:
            return self._scattered(n, src)
        if n.op is Op.PUT:
            return self._put(n, src)
        if n.op in SYSTEMS:
            return node(n.op, map(self.stack, src))
        return node(n.op, (src[0].node,), ARGUMENTS[n.op](n.arg, self.extent))

    def _called(self, n: Node, src: list[Value]) -> Node:
        call, k = n.arg
        if (call, n.src) not in self._results:
            rows = call.batched([s.is_stacked for s in src], self.extent)
            self._results[call, n.src] = results_of(Op.HOST, rows, [s.node for s in src])
        result: Node = self._results[call, n.src][k]
        return result

    # ------------------------------------------------------------ indices

    def _own(self, indices: Sequence[Value]) -> list[Node]:
        """The place along the first axis, and the indices there."""
        stacked = [self.stack(i) for i in indices]
        places = node(Op.IOTA, (), self.extent)
        shape = stacked[0].shape
        return [expand(places, tuple([(a, shape[a]) for a in range(1, len(shape))])), *stacked]

    def _gathered(self, n: Node, src: list[Value]) -> Node:
        x, *indices = src
        axes = tuple([a + 1 for a in n.arg])
        if not any(i.is_stacked for i in indices):
            out = node(Op.GATHER, [s.node for s in src], axes)
            count = indices[0].node.ndim  # behind which the first axis stands
            return permute(out, (count, *(a for a in range(out.ndim) if a != count)))
        if not x.is_stacked:
            return node(Op.GATHER, (x.node, *map(self.stack, indices)), n.arg)
        return node(Op.GATHER, (x.node, *self._own(indices)), (0, *axes))

    def _scattered(self, n: Node, src: list[Value]) -> Node:
        values, indices = self.stack(src[0]), src[1:]
        axes, shape, *kind = n.arg
        own, whole = tuple([a + 1 for a in axes]), (self.extent, *shape)
        if any(i.is_stacked for i in indices):
            return node(Op.SCATTER, (values, *self._own(indices)), ((0, *own), whole, *kind))
        count = indices[0].node.ndim
        order = (*range(1, count + 1), 0, *range(count + 1, values.ndim))
        at = [i.node for i in indices]
        return node(Op.SCATTER, (permute(values, order), *at), (own, whole, *kind))

    def _put(self, n: Node, src: list[Value]) -> Node:
        """Where each has its own place, as a choice."""
        x, value, indices = self.stack(src[0]), self.stack(src[1]), src[2:]
        if not any(i.is_stacked for i in indices):
            at = [i.node for i in indices]
            return node(Op.PUT, (x, value, *at), tuple([a + 1 for a in n.arg]))
        here: Node | None = None
        for axis, index in zip(n.arg, indices, strict=True):
            place = expand_but(self.stack(index), x.shape, (0,))
            own = expand_but(node(Op.IOTA, (), x.shape[axis + 1]), x.shape, (axis + 1,))
            same = node(Op.EQ, (place, own))
            here = same if here is None else node(Op.AND, (here, same))
        assert here is not None
        whole = expand(value, tuple([(a + 1, x.shape[a + 1]) for a in n.arg]))
        return where(here, whole, x)

    # ------------------------------------------------------------ loops and branches

    def _result(self, n: Node, src: list[Value]) -> Node:
        spec, k = n.arg
        key = spec, n.src
        if key not in self._results:
            match spec:
                case Loop():
                    self._results[key] = self._loop(spec, src)
                case Branch():
                    self._results[key] = self._branch(spec, src)
                case Routine():
                    self._results[key] = self._routine(spec, src)
                case CustomVjp():
                    self._results[key] = self._custom(spec, src)
        result: Node = self._results[key][k]
        return result

    def _routine(self, spec: Routine, src: list[Value]) -> list[Node]:
        """One call for all, on the CPU."""
        stacked = [self.stack(s) for s in src]
        home = next((s.device for s in stacked if s.device not in (None, "cpu")), None)
        if is_small(spec.batched(self.extent), stacked):
            home = None
        if home is not None:
            stacked = [node(Op.COPY, (s,), "cpu") for s in stacked]
        results = results_of(Op.ROUTINE, spec.batched(self.extent), stacked)
        return results if home is None else [node(Op.COPY, (r,), home) for r in results]

    def _leaf(self, p: Node, is_stacked: bool) -> Value:
        """A leaf for what a parameter becomes."""
        shape = (self.extent, *p.shape) if is_stacked else p.shape
        return Value(unnumbered(p.dtype, shape), is_stacked)

    def _body(self, outputs: Sequence[Node], known: Mapping[Node, Value]) -> list[Node]:
        inner = _Batch(dict(known), self.extent)
        return [inner.stack(v) for v in inner.of(outputs)]

    def _loop(self, spec: Loop, src: list[Value]) -> list[Node]:
        """Every carry is stacked. With a condition it goes on while that holds for any of them."""
        first, last = spec.captured, spec.captured + spec.carries
        params = spec.body.params
        known = dict(zip(params, src[:first], strict=False))
        known |= {p: self._leaf(p, True) for p in params[first:last]}
        known |= {
            p: self._leaf(p, s.is_stacked) for p, s in zip(params[last:], src[last:], strict=True)
        }
        new = self._body(spec.body.outputs, known)
        carries = [
            Carry(known[p].node, self.stack(s), n)
            for p, s, n in zip(params[first:last], src[first:last], new, strict=False)
        ]
        if spec.is_while:
            carries = _while_any(carries)
        made = OpenLoop(
            carries,
            [
                (known[p].node, _second_first(s.node) if s.is_stacked else s.node)
                for p, s in zip(params[last:], src[last:], strict=True)
            ],
            new[spec.carries :],
            spec.length,
            spec.is_while,
            spec.reverse,
        ).close()
        made = made[len(carries) - spec.carries :]
        return [*made[: spec.carries], *map(_second_first, made[spec.carries :])]

    def _custom(self, spec: CustomVjp, src: list[Value]) -> list[Node]:
        """The gradient of a value that is the same for all is a sum over them."""
        values = [self.stack(s) for s in src[: spec.results]]
        inputs, others = src[spec.results : spec.captured], src[spec.captured :]
        params = spec.pull.params
        own = 2 * spec.results  # cotangents, and the results
        known = {p: self._leaf(p, True) for p in params[:own]}
        known |= {p: self._leaf(p, s.is_stacked) for p, s in zip(params[own:], others, strict=True)}
        pulled = self._body(spec.pull.outputs, known)
        pulled = [
            g if inputs[i].is_stacked else node(Op.REDUCE, (g,), ("add", (0,)))
            for i, g in zip(spec.given, pulled, strict=True)
        ]
        pull = closed([known[p].node for p in params], pulled)
        sources = [*values, *(s.node for s in (*inputs, *others))]
        return results_of(Op.CUSTOM_VJP, replace(spec, pull=pull), sources)

    def _branch(self, spec: Branch, src: list[Value]) -> list[Node]:
        index, arguments = src[0], src[1:]
        params = spec.regions[0].params
        if index.is_stacked:
            known = dict(zip(params, arguments, strict=True))
            return self._chosen(index.node, [self._body(r.outputs, known) for r in spec.regions])
        leaves = [self._leaf(p, s.is_stacked) for p, s in zip(params, arguments, strict=True)]
        known = dict(zip(params, leaves, strict=True))
        ways = [self._body(r.outputs, known) for r in spec.regions]
        given = [(leaf.node, s.node) for leaf, s in zip(leaves, arguments, strict=True)]
        return OpenBranch(index.node, given, ways).close()

    def _chosen(self, index: Node, ways: Sequence[list[Node]]) -> list[Node]:
        """Each takes its own: all branches are computed."""
        out = ways[-1]
        for k in range(len(ways) - 2, -1, -1):
            above = node(Op.LT, (expand_to(const(k, dt.int64), index.shape), index))
            out = [
                where(expand(above, tuple([*enumerate(a.shape)][1:])), b, a)
                for a, b in zip(ways[k], out, strict=True)
            ]
        return out


def _while_any(carries: Sequence[Carry]) -> list[Carry]:
    """The carries behind one that says whether the first of them holds anywhere; each stays as it
    is where that does not hold any more."""
    holds = carries[0].param
    again = node(Op.AND, (holds, carries[0].next))
    kept = [
        Carry(c.param, c.first, where(expand_but(holds, c.param.shape, (0,)), c.next, c.param))
        for c in carries[1:]
    ]
    more = Carry(unnumbered(dt.bool_, ()), _any(carries[0].first), _any(again))
    return [more, Carry(holds, carries[0].first, again), *kept]


def _any(n: Node) -> Node:
    return node(Op.REDUCE, (n,), ("max", (0,)))


def expand_but(n: Node, shape: Shape, own: tuple[int, ...]) -> Node:
    """A value along some axes of a shape, repeated along the others."""
    return expand(n, tuple([(a, d) for a, d in enumerate(shape) if a not in own]))


def _second_first(n: Node) -> Node:
    """With the first two axes exchanged."""
    return permute(n, (1, 0, *range(2, n.ndim)))


ARGUMENTS: dict[Op, Callable[[Any, int], Any]] = {
    Op.REDUCE: lambda arg, _: (arg[0], tuple([a + 1 for a in arg[1]])),
    Op.SCAN: lambda arg, _: arg + 1,
    Op.SCANMUL: lambda arg, _: arg + 1,
    Op.ARGSORT: lambda arg, _: (arg[0] + 1, arg[1]),
    Op.RESHAPE: lambda arg, n: (n, *arg),
    Op.PERMUTE: lambda arg, _: (0, *(a + 1 for a in arg)),
    Op.FLIP: lambda arg, _: tuple([a + 1 for a in arg]),
    Op.SLICE: lambda arg, n: ((0, n, 1), *arg),
    Op.PAD: lambda arg, _: ((0, 0, 0), *arg),
    Op.EXPAND: lambda arg, _: tuple([(a + 1, d) for a, d in arg]),
    Op.SKEW: lambda arg, _: (arg[0] + 1, arg[1] + 1, arg[2]),
    Op.UNSKEW: lambda arg, _: (arg[0] + 1, arg[1] + 1, arg[2]),
}
